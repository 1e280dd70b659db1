// What is documented of the standard library: the elementwise operations of the op table, and the functions that its
// files declare, with the `##` comments above them. `tl doc` shows it; tests/generated runs every example.
//
// An example is tl code: statements that end with `;`, then an expression and what it is:
//   in the op table's column   max([1.0, 2.0]) is 2.0      save("x.npy", y); exists("x.npy") is true      exp(1.0) is
//   about 2.71828 in a `##` comment          `norm([3.0, 4.0])` is `5.0`       `gelu(1.0)` is about 0.8413
//   `assert_close(1.0, 1.0)` passes
// What only acts (print, save) stands alone in the op table.
#pragma once
#include "lang/ast.h"
#include "lang/source.h"
#include <string>
#include <vector>

namespace tl {

struct Example {
  std::string code;  // statements, then the expression
  std::string value; // an expression that prints the same, or is near it; empty: the code just runs
  bool about = false;
};

// A declaration without `fn` and the body: "norm<T: float>(x: T[..s], axis = none, keep = false)". What a built-in
// function takes by name alone (behind a bare `..`) is not marked.
std::string signature_text(std::string_view declaration);
// As `tl fmt` would write it in a line that is long enough.
std::string on_one_line(const std::string& text);

struct Documented {
  std::string name;
  std::vector<std::string> signatures; // one per overload: `norm<T: float>(x: T[..s], axis = none, keep = false)`
  std::string doc;                     // lines
  std::vector<Example> examples;
};

// Of a module ("prelude", or "linalg", whose functions are called `linalg.inv` here): one entry per name and place (a
// name may be both elementwise and a reduction), in the order of the op table and then of the file.
std::vector<Documented> documented(const std::string& module, const ast::File& file, const SourceManager& sources);
// Only what the file declares.
std::vector<Documented> documented_functions(const std::string& module, const ast::File& file,
                                             const SourceManager& sources);
// Its structs, each as it is declared; behind its comment those of its fields, and which of them are state.
std::vector<Documented> documented_structs(const std::string& module, const ast::File& file,
                                           const SourceManager& sources);

} // namespace tl
