#include "sections.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tl::generated;

namespace {

struct Section {
  const char* name;
  void (*run)(Tester&);
};
constexpr Section kSections[] = {
    {"elementwise", elementwise},
    {"conversions", conversions},
    {"reductions", reductions},
    {"contractions", contractions},
    {"views", views},
    {"control", control},
    {"random", random_graphs},
    {"vectorized", vectorized},
    {"examples", examples},
    {"derivatives", derivatives},
    {"cuda", cuda},
};

void usage() {
  std::puts("tl_generated [section...] [--only TEXT] [--seed N] [--full] [--verbose] [--stop]\n"
            "  --only TEXT  cases whose name contains TEXT\n"
            "  --seed N     other random values and graphs\n"
            "  --full       every pass off in turn for each case, and more sizes\n"
            "  --verbose    name each case, and print the graphs of those that fail\n"
            "  --stop       after the first failure\n"
            "sections:");
  for (const Section& section : kSections)
    std::printf("  %s\n", section.name);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto value = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--only")
      options.only = value();
    else if (word == "--seed")
      options.seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--full")
      options.full = true;
    else if (word == "--verbose")
      options.verbose = true;
    else if (word == "--stop")
      options.stop = true;
    else if (word[0] == '-')
      return usage(), word == "--help" ? 0 : 2;
    else
      wanted.push_back(word);
  }
  Tester tester(options);
  for (const Section& section : kSections) {
    bool runs = wanted.empty();
    for (const std::string& name : wanted)
      runs = runs || name == section.name;
    if (!runs) continue;
    tester.begin(section.name);
    section.run(tester);
  }
  return tester.finish();
}
