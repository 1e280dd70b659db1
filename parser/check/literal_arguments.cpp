#include "parser/check/literal_arguments.h"
#include "parser/check/arguments.h"
#include "parser/check/expressions.h"
#include "parser/check/names.h"
#include <algorithm>

namespace tl::checker {
namespace {

constexpr int kMostRetries = 2;     // of calls one in the other: each multiplies the work
constexpr size_t kMostElements = 3; // element types of other arguments that are tried

// 1.5, -1, pi, 1.0 / 3.0, [1.5, 2.5], (1.5, [2]); or a name that may stand for one
bool may_be_literal(const ast::Expr* e) {
  auto all = [](const std::vector<ast::Expr*>& parts) {
    return !parts.empty() && std::all_of(parts.begin(), parts.end(), may_be_literal);
  };
  if (const auto* list = ast::as<ast::ListLiteral>(e)) return all(list->elements);
  if (const auto* tuple = ast::as<ast::Tuple>(e)) return all(tuple->elements);
  if (const auto* unary = ast::as<ast::Unary>(e)) return may_be_literal(unary->operand);
  if (const auto* binary = ast::as<ast::Binary>(e))
    return may_be_literal(binary->left) && may_be_literal(binary->right);
  return ast::as<ast::FloatLiteral>(e) || ast::as<ast::IntLiteral>(e) || ast::as<ast::Name>(e);
}

// The defaults that take part as if they were written: floats, of parameters without a type.
std::vector<Arg> literal_defaults(const Callable& callable, const std::vector<Arg>& args) {
  std::vector<Arg> result;
  if (callable.functions.size() != 1 || callable.transformed) return result;
  const std::vector<ast::Param>& params = callable.functions[0]->decl->params;
  if (std::any_of(params.begin(), params.end(), [](const ast::Param& p) { return p.is_rest; })) return result;
  const auto positional =
      static_cast<size_t>(std::count_if(args.begin(), args.end(), [](const Arg& arg) { return arg.name.empty(); }));
  auto is_float = [](const ast::Expr* e) {
    const auto* minus = ast::as<ast::Unary>(e);
    return ast::as<ast::FloatLiteral>(minus ? minus->operand : e) != nullptr;
  };
  for (size_t i = positional; i < params.size(); ++i) {
    const ast::Param& p = params[i];
    const bool given = std::any_of(args.begin(), args.end(), [&](const Arg& arg) { return arg.name == p.name.text; });
    if (!given && !p.type && p.default_value && is_float(p.default_value))
      result.push_back({p.name.text, p.default_value, p.default_value->span, p.name.span, nullptr, {}});
  }
  return result;
}

// Does a function without types get a literal here, whose type only the function's body tells?
bool body_tells_literals(const Callable& callable, const std::vector<Arg>& args) {
  bool untyped = callable.transformed != nullptr, any = false;
  for (const FunctionInfo* function : callable.functions)
    for (const ast::Param& param : function->decl->params)
      untyped = untyped || !param.type;
  for (const Arg& arg : args) {
    if (arg.value || !arg.source) return false;
    untyped = untyped || ast::as<ast::Lambda>(arg.source);
    any = any || may_be_literal(arg.source);
  }
  return untyped && any;
}

std::vector<Arg> unchecked(const std::vector<Arg>& args) {
  std::vector<Arg> result;
  for (const Arg& arg : args)
    result.push_back({arg.name, arg.source, arg.span, arg.name_span, nullptr, arg.constant});
  return result;
}

// Calls f with each tensor in a value of this type.
template <class F> void for_tensors(const Type& type, const F& f) {
  if (type.is_tensor()) f(type);
  for (const Type& element : type.elements)
    for_tensors(element, f);
}

// What has gone wrong since then: is it about types? And not only that instances are not made for ever: with another
// type it does so again.
bool is_about_types(const Context& cx, const Snapshot& before) {
  bool types = false, depth = false;
  auto look = [&](const std::vector<Diagnostic>& reports, size_t from) {
    for (size_t i = from; i < reports.size(); ++i) {
      const std::string& kind = reports[i].kind;
      types = types || kind == "MixedTypes" || kind == "TypeMismatch" || kind == "WrongArguments";
      depth = depth || kind == "InstantiationDepth";
    }
  };
  look(cx.function->reports, before.reports);
  for (size_t i = before.instances; i < cx.instances.states.size(); ++i)
    look(cx.instances.states[i].reports, 0);
  return types && !depth;
}

// The literals of a call, and what they may be.
class Literals {
public:
  Literals(Context& cx, const std::vector<Arg>& written) : cx(cx), written(written) {
    for (const Arg& arg : written) { // what a variable is gets no type by a call that fails
      const auto* name = ast::as<ast::Name>(arg.source);
      const Entity* entity = name ? find(cx, name->name) : nullptr;
      if (!entity || entity->kind != Entity::Kind::Variable) continue;
      for_tensors(cx.open.resolved(cx.program.variables[entity->var.index].type), [&](const Type& type) {
        if (type.open) states.push_back(cx.open.state_of(type));
      });
    }
  }
  void forget() {
    for (const OpenTypes::State& state : states)
      cx.open.restore(state);
  }
  // None if an argument is wrong by itself.
  std::vector<LiteralChoice> choices();
  std::vector<Arg> as(const LiteralChoice& choice);

private:
  void take(typed::Expr& e, const LiteralChoice& choice);

  Context& cx;
  const std::vector<Arg>& written;
  std::vector<OpenTypes::State> states;
};

std::vector<LiteralChoice> Literals::choices() {
  std::vector<DType> others;
  bool has_float = false, has_integer = false;
  for (Arg& arg : unchecked(written)) {
    check_arg(cx, arg);
    if (!arg.value) continue;
    if (arg.value->type.is_error()) return {};
    for_tensors(refresh(cx, *arg.value), [&](const Type& type) {
      if (type.open) {
        (cx.open.kind_of(type) == LiteralKind::Int ? has_integer : has_float) = true;
      } else if ((is_num(type.dtype) || is_complex(type.dtype)) && others.size() < kMostElements &&
                 std::find(others.begin(), others.end(), type.dtype) == others.end()) {
        others.push_back(type.dtype);
      }
    });
  }
  others.insert(others.end(), {DType::F32, DType::F64});
  std::vector<LiteralChoice> result;
  auto add = [&](DType element, bool integers) {
    auto same = [&](const LiteralChoice& c) { return c.element == element && c.integers == integers; };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back({element, integers});
  };
  for (DType element : others) {
    const bool is_standard = element == (is_int(element) ? DType::I64 : DType::F32);
    if (!is_int(element) && has_float && !is_standard) add(element, false);
    if (has_integer && element != DType::I64) add(element, true);
  }
  return result;
}

void Literals::take(typed::Expr& e, const LiteralChoice& choice) {
  if (e.is<typed::TupleExpr>()) {
    for (size_t i = 0; i < e.operands.size(); ++i) {
      take(*e.operands[i], choice);
      e.type.elements[i] = e.operands[i]->type;
    }
  } else if (refresh(cx, e).open && (choice.integers || cx.open.kind_of(e.type) != LiteralKind::Int)) {
    (void)cx.open.unify(e.type, Type::scalar(choice.element));
    refresh(cx, e);
  }
}

std::vector<Arg> Literals::as(const LiteralChoice& choice) {
  std::vector<Arg> result = unchecked(written);
  for (Arg& arg : result)
    if (may_be_literal(arg.source)) {
      check_arg(cx, arg);
      if (arg.value) take(*arg.value, choice);
    }
  return result;
}

ExprPtr with_choices(Context& cx, std::vector<Arg> args, std::vector<Arg> defaults,
                     const std::function<ExprPtr(std::vector<Arg>)>& call) {
  const Snapshot before = snapshot(cx);
  const std::vector<Arg> plain = unchecked(args);
  std::vector<Arg> written = unchecked(args);
  std::move(defaults.begin(), defaults.end(), std::back_inserter(written));
  const ast::Expr* place = written[0].source;
  Literals literals(cx, written);
  auto again = [&] {
    rollback(cx, before);
    literals.forget();
  };
  if (const auto known = cx.literal_choices.find(place); known != cx.literal_choices.end()) {
    ExprPtr result = call(literals.as(known->second));
    if (!refresh(cx, *result).is_error()) return result;
    again();
  }
  ExprPtr result = call(std::move(args));
  if (cx.literal_retries == kMostRetries || !refresh(cx, *result).is_error() || !is_about_types(cx, before))
    return result;
  SaveAndRestore retries(cx.literal_retries, cx.literal_retries + 1);
  again();
  const std::vector<LiteralChoice> choices = literals.choices();
  for (const LiteralChoice& choice : choices) {
    again();
    result = call(literals.as(choice));
    if (refresh(cx, *result).is_error()) continue;
    cx.literal_choices.insert_or_assign(place, choice);
    return result;
  }
  again();
  return call(unchecked(plain)); // says what is wrong
}

} // namespace

ExprPtr with_literals(Context& cx, const Callable& callable, std::vector<Arg> args,
                      const std::function<ExprPtr(std::vector<Arg>)>& call) {
  std::vector<Arg> defaults = literal_defaults(callable, args);
  const bool has_value = std::any_of(args.begin(), args.end(), [](const Arg& arg) { return arg.value || !arg.source; });
  if (has_value) defaults.clear();
  if (args.empty() || (defaults.empty() && !body_tells_literals(callable, args))) return call(std::move(args));
  if (cx.literals_of == cx.function) return with_choices(cx, std::move(args), std::move(defaults), call);
  SaveAndRestore function(cx.literals_of, static_cast<const FunctionContext*>(cx.function));
  SaveAndRestore choices(cx.literal_choices, decltype(cx.literal_choices)());
  return with_choices(cx, std::move(args), std::move(defaults), call);
}

} // namespace tl::checker
