// Tables whose columns the file tells. A struct is declared for them, and the call checked as under an annotation.
#include "parser/check/tables.h"
#include "lang/source.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/statements.h"
#include <filesystem>
#include <fmt/format.h>

namespace tl::checker {
namespace {

constexpr const char* kModule = "table"; // where the structs of columns of text and of times are declared
constexpr const char* kSize = "n";

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// "Trips" of "data/trips.csv.gz"
std::string struct_name(const std::string& path) {
  std::string name;
  const std::string file = std::filesystem::path(path).filename().string();
  for (char c : file.substr(0, file.find('.')))
    name += is_word(c) ? c : '_';
  if (name.empty() || !((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z'))) return "Table";
  if (name[0] >= 'a') name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return name;
}

class TableStruct {
public:
  TableStruct(Context& cx, Span span) : cx(cx), span_(span) {}

  StructInfo& declare(const std::string& path, const std::vector<TableHeader::Column>& columns, Scope* env) {
    ast::Struct& decl = made().structs.emplace_back();
    decl.name = {struct_name(path), span_};
    decl.sizes.push_back({kSize, span_});
    for (const TableHeader::Column& column : columns) {
      ast::StructField& field = decl.fields.emplace_back();
      field.name = {column.field, span_};
      field.span = span_;
      field.type = type(column.type, true);
    }
    StructInfo& info = cx.names.structs.emplace_back();
    info.decl = &decl;
    info.env = env;
    info.made = cx.functions.made;
    return info;
  }

  // { let table: Struct = read_table(path); table }
  ExprPtr read(StructInfo& info, const ast::Expr& path) {
    constexpr const char* kTable = "table";
    SaveAndRestore scope(cx.names.scope);
    push_scope(cx);
    Entity entity;
    entity.kind = Entity::Kind::Struct;
    entity.structure = &info;
    entity.span = span_;
    enter(cx, info.decl->name.text, std::move(entity));
    ast::Call call;
    call.callee = expr(ast::Name{"read_table"});
    call.arguments.push_back({{}, expr(path.node)});
    ast::Let let;
    let.type = type(info.decl->name.text, false);
    let.value = expr(std::move(call));
    let.pattern = &made().patterns.emplace_back();
    let.pattern->span = span_;
    let.pattern->name = kTable;
    ast::Stmt& statement = made().stmts.emplace_back();
    statement.span = span_;
    statement.node = std::move(let);
    typed::Block before;
    check_statement(cx, statement, before);
    ExprPtr value = check_name(cx, *expr(ast::Name{kTable}), kTable);
    return in_block(std::move(before), std::move(value), span_);
  }

private:
  MadeSyntax& made() { return *cx.functions.made; }

  ast::Expr* expr(decltype(ast::Expr::node) node) {
    made().exprs.push_back({span_, false, 1, std::move(node)});
    return &made().exprs.back();
  }
  ast::TypeExpr* type(const std::string& name, bool has_size) {
    ast::NamedType named;
    named.name = {name, span_};
    named.has_dims = has_size;
    if (has_size) named.dims.push_back(expr(ast::Name{kSize}));
    ast::TypeExpr& made_type = made().types.emplace_back();
    made_type.span = span_;
    made_type.node = std::move(named);
    return &made_type;
  }

  Context& cx;
  Span span_;
};

// Where the structs of texts and times are declared; null where the program has not imported their module.
Scope* module_of_columns(Context& cx) {
  if (!cx.options.imports) return nullptr;
  auto file = cx.options.imports->by_name.find(library_file_name(kModule));
  return file == cx.options.imports->by_name.end() || !file->second ? nullptr : module_scope(cx, *file->second);
}

} // namespace

ExprPtr table_as_found(Context& cx, const std::string& path, const ast::Expr& path_expr, Span span) {
  TableHeader header{{}, "nothing reads it here", true};
  if (cx.options.read_table_header) header = cx.options.read_table_header(path);
  constexpr const char* kHint =
      "say what is in it: `let t: Trips = read_table(path)`, with `struct Trips[n] { fare: f64[n] }`";
  if (!header.problem.empty()) {
    const bool is_warning = header.missing && cx.options.missing_file_is_warning;
    report(cx, {is_warning ? Severity::Warning : Severity::Error,
                header.missing ? "IoError" : "UntypedLoad",
                fmt::format("{}, so the table has no columns that are known", header.problem),
                span,
                {},
                kHint});
    cx.is_incomplete |= is_warning;
    return nullptr;
  }
  Scope* env = cx.names.prelude;
  for (const TableHeader::Column& column : header.columns)
    if (!column.is_plain) {
      env = module_of_columns(cx);
      if (env) break;
      error(cx, "UntypedLoad", span,
            fmt::format("the column `{}` is read as `{}.{}`, and that module is not imported", column.field, kModule,
                        column.type),
            fmt::format("add `import {}`", kModule));
      return nullptr;
    }
  TableStruct made(cx, span);
  return made.read(made.declare(path, header.columns, env), path_expr);
}

} // namespace tl::checker
