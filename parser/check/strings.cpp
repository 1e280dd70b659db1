// String literals, interpolation, format specifications.
#include "parser/check/strings.h"
#include "abi/repr.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/structs.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <cctype>
#include <fmt/format.h>

namespace tl::checker {

static void append_element(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span);

// Python's: [[fill]align][sign][z][#][0][width][grouping][.precision][type]
std::string check_format(const std::string& spec, const Type& type) {
  if (spec.empty()) return "";
  std::vector<size_t> starts; // of UTF-8 characters
  for (size_t i = 0; i < spec.size(); ++i)
    if ((static_cast<unsigned char>(spec[i]) & 0xc0) != 0x80) starts.push_back(i);
  starts.push_back(spec.size());
  size_t i = 0;
  auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  bool numeric_align = false;
  if (starts.size() > 2 && starts[1] < spec.size() && is_align(spec[starts[1]])) {
    numeric_align = spec[starts[1]] == '=';
    i = starts[1] + 1;
  } else if (is_align(spec[0])) {
    numeric_align = spec[0] == '=';
    i = 1;
  }
  bool has_sign = false, has_alternate = false, has_group = false, has_precision = false, has_zero = false;
  if (i < spec.size() && (spec[i] == '+' || spec[i] == '-' || spec[i] == ' ')) has_sign = true, ++i;
  if (i < spec.size() && spec[i] == '#') has_alternate = true, ++i;
  if (i < spec.size() && spec[i] == '0') has_zero = true, ++i;
  size_t digits = 0;
  while (i < spec.size() && std::isdigit(static_cast<unsigned char>(spec[i])))
    ++i, ++digits;
  if (digits > 6) return "the width is too large";
  if (i < spec.size() && (spec[i] == ',' || spec[i] == '_')) has_group = true, ++i;
  if (i < spec.size() && spec[i] == '.') {
    ++i;
    has_precision = true;
    size_t begin = i;
    while (i < spec.size() && std::isdigit(static_cast<unsigned char>(spec[i])))
      ++i;
    if (i == begin) return "a precision needs digits after the `.`";
    if (i - begin > 4) return "the precision is too large";
  }
  char kind = 0;
  if (i < spec.size()) kind = spec[i++];
  if (i != spec.size()) return fmt::format("`{}` is not a format specification", spec);
  if (type.is_str() || (type.is_tensor() && type.dtype == DType::Device)) {
    if (kind && kind != 's') return fmt::format("`{}` does not fit text", kind);
    if (has_sign || has_alternate || has_group || numeric_align)
      return "text takes only fill, alignment, width and precision";
    return "";
  }
  if (!type.is_tensor()) return "this value takes no format";
  if (type.dtype == DType::Bool) {
    if (kind || has_sign || has_alternate || has_group || has_precision || has_zero || numeric_align)
      return "a bool takes only fill, alignment and width";
    return "";
  }
  if (kind && std::string_view("bcdoxXeEfFgGn%").find(kind) == std::string_view::npos)
    return fmt::format("`{}` does not fit {}", kind, name_of(type.dtype));
  if (is_float(type.dtype)) {
    if (kind && std::string_view("bcdoxX").find(kind) != std::string_view::npos)
      return fmt::format("`{}` is for integers, and this is {}", kind, name_of(type.dtype));
  } else if (has_precision && (!kind || std::string_view("bcdoxX").find(kind) != std::string_view::npos)) {
    return fmt::format("an integer has no precision, and this is {}", name_of(type.dtype));
  }
  return "";
}

ExprPtr new_interp(Span span) {
  auto node = make_expr(typed::InterpExpr{}, span, Type::str());
  node->as<typed::InterpExpr>().format.literals.push_back("");
  return node;
}

void append_text(typed::Expr& interp, std::string_view text) {
  interp.as<typed::InterpExpr>().format.literals.back() += text;
}

// What is shown keeps its type open, so that a print changes nothing: its format is looked at when the type is known.
void check_formats(Context& cx, typed::Expr& interp) {
  const std::vector<std::string>& specs = interp.as<typed::InterpExpr>().format.specs;
  for (size_t i = 0; i < interp.operands.size() && !interp.type.is_error(); ++i)
    if (std::string problem = check_format(specs[i], interp.operands[i]->type);
        specs[i] != kRepr && !problem.empty() && !interp.operands[i]->type.is_error()) {
      error(cx, "FormatMismatch", interp.operands[i]->span, problem, "", {label_of(cx, *interp.operands[i])});
      interp.type = Type::error();
    }
}

static void append_operand(typed::Expr& interp, ExprPtr value, const std::string& spec) {
  FormatTemplate& format = interp.as<typed::InterpExpr>().format;
  format.specs.push_back(spec);
  format.literals.push_back("");
  interp.operands.push_back(std::move(value));
}

// The texts and values of another one.
static void append_interp(typed::Expr& interp, ExprPtr value) {
  const FormatTemplate& format = value->as<typed::InterpExpr>().format;
  for (size_t i = 0; i < value->operands.size(); ++i) {
    append_text(interp, format.literals[i]);
    append_operand(interp, std::move(value->operands[i]), format.specs[i]);
  }
  append_text(interp, format.literals.back());
}

// "()", after what is run for its effects
static ExprPtr unit_text(ExprPtr value) {
  typed::Block block;
  typed::Stmt s;
  s.span = value->span;
  s.value = std::move(value);
  const Span span = s.span;
  block.statements.push_back(std::move(s));
  return in_block(std::move(block), make_expr(typed::StrExpr{"()"}, span, Type::str()), span);
}

// The elements of a tuple or struct. A value that is not simple would be computed for each, so it is shared by a block.
static std::vector<ExprPtr> elements_of(Context& cx, ExprPtr value) {
  if (value->is<typed::TupleExpr>()) return std::move(value->operands);
  ExprPtr first;
  if (!is_simple(*value)) {
    typed::Block block;
    Type type = value->type;
    value = shared(cx, std::move(value), block);
    block.result = copy_simple(*value);
    first = make_expr(typed::BlockExpr{std::move(block)}, value->span, type);
  }
  std::vector<ExprPtr> elements;
  for (size_t i = 0; i < value->type.elements.size(); ++i) {
    // The first element's operand binds the variable that the others read: operands are evaluated in order.
    ExprPtr whole = i == 0 && first ? std::move(first) : copy_simple(*value);
    elements.push_back(get_field(std::move(whole), static_cast<uint32_t>(i), value->span));
  }
  return elements;
}

static void append_elements(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span) {
  const std::shared_ptr<const Record> record = value->type.record;
  append_text(interp, record ? record->name + "(" : "(");
  std::vector<ExprPtr> elements = elements_of(cx, std::move(value));
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i) append_text(interp, ", ");
    if (record) append_text(interp, record->fields[i].name + " = ");
    append_element(cx, interp, std::move(elements[i]), spec, span);
  }
  append_text(interp, elements.size() == 1 && !record ? ",)" : ")");
}

// "[" + join(list("{x}" for x in list), ", ") + "]"
static void append_list(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span) {
  append_text(interp, "[");
  if (!value->type.elements.empty()) {
    std::vector<ExprPtr> operands;
    operands.push_back(map_list(
        cx, std::move(value), Type::str(),
        [&](ExprPtr element) {
          auto shown = new_interp(span);
          append_element(cx, *shown, std::move(element), spec, span);
          return finish_interp(std::move(shown));
        },
        span));
    if (operands[0]->type.is_error()) {
      interp.type = Type::error();
      return;
    }
    operands.push_back(make_expr(typed::StrExpr{", "}, span, Type::str()));
    append_value(cx, interp, text_node(cx, TextOp::Join, std::move(operands), span), "", span);
  }
  append_text(interp, "]");
}

static void append_range(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span) {
  const Type type = value->type;
  Span at = value->span;
  typed::Block before; // its bounds are evaluated with it
  (void)shared(cx, std::move(value), before);
  append_value(cx, interp, in_block(std::move(before), size_expr(type.shape[0], at), at), spec, span);
  append_text(interp, "..");
  append_value(cx, interp, size_expr(type.shape[1], at), spec, span);
}

void append_value(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span) {
  refresh(cx, *value);
  if (value->type.is_error()) {
    interp.type = Type::error();
    return;
  }
  if (value->is<typed::StrExpr>() && spec.empty()) return append_text(interp, value->as<typed::StrExpr>().text);
  if (value->is<typed::InterpExpr>() && spec.empty()) return append_interp(interp, std::move(value));
  if (value->type.is_unit() && value->is<typed::UnitExpr>()) return append_text(interp, "()");
  if (value->type.is_unit()) value = unit_text(std::move(value));
  if (value->type.is_function()) {
    error(cx, "TypeMismatch", value->span, fmt::format("{} cannot be printed", show(cx, value->type)), "",
          {label_of(cx, *value)});
    interp.type = Type::error();
    return;
  }
  if (value->type.is_aggregate()) return append_elements(cx, interp, std::move(value), spec, span);
  if (value->type.is_list()) return append_list(cx, interp, std::move(value), spec, span);
  if (value->type.is_range()) return append_range(cx, interp, std::move(value), spec, span);
  if (std::string problem = value->type.open ? "" : check_format(spec, value->type); !problem.empty()) {
    error(cx, "FormatMismatch", span, problem, "", {label_of(cx, *value)});
    interp.type = Type::error();
    return;
  }
  append_operand(interp, std::move(value), spec);
}

// In a list or tuple, text is in quotes.
static void append_element(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span) {
  if (!value->type.is_str() || !spec.empty()) return append_value(cx, interp, std::move(value), spec, span);
  append_operand(interp, std::move(value), std::string(kRepr));
}

// Without values it is plain text.
ExprPtr finish_interp(ExprPtr interp) {
  if (interp->operands.empty() && !interp->type.is_error()) {
    std::string text = std::move(interp->as<typed::InterpExpr>().format.literals[0]);
    interp->data = typed::StrExpr{std::move(text)};
  }
  return interp;
}

ExprPtr check_string(Context& cx, const ast::Expr& e, const ast::StringLiteral& s) {
  auto node = new_interp(e.span);
  for (const ast::StringPart& part : s.parts) {
    if (part.value)
      append_value(cx, *node, check_value(cx, part.value), part.format,
                   part.format.empty() ? part.span : part.format_span);
    else
      append_text(*node, part.text);
  }
  return finish_interp(std::move(node));
}

} // namespace tl::checker
