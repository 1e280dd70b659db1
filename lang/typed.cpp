#include "lang/typed.h"
#include <array>
#include <fmt/format.h>

namespace tl::typed {

namespace {

// Prints a program close to how its text would look if everything were spelt out.
struct Printer {
  const Program& p;
  std::string out;
  int depth = 0;

  std::string name(VarId id) const {
    if (!id.valid()) return "_";
    const std::string& n = p.variables[id.index].name;
    return fmt::format("{}%{}", n, id.index);
  }
  std::string size(const Size& s) const { return p.atoms.to_string(s); }
  std::string type(const Type& t) const { return to_string(t, p.atoms); }
  void line(const std::string& text) { out += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n"; }

  std::string checks(const std::vector<SizeCheck>& list) const {
    std::string text;
    for (const SizeCheck& c : list)
      text += fmt::format(" check({} {} {})", size(c.a), std::array{"==", ">=", "<="}[static_cast<size_t>(c.relation)],
                          size(c.b));
    return text;
  }
  std::string path(const std::vector<uint32_t>& steps) const {
    std::string text;
    for (uint32_t step : steps)
      text += fmt::format(".{}", step);
    return text;
  }
  std::string fresh(const std::vector<FreshAtom>& list) const {
    std::string text;
    for (const FreshAtom& f : list) {
      text += fmt::format(" fresh({} = axis {}{})", size(Size::of(f.atom)), f.axis, path(f.path));
    }
    return text;
  }
  std::string joins(const std::vector<Join>& list) const {
    std::string text;
    for (const Join& j : list)
      text += fmt::format(" join({}: {}{})", name(j.var), type(j.type), fresh(j.fresh));
    return text;
  }

  std::string literal(const Expr& e) const {
    switch (e.type.dtype) {
    case DType::Bool: return e.literal.bits ? "true" : "false";
    case DType::F32: return fmt::format("{}", e.literal.as<float>());
    case DType::F64: return fmt::format("{}", e.literal.as<double>());
    case DType::F16: return fmt::format("{}", f16_to_float(e.literal.as<uint16_t>()));
    case DType::BF16: return fmt::format("{}", bf16_to_float(e.literal.as<uint16_t>()));
    case DType::I8: return fmt::format("{}", e.literal.as<int8_t>());
    case DType::I16: return fmt::format("{}", e.literal.as<int16_t>());
    case DType::I32: return fmt::format("{}", e.literal.as<int32_t>());
    case DType::I64: return fmt::format("{}", e.literal.as<int64_t>());
    default: return fmt::format("{}", e.literal.bits);
    }
  }

  std::string list(const std::vector<ExprPtr>& operands) {
    std::vector<std::string> texts;
    for (const auto& operand : operands)
      texts.push_back(expr(*operand));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string subscripts(const std::vector<Subscript>& list) {
    std::vector<std::string> texts;
    for (const Subscript& s : list) {
      switch (s.kind) {
      case Subscript::Kind::At: texts.push_back(expr(*s.value) + (s.in_range ? "" : "?")); break;
      case Subscript::Kind::Slice:
        texts.push_back(fmt::format("slice({}, {}, {})", size(s.start), size(s.length), s.step));
        break;
      case Subscript::Kind::Full: texts.push_back(":"); break;
      case Subscript::Kind::NewAxis: texts.push_back("new"); break;
      case Subscript::Kind::Tensor: texts.push_back("rows " + expr(*s.value)); break;
      case Subscript::Kind::Mask: texts.push_back("mask " + expr(*s.value)); break;
      }
    }
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }

  // A block inside an expression, on lines of its own.
  std::string block(const Block& b) {
    std::string saved;
    std::swap(saved, out);
    ++depth;
    statements(b);
    --depth;
    std::swap(saved, out);
    return "{\n" + saved + std::string(static_cast<size_t>(depth) * 2, ' ') + "}";
  }

  std::string core(const Expr& e) {
    switch (e.kind) {
    case ExprKind::Literal: return literal(e);
    case ExprKind::Str: return fmt::format("\"{}\"", e.text);
    case ExprKind::Unit: return "()";
    case ExprKind::Variable: return name(e.var);
    case ExprKind::SizeValue: return fmt::format("size({})", size(e.size));
    case ExprKind::Scalar: return fmt::format("{}({})", info(e.scalar_op).name, list(e.operands));
    case ExprKind::Convert: return fmt::format("convert({})", list(e.operands));
    case ExprKind::Builtin: {
      std::string text = fmt::format("{}({}", info(e.builtin).name, list(e.operands));
      if (!e.ints.empty()) text += fmt::format("; axes {}", fmt::join(e.ints, " "));
      if (e.flag) text += "; keep";
      for (const Size& s : e.sizes)
        text += "; " + size(s);
      return text + ")";
    }
    case ExprKind::Call: {
      std::vector<std::string> sizes;
      for (const Size& s : e.size_args)
        sizes.push_back(size(s));
      std::string callee =
          e.instance.valid() ? fmt::format("{}@{}", p.instances[e.instance.index].name, e.instance.index) : "?";
      return fmt::format("{}[{}]({})", callee, fmt::join(sizes, ", "), list(e.operands));
    }
    case ExprKind::Tuple: return fmt::format("({})", list(e.operands));
    case ExprKind::TupleGet: return fmt::format("{}.{}", expr(*e.operands[0]), e.index);
    case ExprKind::Index: return expr(*e.operands[0]) + subscripts(e.subscripts);
    case ExprKind::TensorLiteral: return fmt::format("[{}]", list(e.operands));
    case ExprKind::If:
      return fmt::format("if {} {} else {}", expr(*e.operands[0]), block(e.blocks[0]), block(e.blocks[1])) +
             joins(e.joins);
    case ExprKind::Block: return block(e.blocks[0]);
    case ExprKind::Comprehension: {
      std::vector<std::string> indices;
      for (const auto& i : e.indices)
        indices.push_back(fmt::format("{} in {}..{}", name(i.var), size(i.lo), size(i.hi)));
      static const char* names[] = {"sum", "prod", "min", "max", "any", "all", "argmin", "argmax"};
      std::string head = !e.is_reduction ? "tensor" : e.is_mean ? "mean" : names[static_cast<int>(e.reduce)];
      std::string filter = e.filter ? " if " + expr(*e.filter) : "";
      return fmt::format("{}({} for {}{})", head, expr(*e.operands[0]), fmt::join(indices, ", "), filter);
    }
    case ExprKind::Interp: {
      std::string text;
      for (size_t i = 0; i < e.format.literals.size(); ++i) {
        text += e.format.literals[i];
        if (i < e.operands.size()) text += e.format.specs[i].empty() ? "{}" : fmt::format("{{:{}}}", e.format.specs[i]);
      }
      return fmt::format("format(\"{}\", {})", text, list(e.operands));
    }
    case ExprKind::Range:
      return fmt::format("range({}, {}, {})", size(e.type.shape[0]), size(e.type.shape[1]), size(e.type.shape[2]));
    case ExprKind::List: {
      static const char* names[] = {"list", "length", "get", "set", "append", "concat", "slice", "join"};
      std::string text = fmt::format("list_{}({}", names[static_cast<int>(e.list_op)], list(e.operands));
      if (!e.ints.empty()) text += fmt::format("; {}", fmt::join(e.ints, " "));
      return text + ")";
    }
    case ExprKind::Text: return fmt::format("{}({})", info(e.text_op).name, list(e.operands));
    case ExprKind::Derive: {
      constexpr const char* names[] = {"vjp", "jvp", "vmap", "jacobian", "checkpoint", "custom_vjp"};
      return fmt::format("{}({})", names[static_cast<int>(e.transform)], list(e.operands));
    }
    case ExprKind::Recast: return fmt::format("recast({})", list(e.operands));
    }
    return "?";
  }

  std::string expr(const Expr& e) {
    std::string text;
    for (const SizeBind& bind : e.binds)
      text += fmt::format("bind({} = {}) ", size(Size::of(bind.atom)), expr(*bind.value));
    text += core(e);
    bool plain = e.kind == ExprKind::Variable || e.kind == ExprKind::Unit || e.kind == ExprKind::Str ||
                 e.kind == ExprKind::Tuple;
    if (!plain && !e.type.is_unit()) text += ": " + type(e.type);
    return text + checks(e.checks) + fresh(e.fresh);
  }

  std::string pattern(const Pattern& pattern) {
    if (!pattern.is_tuple) {
      if (!pattern.var.valid()) return "_";
      return fmt::format("{}: {}", name(pattern.var), type(p.variables[pattern.var.index].type));
    }
    std::vector<std::string> texts;
    for (const Pattern& element : pattern.elements)
      texts.push_back(this->pattern(element));
    return fmt::format("({})", fmt::join(texts, ", "));
  }
  static bool is_mutable(const Pattern& pattern, const Program& p) {
    if (pattern.var.valid()) return p.variables[pattern.var.index].is_mutable;
    for (const Pattern& element : pattern.elements)
      if (is_mutable(element, p)) return true;
    return false;
  }

  void statement(const Stmt& s) {
    switch (s.kind) {
    case StmtKind::Let: {
      std::string text =
          fmt::format("{} {} = {}", is_mutable(s.pattern, p) ? "var" : "let", pattern(s.pattern), expr(*s.value));
      for (const auto& [atom, value] : s.size_defs)
        text += fmt::format(" define({} = {})", size(Size::of(atom)), size(value));
      line(text);
      break;
    }
    case StmtKind::Assign: {
      std::vector<std::string> targets;
      for (const Place& place : s.targets)
        targets.push_back(name(place.var) + path(place.path) +
                          (place.subscripts.empty() ? "" : subscripts(place.subscripts)));
      std::string mode = s.mode == AssignMode::Set          ? "="
                         : s.mode == AssignMode::Accumulate ? "accumulate"
                                                            : fmt::format("{}=", info(s.scalar_op).name);
      line(fmt::format("{} {} {}{}", fmt::join(targets, ", "), mode, expr(*s.value), checks(s.checks)));
      break;
    }
    case StmtKind::For:
      line(fmt::format("for {} in {}{} {}{}", pattern(s.pattern), expr(*s.value), joins(s.head), block(s.body),
                       joins(s.after)));
      break;
    case StmtKind::While:
      line(fmt::format("while {}{} {}{}", expr(*s.value), joins(s.head), block(s.body), joins(s.after)));
      break;
    case StmtKind::Break: line("break"); break;
    case StmtKind::Continue: line("continue"); break;
    case StmtKind::Return: line(s.value ? "return " + expr(*s.value) : "return"); break;
    case StmtKind::Assert:
      line(fmt::format("assert {}{}", expr(*s.value), s.message ? ", " + expr(*s.message) : ""));
      break;
    case StmtKind::Expr: line(expr(*s.value)); break;
    }
  }

  void statements(const Block& b) {
    for (const Stmt& s : b.statements)
      statement(s);
    if (b.result) line(expr(*b.result));
  }

  void instance(size_t index) {
    const Instance& i = p.instances[index];
    std::vector<std::string> params, sizes, captures;
    for (VarId v : i.params)
      params.push_back(fmt::format("{}: {}", name(v), type(p.variables[v.index].type)));
    for (AtomId a : i.size_params)
      sizes.push_back(size(Size::of(a)));
    for (VarId v : i.captures)
      captures.push_back(name(v));
    line(fmt::format("fn {}@{}[{}]({}) -> {}{}{} {{", i.name, index, fmt::join(sizes, ", "), fmt::join(params, ", "),
                     type(i.result), i.has_effects ? " effects" : "",
                     captures.empty() ? "" : fmt::format(" captures {}", fmt::join(captures, ", "))));
    ++depth;
    statements(i.body);
    --depth;
    line("}");
  }
};

} // namespace

std::string to_text(const Program& program) {
  Printer printer{program, {}, 0};
  for (size_t i = 0; i < program.instances.size(); ++i)
    if (program.instances[i].body.result || !program.instances[i].body.statements.empty()) printer.instance(i);
  if (!program.top_level.statements.empty()) {
    printer.line("top level {");
    ++printer.depth;
    printer.statements(program.top_level);
    --printer.depth;
    printer.line("}");
  }
  if (program.has_main) {
    std::vector<std::string> params;
    for (const EntryParam& param : program.entry_params)
      params.push_back(fmt::format("{}: {}{}", printer.name(param.var),
                                   printer.type(program.variables[param.var.index].type),
                                   param.given.valid() ? " optional" : ""));
    printer.line(fmt::format("main({}) {{", fmt::join(params, ", ")));
    ++printer.depth;
    printer.statements(program.main_call);
    --printer.depth;
    printer.line("}");
  }
  return printer.out;
}

} // namespace tl::typed
