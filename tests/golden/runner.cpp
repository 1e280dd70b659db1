// tl_golden: runs programs whose expected values are beside their lines (expectations.h). README.md says how.
#include "expectations.h"
#include "judge.h"
#include "process.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

namespace fs = std::filesystem;

namespace tl::golden {
namespace {

// What a card may need beyond the CPU: some blocks of 64 bytes, for numbers and copies.
constexpr uint64_t kCardMemory = 4096;
// Programs that do not run on a card under the limit that the CPU keeps to.
constexpr std::pair<std::string_view, const char*> kBeyondLimit[] = {
    {"mapped_files.tl", "on the CPU the file is mapped, and counts as nothing"}};
constexpr int kNothing = 77; // exit code: the filter leaves nothing

struct Options {
  std::string tl;
  bool update = false;
  std::string filter;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::string> configurations; // empty: all
  double seconds = 10;
  bool all = false;   // configurations, also those that no injected fault has needed
  bool builds = true; // sanitizer builds of tl make no executables
  std::vector<fs::path> folders;
};

// A way to run a program that must make no difference.
struct Configuration {
  std::string name;
  std::vector<std::string> flags;
  bool least_memory = false; // under the peak of a --sync run as its limit
  std::string target = {};   // as an executable that `tl build --target` makes
};

// Programs that print numbers from matrix products of f32 with all their digits. On a GPU a library computes them, in
// an order of its own: there these may differ by so much of the number, and each is named when it is run; by tl's own
// kernels (--exact-products) they may not.
struct ByLibrary {
  std::string_view name;
  double tolerance;
};
constexpr ByLibrary kByLibrary[] = {{"struct_types.tl", 4e-7}};

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return text.str();
}

// A folder of its own for each run, for the files that it saves.
class Scratch {
public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "tl_golden_XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string path() const { return path_; }

private:
  std::string path_;
};

// The table of passes.
std::vector<std::string> passes_of(const Options& options) {
  Ran passes = run_process({options.tl, "dump", "--passes"}, ".", options.seconds);
  if (passes.exit_code != 0) throw std::runtime_error("`tl dump --passes` fails:\n" + passes.err);
  std::vector<std::string> names;
  for (const std::string& line : split_lines(passes.out))
    if (std::string name = line.substr(0, line.find(' ')); !name.empty()) names.push_back(name);
  if (names.empty()) throw std::runtime_error("`tl dump --passes` lists none");
  return names;
}

std::vector<Configuration> all_configurations(const Options& options) {
  std::vector<Configuration> out = {{"default", {}, false},
                                    {"interp", {"--interp"}, false},
                                    {"sync", {"--sync", "--verify"}, false}, // the graph after each pass, too
                                    {"threads1", {"--threads", "1"}, false},
                                    {"audit-seed5", {"--threads", "2", "--audit", "--schedule-seed", "5"}, false},
                                    {"limit", {"--threads", "2", "--schedule-seed", "3"}, true},
                                    {"gpu", {"--device", "gpu-emu"}, false},
                                    {"gpu-seed5", {"--device", "gpu-emu", "--schedule-seed", "5"}, false}};
  if (options.builds)
    out.insert(out.end(), {{"built", {}, false, "baseline"}, {"built-v3", {"--threads", "1"}, false, "x86-64-v3"}});
  if (!options.all && options.configurations.empty()) return out;
  out.insert(out.end(), {{"threads2", {"--threads", "2"}, false},
                         {"seed7", {"--schedule-seed", "7"}, false},
                         {"audit", {"--threads", "2", "--audit"}, false},
                         {"gpu-limit", {"--device", "gpu-emu", "--schedule-seed", "3"}, true}});
  if (options.builds)
    out.insert(out.end(), {{"built-sync", {"--sync"}, false, "baseline"},
                           {"built-seed9", {"--threads", "2", "--schedule-seed", "9"}, false, "baseline"}});
  for (const std::string& name : passes_of(options))
    out.push_back({"no-" + name, {"--disable", name, "--verify"}, false});
  if (options.configurations.empty()) return out;
  // By name alone, as they take long or need more than every machine has.
  out.push_back({"gpu-races", {"--device", "gpu-emu", "--racecheck"}, false});
  for (const char* seed : {"1", "2", "3", "4", "6", "7", "8"})
    out.push_back({std::string("gpu-seed") + seed, {"--device", "gpu-emu", "--schedule-seed", seed}, false});
  out.push_back({"card", {"--device", "gpu"}, false}); // for machines that have one
  std::vector<Configuration> chosen;
  for (const std::string& name : options.configurations) {
    auto at = std::find_if(out.begin(), out.end(), [&](const Configuration& c) { return c.name == name; });
    if (at == out.end()) throw std::runtime_error("there is no configuration " + name);
    chosen.push_back(*at);
  }
  return chosen;
}

bool on_gpu(const Configuration& c) { return c.name.starts_with("gpu") || c.name == "card"; }

struct GoldenFile {
  fs::path path;
  std::string kind; // its folder
  std::string name() const { return path.filename().string(); }
};

std::vector<GoldenFile> find_files(const Options& options) {
  std::vector<GoldenFile> out;
  for (const fs::path& folder : options.folders) {
    if (!fs::exists(folder)) throw std::runtime_error("there is no " + folder.string());
    auto add = [&](const fs::path& path) {
      std::string kind = path.parent_path().filename().string();
      bool known = std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
      if (path.extension() != ".tl" || !known) return;
      if (path.string().find(options.filter) == std::string::npos) return;
      out.push_back({fs::absolute(path).lexically_normal(), kind});
    };
    if (fs::is_regular_file(folder))
      add(fs::absolute(folder));
    else
      for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::absolute(folder).lexically_normal()))
        if (entry.is_regular_file()) add(entry.path());
  }
  std::sort(out.begin(), out.end(), [](const GoldenFile& a, const GoldenFile& b) { return a.path < b.path; });
  out.erase(std::unique(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path == b.path; }),
            out.end());
  return out;
}

// How a file is run: `program` is an executable made of it, or empty.
std::vector<std::string> command_for(const Options& options, const GoldenFile& file, const Expectations& expected,
                                     const Configuration& configuration, const std::string& program = {}) {
  std::string path = file.path.string();
  std::vector<std::string> command;
  if (file.kind == "lex") command = {options.tl, "dump", path, "--stage", "tokens"};
  if (file.kind == "parse") command = {options.tl, "dump", path, "--stage", "ast"};
  if (file.kind == "check") command = {options.tl, "check", path};
  if (shows_graph(file.kind)) command = {options.tl, "dump", path, "--stage", "ir", "--after-all", "--verify"};
  if (!command.empty()) {
    command.insert(command.end(), expected.flags.begin(), expected.flags.end());
    return command;
  }
  command = {options.tl, "run"};
  if (!program.empty()) command = {program};
  command.insert(command.end(), configuration.flags.begin(), configuration.flags.end());
  command.insert(command.end(), expected.flags.begin(), expected.flags.end());
  if (program.empty()) command.push_back(path);
  for (std::string word : expected.arguments) {
    if (size_t at = word.find("FOLDER"); at != std::string::npos) word.replace(at, 6, file.path.parent_path().string());
    command.push_back(std::move(word));
  }
  return command;
}

// The line of a failing run that says why; it must not depend on how the program is run.
std::string first_error_line(const std::string& err) {
  for (const std::string& line : split_lines(err))
    if (line.find("error") != std::string::npos) return line;
  return {};
}

// The number after `key` in what --stats says.
std::optional<std::string> stats_number(const std::string& err, const std::string& key) {
  for (const std::string& line : split_lines(err))
    if (line.starts_with(key)) {
      size_t from = line.find_first_of("0123456789"), to = line.find_first_not_of("0123456789", from);
      if (from != std::string::npos) return line.substr(from, to - from);
    }
  return std::nullopt;
}

struct Result {
  std::vector<std::string> faults; // each with its configuration
  int runs = 0;
  bool updated = false;
  std::string shows; // what a pass did
};

Result check_file(const Options& options, const GoldenFile& file, const std::vector<Configuration>& configurations) {
  Result result;
  Scratch built;
  std::map<std::string, Ran> builds; // by target
  auto run = [&](const Expectations& expected, Configuration configuration) {
    ++result.runs;
    Scratch scratch;
    if (const std::string& target = configuration.target; !target.empty()) {
      const std::string program = built.path() + "/" + target;
      auto [made, is_new] = builds.try_emplace(target);
      if (is_new)
        made->second = run_process({options.tl, "build", file.path.string(), "-o", program, "--target", target}, ".",
                                   options.seconds);
      if (made->second.exit_code != 0 || made->second.timed_out) return made->second;
      return run_process(command_for(options, file, expected, configuration, program), scratch.path(), options.seconds);
    }
    if (configuration.least_memory) {
      Configuration serial{"", {"--threads", "2", "--sync", "--stats"}, false};
      Scratch other;
      Ran ran = run_process(command_for(options, file, expected, serial), other.path(), options.seconds);
      // None: the program was rejected before it ran. A limit of 0 would mean the default.
      uint64_t peak = std::stoull(stats_number(ran.err, "peak memory").value_or("1"));
      if (configuration.name == "gpu-limit") peak += kCardMemory;
      configuration.flags.insert(configuration.flags.end(),
                                 {"--memory-limit", std::to_string(std::max<uint64_t>(peak, 1))});
    }
    return run_process(command_for(options, file, expected, configuration), scratch.path(), options.seconds);
  };
  std::string text = read_file(file.path);
  Expectations expected = read_expectations(text);
  result.faults = idle_expectations(file.kind, file.name(), expected);
  bool is_run = file.kind == "run" || file.kind == "error";
  std::vector<Configuration> matrix = is_run ? configurations : std::vector<Configuration>{{"", {}, false}};

  bool rewrites = options.update && !shows_graph(file.kind);
  for (int round = 0; rewrites && round < 3; ++round) { // rewriting moves lines, which lex shows
    Ran ran = run(expected, matrix[0]);
    if (ran.timed_out || output_lines(ran.out) == expected.output) break;
    text = with_output(text, output_lines(ran.out));
    std::ofstream(file.path, std::ios::binary) << text;
    expected = read_expectations(text);
    result.updated = true;
  }

  // What is about several CPUs, or about no GPU, says so in what it prints.
  const auto& flags = expected.flags;
  if (file.name() == "fail_no_gpu.tl" || std::find(flags.begin(), flags.end(), "--cpu-devices") != flags.end())
    std::erase_if(matrix, [&](const Configuration& c) {
      const bool has_one = on_gpu(c);
      if (has_one) fmt::print("skipped: {} in configuration {}\n", file.name(), c.name);
      return has_one;
    });

  for (const auto& [name, reason] : kBeyondLimit)
    if (file.name() == name && is_run) {
      const auto left_out = std::erase_if(matrix, [](const Configuration& c) { return c.name == "gpu-limit"; });
      if (left_out) fmt::print("skipped: {} in configuration gpu-limit ({})\n", name, reason);
    }

  const auto* by_library = std::find_if(std::begin(kByLibrary), std::end(kByLibrary),
                                        [&](const ByLibrary& known) { return known.name == file.name(); });
  const bool has_tolerance = by_library != std::end(kByLibrary);
  if (has_tolerance && std::any_of(matrix.begin(), matrix.end(), [](const Configuration& c) { return on_gpu(c); }))
    matrix.push_back({"exact", {"--device", "gpu-emu", "--exact-products"}, false});

  std::string first_output, first_error;
  int first_code = 0;
  for (size_t i = 0; i < matrix.size(); ++i) {
    Ran ran = run(expected, matrix[i]);
    std::string where = matrix[i].name.empty() ? "" : matrix[i].name + ": ";
    if (shows_graph(file.kind) && ran.exit_code == 0) {
      const std::string pass = result.shows = pass_of(file.kind, expected);
      Graphs graphs = graphs_around(ran.out, pass);
      if (!graphs.found) result.faults.push_back("no pass `" + pass + "` has run (so often)");
      for (const std::string& fault : faults_of_pass(expected, graphs))
        result.faults.push_back(fault);
      ran.out = std::move(graphs.after);
    }
    if (has_tolerance && on_gpu(matrix[i])) {
      fmt::print("numbers within {}: {} in configuration {}\n", by_library->tolerance, file.name(), matrix[i].name);
      if (are_close(expected.output, output_lines(ran.out), by_library->tolerance)) {
        ran.out.clear();
        for (const std::string& line : expected.output)
          ran.out += line + '\n';
      }
    }
    for (const std::string& fault : faults(file.kind, file.name(), expected, ran, options.seconds))
      result.faults.push_back(where + fault);
    std::string error = first_error_line(ran.err);
    if (i == 0) {
      first_output = ran.out;
      first_error = error;
      first_code = ran.exit_code;
      continue;
    }
    if (ran.timed_out) continue;
    std::string other = matrix[0].name;
    if (ran.out != first_output)
      result.faults.push_back(where + "prints other bytes than " + other + "; " +
                              difference(split_lines(first_output), split_lines(ran.out)));
    if (ran.exit_code != first_code)
      result.faults.push_back(fmt::format("{}exit code {}, with {} {}", where, ran.exit_code, other, first_code));
    if (error != first_error)
      result.faults.push_back(fmt::format("{}reports `{}`, with {} `{}`", where, error, other, first_error));
  }
  return result;
}

int run_all(const Options& options) {
  std::vector<Configuration> configurations = all_configurations(options);
  std::vector<GoldenFile> files = find_files(options);
  if (files.empty() && !options.filter.empty()) {
    fmt::print(stderr, "tl_golden: no golden file has `{}` in its path\n", options.filter);
    return kNothing;
  }
  if (files.empty()) throw std::runtime_error("no golden files found");

  struct Totals {
    int files = 0, runs = 0, failed = 0, updated = 0;
  };
  std::map<std::string, Totals> totals;
  std::vector<std::string> shown; // passes
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < files.size(); i = next++) {
      Result result;
      try {
        result = check_file(options, files[i], configurations);
      } catch (const std::exception& error) {
        result.faults.push_back(error.what());
      }
      std::lock_guard lock(mutex);
      Totals& t = totals[files[i].kind];
      ++t.files;
      t.runs += result.runs;
      t.failed += !result.faults.empty();
      t.updated += result.updated;
      if (!result.shows.empty()) shown.push_back(result.shows);
      if (result.faults.empty()) continue;
      fmt::print("FAILED {}\n", fs::relative(files[i].path).string());
      for (size_t f = 0; f < std::min<size_t>(result.faults.size(), 12); ++f)
        fmt::print("  {}\n", result.faults[f]);
      if (result.faults.size() > 12) fmt::print("  … and {} more\n", result.faults.size() - 12);
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 0; i < options.jobs; ++i)
    workers.emplace_back(work);
  for (std::thread& worker : workers)
    worker.join();

  int passed = 0, failed = 0;
  if (options.filter.empty() && totals.contains("pass")) {
    for (const std::string& pass : passes_of(options))
      if (!shows_pass(shown, pass)) {
        fmt::print("FAILED no golden file shows what the pass `{}` does (`#% --after {}`)\n", pass, pass);
        ++failed;
      }
  }
  for (const std::string& kind : kKinds) {
    if (!totals.contains(kind)) continue;
    const Totals& t = totals[kind];
    fmt::print("{:<6} {} files, {} runs", kind, t.files, t.runs);
    if (kind == "run" || kind == "error") fmt::print(", {} configurations", configurations.size());
    if (t.updated) fmt::print(", {} rewritten", t.updated);
    fmt::print(", {} failed\n", t.failed);
    passed += t.files - t.failed;
    failed += t.failed;
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

constexpr const char* kUsage = "usage: tl_golden --tl PATH [--update] [--filter TEXT] [--jobs N] [--config NAME,NAME] "
                               "[--all] [--seconds N] [--no-builds] FOLDER…\n";

Options read_options(int argc, char** argv) {
  Options options;
  auto value = [&](int& i) -> std::string {
    if (i + 1 >= argc) throw std::runtime_error(std::string(argv[i]) + " needs a value");
    return argv[++i];
  };
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--tl")
      options.tl = fs::absolute(value(i)).string();
    else if (word == "--update")
      options.update = true;
    else if (word == "--filter")
      options.filter = value(i);
    else if (word == "--jobs")
      options.jobs = static_cast<unsigned>(std::clamp(std::stoi(value(i)), 1, 256));
    else if (word == "--all")
      options.all = true;
    else if (word == "--no-builds")
      options.builds = false;
    else if (word == "--seconds")
      options.seconds = std::stod(value(i));
    else if (word == "--config") {
      std::stringstream names(value(i));
      for (std::string name; std::getline(names, name, ',');)
        options.configurations.push_back(name);
    } else if (word.starts_with("-"))
      throw std::runtime_error("unknown option " + word);
    else
      options.folders.emplace_back(word);
  }
  if (options.tl.empty() || options.folders.empty()) throw std::runtime_error(kUsage);
  return options;
}

} // namespace
} // namespace tl::golden

int main(int argc, char** argv) {
  try {
    return tl::golden::run_all(tl::golden::read_options(argc, argv));
  } catch (const std::exception& error) {
    fmt::print(stderr, "tl_golden: {}\n", error.what());
    return 2;
  }
}
