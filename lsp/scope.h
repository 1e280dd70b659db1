// What can be named at a place in a document.
#pragma once
#include "lsp/workspace.h"
#include "parser/index/index.h"
#include <functional>
#include <optional>

namespace tl::lsp {

// Each name that means something there, the nearest meaning of several: the document's, then the prelude's.
void each_name_at(Workspace& workspace, Analysis& analysis, uint32_t offset,
                  const std::function<void(const Symbol& symbol)>& on_symbol);
// The name that is written there, and what it means by the scopes alone: in a statement that does not parse, and so is
// not in the index.
struct Written {
  Span span;
  Symbol symbol;
};
std::optional<Written> written_at(Workspace& workspace, Analysis& analysis, uint32_t offset);
// What a name with dots means as a callee ("f", "nn.linear", "x.f"): functions and structs, several for overloads.
struct Callees {
  std::vector<Symbol> all;
  bool is_method = false; // the first argument stands before the dot
};
Callees callees_of(Workspace& workspace, Analysis& analysis, uint32_t offset, std::string_view name);
// Is it the library's, and what programs do without (parser/doc/library.h)?
bool is_inner_symbol(const Workspace& workspace, const Symbol& symbol);
// The parameters or fields of one, in the order of the declaration.
std::vector<Symbol> parts_of(Workspace& workspace, Analysis& analysis, const Symbol& symbol);
// The file that a module's name stands for; null: it is not there.
const ast::File* file_of_module(const Analysis& analysis, const Symbol& module);
// "f<T: float>(x: T[n]) -> T", "struct P { x: f64 }", "const H = 3".
std::string declaration_text(Workspace& workspace, const Symbol& symbol);

} // namespace tl::lsp
