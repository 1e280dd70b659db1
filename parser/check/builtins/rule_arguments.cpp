// How the rule of a built-in function reads its arguments: which parameter each is for, and what it has to be.
#include "parser/check/builtins/rules.h"
#include "parser/check/calls.h"
#include "parser/check/expressions.h"
#include "parser/check/foreign_names.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

constexpr const char* kSayConstant =
    "write a literal or a const; a parameter is known at each call if it has no type, and a constant as its "
    "default: `fn f(x, axis = 0)`";

void Rule::fail(const std::string& kind, Span at, const std::string& message, const std::string& hint) {
  ok = false;
  error(cx, kind, at, message, hint);
}

// Puts the arguments in the places of one declaration; reports what does not fit, if asked.
bool Rule::arrange(const ast::Function& declared, bool reported) {
  auto wrong = [&](Span at, const std::string& message, const std::string& hint = {}) {
    if (reported) fail("WrongArguments", at, message, hint);
    return false;
  };
  const std::string is = fmt::format("it is {}", signature_of(cx, builtin));
  std::vector<std::string> names;
  size_t positional = SIZE_MAX;
  std::string rest_name;
  bool takes_rest = false;
  for (const ast::Param& param : declared.params) {
    if (!param.is_rest) {
      names.push_back(param.name.text);
      continue;
    }
    positional = names.size();
    takes_rest = !param.name.empty();
    rest_name = param.name.text;
  }
  positional = std::min(positional, names.size());
  by.assign(names.size(), nullptr);
  rest.clear();
  size_t index = 0;
  // An element type at the end is T, whatever was left out before it: `uniform(k, [n], f64)`.
  Arg* element = nullptr;
  if (!args.empty() && !names.empty() && names.back() == "T" && args.back().name.empty()) {
    Arg& last = args.back();
    auto known = last.constant ? last.constant : last.source ? static_of(cx, last.source) : std::nullopt;
    if (known && known->kind == Static::Kind::Element) element = &last;
  }
  for (Arg& arg : args) {
    if (&arg == element) {
      if (by.back()) return wrong(arg.span, "`T` is given twice");
      by.back() = &arg;
      continue;
    }
    if (arg.name.empty() && index < positional) {
      if (!reported && names[index] == "T") return false; // it is no element type: another declaration may fit
      by[index++] = &arg;
      continue;
    }
    if (takes_rest && (arg.name.empty() || arg.name == rest_name)) {
      rest.push_back(&arg);
      continue;
    }
    if (arg.name.empty())
      return wrong(arg.span,
                   fmt::format("`{}` takes {} argument{} by position", name, positional, positional == 1 ? "" : "s"),
                   reported ? hint_for_position(arg, index < names.size() ? names[index] : "") : "");
    auto it = std::find(names.begin(), names.end(), arg.name);
    if (it == names.end()) {
      std::string hint = is;
      if (const std::string own = own_parameter(arg.name, names); !own.empty())
        hint =
            own == "T" ? "the element type is the last argument: `zeros([n], f64)`" : fmt::format("write `{} = `", own);
      else if (const std::string form = foreign_form(name, arg.name); !form.empty())
        hint = form;
      return wrong(arg.name_span, fmt::format("`{}` has no parameter `{}`", name, arg.name), hint);
    }
    Arg*& slot = by[static_cast<size_t>(it - names.begin())];
    if (slot) return wrong(arg.name_span, fmt::format("`{}` is given twice", arg.name));
    slot = &arg;
  }
  size_t i = 0;
  for (const ast::Param& param : declared.params) {
    if (param.is_rest) {
      if (takes_rest && rest.empty())
        return wrong(span, fmt::format("`{}` needs an argument for `{}`", name, rest_name), is);
    } else if (!by[i++] && !param.default_value) {
      return wrong(span, fmt::format("`{}` needs an argument for `{}`", name, param.name.text), is);
    }
  }
  return true;
}

// What to write for an argument that goes by name.
std::string Rule::hint_for_position(const Arg& arg, const std::string& next) {
  auto known = arg.source ? static_of(cx, arg.source) : std::nullopt;
  if ((builtin == Builtin::Concat || builtin == Builtin::Stack) && !known) {
    std::string all;
    for (const Arg& one : args)
      if (one.name.empty()) all += (all.empty() ? "" : ", ") + source_text(cx, one.span);
    return fmt::format("the tensors to join go in one tuple: `{}(({}))`", name, all);
  }
  if (next == "axis") return fmt::format("an axis is given by name: `axis = {}`", source_text(cx, arg.span));
  if (builtin == Builtin::Reshape || builtin == Builtin::Permute) {
    std::string numbers;
    for (size_t i = 1; i < args.size(); ++i)
      if (args[i].name.empty()) numbers += (numbers.empty() ? "" : ", ") + source_text(cx, args[i].span);
    return fmt::format("{} are written in brackets: `{}({}, [{}])`", builtin == Builtin::Reshape ? "sizes" : "axes",
                       name, args[0].span.valid() ? source_text(cx, args[0].span) : "x", numbers);
  }
  return fmt::format("it is {}", signature_of(cx, builtin));
}

bool Rule::bind(size_t overload) {
  const std::vector<const ast::Stmt*>& declared = checker::declared(cx, builtin);
  if (overload == kAnyOverload)
    for (overload = 0; overload + 1 < declared.size() && !arrange(*ast::as<ast::Function>(declared[overload]), false);)
      ++overload;
  this->overload = overload;
  return arrange(*ast::as<ast::Function>(declared.at(overload)), true);
}

ExprPtr Rule::value(size_t i, const Type* expected) {
  ExprPtr v = by[i]->value ? std::move(by[i]->value) : check_value(cx, by[i]->source, expected);
  refresh(cx, *v);
  ok = ok && !v->type.is_error();
  return v;
}

ExprPtr Rule::tensor(size_t i) {
  ExprPtr v = value(i);
  if (ok && !v->type.is_tensor())
    fail("TypeMismatch", v->span, fmt::format("`{}` takes a tensor, not {}", name, show(cx, v->type)),
         stack_hint(cx, v->type, v->span));
  return v;
}

ExprPtr Rule::indices(size_t i) {
  ExprPtr v = tensor(i);
  if (!ok) return v;
  cx.open.settle(v->type);
  if (!is_int(v->type.dtype))
    fail("TypeMismatch", v->span, fmt::format("`{}` takes integers, not {}", name, show(cx, v->type)));
  else
    v = positions(cx, std::move(v));
  return v;
}

ExprPtr Rule::key(size_t i) {
  ExprPtr v = tensor(i);
  if (ok && (!v->type.is_scalar() || v->type.open || v->type.dtype != DType::Key))
    fail("TypeMismatch", v->span, fmt::format("`{}` takes a random key, not {}", name, show(cx, v->type)),
         "`key(0)` makes one");
  return v;
}

std::optional<Static> Rule::constant(size_t i) {
  if (by[i]->constant) return by[i]->constant;
  return by[i]->source ? static_of(cx, by[i]->source) : std::nullopt;
}

bool Rule::flag(size_t i) {
  if (!has(i)) return false;
  auto known = constant(i);
  if (known && known->kind == Static::Kind::Bool) return known->number != 0;
  fail("NotConstant", by[i]->span, fmt::format("this argument of `{}` is the constant true or false", name));
  return false;
}

int64_t Rule::number(size_t i, int64_t otherwise) {
  if (!has(i)) return otherwise;
  auto known = constant(i);
  if (known && known->kind == Static::Kind::Int) return known->number;
  fail("NotConstant", by[i]->span, fmt::format("this argument of `{}` is a constant integer", name));
  return otherwise;
}

std::vector<int64_t> Rule::axes(size_t i, size_t rank) {
  std::vector<int64_t> result;
  auto n = static_cast<int64_t>(rank);
  std::optional<Static> known = has(i) ? constant(i) : Static{};
  if (known && known->kind == Static::Kind::None) {
    for (int64_t k = 0; k < n; ++k)
      result.push_back(k);
    return result;
  }
  std::vector<Static> list;
  if (known && known->kind == Static::Kind::Tuple)
    list = known->elements;
  else if (known)
    list = {*known};
  if (!known) {
    const bool is_list = by[i]->source && ast::as<ast::ListLiteral>(by[i]->source);
    const std::string text = is_list ? source_text(cx, by[i]->span) : "";
    fail("NotConstant", by[i]->span, "an axis must be known when the program is compiled",
         is_list ? fmt::format("axes are a tuple: `({})`", text.substr(1, text.size() - 2))
                 : std::string(kSayConstant));
    return result;
  }
  for (const Static& one : list) {
    if (one.kind != Static::Kind::Int) {
      fail("TypeMismatch", by[i]->span, "an axis is an integer, or a tuple of integers");
      return result;
    }
    int64_t axis = one.number < 0 ? one.number + n : one.number;
    if (axis < 0 || axis >= n) {
      fail("WrongAxis", by[i]->span,
           fmt::format("there is no axis {}: the tensor has {} ax{}", one.number, n, n == 1 ? "is" : "es"));
      return result;
    }
    if (std::find(result.begin(), result.end(), axis) != result.end()) {
      fail("WrongAxis", by[i]->span, fmt::format("axis {} is given twice", one.number));
      return result;
    }
    result.push_back(axis);
  }
  std::sort(result.begin(), result.end());
  return result;
}

int64_t Rule::axis(size_t i, size_t rank, int64_t otherwise) {
  int64_t axis = number(i, otherwise);
  auto n = static_cast<int64_t>(rank);
  if (!ok) return 0;
  int64_t wrapped = axis < 0 ? axis + n : axis;
  if (wrapped < 0 || wrapped >= n) {
    fail("WrongAxis", has(i) ? by[i]->span : span,
         fmt::format("there is no axis {}: the tensor has {} ax{}", axis, n, n == 1 ? "is" : "es"));
    return 0;
  }
  return wrapped;
}

std::optional<DType> Rule::element(size_t i) {
  if (!has(i)) return std::nullopt;
  auto known = constant(i);
  if (known && known->kind == Static::Kind::Element) return known->dtype;
  const auto* written = ast::as<ast::Name>(by[i]->source);
  std::string hint = written ? foreign_hint(written->name).value_or("") : "";
  if (builtin == Builtin::Eye && known && known->kind == Static::Kind::Int)
    hint = "one with other numbers of rows and columns: `[i64(i == j) for i in 0..n, j in 0..m]`";
  fail("TypeMismatch", by[i]->span, fmt::format("the last argument of `{}` is an element type like `f64`", name), hint);
  return std::nullopt;
}

} // namespace tl::checker
