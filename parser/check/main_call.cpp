// The call of `fn main` with what the command line gives.
#include "parser/check/main_call.h"
#include "parser/check/arguments.h"
#include "parser/check/finalize.h"
#include "parser/check/function_calls.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/main.h"
#include "parser/check/names.h"
#include "parser/check/program.h"
#include "parser/check/sizes.h"
#include "parser/check/values.h"
#include <deque>
#include <fmt/format.h>
#include <set>

namespace tl::checker {

namespace {

// A parameter of `main` as it is written.
struct WrittenParam {
  explicit WrittenParam(const ast::Param& param);

  // from a file of its own: a struct, or a list of what flags cannot give
  bool is_of_file(const Context& cx) const;
  bool is_of_command_line() const { return is_str || (dtype && dtype != DType::Key && !is_complex(*dtype)); }
  Type scalar_type() const { return is_str ? Type::str() : Type::scalar(*dtype); }
  ParamInfo info(Context& cx) const;

  const ast::Param& param;
  const ast::NamedType* named; // its type, or that of a list's elements; null: has no name
  bool is_list;
  bool is_str;
  std::optional<DType> dtype;
};

WrittenParam::WrittenParam(const ast::Param& written) : param(written), named(ast::as<ast::NamedType>(param.type)) {
  is_list = named && named->name.text == "List" && named->arguments.size() == 1;
  if (is_list) named = ast::as<ast::NamedType>(named->arguments[0]);
  if (named) dtype = dtype_from_name(named->name.text);
  is_str = named && named->name.text == "str";
}

bool WrittenParam::is_of_file(const Context& cx) const {
  if (!is_list) return named && !dtype && !is_str && returns_struct(cx, *named);
  return !is_str && !(dtype && dtype != DType::Key && named->dims.empty());
}

ParamInfo WrittenParam::info(Context& cx) const {
  ParamInfo info;
  info.name = param.name.text;
  info.doc = param.doc;
  info.type_text = source_text(cx, param.type->span);
  info.rank = static_cast<uint32_t>(named->dims.size());
  info.kind = is_str ? ParamInfo::Kind::Str : info.rank ? ParamInfo::Kind::Tensor : ParamInfo::Kind::Scalar;
  if (dtype) info.dtype = *dtype;
  if (is_list) {
    info.is_list = true;
    info.is_text = is_str;
    info.kind = ParamInfo::Kind::Str;
  }
  info.has_default = param.default_value != nullptr;
  if (info.has_default) info.default_text = source_text(cx, param.default_value->span);
  return info;
}

// The call of `main` with what the command line gives.
struct MainCall {
  Context& cx;
  const ast::Function& decl;
  typed::Block& block;
  bool is_fine = true; // so far: nothing is reported
  Bindings bindings{};
  DefaultNames default_names{};
  std::deque<Arg> args{};
  std::vector<Arg*> by_param{}; // what a default may refer to
  std::vector<ExprPtr> values{};
  std::set<std::string> sizes{}; // that a parameter has named

  void add_params();
  void add(size_t i);
  void add_file(const ast::Param& param);
  bool can_be_given(const WrittenParam& written);
  Type given_type(const WrittenParam& written);
  ExprPtr list_of_given(const WrittenParam& written, ExprPtr given, typed::Block& into);
  ExprPtr given_or_default(size_t i, const WrittenParam& written, typed::EntryParam& entry);
  void finish();
};

void MainCall::add_params() {
  by_param.resize(decl.params.size(), nullptr);
  bindings.params.resize(decl.params.size());
  for (size_t i = 0; i < decl.params.size(); ++i)
    add(i);
}

void MainCall::add(size_t i) {
  const ast::Param& param = decl.params[i];
  const WrittenParam written(param);
  if (written.is_of_file(cx)) return add_file(param);
  if (!can_be_given(written)) return;
  typed::EntryParam entry;
  Type type = given_type(written);
  if (param.default_value && type.rank()) {
    error(cx, "NotSupported", param.default_value->span,
          "a default for a tensor of the command line is not supported yet");
    is_fine = false;
    return;
  }
  entry.var = new_variable(cx, param.name.text, type, false, param.name.span);
  if (type.is_scalar() && type.dtype == DType::I64) bind_atom(cx, entry.var);
  ExprPtr value;
  if (param.default_value)
    value = given_or_default(i, written, entry);
  else if (written.is_list)
    value = shared(cx, list_of_given(written, variable_value(cx, entry.var, param.name.span), block), block);
  else
    value = variable_value(cx, entry.var, param.name.span);
  cx.program.entry_params.push_back(entry);
  cx.program.interface.params.push_back(written.info(cx));
  values.push_back(copy_simple(*value));
  Arg arg;
  arg.name = param.name.text;
  arg.span = param.name.span;
  arg.value = std::move(value);
  args.push_back(std::move(arg));
  by_param[i] = &args.back();
}

void MainCall::add_file(const ast::Param& param) {
  ExprPtr value = main_file(cx, param, sizes);
  if (value->type.is_error())
    is_fine = false;
  else
    values.push_back(std::move(value));
}

bool MainCall::can_be_given(const WrittenParam& written) {
  if (written.is_of_command_line()) return true;
  const Span span = written.param.type->span;
  error(cx, "TypeMismatch", span, fmt::format("a command line cannot give a value of type `{}`", source_text(cx, span)),
        "it can give scalars, text, lists of those, tensors, and structs and lists of tensors");
  is_fine = false;
  return false;
}

// What the command line gives: text for a list, a tensor of any sizes.
Type MainCall::given_type(const WrittenParam& written) {
  Type type = written.is_list ? Type::str() : written.scalar_type();
  const std::vector<ast::Expr*>& dims = written.named->dims;
  for (size_t k = 0; k < dims.size(); ++k) {
    auto* bare = ast::as<ast::Name>(dims[k]);
    std::string size = bare && sizes.insert(bare->name).second
                           ? bare->name
                           : fmt::format("axis {} of `{}`", k, written.param.name.text);
    type.shape.push_back(Size::of(size_atom(cx, AtomKind::Fresh, size, dims[k]->span)));
  }
  return type;
}

ExprPtr MainCall::list_of_given(const WrittenParam& written, ExprPtr given, typed::Block& into) {
  return main_list(cx, std::move(given), written.is_str ? std::nullopt : written.dtype, into);
}

// Held by a variable, so that sizes and later defaults can refer to it.
ExprPtr MainCall::given_or_default(size_t i, const WrittenParam& written, typed::EntryParam& entry) {
  const std::string& name = written.param.name.text;
  const Span span = written.param.name.span;
  const Type type = written.is_list ? Type::list(written.scalar_type()) : written.scalar_type();
  ExprPtr given = variable_value(cx, entry.var, span);
  entry.given = new_variable(cx, name + "?", Type::scalar(DType::Bool), false, span);
  ExprPtr otherwise = default_value(cx, *cx.main, i, by_param, bindings, default_names, block);
  otherwise = coerce(cx, std::move(otherwise), type, fmt::format("the default of `{}`", name));
  if (otherwise->type.is_error()) is_fine = false;
  auto choice = make_expr(typed::IfExpr{}, span, type);
  choice->operands.push_back(variable_value(cx, entry.given, span));
  auto& branches = choice->as<typed::IfExpr>();
  branches.then_block.result =
      written.is_list ? list_of_given(written, std::move(given), branches.then_block) : std::move(given);
  branches.else_block.result = std::move(otherwise);
  VarId held = new_variable(cx, name, type, false, span);
  if (type.is_scalar() && type.dtype == DType::I64) bind_atom(cx, held);
  block.statements.push_back(let_variable(held, std::move(choice), span));
  return variable_value(cx, held, span);
}

void MainCall::finish() {
  InstanceId id = entry_instance(cx, *cx.main, bindings);
  if (has_function(cx, cx.instances.states[id.index].signature.result)) {
    error(cx, "TypeMismatch", decl.name.span,
          "`main` gives its result to the command line, and a function is no such value");
    return;
  }
  block.result =
      finish_call(cx, *cx.main, cx.instances.states[id.index].signature, std::move(values), decl.name.span, id);
  if (!block.result->type.is_error()) main_results(cx, block);
  finalize(cx, block);
}

} // namespace

FunctionInfo* main_function(Context& cx) {
  auto it = cx.names.file->names.find("main");
  if (it == cx.names.file->names.end() || it->second.kind != Entity::Kind::Function) return nullptr;
  return it->second.function;
}

void check_main(Context& cx, const ast::File& file) {
  cx.program.interface.doc = file.doc;
  cx.main = main_function(cx);
  if (!cx.main) return;
  const ast::Function& decl = *cx.main->decl;
  if (cx.program.interface.doc.empty()) cx.program.interface.doc = decl.doc;
  if (!has_known_types(cx, *cx.main, "`main` is the command line")) return;
  SaveAndRestore scope(cx.names.scope, cx.names.file);
  push_scope(cx);
  MainCall call{cx, decl, cx.program.main_call};
  call.add_params();
  if (call.is_fine) call.finish();
}

} // namespace tl::checker
