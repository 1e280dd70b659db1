// Tables whose columns the file tells. A struct is declared for them, and the call checked as under an annotation.
#include "parser/check/tables.h"
#include "lang/source.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/line_width.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/statements.h"
#include "parser/check/values.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace tl {

static int64_t columns = kUsualLineWidth;
void set_table_width(int64_t width) { columns = width; }
int64_t table_width() { return columns; }

} // namespace tl

namespace tl::checker {
namespace {

constexpr const char* kModule = "table"; // where the structs of columns of text and of times are declared
constexpr const char* kSize = "n";
constexpr std::string_view kTexts = "Texts", kTimes = "Times"; // its structs

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
                header.missing ? kHint : ""}); // what is wrong with the file is wrong when the program runs, too
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

// A vector, or a struct of the module `table` for texts and times: its rows.
static std::optional<Size> rows_of_column(const Type& type) {
  if (type.is_tensor() && type.rank() == 1) return type.shape[0];
  const bool is_column = type.is_struct() && (type.record->name == kTexts || type.record->name == kTimes);
  return is_column ? rows_of_column(type.elements[0]) : std::nullopt;
}

static bool is_table(const Type& type) {
  if (!type.is_struct() || type.elements.empty() || rows_of_column(type)) return false;
  const std::optional<Size> rows = rows_of_column(type.elements[0]);
  return rows && std::all_of(type.elements.begin(), type.elements.end(),
                             [&](const Type& column) { return rows_of_column(column) == rows; });
}

// A struct of the module `table` of this name.
static bool is_column_of(Context& cx, const Type& type, std::string_view name) {
  Scope* module = type.is_struct() ? module_of_columns(cx) : nullptr;
  const std::optional<Callable> column = module ? callable_in(cx, module, std::string(name)) : std::nullopt;
  return column && column->structure && column->structure->record == type.record;
}

bool is_text_column(Context& cx, const Type& type) { return is_column_of(cx, type, kTexts); }

ExprPtr table_as_text(Context& cx, ExprPtr& value, Span span) {
  constexpr const char* kShown = "shown";
  Scope* module = value->type.is_struct() ? module_of_columns(cx) : nullptr;
  if (!is_table(value->type) && !is_column_of(cx, value->type, kTexts) && !is_column_of(cx, value->type, kTimes))
    return nullptr;
  const std::optional<Callable> shown = module ? callable_in(cx, module, kShown) : std::nullopt;
  if (!shown) return nullptr;
  std::vector<Arg> args(1);
  args[0].span = span;
  args[0].value = std::move(value);
  return call_named(cx, *shown, kShown, span, std::move(args), span, false, nullptr);
}

static std::string kind_of_column(const Type& type) {
  if (type.is_tensor()) return std::string(name_of(type.dtype));
  return type.record->name == kTexts ? "text" : "time";
}

static ast::StringLiteral text_literal(const std::string& text) {
  ast::StringLiteral literal;
  literal.parts.emplace_back().text = text;
  return literal;
}

ExprPtr each_column(Context& cx, const ast::Expr& e, const ast::Call& call, const Type* expected) {
  ast::Expr* table = call.arguments[0].value;
  const Type type = refresh(cx, *check_expr(cx, table));
  if (type.is_error()) return broken(e.span);
  if (!is_table(type)) {
    error(cx, "TypeMismatch", e.span,
          fmt::format("a table is a struct of columns of one length, and this is {}", show(cx, type)));
    return broken(e.span);
  }
  auto made = [&](decltype(ast::Expr::node) node) {
    cx.functions.made->exprs.push_back({e.span, false, 1, std::move(node)});
    return &cx.functions.made->exprs.back();
  };
  ast::Call list;
  list.callee = made(ast::Name{"list"});
  for (const Record::Field& field : type.record->fields) {
    const Type& column = type.elements[list.arguments.size()];
    ast::Call one;
    one.callee = call.arguments[1].value;
    one.arguments.push_back({{}, made(text_literal(field.name))});
    one.arguments.push_back({{}, made(text_literal(kind_of_column(column)))});
    one.arguments.push_back({{}, made(ast::Field{table, {field.name, e.span}})});
    list.arguments.push_back({{}, made(std::move(one))});
  }
  return check_expr(cx, made(std::move(list)), expected);
}

} // namespace tl::checker
