// The rules of what reads and writes files: load, save, the read_ functions, exists, read_text, write_text.
#include "parser/builtin_rules.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {

constexpr const char* kSayType = "say what is in it: `let x: f32[n, 3] = load(…)`";

bool is_text_table(Builtin builtin) { return builtin == Builtin::ReadCsv; }

FileKind kind_of(Builtin builtin) {
  switch (builtin) {
  case Builtin::ReadCsv: return FileKind::Text;
  case Builtin::ReadIdx: return FileKind::Idx;
  case Builtin::ReadNpz: return FileKind::Npz;
  case Builtin::ReadSafetensors: return FileKind::Safetensors;
  default: return FileKind::Any;
  }
}

const char* parameters_of(Builtin builtin) {
  switch (builtin) {
  case Builtin::Load: return "path name channels";
  case Builtin::ReadCsv: return "path header";
  case Builtin::ReadNpz:
  case Builtin::ReadSafetensors: return "path name";
  case Builtin::Save: return "path x";
  case Builtin::WriteText: return "path s";
  default: return "path";
  }
}

} // namespace

ExprPtr Checker::Rule::text(size_t i, const char* what, const std::string& hint) {
  ExprPtr v = value(i);
  if (ok && !v->type.is_str())
    fail("TypeMismatch", v->span, fmt::format("{} is text, not {}", what, c.show(v->type)), hint);
  return v;
}

// Every axis of the tensors in the type becomes a size that is known once the node has been computed.
void Checker::fresh_axes(typed::Expr& node, Type& type, std::vector<uint32_t> path) {
  if (type.is_aggregate()) {
    for (uint32_t i = 0; i < type.elements.size(); ++i) {
      std::vector<uint32_t> inner = path;
      inner.push_back(i);
      fresh_axes(node, type.elements[i], std::move(inner));
    }
    return;
  }
  for (uint32_t axis = 0; axis < type.shape.size(); ++axis) {
    AtomId id = size_atom(AtomKind::Fresh, fmt::format("axis {} of {}", axis, text(node.span)), node.span);
    node.fresh.push_back({id, path, axis});
    type.shape[axis] = Size::of(id);
  }
}

// The names of the leaves of a tuple or struct, one a line: "0", "layer.w". False: a leaf is no tensor.
bool Checker::leaf_names(const Type& type, const std::string& prefix, std::string& names) {
  if (type.is_tensor()) {
    names += (names.empty() ? "" : "\n") + prefix;
    return true;
  }
  if (!type.is_aggregate()) return false;
  for (size_t i = 0; i < type.elements.size(); ++i) {
    std::string name = type.is_struct() ? type.record->fields.at(i).name : std::to_string(i);
    if (!leaf_names(type.elements[i], prefix.empty() ? name : prefix + "." + name, names)) return false;
  }
  return true;
}

ExprPtr Checker::load_call(Builtin builtin, Rule& r, const Type* expected) {
  ExprPtr path = r.text(0, "a path"), name;
  if (!r.ok) return nullptr;
  LoadOptions options;
  options.kind = kind_of(builtin);
  bool has_name = builtin != Builtin::ReadCsv && r.has(1);
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

  auto node = make(ExprKind::Builtin, r.span, Type::error());
  node->builtin = Builtin::Load;
  node->index = static_cast<uint32_t>(options.packed().bits);
  Type wanted = expected ? resolved(*expected) : Type::none();
  if (wanted.is_error()) { // reported
    r.ok = false;
    return nullptr;
  }
  if (wanted.is_tensor() && !wanted.open) {
    node->type = Type::tensor(wanted.dtype, std::vector<Size>(wanted.rank()));
  } else if (wanted.is_aggregate() && !has_name && leaf_names(wanted, "", node->text)) {
    node->type = wanted;
  } else if (is_text_table(builtin)) {
    node->type = Type::tensor(DType::F64, std::vector<Size>(2));
  } else {
    if (path->kind != ExprKind::Str || (name && name->kind != ExprKind::Str)) {
      r.fail("UntypedLoad", r.span, "the type of what is loaded is not known here", kSayType);
      return nullptr;
    }
    FileHeader header{{}, 0, "nothing reads it here", true};
    if (options_.read_header) header = options_.read_header(path->text, name ? name->text : "", options);
    if (!header.problem.empty()) {
      std::string message = fmt::format("what is loaded has no type yet: {}", header.problem);
      std::string hint = header.missing ? kSayType : "";
      if (header.missing && options_.missing_file_is_warning)
        report({Severity::Warning, "UntypedLoad", message, r.span, {}, hint});
      else
        r.fail("UntypedLoad", r.span, message, hint);
      r.ok = false;
      return nullptr;
    }
    node->type = Type::tensor(header.dtype, std::vector<Size>(header.rank));
  }
  fresh_axes(*node, node->type, {});
  node->operands.push_back(std::move(path));
  if (name) node->operands.push_back(std::move(name));
  return node;
}

ExprPtr Checker::save_call(Rule& r) {
  ExprPtr path = r.text(0, "a path", "the path comes first: `save(\"x.npy\", x)`"), x = r.value(1);
  if (!r.ok) return nullptr;
  settle(*x);
  auto node = make(ExprKind::Builtin, r.span, Type::unit());
  node->builtin = Builtin::Save;
  if (!x->type.is_tensor() && (!leaf_names(x->type, "", node->text) || node->text.empty())) {
    r.fail("TypeMismatch", x->span,
           fmt::format("`save` takes a tensor, or a tuple or struct of tensors, not {}", show(x->type)),
           x->type.is_str() ? "`write_text(path, s)` writes text" : "");
    return nullptr;
  }
  node->operands.push_back(std::move(path));
  node->operands.push_back(std::move(x));
  return node;
}

ExprPtr Checker::file_rule(Builtin builtin, Rule& r, const Type* expected) {
  bool needs_two = builtin == Builtin::Save || builtin == Builtin::WriteText || builtin == Builtin::ReadNpz ||
                   builtin == Builtin::ReadSafetensors;
  if (!r.bind(parameters_of(builtin), needs_two ? 2 : 1)) return nullptr;
  if (builtin == Builtin::Save) return save_call(r);
  if (builtin != Builtin::Exists && builtin != Builtin::ReadText && builtin != Builtin::WriteText &&
      builtin != Builtin::TensorNames)
    return load_call(builtin, r, expected);
  auto node = make(ExprKind::Builtin, r.span, Type::unit());
  node->builtin = builtin;
  node->operands.push_back(r.text(0, "a path"));
  if (builtin == Builtin::WriteText)
    node->operands.push_back(r.text(1, "what is written", "`\"{x}\"` makes text of a value"));
  if (builtin == Builtin::Exists) node->type = Type::scalar(DType::Bool);
  if (builtin == Builtin::ReadText || builtin == Builtin::TensorNames) node->type = Type::str();
  if (!r.ok) return nullptr;
  if (builtin != Builtin::TensorNames) return node;
  std::vector<ExprPtr> names;
  names.push_back(std::move(node));
  return text_node(TextOp::Lines, std::move(names), r.span);
}

} // namespace tl::checker
