// Names, types and sizes: the syntax tree becomes the typed AST (lang/typed.h).
#pragma once
#include "abi/load_options.h"
#include "lang/ast.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include "lang/typed.h"
#include "parser/syntax/imports.h"
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace tl {

// Element type and sizes of a tensor in a file, for `load` of a constant path without a type, and for constants.
struct FileHeader {
  DType dtype = DType::F32;
  std::vector<int64_t> dims;
  std::string problem;  // not empty: why they cannot be told
  bool missing = false; // there is no such file
};

// The columns of a table of text, for `read_table` of a constant path without a type.
struct TableHeader {
  struct Column {
    std::string field, type; // "i64", "f64", "bool"; or a struct of the module `table`: "Texts", "Times"
    bool is_plain = true;    // the type is of the first ones
  };
  std::vector<Column> columns;
  std::string problem; // as that of a FileHeader
  bool missing = false;
};

// What an editor shows: the types of the expressions in a program's own files, by their nodes. Of a program with
// errors, those that could be told.
using ExprTypes = std::unordered_map<const ast::Expr*, Type>;

// Of a program that is being edited: declarations at its top whose insides have been checked, and need not be again.
struct Settled {
  std::unordered_map<const ast::Function*, bool> functions; // and whether they have effects
  std::unordered_set<const ast::Test*> tests;
};

// A check has been stopped, since nobody wants its result any more.
struct CheckInterrupted {};

struct CheckOptions {
  // Reads the header of the file at `path`, relative to the working directory; `name` of one tensor in it, or "".
  // `wanted`: what a table of text is to be read as, or null. Null: never.
  std::function<FileHeader(const std::string& path, const std::string& name, LoadOptions options, const Type* wanted)>
      read_header;
  std::function<TableHeader(const std::string& path)> read_table_header; // null: never
  const Imports* imports = nullptr;     // what the program's import statements mean; null: it has none
  bool missing_file_is_warning = false; // `tl check`: a `load` of a file that isn't there yet
  std::string exported; // the entry is this `export fn`, and its parameters and results are as a library has them
  // It is called in this process: tuples cross as structs do, ResultInfo::type_text has sizes in terms of the
  // parameters ("2*x.shape[0]"), and ProgramInterface::value is there.
  bool is_called = false;
  // Of a session: what an expression that stands alone gives is kept as `_`, and printed between marks.
  bool is_prompt = false;
  ExprTypes* types = nullptr; // to be filled; null: nobody asks
  // Nothing is said of what is in these, and the program is not to be used further. Null: all is checked.
  const Settled* settled = nullptr;
  const std::atomic<bool>* interrupt = nullptr; // null: never. Soon after it becomes true CheckInterrupted is thrown
};

// A value as a session at a prompt prints it, for whoever lays it out: kShownValue, the value (tensors in structs,
// lists and tuples as kBrief has them), kShownType, its type, kShownEnd.
inline constexpr std::string_view kShownValue = "\x02\x1d", kShownType = "\x1f\x1d", kShownEnd = "\x03\x1d";

// Reports all errors of the file. The result may be used further only if it is `ok`. `prelude` declares the functions
// that every program sees; instances of them are made where they are used.
typed::Program check(const ast::File& file, const ast::File& prelude, const SourceManager& sources,
                     Diagnostics& diagnostics, const CheckOptions& options = {});

namespace checker {
struct Context;
}

// A program that comes in pieces, each with what the pieces before it declared and bound: what a REPL checks. A piece
// may declare a name again; functions then use what it means from there on. Expressions that stand alone are shown,
// with their types.
class CheckSession {
public:
  // All of them must live as long as the session; `options.imports` may grow.
  CheckSession(const ast::File& prelude, const SourceManager& sources, const CheckOptions& options);
  ~CheckSession();

  // The piece must live until a renewal doesn't need its file any more. Without errors the program is `ok` and holds
  // this piece's statements, and all instances so far; with errors the session is as before. Valid until the next
  // piece.
  const typed::Program& add(const ast::File& piece, Diagnostics& diagnostics);
  // The last piece did not happen, because its run failed.
  void undo();
  // The last piece has run; it gave these sizes their values.
  void accept(const std::vector<AtomId>& sizes);
  // Those of the program that `add` gave, for lowering, which adds some.
  SizeAtoms& atoms();
  // What replaced declarations, failed pieces and the like have left behind grows with the number of pieces, until a
  // renewal throws it away: all ids are others then, and only what later pieces can refer to is there.
  struct Renewal {
    std::map<typed::VarId, typed::VarId> variables; // that have a value: the new ids by the old ones
    std::map<AtomId, AtomId> atoms;
    std::set<uint32_t> files; // indices of those whose texts and trees are still needed
  };
  bool is_worn() const; // has so much been left behind that a renewal pays off?
  Renewal renew();      // between pieces

  // The type of the last expression that stood alone in the last piece, as the user writes it; "" if there was none.
  std::string shown_type() const;
  // What is declared and bound, in the prelude's own file too.
  std::vector<std::string> names() const;
  // A name that is bound to a value which may leave the program (scalars, text, tensors, structs, tuples, lists).
  struct Bound {
    typed::VarId var;
    ValueInfo value;
  };
  std::optional<Bound> bound(const std::string& name) const;
  std::vector<std::string> bound_names() const;

private:
  const ast::File& prelude_;
  const SourceManager& sources_;
  const CheckOptions& options_;
  std::unique_ptr<checker::Context> context_;
};

} // namespace tl
