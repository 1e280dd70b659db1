// The rules of the modules plot and bench.
#include "parser/check/builtins/plot.h"
#include "abi/plot_op.h"
#include "parser/check/arguments.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/builtins/shape.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/strings.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

struct Plot {
  Context& cx;
  Rule& r;
  ExprPtr node = nullptr;
  std::vector<ExprPtr> tensors = {};
  std::string what = fmt::format("`{}`", r.name);

  bool given(size_t i);
  ExprPtr numbers(ExprPtr x, bool keep_bytes);
  ExprPtr vector(ExprPtr x);
  void equal_lengths(const typed::Expr& x, const typed::Expr& y);
  bool lines();
  void described();
  void image();
  void describe(std::initializer_list<const char*> properties);
  void name_file(size_t parameter);
};

bool Plot::given(size_t i) {
  if (!r.has(i)) return false;
  auto known = r.constant(i);
  return !(known && known->kind == Static::Kind::None);
}

ExprPtr Plot::numbers(ExprPtr x, bool keep_bytes) {
  if (!r.ok) return x;
  if (!x->type.is_tensor() || (!x->type.open && !is_num(x->type.dtype) && x->type.dtype != DType::Bool)) {
    r.fail("TypeMismatch", x->span, fmt::format("{} takes numbers, not {}", what, show(cx, x->type)));
    return x;
  }
  cx.open.settle(x->type);
  Span span = x->span;
  if (x->type.dtype == DType::F64 || (keep_bytes && x->type.dtype == DType::U8)) return x;
  return convert(cx, std::move(x), DType::F64, span);
}

ExprPtr Plot::vector(ExprPtr x) {
  if (r.ok && x->type.is_tensor() && x->type.rank() != 1)
    r.fail("TypeMismatch", x->span, fmt::format("{} takes vectors, not {}", what, show(cx, x->type)),
           x->type.rank() == 2 ? fmt::format("a row is a vector: `{}[0]`", source_text(cx, x->span)) : "");
  return numbers(std::move(x), false);
}

void Plot::equal_lengths(const typed::Expr& x, const typed::Expr& y) {
  if (require_equal(cx, x.type.shape[0], y.type.shape[0], true,
                    fmt::format("{} needs a y for each x: there are {{0}} of x and {{1}} of y", what), r.span,
                    node->checks))
    return;
  std::vector<Label> labels{label_of(cx, x), label_of(cx, y)};
  add_origins(cx, x.type.shape[0], y.type.shape[0], labels);
  error(cx, "ShapeMismatch", r.span,
        fmt::format("{} needs a y for each x: {}", what, different(cx, x.type.shape[0], y.type.shape[0])),
        equality_hint(cx, x.type.shape[0], y.type.shape[0]), std::move(labels));
  r.ok = false;
}

// x, if there is one, and a y for each line. False where an error is reported.
bool Plot::lines() {
  if (given(0)) {
    tensors.push_back(vector(r.value(0)));
    node->attrs<typed::PlotAttrs>().has_x = true;
  }
  for (Arg* arg : r.rest) {
    if (!r.ok) return false;
    std::string name = source_text(cx, arg->span);
    if (name.size() > 30 || name.find('\n') != std::string::npos) name = fmt::format("line {}", tensors.size());
    std::string& labels = node->attrs<typed::PlotAttrs>().labels;
    labels += (labels.empty() ? "" : "\n") + name;
    ExprPtr y = take(cx, *arg);
    if (refresh(cx, *y).is_error()) return false;
    tensors.push_back(vector(std::move(y)));
    if (r.ok && node->attrs<typed::PlotAttrs>().has_x) equal_lengths(*tensors[0], *tensors.back());
  }
  return true;
}

void Plot::described() {
  tensors.push_back(vector(r.value(1)));
  if (r.ok) node->operands.push_back(r.text(0, "the description of a figure"));
  if (r.ok) name_file(2);
}

void Plot::image() {
  tensors.push_back(numbers(r.value(0), true));
  const Type& type = tensors[0]->type;
  if (r.ok && type.rank() != 2 && type.rank() != 3)
    r.fail("TypeMismatch", tensors[0]->span, fmt::format("{} takes [h, w] or [h, w, c], not {}", what, show(cx, type)));
  if (r.ok && type.rank() == 3 && compare(cx, type.shape[2], 3) == Compare::Different &&
      compare(cx, type.shape[2], 4) == Compare::Different)
    r.fail("ShapeMismatch", tensors[0]->span,
           fmt::format("{} takes pictures of 3 or 4 channels, not {}", what, show(cx, type.shape[2])),
           "a picture without colour is [h, w]");
}

// The properties of the figure, as a description. `title` is parameter 1, `file` 2; the others follow in this order.
void Plot::describe(std::initializer_list<const char*> properties) {
  auto description = new_interp(r.span);
  size_t parameter = 1;
  for (const char* property : properties) {
    if (r.ok && given(parameter)) {
      append_text(*description, std::string(property) + kKeyEnd);
      append_value(cx, *description, r.text(parameter, property), "", r.by[parameter]->span);
      append_text(*description, std::string(1, kValueEnd));
    }
    parameter = parameter == 1 ? 3 : parameter + 1;
  }
  node->operands.push_back(finish_interp(std::move(description)));
  if (r.ok) name_file(2);
}

void Plot::name_file(size_t parameter) {
  if (!given(parameter)) return;
  ExprPtr file = r.text(parameter, "the name of a file", "`file = \"plot.svg\"`");
  const auto* written = r.ok ? file->get_if<typed::StrExpr>() : nullptr;
  if (written && !written->text.ends_with(".svg") && !written->text.ends_with(".png"))
    r.fail("WrongArguments", file->span, "the name of a picture's file ends in .svg or .png");
  node->operands.push_back(std::move(file));
  node->attrs<typed::PlotAttrs>().has_path = true;
}

} // namespace

ExprPtr plot_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  Plot plot{cx, r};
  plot.node = make_expr(typed::BuiltinExpr{builtin, typed::PlotAttrs{}}, r.span, Type::unit());
  if (!r.bind()) return nullptr;
  std::vector<ExprPtr>& tensors = plot.tensors;
  switch (builtin) {
  case Builtin::PlotLine:
    if (!plot.lines()) return nullptr;
    plot.describe({"title", "xlabel", "ylabel", "xscale", "yscale"});
    break;
  case Builtin::PlotDescribed: plot.described(); break;
  default:
    plot.image();
    if (!r.ok) return nullptr;
    plot.describe({"title", "xlabel", "ylabel"});
    break;
  }
  if (!r.ok) return nullptr;
  for (ExprPtr& tensor : tensors)
    plot.node->operands.push_back(std::move(tensor));
  return std::move(plot.node);
}

ExprPtr stopwatch_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  const bool starts = builtin == Builtin::StopwatchStart;
  if (!r.bind()) return nullptr;
  const bool counts = starts || builtin == Builtin::StopwatchCount;
  auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::scalar(counts ? DType::I64 : DType::F64));
  if (!starts) {
    node->operands.push_back(to_i64(cx, r.value(0), "the number of a stopwatch"));
    if (node->operands[0]->type.is_error()) r.ok = false;
  }
  return node;
}

} // namespace tl::checker
