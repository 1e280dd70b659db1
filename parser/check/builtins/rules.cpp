// The rules of built-in functions: dispatch, reading of arguments, reductions, effects. See also
// shape.cpp.
#include "parser/check/builtins/rules.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/builders.h"
#include "parser/check/builtins/choose.h"
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
#include "parser/check/strings.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>
#include <sstream>

namespace tl::checker {

static ExprPtr reduction_rule(Context& cx, Builtin builtin, Rule& r);
static ExprPtr effect_rule(Context& cx, Builtin builtin, Rule& r);

static bool is_file_function(Builtin builtin) { return builtin >= Builtin::Load && builtin <= Builtin::WriteText; }

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
      static const std::map<std::string, std::string> elsewhere = {
          {"dim", "axis"}, {"dims", "axis"}, {"keepdim", "keep"}, {"keepdims", "keep"},
          {"dtype", "T"},  {"size", "dims"}, {"shape", "dims"},   {"fill_value", "value"}};
      std::string hint = is;
      if (auto other = elsewhere.find(arg.name);
          other != elsewhere.end() && std::find(names.begin(), names.end(), other->second) != names.end())
        hint = other->second == "T" ? "the element type is the last argument: `zeros([n], f64)`"
                                    : fmt::format("write `{} = `", other->second);
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

// What to write where an argument stands that goes by name.
std::string Rule::hint_for_position(const Arg& arg, const std::string& next) {
  auto known = arg.source ? static_of(cx, arg.source) : std::nullopt;
  if ((builtin == Builtin::Concat || builtin == Builtin::Stack) && !known) {
    std::string all;
    for (const Arg& one : args)
      if (one.name.empty()) all += (all.empty() ? "" : ", ") + source_text(cx, one.span);
    return fmt::format("the tensors to join go in one tuple: `{}(({}))`", name, all);
  }
  if (next == "axis") return fmt::format("an axis is given by name: `axis = {}`", source_text(cx, arg.span));
  if (builtin == Builtin::Reshape || builtin == Builtin::Permute)
    return "sizes are written in brackets: `x.reshape([2, 3])`";
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
    fail("TypeMismatch", v->span, fmt::format("`{}` takes a tensor, not {}", name, show(cx, v->type)));
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
    fail("NotConstant", by[i]->span, "an axis must be known when the program is compiled",
         "write a literal or a const; a parameter without a type is known at each call: `fn f(x, axis = 0)`");
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
  fail("TypeMismatch", by[i]->span, fmt::format("the last argument of `{}` is an element type like `f64`", name));
  return std::nullopt;
}

ExprPtr builtin_call(Context& cx, Builtin builtin, std::vector<Arg> args, Span span, bool is_method,
                     const Type* expected) {
  Rule r{cx, builtin, std::string(info(builtin).name), span, is_method, args};
  ExprPtr result;
  const bool reads = builtin >= Builtin::Load && builtin <= Builtin::ReadSafetensors && builtin != Builtin::Save;
  if (cx.in_const && ((is_file_function(builtin) && !reads) || builtin == Builtin::Time ||
                      builtin == Builtin::Interrupted || builtin == Builtin::ReadLine)) {
    error(cx, "NotConstant", span, "a const must be known when the program is compiled");
    return broken(span);
  }
  if (builtin == Builtin::Rank && args.empty()) builtin = r.builtin = Builtin::ProcessRank;
  switch (builtin) {
  case Builtin::Load:
  case Builtin::Save:
  case Builtin::ReadCsv:
  case Builtin::ReadIdx:
  case Builtin::ReadNpz:
  case Builtin::ReadSafetensors:
  case Builtin::Exists:
  case Builtin::TensorNames:
  case Builtin::ReadText:
  case Builtin::WriteText: result = file_rule(cx, builtin, r, expected); break;
  case Builtin::Print:
  case Builtin::Wait:
  case Builtin::WaitAll:
  case Builtin::Time:
  case Builtin::Interrupted:
  case Builtin::Exit:
  case Builtin::Debug: result = effect_rule(cx, builtin, r); break;
  case Builtin::Grad:
  case Builtin::ValueAndGrad:
  case Builtin::Vjp:
  case Builtin::Jvp:
  case Builtin::Vmap:
  case Builtin::Jacobian:
  case Builtin::Hessian:
  case Builtin::CustomVjp:
  case Builtin::StopGradient:
  case Builtin::Checkpoint: return transform_call(cx, builtin, std::move(args), span);
  case Builtin::DataParallel: return data_parallel(cx, std::move(args), span);
  case Builtin::Map:
  case Builtin::Fold: return call_leaves(cx, builtin == Builtin::Map, std::move(args), span);
  case Builtin::Progress:
    error(cx, "WrongArguments", span, "`progress` is only for a `for` loop to iterate over",
          "like `for x in progress(xs) { … }`");
    for (Arg& arg : args)
      check_arg(cx, arg);
    return broken(span);
  case Builtin::List: return list_call(cx, std::move(args), span, expected);
  case Builtin::Enumerate:
  case Builtin::Zip:
  case Builtin::Batches: result = iteration_call(cx, builtin, r); break;
  case Builtin::ReadLine:
  case Builtin::Str:
  case Builtin::Bytes:
  case Builtin::Lines:
  case Builtin::Strip:
  case Builtin::Replace:
  case Builtin::Find:
  case Builtin::Join:
  case Builtin::Parse: result = text_rule(cx, builtin, r); break;
  case Builtin::Sum:
  case Builtin::Mean:
  case Builtin::Prod:
  case Builtin::ReduceMin:
  case Builtin::ReduceMax:
  case Builtin::Any:
  case Builtin::All:
  case Builtin::ArgMin:
  case Builtin::ArgMax:
  case Builtin::CumSum:
  case Builtin::CumProd:
  case Builtin::CumMax:
  case Builtin::CumMin: result = reduction_rule(cx, builtin, r); break;
  case Builtin::SortRows:
  case Builtin::ArgSortRows:
  case Builtin::ArgTopRows: result = sort_rule(cx, builtin, r); break;
  case Builtin::Shape:
  case Builtin::Rank:
  case Builtin::Len:
  case Builtin::Reshape:
  case Builtin::Flatten:
  case Builtin::Permute:
  case Builtin::Transpose:
  case Builtin::TransposeAll:
  case Builtin::ExpandDims:
  case Builtin::Squeeze:
  case Builtin::BroadcastTo:
  case Builtin::Concat:
  case Builtin::Stack:
  case Builtin::Pad:
  case Builtin::Flip:
  case Builtin::Take:
  case Builtin::Matmul:
  case Builtin::Dot: result = shape_rule(cx, builtin, r); break;
  case Builtin::Tile:
  case Builtin::Repeat:
  case Builtin::Gather:
  case Builtin::ScatterAdd: result = choosing_rule(cx, builtin, r); break;
  case Builtin::Einsum: result = einsum_rule(cx, r); break;
  case Builtin::Cholesky:
  case Builtin::LuFactor:
  case Builtin::Solve:
  case Builtin::TriangularSolve:
  case Builtin::Qr:
  case Builtin::Svd:
  case Builtin::Eigh: result = linalg_rule(cx, builtin, r); break;
  case Builtin::PlotLine:
  case Builtin::PlotScatter:
  case Builtin::PlotHist:
  case Builtin::PlotImage: result = plot_rule(cx, builtin, r); break;
  case Builtin::StopwatchStart:
  case Builtin::StopwatchLap:
  case Builtin::StopwatchTotal:
  case Builtin::StopwatchCount: result = stopwatch_rule(cx, builtin, r); break;
  case Builtin::Cpu:
  case Builtin::Gpu:
  case Builtin::DeviceCount:
  case Builtin::To:
  case Builtin::DeviceOf:
  case Builtin::DeviceFacts:
  case Builtin::MemoryFacts:
  case Builtin::ReleaseCache:
  case Builtin::ProcessRank:
  case Builtin::WorldSize:
  case Builtin::AllReduce:
  case Builtin::BroadcastFrom: result = device_rule(cx, builtin, r); break;
  case Builtin::Zeros:
  case Builtin::Ones:
  case Builtin::Full:
  case Builtin::Eye:
  case Builtin::Arange:
  case Builtin::Linspace:
  case Builtin::ZerosLike:
  case Builtin::OnesLike:
  case Builtin::Range: result = builder_rule(cx, builtin, r, expected); break;
  case Builtin::Key:
  case Builtin::SplitKey:
  case Builtin::Bits:
  case Builtin::Uniform:
  case Builtin::Normal:
  case Builtin::RandInt:
  case Builtin::Bernoulli: result = random_rule(cx, builtin, r, expected); break;
  }
  if (!r.ok || !result) return broken(span);
  return result;
}

static ExprPtr reduction_rule(Context& cx, Builtin builtin, Rule& r) {
  const bool scan = builtin >= Builtin::CumSum && builtin <= Builtin::CumMin;
  bool arg = builtin == Builtin::ArgMin || builtin == Builtin::ArgMax;
  if (!r.bind()) return nullptr;
  ExprPtr x = r.tensor(0);
  if (!r.ok) return nullptr;
  auto node = make_expr(ExprKind::Builtin, r.span, Type::error());
  node->builtin = builtin;
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
    if (!cx.open.constrain_float(x->type))
      r.fail("TypeMismatch", x->span, fmt::format("`mean` takes floats, not {}", show(cx, x->type)),
             fmt::format("write `f32({}).mean()`", source_text(cx, x->span)));
    break;
  case Builtin::Sum:
  case Builtin::Prod:
  case Builtin::CumSum:
  case Builtin::CumProd:
    if (x->type.open && cx.open.kind_of(x->type) == LiteralKind::Int) cx.open.settle(x->type);
    refresh(cx, *x);
    if (!x->type.open && !is_float(x->type.dtype) && x->type.dtype != DType::I64 && x->type.dtype != DType::U64)
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
    node->ints = {r.axis(1, x->type.rank(), -1)};
  } else {
    bool single = arg && r.has(1);
    if (single) {
      auto known = r.constant(1);
      if (known && known->kind == Static::Kind::Tuple)
        r.fail("TypeMismatch", r.by[1]->span, fmt::format("`{}` takes one axis", r.name));
    }
    node->ints = r.axes(1, x->type.rank());
    node->flag = !arg && r.flag(2);
    std::vector<Size> shape;
    for (size_t k = 0; k < x->type.rank(); ++k) {
      bool reduced = std::find(node->ints.begin(), node->ints.end(), static_cast<int64_t>(k)) != node->ints.end();
      if (!reduced)
        shape.push_back(x->type.shape[k]);
      else if (node->flag)
        shape.push_back(1);
    }
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
  auto node = make_expr(ExprKind::Builtin, r.span, Type::unit());
  node->builtin = Builtin::Print;
  node->flag = to_stderr;
  node->operands.push_back(finish_interp(std::move(line)));
  return node;
}

// Tensors and text are shown by the op itself, with `text` as their name; what else there is by its leaves or as text.
static ExprPtr debug_call(Context& cx, ExprPtr x, Span span) {
  Type type = refresh(cx, *x);
  if (type.is_error()) return x;
  auto shown = [&](ExprPtr value, const std::string& name) {
    auto node = make_expr(ExprKind::Builtin, span, refresh(cx, *value));
    node->builtin = Builtin::Debug;
    node->text = name;
    node->operands.push_back(std::move(value));
    return node;
  };
  auto as_text = [&](ExprPtr value) {
    auto line = new_interp(span);
    append_value(cx, *line, std::move(value), "", span);
    return finish_interp(std::move(line));
  };
  bool is_leaf = type.is_str() || (type.is_tensor() && (type.dtype != DType::Key || type.open));
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
      for (const typed::Expr* e = parts[0].get(); e->kind == ExprKind::TupleGet; e = e->operands[0].get()) {
        const Type& of = e->operands[0]->type;
        name = "." + (of.is_struct() ? of.record->fields.at(e->index).name : std::to_string(e->index)) + name;
      }
      ExprPtr value = copy_part(cx, *parts[0]);
      statement(
          shown(leaf.is_str() || leaf.dtype != DType::Key ? std::move(value) : as_text(std::move(value)), name + " "));
      return std::move(parts[0]);
    });
  } else {
    statement(shown(as_text(copy_simple(*held)), ""));
  }
  return in_block(std::move(before), copy_simple(*held), span);
}

static ExprPtr effect_rule(Context& cx, Builtin builtin, Rule& r) {
  if (builtin == Builtin::Print) return print_call(cx, r);
  auto node = make_expr(ExprKind::Builtin, r.span, Type::unit());
  node->builtin = builtin;
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
