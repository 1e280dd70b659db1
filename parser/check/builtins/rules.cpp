// The rules of built-in functions: dispatch, reductions, effects.
#include "parser/check/builtins/rules.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/builders.h"
#include "parser/check/builtins/choose.h"
#include "parser/check/builtins/complex.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/einsum.h"
#include "parser/check/builtins/files.h"
#include "parser/check/builtins/linalg.h"
#include "parser/check/builtins/plot.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/builtins/sort.h"
#include "parser/check/calls.h"
#include "parser/check/derive.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/iteration.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/strings.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>
#include <sstream>

namespace tl::checker {

static ExprPtr reduction_rule(Context& cx, Rule& r);
static ExprPtr effect_rule(Context& cx, Rule& r);

static bool is_file_function(Builtin builtin) { return builtin >= Builtin::Load && builtin <= Builtin::WriteText; }

// `progress(xs)` where it is not what a `for` loop goes over.
static ExprPtr progress_rule(Context& cx, Rule& r) {
  error(cx, "WrongArguments", r.span, "`progress` is only for a `for` loop to iterate over",
        "like `for x in progress(xs) { … }`");
  for (Arg& arg : r.args)
    check_arg(cx, arg);
  return broken(r.span);
}

// Does it read what is known only when the program runs, or write files? Files that a const reads are read while
// checking.
static bool needs_run(Builtin builtin) {
  switch (builtin) {
  case Builtin::Time:
  case Builtin::Interrupted:
  case Builtin::ReadLine: return true;
  default:
    const bool reads = builtin >= Builtin::Load && builtin <= Builtin::ReadSafetensors && builtin != Builtin::Save;
    return is_file_function(builtin) && !reads;
  }
}

static ExprPtr transform_rule(Context& cx, Rule& r) { return transform_call(cx, r.builtin, std::move(r.args), r.span); }
static ExprPtr leaves_rule(Context& cx, Rule& r) {
  return call_leaves(cx, r.builtin == Builtin::Map, std::move(r.args), r.span);
}
static ExprPtr list_rule(Context& cx, Rule& r) { return list_call(cx, std::move(r.args), r.span, r.expected); }
static ExprPtr data_parallel_rule(Context& cx, Rule& r) { return data_parallel(cx, std::move(r.args), r.span); }

// The rule of each built-in function. Null, or r.ok is false, after an error.
using BuiltinRule = ExprPtr (*)(Context& cx, Rule& r);
static constexpr BuiltinRule kRules[] = {
#define TL_BUILTIN(Enum, name, acts, rule) rule##_rule,
#include "abi/ops.def"
};

ExprPtr builtin_call(Context& cx, Builtin builtin, std::vector<Arg> args, Span span, bool is_method,
                     const Type* expected) {
  if (cx.in_const && needs_run(builtin)) {
    error(cx, "NotConstant", span,
          fmt::format("a const must be known when the program is compiled, and `{}` runs with the program",
                      info(builtin).name),
          "write `let` in place of `const`");
    return broken(span);
  }
  Rule r{cx, builtin, std::string(info(builtin).name), span, is_method, args, expected};
  if (builtin == Builtin::Rank && args.empty()) r.builtin = Builtin::ProcessRank;
  ExprPtr result = kRules[static_cast<int>(r.builtin)](cx, r);
  return r.ok && result ? std::move(result) : broken(span);
}

static ExprPtr reduction_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  const bool scan = builtin >= Builtin::CumSum && builtin <= Builtin::CumMin;
  bool arg = builtin == Builtin::ArgMin || builtin == Builtin::ArgMax;
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::error());
  if (x->type.dtype == DType::Key && !x->type.open) {
    r.fail("TypeMismatch", x->span, fmt::format("`{}` takes numbers, not keys", r.name));
    return nullptr;
  }
  bool of_bools = false;
  switch (builtin) {
  case Builtin::Any:
  case Builtin::All:
    cx.open.settle(x->type);
    if (x->type.dtype != DType::Bool)
      r.fail("TypeMismatch", x->span, fmt::format("`{}` takes bools, not {}", r.name, show(cx, x->type)),
             fmt::format("write `{} != 0`", source_text(cx, x->span)));
    break;
  case Builtin::Mean:
    if (x->type.open && cx.open.kind_of(x->type) == LiteralKind::Int) cx.open.settle(x->type);
    if (!cx.open.is_complex(x->type) && !cx.open.constrain_float(x->type))
      r.fail("TypeMismatch", x->span, fmt::format("`mean` takes floats, not {}", show(cx, x->type)),
             fmt::format("write `{}({}).mean()`", usual_float(cx), source_text(cx, x->span)));
    break;
  case Builtin::Sum:
  case Builtin::Prod:
  case Builtin::CumSum:
  case Builtin::CumProd:
    if (x->type.open && cx.open.kind_of(x->type) == LiteralKind::Int) cx.open.settle(x->type);
    refresh(cx, *x);
    if (!x->type.open && !is_float(part_of(x->type.dtype)) && x->type.dtype != DType::I64 &&
        x->type.dtype != DType::U64)
      x = convert(cx, std::move(x), DType::I64);
    break;
  case Builtin::ReduceMin:
  case Builtin::ReduceMax:
  case Builtin::ArgMin:
  case Builtin::ArgMax:
  case Builtin::CumMax:
  case Builtin::CumMin:
    of_bools = !x->type.open && x->type.dtype == DType::Bool;
    if (of_bools) x = convert(cx, std::move(x), DType::U8); // false before true
    [[fallthrough]];
  default:
    if (!x->type.open && !is_num(x->type.dtype))
      r.fail("TypeMismatch", x->span, fmt::format("`{}` takes numbers, not {}", r.name, show(cx, x->type)));
    break;
  }
  if (!r.ok) return nullptr;
  refresh(cx, *x);
  node->type = x->type;
  if (scan) {
    node->as<typed::BuiltinExpr>().attrs = typed::AxisAttrs{r.axis(1, x->type.rank(), -1)};
  } else {
    bool single = arg && r.has(1);
    if (single) {
      auto known = r.constant(1);
      if (known && known->kind == Static::Kind::Tuple)
        r.fail("TypeMismatch", r.by[1]->span, fmt::format("`{}` takes one axis", r.name));
    }
    std::vector<int64_t> axes = r.axes(1, x->type.rank());
    const bool keep = !arg && r.flag(2);
    std::vector<Size> shape;
    for (size_t k = 0; k < x->type.rank(); ++k) {
      bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(k)) != axes.end();
      if (!reduced)
        shape.push_back(x->type.shape[k]);
      else if (keep)
        shape.push_back(1);
    }
    node->as<typed::BuiltinExpr>().attrs = typed::ReduceAttrs{std::move(axes), keep};
    node->type.shape = std::move(shape);
    if (arg) {
      cx.open.settle(x->type);
      node->type = Type::tensor(DType::I64, node->type.shape);
    }
  }
  node->operands.push_back(std::move(x));
  if (of_bools && !arg) return convert(cx, std::move(node), DType::Bool, r.span);
  return node;
}

static ExprPtr print_call(Context& cx, Rule& r) {
  auto line = new_interp(r.span);
  ExprPtr end;
  bool first = true, to_stderr = false;
  for (Arg& arg : r.args) {
    if (arg.name == "end") {
      end = take(cx, arg);
      if (!end->type.is_str() && !end->type.is_error())
        r.fail("TypeMismatch", arg.span, fmt::format("`end` is text, not {}", show(cx, end->type)));
      continue;
    }
    if (arg.name == "to") {
      auto* name = ast::as<ast::Name>(arg.source);
      to_stderr = name && name->name == "stderr";
      if (!to_stderr && !(name && name->name == "stdout"))
        r.fail("WrongArguments", arg.span, "`to` is `stdout` or `stderr`", "`write_text` writes files");
      continue;
    }
    if (!arg.name.empty()) {
      r.fail("WrongArguments", arg.name_span, fmt::format("`print` has no parameter `{}`", arg.name),
             arg.name == "sep" ? "put the text together: `print(\"{a}, {b}\")`" : "");
      return nullptr;
    }
    if (!first) append_text(*line, " ");
    first = false;
    append_value(cx, *line, take(cx, arg), "", arg.span);
  }
  if (end)
    append_value(cx, *line, std::move(end), "", r.span);
  else
    append_text(*line, "\n");
  if (line->type.is_error()) r.ok = false;
  auto node = make_expr(typed::BuiltinExpr{Builtin::Print, typed::PrintAttrs{to_stderr}}, r.span, Type::unit());
  node->operands.push_back(finish_interp(std::move(line)));
  return node;
}

// Tensors and text are shown by the op itself, with `text` as their name; what else there is by its leaves or as text.
static ExprPtr debug_call(Context& cx, ExprPtr x, Span span) {
  Type type = refresh(cx, *x);
  if (type.is_error()) return x;
  auto shown = [&](ExprPtr value, const std::string& name) {
    auto node = make_expr(typed::BuiltinExpr{Builtin::Debug, typed::DebugAttrs{name}}, span, refresh(cx, *value));
    node->operands.push_back(std::move(value));
    return node;
  };
  auto as_text = [&](ExprPtr value) {
    auto line = new_interp(span);
    append_value(cx, *line, std::move(value), "", span);
    return finish_interp(std::move(line));
  };
  const bool is_shown = !cx.open.is_complex(type) && (type.dtype != DType::Key || type.open);
  bool is_leaf = type.is_str() || (type.is_tensor() && is_shown);
  if (is_leaf) return shown(std::move(x), "");
  cx.open.settle(x->type);
  typed::Block before;
  std::shared_ptr<typed::Expr> held = shared(cx, std::move(x), before);
  auto statement = [&](ExprPtr value) {
    typed::Stmt s;
    s.span = span;
    s.value = std::move(value);
    before.statements.push_back(std::move(s));
  };
  if (type.is_aggregate() && !has_list(cx, type)) {
    std::vector<ExprPtr> whole;
    whole.push_back(copy_simple(*held));
    (void)rebuild(cx, std::move(whole), span, [&](const Type& leaf, bool, std::vector<ExprPtr> parts) {
      std::string name;
      for (const typed::Expr* e = parts[0].get(); e->is<typed::TupleGetExpr>(); e = e->operands[0].get()) {
        const Type& of = e->operands[0]->type;
        const uint32_t i = e->as<typed::TupleGetExpr>().index;
        name = "." + (of.is_struct() ? of.record->fields.at(i).name : std::to_string(i)) + name;
      }
      ExprPtr value = copy_part(cx, *parts[0]);
      statement(shown(leaf.is_str() || (leaf.dtype != DType::Key && !is_complex(leaf.dtype))
                          ? std::move(value)
                          : as_text(std::move(value)),
                      name + " "));
      return std::move(parts[0]);
    });
  } else {
    statement(shown(as_text(copy_simple(*held)), ""));
  }
  return in_block(std::move(before), copy_simple(*held), span);
}

static ExprPtr effect_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  if (builtin == Builtin::Print) return print_call(cx, r);
  auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::unit());
  if (builtin == Builtin::Wait || builtin == Builtin::Debug) {
    if (!r.bind()) return nullptr;
    ExprPtr x = r.value(0);
    if (!r.ok) return nullptr;
    if (builtin == Builtin::Debug) return debug_call(cx, std::move(x), r.span);
    node->type = x->type;
    node->operands.push_back(std::move(x));
  } else if (builtin == Builtin::WaitAll) {
    if (!r.bind()) return nullptr;
  } else if (builtin == Builtin::Interrupted) {
    if (!r.bind()) return nullptr;
    node->type = Type::scalar(DType::Bool);
  } else if (builtin == Builtin::Time) {
    if (!r.bind()) return nullptr;
    if (r.has(0)) {
      ExprPtr x = r.value(0);
      if (!r.ok) return nullptr;
      node->operands.push_back(std::move(x));
    }
    node->type = Type::scalar(DType::F64);
  } else { // exit
    if (!r.bind()) return nullptr;
    ExprPtr code = to_i64(cx, r.value(0), "an exit code");
    if (code->type.is_error()) r.ok = false;
    node->operands.push_back(std::move(code));
  }
  return node;
}

} // namespace tl::checker
