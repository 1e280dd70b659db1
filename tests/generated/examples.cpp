// The documentation of the standard library: every function has a comment and an example, and every example gives what
// it says, on the interpreter and on the VM alike.
#include "ir/interpret/interpret.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "parser/doc/reference.h"
#include "parser/syntax/parse.h"
#include "sections.h"
#include "source_case.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <unistd.h>

namespace tl::generated {
namespace {

// What only acts, so that there is no value to show.
const std::set<std::string> kActions{"print", "release_cache", "save", "write_text", "wait_all", "exit", "read_line"};

// The program of an example. What it is prints twice the same; what it is about is within 1/1000.
std::string source_of(const std::string& module, const Example& example) {
  const std::string import = module == "prelude" ? "" : fmt::format("import {}\n", module);
  if (example.value.empty()) return import + example.code + '\n';
  size_t last = example.code.rfind("; ");
  size_t begin = last == std::string::npos ? 0 : last + 2;
  std::string before = example.code.substr(0, begin), expression = example.code.substr(begin);
  const char* form =
      example.about ? "{}\nassert_close({}, {}, rtol = 1e-3, atol = 1e-6)\n" : "{}\nprint({})\nprint({})\n";
  return import + fmt::format(fmt::runtime(form), before, expression, example.value);
}

// What is wrong with what the example printed, or nothing.
std::string complaint(const Example& example, const Outcome& outcome, const std::string& printed) {
  if (outcome.error) return outcome.error->message;
  if (outcome.exit_code != 0) return fmt::format("exit code {}", outcome.exit_code);
  if (example.value.empty() || example.about) return {};
  std::string_view text = printed;
  if (text.size() % 2 == 0 && text.substr(0, text.size() / 2) == text.substr(text.size() / 2)) return {};
  return "the two values differ:\n" + printed;
}

void run_example(Tester& tester, const std::string& module, const std::string& name, const Example& example) {
  const std::string source = source_of(module, example);
  std::string said;
  try {
    std::optional<ir::Module> program = module_of_source(source, said);
    if (!program) return tester.fail(name, source + said);
    std::string printed;
    Outcome outcome =
        ir::interpret(*program, {}, [&](std::string_view text) { printed += text; }, [](std::string_view) {});
    if (std::string wrong = complaint(example, outcome, printed); !wrong.empty())
      return tester.fail(name, source + wrong);
    tester.run(name, *program, {{}});
  } catch (const std::exception& e) {
    tester.fail(name, fmt::format("{}: {}", source, e.what()));
  }
}

std::vector<Documented> reference(const std::string& module) {
  SourceManager sources;
  Diagnostics diagnostics;
  ast::File file =
      parse(sources, sources.add(module + ".tl", *library_text(module)), diagnostics, {.is_library = true});
  return documented(module, file, sources);
}

void run_module(Tester& tester, const std::string& module) {
  for (const Documented& entry : reference(module)) {
    const std::string name = fmt::format("example {}", entry.name);
    if (!tester.wants(name)) continue;
    if (entry.doc.empty()) tester.fail(name, "no comment above the function");
    if (entry.examples.empty())
      tester.fail(name, fmt::format("no example in the comment: `{0}(…)` is `…`, or `{0}(…)` passes", entry.name));
    const bool acts = kActions.contains(entry.name);
    for (const Example& example : entry.examples) {
      if (example.value.empty() && !acts && example.code.find("assert") == std::string::npos)
        tester.fail(name, fmt::format("the example does not say what `{}` is", example.code));
      else
        run_example(tester, module, name, example);
    }
  }
}

} // namespace

void examples(Tester& tester) {
  // The examples write files.
  char folder[] = "/tmp/tl_generated_XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) != 0) return tester.fail("examples", "no temporary folder");
  {
    // What read_line reads: each run of its example takes a line.
    std::ofstream input("input");
    for (int i = 0; i < 1000; ++i)
      input << "hello\n";
  }
  if (!std::freopen("input", "r", stdin)) return tester.fail("examples", "no input");
  for (const EmbeddedFile& file : embedded_stdlib())
    if (file.name.ends_with(".tl")) run_module(tester, file.name.substr(0, file.name.size() - 3));
  std::error_code ignored;
  std::filesystem::current_path("/", ignored);
  std::filesystem::remove_all(folder, ignored);
}

} // namespace tl::generated
