// Which declaration each name in a file means: what editors ask for. By the rules of scopes alone, so that a program
// with errors has its names too; fields, and functions behind a dot, also by the types that the checker has found.
#pragma once
#include "lang/ast.h"
#include "parser/check/check.h"
#include "parser/syntax/imports.h"
#include <functional>
#include <string>
#include <vector>

namespace tl {

enum class SymbolKind : uint8_t { Variable, Parameter, Const, Function, Struct, Field, TypeParameter, Size, Module };

// What has a name. Its span, that of the name where it is declared, is its identity; of a module, its import.
struct Symbol {
  SymbolKind kind{};
  std::string name, doc;
  Span span, whole; // whole: all of the declaration
  Span extent;      // where its name alone means it; of a field: nowhere
  int owner = -1;   // of a parameter, field, size or type parameter: the position of its function or struct
  bool is_mutable = false;
  const ast::Stmt* statement = nullptr; // that declares it; null: a parameter, a field, an index, a size
  bool operator==(const Symbol&) const = default;
};

// A name where it is written.
struct Mention {
  Span span;
  Span symbol; // invalid: built in, or unknown
  SymbolKind kind{};
  bool is_declaration = false, is_write = false;
};

struct Index {
  std::vector<Symbol> symbols;              // declared in the file; what is declared at its top first
  std::vector<Mention> mentions;            // in the order of the text, built-in and unknown functions too
  const Mention* at(uint32_t offset) const; // that holds this place, or ends there; or null
  const Symbol* find(Span span) const;      // null: it is another file's
};

// What a file declares for others, with parameters and fields.
std::vector<Symbol> outline(const ast::File& file);

struct IndexOptions {
  const ExprTypes& types;
  const typed::Program& program; // for the types of its variables
  const Imports& imports;
  // What the prelude, or a file that is imported, declares.
  std::function<const std::vector<Symbol>&(const ast::File& file)> outline_of;
  const ast::File& prelude;
};
Index index(const ast::File& file, const IndexOptions& options);

// The struct of this type: its position among the symbols, which are in `file`, or null.
const Symbol* struct_of(const Type& type, const std::vector<Symbol>& symbols);

} // namespace tl
