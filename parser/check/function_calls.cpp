// Calls of functions by name: the instance that a call needs, its sizes solved from the arguments, the node.
#include "parser/check/function_calls.h"
#include "parser/check/arguments.h"
#include "parser/check/calls.h"
#include "parser/check/derive.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/instances.h"
#include "parser/check/lists.h"
#include "parser/check/modules.h"
#include "parser/check/names.h"
#include "parser/check/program.h"
#include "parser/check/sizes.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

// A call: its arguments by parameter, and what they say of a generic function.
struct FunctionCall {
  Context& cx;
  FunctionInfo& info;
  std::vector<Arg> args;
  const Span span;
  const ast::Function& decl = *info.decl;
  Bindings bindings{};
  std::vector<Arg*> by_param{};
  std::deque<Arg> defaults{}; // arguments that are not written
  DefaultNames default_names{};
  typed::Block before{};
  bool takes_closure = info.wraps != nullptr;

  ExprPtr check(const Type* expected);
  // These return false where something is wrong, which they have reported.
  bool check_args();
  bool learn_from_args();
  bool learn_from(size_t i);
  bool learn_function(size_t i);
  bool learn_typed(size_t i);
  bool learn_untyped(size_t i);
  bool learn_type_params();
  void hold_function(Arg& arg);
  bool settle_types();
  bool know_result(InstanceId id);
  ExprPtr make_node(std::vector<ExprPtr> values);
  ExprPtr make_pending(std::vector<ExprPtr> values);
};

bool is_function(const Arg& arg) { return !arg.value && arg.constant && arg.constant->kind == Static::Kind::Function; }

ExprPtr FunctionCall::check(const Type* expected) {
  if (!check_args() || !learn_from_args() || !learn_type_params()) return broken(span);
  // A generic call whose element type is still open gets its instance when that is known, if the result is declared.
  const bool open = settle_types();
  std::vector<ExprPtr> values;
  for (size_t i = 0; i < by_param.size(); ++i)
    if (!bindings.params[i].constant) values.push_back(std::move(by_param[i]->value));
  if (info.is_closure && !decl.result && expected) bindings.result = cx.open.resolved(*expected);
  bindings.exact = (info.is_closure || takes_closure) && !is_called_deeply(cx, info);
  if (bindings.exact && takes_closure) exact_sizes(cx, info, bindings, values, span);
  SaveAndRestore scope(cx.names.scope, info.env);
  if (decl.result && returns_function(cx, decl.result))
    return expand_call(cx, info, bindings, std::move(values), span, before);
  return open ? make_pending(std::move(values)) : make_node(std::move(values));
}

// The values of the arguments that are written, and which parameter each is for.
bool FunctionCall::check_args() {
  size_t position = 0;
  for (Arg& arg : args) {
    const ast::Param* param = nullptr;
    if (!arg.name.empty()) {
      for (const ast::Param& p : decl.params)
        if (p.name.text == arg.name) param = &p;
    } else if (position < decl.params.size()) {
      param = &decl.params[position++];
    }
    std::optional<Type> list = param && !arg.value ? list_type(cx, param->type, info.env) : std::nullopt;
    check_arg(cx, arg, list ? &*list : nullptr);
  }
  bool ok = true;
  by_param = arrange(cx, info, args, span, ok);
  for (const Arg& arg : args)
    ok = ok && !(arg.value && arg.value->type.is_error());
  return ok;
}

// What is written comes first: defaults may depend on it.
bool FunctionCall::learn_from_args() {
  bindings.params.resize(by_param.size());
  for (size_t i = 0; i < by_param.size(); ++i)
    if (by_param[i] && !learn_from(i)) return false;
  for (size_t i = 0; i < by_param.size(); ++i) {
    if (by_param[i]) continue;
    Arg arg;
    arg.span = span;
    SaveAndRestore scope(cx.names.scope, info.env);
    arg.constant = static_of(cx, decl.params[i].default_value);
    if (arg.constant && arg.constant->kind == Static::Kind::String && !is_library(cx, decl.name.span.file))
      arg.constant.reset();
    if (decl.params[i].type || !arg.constant)
      arg.value = default_value(cx, info, i, by_param, bindings, default_names, before);
    if (arg.value && arg.value->type.is_error()) return false;
    defaults.push_back(std::move(arg));
    by_param[i] = &defaults.back();
    if (!learn_from(i)) return false;
  }
  return true;
}

bool FunctionCall::learn_from(size_t i) {
  Arg& arg = *by_param[i];
  if (arg.value && arg.value->type.is_function() && arg.value->type.function && !(arg.value->type.function & kWritten))
    hold_function(arg);
  if (arg.value && has_function(cx, arg.value->type)) {
    bindings.params[i].type = arg.value->type;
    takes_closure = takes_closure || has_closure(cx, arg.value->type);
  }
  takes_closure = takes_closure || (is_function(arg) && is_closure(*arg.constant));
  const ast::TypeExpr* type = decl.params[i].type;
  if (!type) return learn_untyped(i);
  return ast::as<ast::FunctionType>(type) ? learn_function(i) : learn_typed(i);
}

// An argument that is a function is known while compiling; what it is computed by is evaluated before the call.
void FunctionCall::hold_function(Arg& arg) {
  arg.constant = function_of(cx, arg.value->type);
  evaluate_function(std::move(arg.value), arg.span, before);
}

// For a parameter of function type.
bool FunctionCall::learn_function(size_t i) {
  Arg& arg = *by_param[i];
  const ast::Param& param = decl.params[i];
  bool fits = is_function(arg);
  if (arg.constant && arg.constant->kind == Static::Kind::Element) {
    arg.constant = conversion_function(arg.constant->dtype);
    fits = true;
  }
  bindings.params[i].constant = arg.constant;
  bindings.params[i].span = arg.span;
  if (fits) {
    // Does it take as many arguments?
    SaveAndRestore scope(cx.names.scope, info.env);
    (void)under_type(cx, *arg.constant, written_function(cx, *ast::as<ast::FunctionType>(param.type)).function,
                     arg.span, fits);
    return fits;
  }
  error(cx, "TypeMismatch", arg.span,
        fmt::format("`{}` of `{}` is {}, and `{}` is {}", param.name.text, decl.name.text,
                    source_text(cx, param.type->span), source_text(cx, arg.span),
                    arg.value ? show(cx, arg.value->type) : to_string(*arg.constant)),
        "a lambda is written `|x| x + 1`");
  return false;
}

bool FunctionCall::learn_typed(size_t i) {
  Arg& arg = *by_param[i];
  const ast::Param& param = decl.params[i];
  if (arg.value) return infer_type(cx, param.type, refresh(cx, *arg.value), info, bindings, arg, param.name.text);
  error(cx, "TypeMismatch", arg.span,
        fmt::format("`{}` of `{}` has to be {}, and this is {}", param.name.text, decl.name.text,
                    source_text(cx, param.type->span),
                    arg.constant && arg.constant->kind == Static::Kind::None ? "none" : source_text(cx, arg.span)));
  return false;
}

// For a parameter without a type.
bool FunctionCall::learn_untyped(size_t i) {
  Arg& arg = *by_param[i];
  // A text is a constant to the library alone: not every message makes another instance of the user's function.
  const bool is_text = arg.constant && arg.constant->kind == Static::Kind::String;
  if (is_text && !is_library(cx, decl.name.span.file)) arg.constant.reset();
  if (arg.constant && (!arg.value || decl.params[i].default_value)) {
    bindings.params[i].constant = arg.constant;
  } else if (arg.value) {
    if (i < info.elements.size()) take_elements(cx, *arg.value, info.elements[i]);
    cx.open.settle(arg.value->type);
    if (has_range(cx, arg.value->type) || arg.value->type.is_unit()) {
      error(cx, "NotSupported", arg.span, fmt::format("{} cannot be an argument", show(cx, arg.value->type)));
      return false;
    }
    bindings.params[i].type = arg.value->type;
  }
  return true;
}

// Type parameters that no argument tells have a default.
bool FunctionCall::learn_type_params() {
  for (const ast::TypeParam& p : decl.type_params)
    if (!bindings.types.count(p.name.text) && p.default_type) {
      DimContext context;
      SaveAndRestore scope(cx.names.scope, info.env);
      bindings.types[p.name.text] = type_of(cx, p.default_type, context);
    }
  for (const ast::TypeParam& p : decl.type_params)
    if (!bindings.types.count(p.name.text)) {
      error(cx, "WrongArguments", span,
            fmt::format("the arguments of `{}` do not tell the type {}", decl.name.text, p.name.text));
      return false;
    }
  return true;
}

// Is one of the types still open?
bool FunctionCall::settle_types() {
  bool open = false;
  for (auto& [name, type] : bindings.types) {
    if (!decl.result) cx.open.settle(type);
    type = cx.open.resolved(type);
    open = open || type.open;
  }
  return open;
}

// A result that is not declared, or sizes of it, are known when the instance has been checked.
bool FunctionCall::know_result(InstanceId id) {
  if (cx.instances.states[id.index].signature.has_result) return true;
  if (cx.instances.states[id.index].stage == InstanceState::Stage::Running && decl.result) {
    error(cx, "UnboundSize", span,
          fmt::format("`{}` calls itself, so the sizes of its result have to be written", decl.name.text),
          write_sizes_hint(cx, cx.instances.states[id.index].signature.result),
          {{decl.result->span, "a list in it has sizes that are left open"}});
    return false;
  }
  if (cx.instances.states[id.index].stage == InstanceState::Stage::Running) {
    error(cx, "TypeMismatch", span, fmt::format("`{}` calls itself, so it needs a result type", decl.name.text),
          decl.name.text.starts_with("|")
              ? "declare it: `fn f(…) -> T`"
              : fmt::format("write `fn {0}(…) -> T`, and `fn {0}(…) -> ()` where it gives nothing", decl.name.text),
          {{decl.name.span, "declared without a result type"}});
    return false;
  }
  check_instance(cx, id);
  return true;
}

ExprPtr FunctionCall::make_node(std::vector<ExprPtr> values) {
  InstanceId id = instance_for(cx, info, bindings, span);
  if (!know_result(id)) return broken(span);
  if (has_function(cx, cx.instances.states[id.index].signature.result))
    return expand_call(cx, info, bindings, std::move(values), span, before);
  if (cx.function->is_top_level) cx.instances.top_level_calls.push_back({id, span, cx.instances.bound_at_top_level()});
  if (cx.in_const) cx.instances.const_calls.push_back({id, span});
  ExprPtr node = finish_call(cx, info, cx.instances.states[id.index].signature, std::move(values), span, id);
  return in_block(std::move(before), std::move(node), span);
}

// A call that gets its instance later.
ExprPtr FunctionCall::make_pending(std::vector<ExprPtr> values) {
  Signature provisional = make_signature(cx, info, bindings, span);
  if (!provisional.has_result) {
    for (auto& [name, type] : bindings.types) {
      cx.open.settle(type);
      type = cx.open.resolved(type);
    }
    return make_node(std::move(values));
  }
  ExprPtr node = finish_call(cx, info, provisional, std::move(values), span, {});
  if (auto* call = node->get_if<typed::CallExpr>()) {
    call->pending = static_cast<uint32_t>(cx.function->calls.size());
    cx.function->calls.push_back({node.get(), &info, bindings, cx.instances.bound_at_top_level(), cx.in_const});
  }
  return in_block(std::move(before), std::move(node), span);
}

} // namespace

ExprPtr call_function(Context& cx, FunctionInfo& info, std::vector<Arg> args, Span span, const Type* expected) {
  return FunctionCall{cx, info, std::move(args), span}.check(expected);
}

// Where `f32[2*n]` is written and n is known now: an argument that is provably of another size is refused in these
// words.
static bool fits_solved(Context& cx, const Type& written, const Type& actual, const std::map<AtomId, Size>& known,
                        const std::string& what, const typed::Expr& arg) {
  for (size_t k = 0; k < written.shape.size() && k < actual.shape.size(); ++k) {
    const Size& size = written.shape[k];
    if (size.is_constant() || size.as_atom()) continue;
    if (compare(cx, cx.program.atoms.substitute(size, known), actual.shape[k]) != Compare::Different) continue;
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    std::set<std::string> values;
    for (AtomId atom : atoms)
      if (auto it = known.find(atom); it != known.end())
        values.insert(fmt::format("{} = {}", cx.program.atoms[atom].name, show(cx, it->second)));
    error(cx, "ShapeMismatch", arg.span,
          fmt::format("{} has to be {}, and this is {}: axis {} is {}, not {} with {}", what, show(cx, written),
                      show(cx, actual), k, show(cx, actual.shape[k]), show(cx, size), fmt::join(values, " and ")),
          "", {label_of(cx, arg)});
    return false;
  }
  return true;
}

// Are all tensors in it of the ranks that are wanted? Otherwise sizes cannot be solved, and `coerce` says why.
static bool has_same_ranks(const Type& wanted, const Type& actual) {
  if (wanted.rank() != actual.rank()) return false;
  if (wanted.is_list() || wanted.is_function() || (wanted.elements.empty() && actual.elements.empty())) return true;
  return wanted.kind == actual.kind && wanted.record == actual.record &&
         std::equal(wanted.elements.begin(), wanted.elements.end(), actual.elements.begin(), actual.elements.end(),
                    has_same_ranks);
}

// The sizes of a result that elements of these arguments tell, by the callee's atoms; they may have other sizes of the
// callee in them.
static std::map<AtomId, Size> told_by_elements(Context& cx, const Signature& signature,
                                               const std::vector<Signature::Param>& params,
                                               const std::vector<ExprPtr>& args) {
  std::map<AtomId, Size> told, elements;
  if (signature.told_by_elements.empty()) return told;
  std::set<AtomId> unknown;
  for (const ParameterElement& element : signature.elements) {
    const AtomId atom = cx.program.variables[element.variable.index].atom;
    const auto param =
        std::find_if(params.begin(), params.end(), [&](const auto& one) { return one.var == element.parameter; });
    const auto size = param == params.end()
                          ? std::nullopt
                          : element_size(cx, *args[static_cast<size_t>(param - params.begin())], element.index);
    if (size)
      elements[atom] = *size;
    else
      unknown.insert(atom);
  }
  for (const auto& [atom, size] : signature.told_by_elements) {
    std::vector<AtomId> mentioned;
    cx.program.atoms.collect(size, mentioned);
    if (std::none_of(mentioned.begin(), mentioned.end(), [&](AtomId one) { return unknown.contains(one); }))
      told[atom] = cx.program.atoms.substitute(size, elements);
  }
  return told;
}

// Solves the callee's sizes from the arguments, checks the arguments against the parameters, makes the node.
ExprPtr finish_call(Context& cx, FunctionInfo& info, const Signature& original, std::vector<ExprPtr> args, Span span,
                    InstanceId instance) {
  const Signature signature = original; // checking may make instances
  auto node = make_expr(typed::CallExpr{instance}, span, Type::error());
  std::vector<Signature::Param> params;
  std::vector<std::string> names;
  std::vector<const ast::TypeExpr*> written;
  for (size_t i = 0; i < signature.params.size(); ++i)
    if (signature.params[i].var.valid()) {
      params.push_back(signature.params[i]);
      names.push_back(info.decl->params[i].name.text);
      written.push_back(info.decl->params[i].type);
    }
  if (params.size() != args.size()) return node; // an instance that went wrong
  std::set<AtomId> unknown(signature.size_params.begin(), signature.size_params.end());
  std::map<AtomId, Size> known;
  // Which atoms do the shapes mention?
  std::vector<AtomId> mentioned;
  auto mention = [&](auto& self, const Type& type) -> void {
    for (const Size& size : type.shape)
      cx.program.atoms.collect(size, mentioned);
    for (const Type& element : type.elements)
      self(self, element);
  };
  for (const auto& param : params)
    mention(mention, param.type);
  mention(mention, signature.result);
  for (size_t i = 0; i < params.size(); ++i) {
    AtomId atom = cx.program.variables[params[i].var.index].atom;
    if (!atom.valid()) continue;
    args[i] = coerce(cx, std::move(args[i]), params[i].type,
                     fmt::format("argument `{}` of `{}`", names[i], info.decl->name.text));
    if (args[i]->type.is_error()) return node;
    if (auto size = size_of(cx, *args[i]))
      known[atom] = *size;
    else if (std::find(mentioned.begin(), mentioned.end(), atom) != mentioned.end()) {
      Span arg_span = args[i]->span;
      Size size = size_argument(cx, std::move(args[i]), *node, false, "");
      known[atom] = size;
      args[i] = size_expr(size, arg_span);
    }
  }
  std::vector<const Type*> param_types, arg_types;
  for (size_t i = 0; i < params.size(); ++i) {
    param_types.push_back(&params[i].type);
    arg_types.push_back(&refresh(cx, *args[i]));
  }
  solve_sizes(cx, param_types, arg_types, unknown, info.decl->name.text, span, known, node->checks);
  bool fine = true;
  for (AtomId atom : unknown)
    if (!known.count(atom)) {
      known[atom] = Size::of(atom); // only in a shape that cannot be solved, or where an argument does not fit
      bool fits = true, differs = false;
      for (size_t i = 0; i < params.size(); ++i) {
        fits = fits && has_same_ranks(params[i].type, args[i]->type);
        differs = differs || has_list(cx, params[i].type);
      }
      if (fits && differs) {
        error(cx, "UnboundSize", span,
              fmt::format("the size `{}` of `{}` cannot be inferred: each element of the list has sizes of its own",
                          cx.program.atoms[atom].name, info.decl->name.text),
              "write `_` for it in the parameter, if they may differ", {{cx.program.atoms[atom].origin, "named here"}});
        fine = false;
      } else if (fits) {
        fine = false; // said where the function is checked
      }
    }
  const std::map<AtomId, Size> told = told_by_elements(cx, signature, params, args);
  for (size_t i = 0; i < params.size() && fine; ++i)
    fine = fits_solved(cx, params[i].type, args[i]->type, known,
                       fmt::format("argument `{}` of `{}`", names[i], info.decl->name.text), *args[i]);
  if (!fine) return node;
  for (size_t i = 0; i < params.size(); ++i) {
    args[i] = coerce(cx, std::move(args[i]), substitute(cx, params[i].type, known),
                     fmt::format("argument `{}` of `{}`", names[i], info.decl->name.text), written[i]);
    fine = fine && !args[i]->type.is_error();
    node->operands.push_back(std::move(args[i]));
  }
  for (AtomId atom : signature.size_params)
    node->as<typed::CallExpr>().size_args.push_back(known[atom]);
  std::map<AtomId, Size> with_result = known;
  for (const auto& fresh : signature.result_atoms) {
    if (auto size = told.find(fresh.atom); size != told.end()) {
      with_result[fresh.atom] = cx.program.atoms.substitute(size->second, known);
      continue;
    }
    SizeAtom atom = cx.program.atoms[fresh.atom];
    atom.kind = AtomKind::Fresh;
    atom.name = fmt::format("axis {} of `{}`", fresh.axis,
                            source_text(cx, span).size() <= 30 ? source_text(cx, span) : info.decl->name.text + "(…)");
    atom.origin = span;
    AtomId id = cx.program.atoms.add(std::move(atom));
    with_result[fresh.atom] = Size::of(id);
    node->fresh.push_back({id, fresh.path, fresh.axis});
  }
  if (fine) node->type = cx.open.resolved(substitute(cx, signature.result, with_result));
  return node;
}

} // namespace tl::checker
