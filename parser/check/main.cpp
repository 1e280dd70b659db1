// The command line of a program: parameters of `main` that are lists and structs, and its results.
#include "parser/check/main.h"
#include "parser/check/builtins/complex.h"
#include "parser/check/builtins/devices.h"
#include "parser/check/builtins/files.h"
#include "parser/check/expressions.h"
#include "parser/check/leaves.h"
#include "parser/check/lists.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/strings.h"
#include "parser/check/structs.h"
#include "parser/check/text.h"
#include "parser/check/types.h"
#include "parser/check/values.h"
#include <fmt/format.h>

namespace tl::checker {

bool returns_struct(const Context& cx, const ast::NamedType& type) {
  if (type.name.text == "List") return false;
  if (!type.module.empty()) return true;
  const Entity* entity = find_type(cx, type.name.text);
  return entity && entity->kind == Entity::Kind::Struct;
}

namespace {

// The leaves of an element of a list, under their names in a file.
void file_leaves(const Type& type, const std::string& path, std::vector<FileLeaf>& leaves) {
  if (type.is_aggregate()) {
    for (size_t i = 0; i < type.elements.size(); ++i) {
      const std::string step = type.is_struct() ? type.record->fields[i].name : std::to_string(i);
      file_leaves(type.elements[i], path.empty() ? step : path + "." + step, leaves);
    }
    return;
  }
  FileLeaf leaf;
  leaf.name = path;
  leaf.dtype = type.dtype;
  leaf.rank = static_cast<uint32_t>(type.rank());
  leaf.is_list = type.is_list();
  if (leaf.is_list && !type.elements.empty()) file_leaves(type.elements[0], "", leaf.element);
  leaves.push_back(std::move(leaf));
}

} // namespace

// What a list is given from outside: each element may have any sizes.
void free_elements(Context& cx, Type& type) {
  if (type.is_list()) {
    size_t next = 0;
    auto visit = [&](auto& self, Type& part) -> void {
      if (part.is_list()) return free_elements(cx, part);
      for (Size& size : part.shape)
        size = Size::of(cx.program.atoms.element(next++));
      for (Type& inner : part.elements)
        self(self, inner);
    };
    visit(visit, type.elements.at(0));
    return;
  }
  for (Type& inner : type.elements)
    free_elements(cx, inner);
}

// A struct, or a list of what is no number and no text, comes from one file: each leaf is a parameter of the entry.
ExprPtr main_file(Context& cx, const ast::Param& param, std::set<std::string>& sizes) {
  DimContext context;
  std::vector<AtomId> bound;
  context.mode = DimMode::Bind;
  context.bound = &bound;
  size_t errors = cx.function->reports.size();
  bind_names(cx, param.type, context);
  Type type = type_of(cx, param.type, context);
  if (cx.function->reports.size() != errors) {
    cx.function->reports.resize(errors); // said again where `main` is checked
    return broken(param.type->span);
  }
  if (!has_only_tensors(type) || holds_complex(type)) {
    error(cx, "TypeMismatch", param.type->span,
          fmt::format("a command line gives structs and lists of tensors, and `{}` has other parts",
                      source_text(cx, param.type->span)),
          fmt::format("take its file: `path: str`, and `let {}: {} = load(path)`", param.name.text,
                      source_text(cx, param.type->span)));
    return broken(param.type->span);
  }
  if (param.default_value) {
    error(
        cx, "NotSupported", param.default_value->span,
        fmt::format("a default for a {} of the command line is not supported yet", type.is_list() ? "list" : "struct"));
    return broken(param.type->span);
  }
  free_elements(cx, type);
  return entry_leaves(cx, param, type, "", sizes);
}

// The parts of a parameter of the entry, each a parameter of its own, and the value that they make together.
ExprPtr entry_leaves(Context& cx, const ast::Param& param, Type type, const std::string& path,
                     std::set<std::string>& sizes) {
  if (type.is_aggregate()) {
    auto node = make_expr(typed::TupleExpr{}, param.name.span, type);
    for (size_t i = 0; i < type.elements.size(); ++i) {
      const std::string step = type.is_struct() ? type.record->fields[i].name : std::to_string(i);
      node->operands.push_back(
          entry_leaves(cx, param, type.elements[i], path.empty() ? step : path + "." + step, sizes));
      node->type.elements[i] = node->operands.back()->type;
    }
    return node;
  }
  if (type.is_tensor() && is_complex(type.dtype)) { // outside, its parts are side by side
    Type pairs = Type::tensor(part_of(type.dtype), type.shape);
    pairs.shape.push_back(Size::of(size_atom(cx, AtomKind::Fresh, "parts", param.type->span)));
    Arg argument;
    argument.span = param.name.span;
    argument.value = entry_leaves(cx, param, std::move(pairs), path, sizes);
    std::vector<Arg> arguments;
    arguments.push_back(std::move(argument));
    return prelude_call(cx, "complex_of_pairs", std::move(arguments), param.name.span);
  }
  ParamInfo info;
  info.name = param.name.text;
  info.doc = param.doc;
  info.type_text = source_text(cx, param.type->span);
  info.leaf = path;
  info.dtype = type.dtype;
  info.rank = static_cast<uint32_t>(type.rank());
  info.kind = type.is_str()    ? ParamInfo::Kind::Str
              : type.is_list() ? ParamInfo::Kind::List
              : info.rank      ? ParamInfo::Kind::Tensor
                               : ParamInfo::Kind::Scalar;
  if (type.is_list()) file_leaves(type.elements.at(0), "", info.element);
  for (uint32_t k = 0; k < info.rank; ++k) {
    auto own = type.shape[k].as_atom();
    std::string size = own ? cx.program.atoms[*own].name : "";
    if (size.empty() || cx.program.atoms[*own].kind != AtomKind::Named || !sizes.insert(size).second)
      size = fmt::format("axis {} of `{}{}{}`", k, info.name, path.empty() ? "" : ".", path);
    type.shape[k] = Size::of(size_atom(cx, AtomKind::Fresh, size, param.type->span));
  }
  typed::EntryParam entry;
  entry.var = new_variable(cx, path.empty() ? info.name : info.name + "." + path, type, false, param.name.span);
  if (type.is_scalar() && type.dtype == DType::I64) bind_atom(cx, entry.var);
  cx.program.entry_params.push_back(entry);
  cx.program.interface.params.push_back(std::move(info));
  return variable_value(cx, entry.var, param.name.span);
}

// A list comes as one text, with a zero byte after each element.
ExprPtr main_list(Context& cx, ExprPtr given, std::optional<DType> dtype, typed::Block& before) {
  const Span span = given->span;
  auto zero = make_expr(typed::StrExpr{std::string(1, '\0')}, span, Type::str());
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(given));
  operands.push_back(std::move(zero));
  auto all = list_node(typed::ListOp::Slice, span, Type::list(Type::str()));
  all->as<typed::ListExpr>().bounds = {false, true, false}; // [:-1]: nothing stands after the last
  all->operands.push_back(text_node(cx, TextOp::Split, std::move(operands), span));
  all->operands.push_back(int_value(-1, span));
  cx.open.settle(all->operands[1]->type);
  ExprPtr texts = shared(cx, std::move(all), before);
  if (!dtype) return texts;
  return map_list(
      cx, std::move(texts), Type::scalar(*dtype),
      [&](ExprPtr element) -> ExprPtr {
        if (*dtype == DType::Bool) {
          auto yes = make_expr(typed::StrExpr{"true"}, span, Type::str());
          return text_compare(cx, ast::BinaryOp::Equal, std::move(element), std::move(yes), span);
        }
        auto number = make_expr(typed::TextExpr{TextOp::Parse}, span, Type::scalar(*dtype));
        number->operands.push_back(std::move(element));
        return number;
      },
      span);
}

// What the result is for a command line: tensors and texts, each for a file or to be printed; of a struct or list its
// leaves and, in case no file takes them, its text; of what no file takes its text alone.
void main_results(Context& cx, typed::Block& block) {
  const Type type = refresh(cx, *block.result);
  const Span span = block.result->span;
  auto plain = [](const Type& t) { return (t.is_tensor() && !is_complex(t.dtype)) || t.is_str() || t.is_unit(); };
  auto add = [&](const Type& leaf, uint32_t value, std::string name, bool is_printed) {
    if (leaf.is_unit()) return;
    ResultInfo result;
    result.is_str = leaf.is_str();
    result.is_scalar = leaf.is_scalar();
    result.is_list = leaf.is_list();
    if (leaf.is_list() && !leaf.elements.empty()) file_leaves(leaf.elements[0], "", result.element);
    result.dtype = leaf.dtype;
    result.rank = static_cast<uint32_t>(leaf.rank());
    result.value = value;
    result.leaf = std::move(name);
    result.is_printed = is_printed;
    cx.program.interface.results.push_back(std::move(result));
  };
  if (plain(type)) return add(type, 0, "", false);
  ExprPtr held = shared(cx, std::move(block.result), block);
  auto delivered = make_expr(typed::TupleExpr{}, span, Type::tuple({}));
  uint32_t value = 0;
  auto deliver = [&](ExprPtr part) {
    delivered->type.elements.push_back(part->type);
    delivered->operands.push_back(std::move(part));
  };
  auto visit = [&](auto& self, ExprPtr part) -> void {
    const Type t = part->type;
    if (t.is_tuple()) {
      for (uint32_t i = 0; i < t.elements.size(); ++i)
        self(self, get_field(copy_part(cx, *part), i, span));
      return;
    }
    if (plain(t)) {
      add(t, value++, "", false);
      return deliver(std::move(part));
    }
    if (has_only_tensors(t) && !holds_complex(t)) {
      auto leaves = [&](auto& inner, ExprPtr leaf, const std::string& path) -> void {
        const Type of = leaf->type;
        if (of.is_aggregate()) {
          for (uint32_t i = 0; i < of.elements.size(); ++i) {
            const std::string step = of.is_struct() ? of.record->fields[i].name : std::to_string(i);
            inner(inner, get_field(copy_part(cx, *leaf), i, span), path.empty() ? step : path + "." + step);
          }
          return;
        }
        add(of, value, path, false);
        deliver(std::move(leaf));
      };
      leaves(leaves, copy_part(cx, *part), "");
    }
    auto shown = new_interp(span);
    append_value(cx, *shown, std::move(part), "", span);
    ExprPtr text = finish_interp(std::move(shown));
    add(text->type, value++, "", true);
    deliver(std::move(text));
  };
  visit(visit, std::move(held));
  block.result = std::move(delivered);
}

} // namespace tl::checker
