// The rules of what reads and writes files: load, save, the read_ functions, exists, read_text, write_text.
#include "parser/check/builtins/files.h"
#include "parser/check/builtins/complex.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/rules.h"
#include "parser/check/functions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/strings.h"
#include "parser/check/structs.h"
#include "parser/check/tables.h"
#include "parser/check/text.h"
#include "parser/check/values.h"
#include <filesystem>
#include <fmt/format.h>

namespace tl::checker {

using LeafPath = std::vector<std::variant<std::string, VarId>>; // VarId: the position in a list

namespace {

constexpr const char* kSayType = "annotate it: `let x: f32[n, 3] = load(…)`";

bool is_text_table(Builtin builtin) { return builtin == Builtin::ReadCsv; }

FileKind kind_of(Builtin builtin) {
  switch (builtin) {
  case Builtin::ReadCsv: return FileKind::Text;
  case Builtin::ReadTable: return FileKind::Table;
  case Builtin::ReadIdx: return FileKind::Idx;
  case Builtin::ReadNpz: return FileKind::Npz;
  case Builtin::ReadSafetensors: return FileKind::Safetensors;
  default: return FileKind::Any;
  }
}

} // namespace

ExprPtr Rule::text(size_t i, const char* what, const std::string& hint) {
  ExprPtr v = value(i);
  if (ok && !v->type.is_str())
    fail("TypeMismatch", v->span, fmt::format("{} is text, not {}", what, show(cx, v->type)), hint);
  return v;
}

// Every axis of the tensors in the type becomes a size that is known once the node has been computed.
static void fresh_axes(Context& cx, typed::Expr& node, Type& type, std::vector<uint32_t> path) {
  if (type.is_aggregate()) {
    for (uint32_t i = 0; i < type.elements.size(); ++i) {
      std::vector<uint32_t> inner = path;
      inner.push_back(i);
      fresh_axes(cx, node, type.elements[i], std::move(inner));
    }
    return;
  }
  for (uint32_t axis = 0; axis < type.shape.size(); ++axis) {
    AtomId id =
        size_atom(cx, AtomKind::Fresh, fmt::format("axis {} of {}", axis, source_text(cx, node.span)), node.span);
    node.fresh.push_back({id, path, axis});
    type.shape[axis] = Size::of(id);
  }
}

// The names of the leaves of a tuple or struct, one a line: "0", "layer.w". False: a leaf is no tensor, or a device.
static bool leaf_names(Context& cx, const Type& type, const std::string& prefix, std::string& names) {
  if (type.is_tensor() && !is_device(type)) {
    names += (names.empty() ? "" : "\n") + prefix;
    return true;
  }
  if (!type.is_aggregate()) return false;
  for (size_t i = 0; i < type.elements.size(); ++i) {
    std::string name = type.is_struct() ? type.record->fields.at(i).name : std::to_string(i);
    if (!leaf_names(cx, type.elements[i], prefix.empty() ? name : prefix + "." + name, names)) return false;
  }
  return true;
}

// The name of a leaf: fields, positions, and positions in lists, which only the run tells.
static ExprPtr leaf_name(Context& cx, const LeafPath& path, Span span) {
  auto name = new_interp(span);
  for (size_t i = 0; i < path.size(); ++i) {
    if (i) append_text(*name, ".");
    if (auto* text = std::get_if<std::string>(&path[i]))
      append_text(*name, *text);
    else
      append_value(cx, *name, variable_value(cx, std::get<VarId>(path[i]), span), "", span);
  }
  return finish_interp(std::move(name));
}

namespace {
template <class Path> Path inner_path(const Path& path, const Type& type, size_t i) {
  Path inner = path;
  inner.push_back(type.is_struct() ? type.record->fields.at(i).name : std::to_string(i));
  return inner;
}
} // namespace

bool has_only_tensors(const Type& type) {
  auto has_leaf = [](auto& self, const Type& t) -> bool {
    return !t.is_aggregate() ||
           std::any_of(t.elements.begin(), t.elements.end(), [&](const Type& inner) { return self(self, inner); });
  };
  if (type.is_list() && !type.elements.empty() && !has_leaf(has_leaf, type.elements[0])) return false;
  if (!type.is_aggregate() && !type.is_list()) return type.is_tensor() && !is_device(type);
  return std::all_of(type.elements.begin(), type.elements.end(), [&](const Type& t) { return has_only_tensors(t); });
}

// The texts of a column (table.Texts).
static bool is_list_of_texts(const Type& type) {
  return type.is_list() && !type.elements.empty() && type.elements[0].is_str();
}

static ExprPtr text_of_one(Context& cx, TextOp op, ExprPtr operand, Span span) {
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(operand));
  return text_node(cx, op, std::move(operands), span);
}

// Tensors, and in tuples and structs lists of texts.
static bool can_be_read(const Type& type) {
  if (!type.is_aggregate()) return has_only_tensors(type);
  return std::all_of(type.elements.begin(), type.elements.end(),
                     [](const Type& t) { return is_list_of_texts(t) || can_be_read(t); });
}

// Leaf by leaf, of a type with lists in it: these have as many elements as the file has names for.
static ExprPtr load_parts(Context& cx, const Type& type, const LeafPath& path, const typed::Expr& file,
                          LoadOptions options, Span span, typed::Block& before) {
  if (type.is_aggregate()) {
    auto node = make_expr(typed::TupleExpr{}, span, type);
    for (size_t i = 0; i < type.elements.size(); ++i) {
      node->operands.push_back(
          load_parts(cx, type.elements[i], inner_path(path, type, i), file, options, span, before));
      node->type.elements[i] = node->operands.back()->type;
    }
    return node;
  }
  if (type.is_tensor()) {
    auto node = make_expr(typed::BuiltinExpr{Builtin::Load, typed::LoadAttrs{options}}, span,
                          Type::tensor(type.dtype, std::vector<Size>(type.rank())));
    fresh_axes(cx, *node, node->type, {});
    node->operands.push_back(copy_simple(file));
    node->operands.push_back(leaf_name(cx, path, span));
    return shared(cx, std::move(node), before);
  }
  if (is_list_of_texts(type)) { // a file has them as bytes
    const Type bytes = Type::tensor(DType::U8, std::vector<Size>(1));
    return shared(cx, text_of_one(cx, TextOp::Unpack, load_parts(cx, bytes, path, file, options, span, before), span),
                  before);
  }
  size_t first_own = cx.program.atoms.size();
  VarId position = new_variable(cx, "", Type::scalar(DType::I64), true, span);
  LeafPath inner = path;
  inner.push_back(position);
  typed::Stmt loop;
  loop.kind = StmtKind::While;
  loop.span = span;
  loop.value = make_expr(typed::BuiltinExpr{Builtin::Exists}, span, Type::scalar(DType::Bool));
  loop.value->operands.push_back(copy_simple(file));
  loop.value->operands.push_back(leaf_name(cx, inner, span));
  ExprPtr element = load_parts(cx, type.elements.at(0), inner, file, options, span, loop.body);
  Type list = list_of(cx, element->type, [&](const Size& size) {
    std::vector<AtomId> atoms;
    cx.program.atoms.collect(size, atoms);
    return std::any_of(atoms.begin(), atoms.end(), [&](AtomId a) { return a.index >= first_own; });
  });
  VarId built = new_variable(cx, "", list, true, span);
  before.statements.push_back(let_variable(position, int_value(0, span), span));
  before.statements.push_back(let_variable(built, list_node(typed::ListOp::Make, span, list), span));
  loop.body.statements.push_back(append_to(cx, built, list, std::move(element), span));
  auto next = make_expr(typed::ScalarExpr{ScalarOp::Add}, span, Type::scalar(DType::I64));
  next->operands.push_back(variable_value(cx, position, span));
  next->operands.push_back(int_value(1, span));
  loop.body.statements.push_back(set_variable(cx, position, std::move(next), span));
  before.statements.push_back(std::move(loop));
  return variable_value(cx, built, span);
}

// The leaves of a value with lists in it: their names, one a line, and they themselves, one after the other.
static void collect_leaves(Context& cx, ExprPtr value, const LeafPath& path, VarId names, VarId leaves,
                           typed::Block& into, Span span) {
  const Type type = refresh(cx, *value);
  if (type.is_aggregate()) {
    for (size_t i = 0; i < type.elements.size(); ++i)
      collect_leaves(cx, get_field(copy_part(cx, *value), static_cast<uint32_t>(i), span), inner_path(path, type, i),
                     names, leaves, into, span);
    return;
  }
  if (is_list_of_texts(type)) {
    value = text_of_one(cx, TextOp::Pack, std::move(value), span);
  } else if (type.is_list()) {
    if (type.elements.empty()) return;
    typed::Stmt loop;
    std::vector<ExprPtr> one;
    one.push_back(std::move(value));
    auto elements = enter_lists(cx, std::move(one), span, into, loop);
    LeafPath inner = path;
    inner.push_back(loop.pattern.var);
    collect_leaves(cx, std::move(elements[0]), inner, names, leaves, loop.body, span);
    into.statements.push_back(std::move(loop));
    return;
  }
  auto more = new_interp(span);
  append_value(cx, *more, variable_value(cx, names, span), "", span);
  append_value(cx, *more, leaf_name(cx, path, span), "", span);
  append_text(*more, "\n");
  into.statements.push_back(set_variable(cx, names, finish_interp(std::move(more)), span));
  into.statements.push_back(append_to(cx, leaves, cx.program.variables[leaves.index].type, std::move(value), span));
}

// The header of a file, or an error that begins with `what`.
static std::optional<FileHeader> header_of(Context& cx, const std::string& path, const std::string& name,
                                           LoadOptions options, const Type* wanted, const std::string& what,
                                           const std::string& hint, Rule& r) {
  FileHeader header{{}, {}, "nothing reads it here", true};
  if (cx.options.read_header) header = cx.options.read_header(path, name, options, wanted);
  if (header.problem.empty()) return header;
  // That a file is not there comes first: what it would have told follows from that.
  const char* kind = header.missing ? "IoError" : "UntypedLoad";
  const std::string message = header.missing && !hint.empty() ? fmt::format("{}, so {}", header.problem, what)
                                                              : fmt::format("{}: {}", what, header.problem);
  if (header.missing && cx.options.missing_file_is_warning) {
    report(cx, {Severity::Warning, kind, message, r.span, {}, hint});
    cx.is_incomplete = true;
  } else
    r.fail(kind, r.span, message, header.missing ? hint : "");
  r.ok = false;
  return std::nullopt;
}

// A const is read when the program is compiled: its sizes are the file's. `names`: of the leaves, a line each.
static bool file_sizes(Context& cx, Type& type, const std::string& path, const std::string& name,
                       std::istringstream& names, LoadOptions options, Rule& r) {
  if (type.is_aggregate())
    return std::all_of(type.elements.begin(), type.elements.end(),
                       [&](Type& element) { return file_sizes(cx, element, path, name, names, options, r); });
  std::string leaf = name;
  if (std::string line; std::getline(names, line)) leaf = line;
  auto header = header_of(cx, path, leaf, options, &type, "a const is read when the program is compiled", "", r);
  if (!header) return false;
  type.shape.assign(header->dims.begin(), header->dims.end());
  return true;
}

// Of a text that is written out; none where there is no expression.
static std::string text_of(const typed::Expr& e) { return e.as<typed::StrExpr>().text; }
static std::string text_of(const ExprPtr& e) { return e ? text_of(*e) : ""; }

// The path of a file that a const is read from is relative to the file in which it is written, as that of an import is.
static void find_beside(Context& cx, typed::Expr& path) {
  auto* written = path.get_if<typed::StrExpr>();
  const std::filesystem::path program = cx.sources.name(path.span.file);
  if (written && program.has_parent_path() && std::filesystem::path(written->text).is_relative())
    written->text = (program.parent_path() / written->text).lexically_normal().string();
}

// `read_table(path)` where no struct is asked for.
static ExprPtr untyped_table(Context& cx, Rule& r, const typed::Expr& path, const Type& wanted) {
  if (wanted.is_tensor() && !wanted.open)
    r.fail("TypeMismatch", r.span, fmt::format("a table is a struct of its columns, not {}", show(cx, wanted)),
           "`read_csv` reads a table of numbers as a tensor; `load(path, name)` reads one column");
  else if (!path.is<typed::StrExpr>() || !r.by[0]->source)
    r.fail("UntypedLoad", r.span, "the columns of the table are not known here",
           "say them: `let t: Trips = read_table(path)`, with `struct Trips[n] { fare: f64[n] }`");
  else if (ExprPtr table = table_as_found(cx, text_of(path), *r.by[0]->source, r.span))
    return table;
  r.ok = false;
  return nullptr;
}

static ExprPtr load_call(Context& cx, Builtin builtin, Rule& r, const Type* expected) {
  ExprPtr path = r.text(0, "a path"), name;
  if (!r.ok) return nullptr;
  if (cx.in_const) find_beside(cx, *path);
  LoadOptions options;
  options.kind = kind_of(builtin);
  bool has_name = builtin != Builtin::ReadCsv && builtin != Builtin::ReadTable && r.has(1);
  if (has_name) {
    auto known = r.by[1]->value ? std::nullopt : r.constant(1);
    if (known && known->kind == Static::Kind::None)
      has_name = false;
    else
      name = r.text(1, "a tensor's name in a file");
  }
  if (builtin == Builtin::Load && r.has(2)) {
    auto known = r.constant(2);
    if (known && known->kind == Static::Kind::Int && known->number >= 1 && known->number <= 4)
      options.channels = static_cast<uint8_t>(known->number);
    else if (!known || known->kind != Static::Kind::None)
      r.fail("WrongArguments", r.by[2]->span, "`channels` is a constant from 1 to 4",
             "1: gray, 2: gray and alpha, 3: RGB, 4: RGB and alpha");
  }
  if (builtin == Builtin::ReadCsv && r.has(1)) {
    auto known = r.constant(1);
    if (known && known->kind == Static::Kind::Bool)
      options.header = known->number ? TextHeader::Yes : TextHeader::No;
    else if (!known || known->kind != Static::Kind::None)
      r.fail("NotConstant", r.by[1]->span, "`header` is the constant true, false or none");
  }
  if (!r.ok) return nullptr;

  Type wanted = expected ? cx.open.resolved(*expected) : Type::none();
  if (builtin == Builtin::ReadTable && !wanted.is_struct() && !wanted.is_error())
    return untyped_table(cx, r, *path, wanted);
  if (builtin == Builtin::ReadTable && wanted.is_struct())
    for (size_t k = 0; k < wanted.elements.size(); ++k)
      if (const Type& column = wanted.elements[k]; column.is_list() || column.is_str()) {
        r.fail("TypeMismatch", r.span,
               fmt::format("`{}` of {} is no column of a table", wanted.record->fields[k].name, show(cx, wanted)),
               "a column of texts is `table.Texts[n]`");
        return nullptr;
      }
  auto node = make_expr(typed::BuiltinExpr{Builtin::Load, typed::LoadAttrs{options}}, r.span, Type::error());
  auto& load = node->attrs<typed::LoadAttrs>();
  if (wanted.is_error()) { // reported
    r.ok = false;
    return nullptr;
  }
  if (wanted.is_tensor() && !wanted.open) {
    node->type = Type::tensor(wanted.dtype, std::vector<Size>(wanted.rank()));
  } else if (wanted.is_aggregate() && !has_name && leaf_names(cx, wanted, "", load.names)) {
    node->type = wanted;
  } else if (cx.in_const && wanted.is_list()) {
    r.fail("NotConstant", r.span,
           "a list cannot be read into a const: how many elements it has is seen when the program runs");
    return nullptr;
  } else if ((wanted.is_aggregate() || wanted.is_list()) && !has_name && can_be_read(wanted)) {
    if (cx.in_const) {
      r.fail("NotConstant", r.span,
             fmt::format("a const of type {} cannot be read from a file: it has lists in it", show(cx, wanted)));
      return nullptr;
    }
    typed::Block before;
    ExprPtr file = shared(cx, std::move(path), before);
    ExprPtr parts = load_parts(cx, wanted, {}, *file, options, r.span, before);
    return in_block(std::move(before), std::move(parts), r.span);
  } else if (wanted.is_aggregate() || wanted.is_list()) {
    r.fail("TypeMismatch", r.span, fmt::format("a file holds tensors, and {} has other parts", show(cx, wanted)));
    return nullptr;
  } else if (is_text_table(builtin)) {
    node->type = Type::tensor(DType::F64, std::vector<Size>(2));
  } else {
    if (!path->is<typed::StrExpr>() || (name && !name->is<typed::StrExpr>())) {
      r.fail("UntypedLoad", r.span, "the type of the loaded value is not known here", kSayType);
      return nullptr;
    }
    auto header = header_of(cx, text_of(path), text_of(name), options, nullptr, "what is loaded has no type yet",
                            cx.in_const ? "" : kSayType, r);
    if (!header) return nullptr;
    node->type = Type::tensor(header->dtype, std::vector<Size>(header->dims.size()));
  }
  if (cx.in_const) {
    if (!path->is<typed::StrExpr>() || (name && !name->is<typed::StrExpr>())) {
      r.fail("NotConstant", r.span, "the path of a file that a const is read from is written out");
      return nullptr;
    }
    load.is_constant = true;
    std::istringstream names(load.names);
    if (!file_sizes(cx, node->type, text_of(path), text_of(name), names, options, r)) return nullptr;
  } else {
    fresh_axes(cx, *node, node->type, {});
  }
  node->operands.push_back(std::move(path));
  if (name) node->operands.push_back(std::move(name));
  return node;
}

static ExprPtr save_call(Context& cx, Rule& r) {
  ExprPtr path = r.text(0, "a path", "the path comes first: `save(\"x.npy\", x)`"), x = r.value(1);
  if (!r.ok) return nullptr;
  cx.open.settle(x->type);
  auto node = make_expr(typed::BuiltinExpr{Builtin::Save, typed::SaveAttrs{}}, r.span, Type::unit());
  std::string& names = node->attrs<typed::SaveAttrs>().names;
  if (!x->type.is_tensor() && has_list(cx, x->type) && holds_complex(x->type)) {
    r.fail("NotSupported", x->span, "lists with complex numbers in them cannot be saved yet",
           "save their real and imaginary parts");
    return nullptr;
  }
  if (!x->type.is_tensor() && has_list(cx, x->type) && can_be_read(x->type)) {
    typed::Block before;
    path = shared(cx, std::move(path), before);
    x = shared(cx, std::move(x), before);
    VarId held_names = new_variable(cx, "", Type::str(), true, r.span);
    VarId leaves = new_variable(cx, "", Type::list(Type::scalar(DType::F32)), true, r.span); // of any types, in truth
    before.statements.push_back(let_variable(held_names, finish_interp(new_interp(r.span)), r.span));
    before.statements.push_back(
        let_variable(leaves, list_node(typed::ListOp::Make, r.span, cx.program.variables[leaves.index].type), r.span));
    collect_leaves(cx, std::move(x), {}, held_names, leaves, before, r.span);
    node->operands.push_back(std::move(path));
    node->operands.push_back(variable_value(cx, held_names, r.span));
    node->operands.push_back(variable_value(cx, leaves, r.span));
    typed::Stmt save;
    save.span = r.span;
    save.value = std::move(node);
    before.statements.push_back(std::move(save));
    return make_expr(typed::BlockExpr{std::move(before)}, r.span, Type::unit());
  }
  std::function<bool(const Type&)> holds_device = [&](const Type& type) {
    return is_device(type) || std::any_of(type.elements.begin(), type.elements.end(), holds_device);
  };
  if (holds_device(x->type)) {
    r.fail("TypeMismatch", x->span, "a device cannot be saved", "`str(d)` is its name");
    return nullptr;
  }
  if (!x->type.is_tensor() && (!leaf_names(cx, x->type, "", names) || names.empty())) {
    r.fail("TypeMismatch", x->span,
           fmt::format("`save` takes a tensor, or a tuple or struct of tensors, not {}", show(cx, x->type)),
           x->type.is_str() ? "`write_text(path, s)` writes text" : "");
    return nullptr;
  }
  node->operands.push_back(std::move(path));
  node->operands.push_back(std::move(x));
  return node;
}

ExprPtr file_rule(Context& cx, Rule& r) {
  const Builtin builtin = r.builtin;
  const Type* expected = r.expected;
  if (!r.bind()) return nullptr;
  if (builtin == Builtin::Save) return save_call(cx, r);
  if (builtin != Builtin::Exists && builtin != Builtin::ReadText && builtin != Builtin::WriteText &&
      builtin != Builtin::TensorNames)
    return load_call(cx, builtin, r, expected);
  auto node = make_expr(typed::BuiltinExpr{builtin}, r.span, Type::unit());
  node->operands.push_back(r.text(0, "a path"));
  if (builtin == Builtin::WriteText)
    node->operands.push_back(r.text(1, "what is written", "`\"{x}\"` makes text of a value"));
  if (builtin == Builtin::Exists) node->type = Type::scalar(DType::Bool);
  if (builtin == Builtin::ReadText || builtin == Builtin::TensorNames) node->type = Type::str();
  if (!r.ok) return nullptr;
  if (builtin != Builtin::TensorNames) return node;
  std::vector<ExprPtr> names;
  names.push_back(std::move(node));
  return text_node(cx, TextOp::Lines, std::move(names), r.span);
}

} // namespace tl::checker
