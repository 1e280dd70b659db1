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
bool is_time_column(Context& cx, const Type& type) { return is_column_of(cx, type, kTimes); }

static bool has_column_name(const Type& type, std::string_view name) {
  return type.is_struct() && type.record->name == name && rows_of_column(type);
}

std::string column_hint(const Context& cx, const Type& type, Span span) {
  const std::string text = source_text(cx, span);
  if (is_table(type)) return fmt::format("a column is a field: `{}.{}`", text, type.record->fields[0].name);
  if (has_column_name(type, kTexts))
    return fmt::format("its texts are `table.to_list({0})`, their numbers `{0}.code`", text);
  if (has_column_name(type, kTimes)) return fmt::format("its seconds since 1970 are `{}.seconds`", text);
  return "";
}

std::string column_hint(const Context& cx, const std::vector<Arg>& args) {
  auto table =
      std::find_if(args.begin(), args.end(), [](const Arg& arg) { return arg.value && is_table(arg.value->type); });
  if (table == args.end()) return "";
  const std::vector<Record::Field>& fields = table->value->type.record->fields;
  std::string name = fields[0].name;
  bool by_text = false;
  for (const Arg& arg : args) {
    if (!arg.value || !arg.value->type.is_str()) continue;
    by_text = true;
    const std::string text = source_text(cx, arg.value->span);
    for (const Record::Field& field : fields)
      if (text == fmt::format("\"{}\"", field.name)) name = field.name;
  }
  const bool has_column = std::any_of(args.begin(), args.end(),
                                      [](const Arg& arg) { return arg.value && rows_of_column(arg.value->type); });
  if (has_column && !by_text) return "";
  const std::string text = is_library(cx, table->value->span.file) ? "t" : source_text(cx, table->value->span);
  return fmt::format("a column is {}: `{}.{}`", by_text ? "a field, and not its name" : "a field of the table", text,
                     name);
}

std::string column_field_hint(const Type& type, std::string_view field) {
  auto is_one_of = [&](std::string_view names) { return names.find(fmt::format(" {} ", field)) != names.npos; };
  if (has_column_name(type, kTimes) && is_one_of(" year month day dt "))
    return "`table.date(c)` gives the years, months and days, `table.hour(c)` and `table.weekday(c)` the others";
  if (has_column_name(type, kTexts) && field == "str")
    return "`table.has(c, s)` looks for a text in each row, and `table.mapped(c, f)` changes the texts";
  if (!is_table(type) && !has_column_name(type, kTexts) && !has_column_name(type, kTimes)) return "";
  if (is_one_of(" shape size rows index ")) return "the number of its rows is `table.row_count(t)`";
  if (is_one_of(" iloc loc at iat "))
    return "rows are taken by their numbers or a mask: `t[0]`, `t[:5]`, `t[t.x > 0.0]`";
  if (field == "columns") return "the names of a file's columns are `tensor_names(path)`";
  if (field == "dtypes") return "`print(t)` shows the types";
  return "";
}

bool is_field_by_text(Context& cx, const Type& type, const ast::Expr* index, const std::string& base) {
  const auto* literal = index ? ast::as<ast::StringLiteral>(index) : nullptr;
  if (!literal || !type.is_struct()) return false;
  const std::vector<Record::Field>& fields = type.record->fields;
  const std::string name = literal->parts.size() == 1 ? literal->parts[0].text : "";
  auto field = std::find_if(fields.begin(), fields.end(), [&](const Record::Field& f) { return f.name == name; });
  error(cx, "TypeMismatch", index->span, "a field is read by its name, and not by a text",
        fmt::format("write `{}.{}`", base, (field == fields.end() ? fields.begin() : field)->name));
  return true;
}

ExprPtr table_as_text(Context& cx, ExprPtr& value, Span span) {
  const bool is_row = value->type.is_struct() && !value->type.elements.empty() && value->type.elements[0].is_scalar();
  const char* const name = !is_row ? "shown" : value->type.record->name == kTexts ? "shown_text" : "shown_time";
  Scope* module = value->type.is_struct() ? module_of_columns(cx) : nullptr;
  if (!is_table(value->type) && !is_column_of(cx, value->type, kTexts) && !is_column_of(cx, value->type, kTimes))
    return nullptr;
  const std::optional<Callable> shown = module ? callable_in(cx, module, name) : std::nullopt;
  if (!shown) return nullptr;
  std::vector<Arg> args(1);
  args[0].span = span;
  args[0].value = std::move(value);
  return call_named(cx, *shown, name, span, std::move(args), span, false, nullptr);
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

ExprPtr pair_columns(Context& cx, const ast::Expr& e, const ast::Call& call) {
  ast::Expr* const tables[] = {call.arguments[0].value, call.arguments[1].value};
  Type types[2];
  for (size_t k = 0; k < 2; ++k) {
    types[k] = refresh(cx, *check_expr(cx, tables[k]));
    if (types[k].is_error()) return broken(e.span);
    if (is_table(types[k]) && types[k].record == types[0].record) continue;
    error(cx, "TypeMismatch", e.span,
          k == 0 ? fmt::format("a table is a struct of columns of one length, and this is {}", show(cx, types[k]))
                 : fmt::format("tables that are joined are of one struct, not {} and {}", show(cx, types[0]),
                               show(cx, types[1])),
          k == 0 ? "" : "say it: `let u: Trips = read_table(path)`, with `struct Trips[n] { fare: f64[n] }`");
    return broken(e.span);
  }
  auto made = [&](decltype(ast::Expr::node) node) {
    cx.functions.made->exprs.push_back({e.span, false, 1, std::move(node)});
    return &cx.functions.made->exprs.back();
  };
  auto node = make_expr(typed::TupleExpr{}, e.span, types[0]);
  for (const Record::Field& field : types[0].record->fields) {
    ast::Call one;
    one.callee = call.arguments[2].value;
    for (ast::Expr* table : tables)
      one.arguments.push_back({{}, made(ast::Field{table, {field.name, e.span}})});
    ExprPtr column = check_value(cx, made(std::move(one)));
    node->type.elements[node->operands.size()] = refresh(cx, *column);
    if (column->type.is_error()) return broken(e.span);
    node->operands.push_back(std::move(column));
  }
  return node;
}

} // namespace tl::checker
