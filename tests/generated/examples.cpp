// The example of every row of the op table as a program: it is printed by the interpreter and by the VM alike.
#include "ir/lower.h"
#include "lang/diagnostics.h"
#include "lang/stdlib.h"
#include "parser/check.h"
#include "parser/parse.h"
#include "sections.h"
#include "vm/abi/scalar_op.h"
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace tl::generated {
namespace {

struct Row {
  std::string_view name, example;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
#define TL_ELEMENTWISE(Enum, name, arity, Rule, lo, hi, ulp, doc, example) {name, example},
#define TL_BUILTIN(Enum, name, signature, doc, example) {name, example},
#include "vm/abi/ops.def"
  };
  return all;
}

std::string source_of(const Row& row) {
  // Statements, and values that are not printed: keys, and the time.
  static const std::set<std::string_view> statements{"print", "save",  "wait_all", "exit", "time",
                                                     "key",   "split", "fold_in",  "wait", "debug"};
  std::string example(row.example);
  if (row.name == "range") return fmt::format("for i in {} {{\n  print(i)\n}}\n", example);
  std::string head;
  if (row.name == "load") head = "save(\"x.npy\", [1.0, 2.0])\n";
  if (row.name == "save" || row.name == "wait") head = "let x = full([3, 2], 1.5)\n";
  if (row.name == "save") example = "save(\"y.npy\", x)";
  if (row.name == "load") return head + "let x: f32[2] = " + example + "\nprint(x)\n";
  if (row.name == "print" || row.name == "save" || row.name == "wait_all" || row.name == "exit")
    return head + example + "\n";
  if (statements.contains(row.name)) return head + "let y = " + example + "\n";
  return head + "print(" + example + ")\n";
}

} // namespace

void examples(Tester& tester) {
  // The examples write files.
  char folder[] = "/tmp/tl_generated_XXXXXX";
  if (!mkdtemp(folder) || chdir(folder) != 0) return tester.fail("examples", "no temporary folder");
  for (const Row& row : rows()) {
    const std::string name = fmt::format("example {}", row.name);
    if (!tester.wants(name)) continue;
    const std::string source = source_of(row);
    SourceManager sources;
    Diagnostics diagnostics;
    ast::File prelude;
    for (const EmbeddedFile& file : embedded_stdlib())
      if (file.name == "prelude.tl")
        prelude = parse(sources, sources.add(std::string(file.name), std::string(file.text)), diagnostics);
    FileId file = sources.add("example.tl", source);
    ast::File tree = parse(sources, file, diagnostics);
    try {
      typed::Program program;
      if (!diagnostics.has_errors()) program = check(tree, prelude, sources, diagnostics, {});
      if (diagnostics.has_errors()) {
        std::string said;
        for (const Diagnostic& d : diagnostics.sorted())
          said += render(d, sources);
        tester.fail(name, source + said);
        continue;
      }
      tester.run(name, ir::lower(program, sources), {{}});
    } catch (const std::exception& e) {
      tester.fail(name, fmt::format("{}: {}", source, e.what()));
    }
  }
  std::error_code ignored;
  std::filesystem::current_path("/", ignored);
  std::filesystem::remove_all(folder, ignored);
}

} // namespace tl::generated
