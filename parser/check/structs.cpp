// Structs: what a declaration says, types as written, construction, fields, `with`, arithmetic leaf by leaf.
#include "parser/check/structs.h"
#include "lang/suggest.h"
#include "parser/check/arguments.h"
#include "parser/check/expressions.h"
#include "parser/check/functions.h"
#include "parser/check/instances.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/operators.h"
#include "parser/check/sizes.h"
#include "parser/check/struct_types.h"
#include "parser/check/tables.h"
#include "parser/check/type_limits.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <numeric>

namespace tl::checker {

// ---- construction

namespace {

// The function beside a struct that makes one from sizes, as `nn.linear_init` makes a `Linear`; empty if there is none.
static std::string maker_hint(const StructInfo& info) {
  std::string wanted = info.decl->name.text + "init";
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const auto& [name, entity] : info.env->names) {
    std::string plain = name;
    std::erase(plain, '_');
    if (plain == wanted && entity.kind == Entity::Kind::Function)
      return fmt::format("`{}{}(…)` makes one", info.env->prefix, name);
  }
  return "";
}

// The value that `S(…)` makes.
class Construction {
public:
  Construction(Context& cx, StructInfo& info, std::vector<Arg> args, Span span, const Type* expected)
      : cx(cx), info(info), decl(*info.decl), args(std::move(args)), span(span), record(record_of(cx, info)),
        fine(record != nullptr), by_field(decl.fields.size(), nullptr) {
    same_record = expected && expected->is_struct() && expected->record == record;
    this->expected = expected;
    context.mode = DimMode::Bind;
    context.bound = &bound;
    for (const ast::Ident& size : decl.sizes) {
      bound.push_back(size_atom(cx, AtomKind::Named, size.text, size.span));
      sizes.push_back(Size::of(bound.back()));
    }
    for (const ast::TypeParam& param : decl.type_params)
      types[param.name.text] = cx.open.new_open(LiteralKind::Any);
  }
  ExprPtr run();

private:
  void place_arguments();
  void place(Arg& arg, std::optional<uint32_t> index);
  void check_values();
  std::string completed(const std::vector<std::string>& missing) const;
  void check_field(size_t i, bool is_list);
  std::vector<Type> wanted_now() { return field_types(cx, info, types, sizes, context); }
  ExprPtr make();

  Context& cx;
  StructInfo& info;
  const ast::Struct& decl;
  std::vector<Arg> args;
  Span span;
  const Type* expected;
  std::shared_ptr<const Record> record;
  bool fine, same_record;
  std::vector<Arg*> by_field;
  std::vector<AtomId> bound; // the sizes of the declaration
  std::vector<Size> sizes;
  std::map<std::string, Type> types, learned; // of its type parameters
  DimContext context;
  std::vector<Type> wanted;    // by the fields, as far as that is known before their values are
  std::map<AtomId, Size> told; // about lists, by the other fields
};

void Construction::place_arguments() {
  size_t next = 0;
  for (Arg& arg : args) {
    std::optional<uint32_t> index;
    if (arg.name.empty()) {
      if (next < decl.fields.size()) index = static_cast<uint32_t>(next++);
    } else if (record) {
      index = record->find(arg.name);
    }
    if (!record) continue;
    place(arg, index);
    if (!index && arg.name.empty()) return;
  }
}

void Construction::place(Arg& arg, std::optional<uint32_t> index) {
  if (index && !by_field[*index]) {
    by_field[*index] = &arg;
    return;
  }
  fine = false;
  if (index)
    error(cx, "WrongArguments", arg.name.empty() ? arg.span : arg.name_span,
          fmt::format("the field `{}` is given twice", decl.fields[*index].name.text));
  else if (arg.name.empty())
    error(cx, "WrongArguments", arg.span,
          fmt::format("`{}` has {}, and here are {} values", decl.name.text, counted(decl.fields.size(), "field"),
                      args.size()),
          maker_hint(info), {{decl.name.span, "declared here"}});
  else
    unknown_field(cx, Type::structure(record, {}), {arg.name, arg.name_span});
}

// What elements of a list are is told by the other fields first: a list takes the type that is wanted of it.
void Construction::check_values() {
  std::vector<std::string> missing;
  std::vector<size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), size_t{0});
  auto first_list =
      std::stable_partition(order.begin(), order.end(), [&](size_t i) { return !has_list(cx, wanted[i]); });
  const size_t lists_from = static_cast<size_t>(first_list - order.begin());
  for (size_t k = 0; k < order.size(); ++k) {
    if (!by_field[order[k]]) {
      missing.push_back(fmt::format("`{}`", decl.fields[order[k]].name.text));
      continue;
    }
    if (k == lists_from && k > 0 && fine && !same_record) {
      std::vector<const Type*> field_list, value_list;
      for (size_t j = 0; j < k; ++j)
        if (by_field[order[j]]) {
          field_list.push_back(&wanted[order[j]]);
          value_list.push_back(&by_field[order[j]]->value->type);
        }
      SizeChecks checks; // made below
      solve_sizes(cx, field_list, value_list, std::set<AtomId>(bound.begin(), bound.end()), decl.name.text, span, told,
                  checks);
    }
    check_field(order[k], k >= lists_from);
  }
  if (!record)
    for (Arg& arg : args)
      if (arg.source && !arg.value) (void)check_value(cx, arg.source);
  if (fine && !missing.empty()) {
    error(cx, "WrongArguments", span,
          fmt::format("`{}` needs a value for {}", decl.name.text, fmt::join(missing, " and ")),
          fmt::format("write `{}({})`", decl.name.text, completed(missing)), {{decl.name.span, "declared here"}});
    fine = false;
  }
}

// The arguments with the missing fields behind them, for a hint.
std::string Construction::completed(const std::vector<std::string>& missing) const {
  std::string text;
  for (const Arg& arg : args) {
    const std::string value = arg.source ? source_text(cx, arg.source->span) : "…";
    const bool is_long = value.size() > 20 || value.find('\n') != std::string::npos;
    text += (arg.name.empty() ? "" : arg.name + " = ") + (is_long ? "…" : value) + ", ";
  }
  for (const std::string& field : missing)
    text += field.substr(1, field.size() - 2) + " = …, ";
  return text.substr(0, text.size() - 2);
}

void Construction::check_field(size_t i, bool is_list) {
  Arg& arg = *by_field[i];
  Type given = is_list ? substitute(cx, wanted[i], told) : Type::error();
  const Type* want = same_record && i < expected->elements.size() ? &expected->elements[i]
                     : is_list                                    ? &given
                                                                  : &wanted[i];
  if (want == &given && has_atom(cx, given, bound)) { // its elements tell the sizes
    given = any_sizes(cx, given);
    if (!ast::as<ast::ListLiteral>(arg.source) && !ast::as<ast::Tuple>(arg.source)) want = nullptr;
  }
  if (!arg.value) {
    arg.value = check_value(cx, arg.source, want);
    refresh(cx, *arg.value);
  }
  fine = fine && !arg.value->type.is_error();
  const size_t known = learned.size();
  learn_types(cx, decl.fields[i].type, arg.value->type, decl, learned);
  if (learned.size() == known) return;
  for (const auto& [name, type] : learned)
    types[name] = type;
  wanted = wanted_now();
}

ExprPtr Construction::make() {
  std::vector<const Type*> field_list, value_list;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is_error()) return broken(span);
    field_list.push_back(&wanted[i]);
    value_list.push_back(&by_field[i]->value->type);
  }
  std::map<AtomId, Size> known;
  auto recast = make_expr(typed::RecastExpr{}, span, Type::error());
  std::set<AtomId> unknown(bound.begin(), bound.end());
  solve_sizes(cx, field_list, value_list, unknown, decl.name.text, span, known, recast->checks);
  // Function types are among the sizes that are known now.
  if (std::any_of(wanted.begin(), wanted.end(), [&](const Type& t) { return has_function(cx, t); })) {
    for (Size& size : sizes)
      size = cx.program.atoms.substitute(size, known);
    wanted = wanted_now();
  }
  auto node = make_expr(typed::TupleExpr{}, span, Type::structure(record, {}));
  for (size_t i = 0; i < wanted.size(); ++i) {
    Type target = substitute(cx, wanted[i], known);
    free_sizes(cx, target, by_field[i]->value->type);
    const std::string field = fmt::format("field `{}` of `{}`", decl.fields[i].name.text, decl.name.text);
    if (const Type& given = by_field[i]->value->type; given.is_scalar() && target.is_tensor() && target.rank() > 0)
      if (const std::string maker = maker_hint(info); !maker.empty()) { // sizes in place of weights
        error(cx, "TypeMismatch", by_field[i]->span,
              fmt::format("{} has to be {}, and this is {}", field, show(cx, target), show(cx, given)), maker);
        return broken(span);
      }
    ExprPtr v = coerce(cx, std::move(by_field[i]->value), target, field, decl.fields[i].type);
    fine = fine && !v->type.is_error();
    node->type.elements.push_back(v->type);
    node->operands.push_back(std::move(v));
  }
  if (fine && has_atom(cx, node->type, bound)) {
    error(cx, "UnboundSize", span, fmt::format("the sizes of `{}` cannot be told from these values", decl.name.text),
          fmt::format("write its type: `let x: {}[…] = …`", decl.name.text));
    fine = false;
  }
  for (const ast::TypeParam& param : decl.type_params) {
    Type type = cx.open.resolved(types[param.name.text]);
    if (type.is_tensor() && fine) fine = fits_bound(cx, param, type, span, decl.name.text);
  }
  if (!fine) return broken(span);
  refresh(cx, *node);
  if (recast->checks.empty()) return node;
  recast->type = node->type;
  recast->operands.push_back(std::move(node));
  return recast;
}

ExprPtr Construction::run() {
  place_arguments();
  if (record) wanted = wanted_now();
  check_values();
  if (!fine) return broken(span);
  wanted = wanted_now();
  return make();
}

} // namespace

ExprPtr construct(Context& cx, StructInfo& info, std::vector<Arg> args, Span span, const Type* expected) {
  return Construction(cx, info, std::move(args), span, expected).run();
}

// A `_` in a field's type, and a size that solving left open, is what the value has.
void free_sizes(const Context& cx, Type& target, const Type& have) {
  if (target.elements.size() != have.elements.size()) return;
  for (size_t i = 0; i < target.elements.size(); ++i) {
    Type& element = target.elements[i];
    if (target.is_struct())
      for (const Record::Place& free : target.record->fields[i].free_axes) {
        Type* part = tl::part_of(element, free.path);
        const Type* value = tl::part_of(have.elements[i], free.path);
        if (part && value && part->is_tensor() && part->rank() == value->rank())
          part->shape[free.axis] = value->shape[free.axis];
      }
    free_sizes(cx, element, have.elements[i]);
  }
}

// p.with(w = …): p with other values in some fields.
ExprPtr with_call(Context& cx, const ast::Expr& e, const ast::MethodCall& c) {
  ExprPtr object = check_value(cx, c.receiver);
  refresh(cx, *object);
  if (object->type.is_error()) return broken(e.span);
  if (!object->type.is_struct()) {
    error(cx, "TypeMismatch", c.receiver->span, fmt::format("`with` copies a struct, not {}", show(cx, object->type)),
          "", {label_of(cx, *object)});
    return broken(e.span);
  }
  const Type type = object->type;
  typed::Block before;
  object = kept(cx, std::move(object), before);
  std::vector<Arg> args;
  std::set<std::string> given;
  bool fine = true;
  for (const ast::Argument& argument : c.arguments) {
    if (argument.name.empty()) {
      error(cx, "WrongArguments", argument.value->span, "`with` takes fields by name",
            fmt::format("write `with({} = {})`", type.record->fields.empty() ? "x" : type.record->fields[0].name,
                        source_text(cx, argument.value->span)));
      return broken(e.span);
    }
    if (!type.record->find(argument.name.text)) {
      unknown_field(cx, type, argument.name);
      fine = false;
    }
    given.insert(argument.name.text);
    args.push_back({argument.name.text, argument.value, argument.value->span, argument.name.span, nullptr, {}});
  }
  if (!fine) return broken(e.span);
  const StructInfo& info = *cx.names.struct_of.at(type.record.get());
  evaluate_as_written(cx, names_of(info.decl->fields), args, before);
  for (size_t i = 0; i < type.record->fields.size(); ++i) {
    const std::string& name = type.record->fields[i].name;
    if (given.count(name)) continue;
    Arg arg;
    arg.name = name;
    arg.span = arg.name_span = c.receiver->span;
    arg.value = get_field(copy_simple(*object), static_cast<uint32_t>(i), c.receiver->span);
    args.push_back(std::move(arg));
  }
  ExprPtr result = construct(cx, *cx.names.struct_of.at(type.record.get()), std::move(args), e.span, &type);
  return in_block(std::move(before), std::move(result), e.span);
}

// ---- parts

ExprPtr get_field(ExprPtr object, uint32_t index, Span span) {
  auto node = make_expr(typed::TupleGetExpr{index}, span, object->type.elements[index]);
  node->operands.push_back(std::move(object));
  return node;
}

ExprPtr part_of(const typed::Expr& held, const std::vector<uint32_t>& path, Span span) {
  ExprPtr result = copy_simple(held);
  for (uint32_t step : path)
    result = get_field(std::move(result), step, span);
  return result;
}

void unknown_field(Context& cx, const Type& type, const ast::Ident& name) {
  std::string hint;
  std::vector<std::string> names;
  Nearest nearest(name.text);
  for (const Record::Field& field : type.record->fields) {
    names.push_back(field.name);
    nearest.consider(field.name);
  }
  if (std::string elsewhere = column_field_hint(type, name.text); !elsewhere.empty())
    hint = std::move(elsewhere);
  else if (!nearest.best().empty())
    hint = fmt::format("did you mean `{}`?", nearest.best());
  else if (!names.empty())
    hint = fmt::format("it has {}", fmt::join(names, ", "));
  auto info = cx.names.struct_of.find(type.record.get());
  std::vector<Label> labels;
  if (info != cx.names.struct_of.end() && nearest.best().empty())
    if (const std::string maker = maker_hint(*info->second); !maker.empty()) hint += "; " + maker;
  if (info != cx.names.struct_of.end()) labels.push_back({info->second->decl->name.span, "declared here"});
  error(cx, "UnknownName", name.span, fmt::format("the struct `{}` has no field `{}`", type.record->name, name.text),
        hint, std::move(labels));
}

// ---- arithmetic

// Of two structs of one kind leaf by leaf, or of a struct and a scalar. What the operator does not work on (text, keys,
// bools; integers beside a float; fields marked `state`) stays as it is in the struct, or in the left one.
ExprPtr struct_op(Context& cx, ast::BinaryOp op, ExprPtr a, ExprPtr b, Span span, Span op_span) {
  switch (op) {
  case ast::BinaryOp::Add:
  case ast::BinaryOp::Subtract:
  case ast::BinaryOp::Multiply:
  case ast::BinaryOp::Divide:
  case ast::BinaryOp::FloorDivide:
  case ast::BinaryOp::Remainder:
  case ast::BinaryOp::Power: break;
  default:
    error(cx, "TypeMismatch", span, fmt::format("`{}` does not work on structs", ast::symbol(op)),
          "compare their fields", {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  bool both = a->type.is_struct() && b->type.is_struct();
  typed::Expr& other = a->type.is_struct() ? *b : *a;
  if (!both && !other.type.is_scalar()) {
    error(cx, "TypeMismatch", span,
          fmt::format("`{}` of a struct takes another of its kind or a scalar, not {}", ast::symbol(op),
                      show(cx, other.type)),
          other.type.is_tensor() ? "`map(|x| …, p)` works on each leaf" : "", {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  if (both && a->type.record != b->type.record) {
    error(cx, "TypeMismatch", span,
          fmt::format("`{}` needs two structs of one kind, and these are {} and {}", ast::symbol(op), show(cx, a->type),
                      show(cx, b->type)),
          "", {label_of(cx, *a), label_of(cx, *b)});
    return broken(span);
  }
  typed::Block before;
  a = kept(cx, std::move(a), before);
  b = shared(cx, std::move(b), before);
  const Type left = a->type, right = b->type;
  // Of a scalar: is it a float, or a literal that may be any number?
  const Type scalar = both ? Type::error() : cx.open.resolved(left.is_struct() ? right : left);
  bool any_number = scalar.open && cx.open.kind_of(scalar) == LiteralKind::Int;
  bool is_float_scalar = !both && !any_number && is_float(part_of(scalar.dtype));
  auto scalar_operand = [&](const typed::Expr& side) -> ExprPtr {
    ExprPtr copy = copy_simple(side);
    if (copy->is<typed::LiteralExpr>() && scalar.open) // each leaf has a literal of its own type
      copy->type = cx.open.new_open(cx.open.kind_of(scalar));
    return copy;
  };
  bool fine = true;
  std::vector<ExprPtr> sides;
  if (left.is_struct()) sides.push_back(copy_simple(*a));
  if (right.is_struct()) sides.push_back(copy_simple(*b));
  ExprPtr result =
      rebuild(cx, std::move(sides), span, [&](const Type& t, bool in_state, std::vector<ExprPtr> parts) -> ExprPtr {
        Type leaf = cx.open.resolved(t);
        bool works = fine && !in_state && leaf.is_tensor() && (leaf.open || is_num(part_of(leaf.dtype)));
        if (is_float_scalar || op == ast::BinaryOp::Divide)
          works = works && (leaf.open || is_float(part_of(leaf.dtype)));
        if (!works) return std::move(parts[0]);
        ExprPtr x = left.is_struct() ? std::move(parts[0]) : scalar_operand(*a);
        ExprPtr y = both ? std::move(parts[1]) : left.is_struct() ? scalar_operand(*b) : std::move(parts[0]);
        ExprPtr v = binary_op(cx, op, std::move(x), std::move(y), span, op_span);
        fine = fine && !v->type.is_error();
        return v;
      });
  if (!fine) return broken(span);
  return in_block(std::move(before), std::move(result), span);
}

ExprPtr unary_struct(Context& cx, ast::UnaryOp op, ExprPtr operand, Span span) {
  if (op != ast::UnaryOp::Negate) {
    error(cx, "TypeMismatch", span, fmt::format("`{}` does not work on structs", ast::symbol(op)), "",
          {label_of(cx, *operand)});
    return broken(span);
  }
  typed::Block before;
  operand = shared(cx, std::move(operand), before);
  bool fine = true;
  std::vector<ExprPtr> one;
  one.push_back(std::move(operand));
  ExprPtr result =
      rebuild(cx, std::move(one), span, [&](const Type& t, bool in_state, std::vector<ExprPtr> leaf) -> ExprPtr {
        if (!fine || in_state || !t.is_tensor() || !is_num(part_of(cx.open.resolved(t).dtype)))
          return std::move(leaf[0]);
        ExprPtr v = scalar_node(cx, ScalarOp::Neg, std::move(leaf), span, "`-`");
        fine = fine && !v->type.is_error();
        return v;
      });
  if (!fine) return broken(span);
  return in_block(std::move(before), std::move(result), span);
}

} // namespace tl::checker
