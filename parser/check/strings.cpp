// String literals, interpolation, format specifications.
#include "parser/check/strings.h"
#include "abi/format_spec.h"
#include "abi/repr.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/structs.h"
#include "parser/check/tables.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

static void append_element(Context& cx, typed::Expr& interp, ExprPtr value, const std::string& spec, Span span);

std::string check_format(const std::string& text, const Type& type) {
  if (text.empty() || text == kBrief) return "";
  const bool is_text = type.is_str() || (type.is_tensor() && type.dtype == DType::Device);
  if (!is_text && !type.is_tensor()) return "this value takes no format";
  const bool is_bool = !is_text && type.dtype == DType::Bool;
  FormatSpec spec;
  const FormatCategory category = is_text                         ? FormatCategory::Str
                                  : is_bool                       ? FormatCategory::Bool
                                  : is_float(part_of(type.dtype)) ? FormatCategory::Float
                                                                  : FormatCategory::Int;
  if (auto wrong = parse_format(text, category, spec)) return *wrong;
  if (type.is_tensor() && is_complex(type.dtype) && (spec.fill == "0" || spec.align == '=' || spec.type == '%'))
    return "complex numbers take no zeros before them, no alignment `=` and no `%`"; // as in Python
  // A bool is a word, in Python a number.
  if (is_bool && (spec.type || spec.precision >= 0 || spec.fill == "0"))
    return "a bool takes only fill, alignment and width";
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
  const bool is_scalar = !value->type.is_tensor() || value->type.rank() == 0;
  format.specs.push_back(spec == kBrief && is_scalar ? "" : spec);
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
  if (spec.empty() || spec == kBrief)
    if (ExprPtr text = table_as_text(cx, value, span)) value = std::move(text);
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
  if (!value->type.is_str() || (!spec.empty() && spec != kBrief))
    return append_value(cx, interp, std::move(value), spec, span);
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
