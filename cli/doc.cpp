// tl doc: what a function of the prelude does, with an example; without a name, what there is.
#include "commands.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "options.h"
#include "parser/parse.h"
#include "parser/reference.h"
#include <fmt/format.h>
#include <memory>

namespace tl::cli {
namespace {

std::vector<Documented> reference() {
  SourceManager sources;
  Diagnostics diagnostics;
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name == "prelude.tl")
      return documented_prelude(parse(sources, sources.add(file.name, file.text), diagnostics, {true}), sources);
  return {};
}

void show(const Documented& entry) {
  for (const std::string& signature : entry.signatures)
    fmt::print("{}\n", signature);
  for (size_t begin = 0; begin < entry.doc.size();) {
    size_t end = std::min(entry.doc.find('\n', begin), entry.doc.size());
    fmt::print("    {}\n", entry.doc.substr(begin, end - begin));
    begin = end + 1;
  }
  for (const Example& example : entry.examples) {
    if (entry.doc.find('`' + example.code + '`') != std::string::npos) continue; // the text says it
    fmt::print("    {}\n", example.code);
    if (!example.value.empty()) fmt::print("    # {}{}\n", example.about ? "about " : "", example.value);
  }
}

int doc(const std::string& name) {
  bool found = false;
  for (const Documented& entry : reference()) {
    if (!name.empty() && entry.name != name) continue;
    if (found) fmt::print("\n");
    show(entry);
    found = true;
  }
  if (found) return kFine;
  fmt::print(stderr, "tl: there is no documentation of '{}'; `tl doc` lists all\n", name);
  return kUsage;
}

} // namespace

void add_doc(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("doc", "documentation of the prelude, or of one function");
  auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "a function");
  command->callback([name, &exit_code] { exit_code = doc(*name); });
}

} // namespace tl::cli
