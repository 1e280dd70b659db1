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

  static std::string literal(DType type, Scalar value) {
    switch (type) {
    case DType::Bool: return value.bits ? "true" : "false";
    case DType::F32: return fmt::format("{}", value.as<float>());
    case DType::F64: return fmt::format("{}", value.as<double>());
    case DType::F16: return fmt::format("{}", f16_to_float(value.as<uint16_t>()));
    case DType::BF16: return fmt::format("{}", bf16_to_float(value.as<uint16_t>()));
    case DType::I8: return fmt::format("{}", value.as<int8_t>());
    case DType::I16: return fmt::format("{}", value.as<int16_t>());
    case DType::I32: return fmt::format("{}", value.as<int32_t>());
    case DType::I64: return fmt::format("{}", value.as<int64_t>());
    default: return fmt::format("{}", value.bits);
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

  // The attributes of built-in functions.
  static std::string axes(const std::vector<int64_t>& list) {
    return list.empty() ? "" : fmt::format("; axes {}", fmt::join(list, " "));
  }
  static std::string keep(bool flag) { return flag ? "; keep" : ""; }
  std::string sizes(const std::vector<Size>& list) const {
    std::string text;
    for (const Size& s : list)
      text += "; " + size(s);
    return text;
  }
  static std::string attrs(const NoAttrs&) { return ""; }
  static std::string attrs(const AxisAttrs& a) { return axes({a.axis}); }
  static std::string attrs(const AxesAttrs& a) { return axes(a.axes); }
  static std::string attrs(const ReduceAttrs& a) { return axes(a.axes) + keep(a.keep); }
  static std::string attrs(const EinsumAttrs& a) {
    std::vector<int64_t> labels = a.lhs;
    labels.insert(labels.end(), a.rhs.begin(), a.rhs.end());
    return axes(labels);
  }
  std::string attrs(const ScatterAddAttrs& a) const { return axes({a.axis}) + keep(a.along_axis) + sizes(a.places); }
  std::string attrs(const PadAttrs& a) const {
    std::string text;
    for (const PadAttrs::Margins& margins : a.margins)
      text += sizes({margins.before, margins.after});
    return text;
  }
  std::string attrs(const LinalgAttrs& a) const { return keep(a.lower) + sizes(a.shape); }
  static std::string attrs(const PrintAttrs& a) { return keep(a.to_stderr); }
  static std::string attrs(const ProgressAttrs& a) { return keep(a.last); }
  static std::string attrs(const DeviceCountAttrs& a) { return keep(a.of_gpus); }
  static std::string attrs(const DebugAttrs&) { return ""; }
  static std::string attrs(const LoadAttrs& a) { return keep(a.is_constant); }
  static std::string attrs(const SaveAttrs&) { return ""; }
  static std::string attrs(const PlotAttrs& a) { return axes({a.has_path, a.has_x}); }

  // Each kind of expression.
  static std::string core(const Expr& e, const LiteralExpr& literal) {
    return Printer::literal(e.type.dtype, literal.value);
  }
  static std::string core(const Expr&, const StrExpr& str) { return fmt::format("\"{}\"", str.text); }
  static std::string core(const Expr&, const UnitExpr&) { return "()"; }
  std::string core(const Expr&, const VariableExpr& variable) const { return name(variable.var); }
  std::string core(const Expr&, const SizeExpr& e) const { return fmt::format("size({})", size(e.size)); }
  std::string core(const Expr& e, const ScalarExpr& scalar) {
    return fmt::format("{}({})", info(scalar.op).name, list(e.operands));
  }
  std::string core(const Expr& e, const ConvertExpr&) { return fmt::format("convert({})", list(e.operands)); }
  std::string core(const Expr& e, const BuiltinExpr& function) {
    std::string operands = list(e.operands);
    std::string shown = std::visit([&](const auto& held) { return attrs(unboxed(held)); }, function.attrs);
    return fmt::format("{}({}{})", info(function.builtin).name, operands, shown);
  }
  std::string core(const Expr& e, const CallExpr& call) {
    std::vector<std::string> sizes;
    for (const Size& s : call.size_args)
      sizes.push_back(size(s));
    const InstanceId id = call.instance;
    std::string callee = id.valid() ? fmt::format("{}@{}", p.instances[id.index].name, id.index) : "?";
    return fmt::format("{}[{}]({})", callee, fmt::join(sizes, ", "), list(e.operands));
  }
  std::string core(const Expr& e, const TupleExpr&) { return fmt::format("({})", list(e.operands)); }
  std::string core(const Expr& e, const TupleGetExpr& get) {
    return fmt::format("{}.{}", expr(*e.operands[0]), get.index);
  }
  std::string core(const Expr& e, const IndexExpr& index) {
    return expr(*e.operands[0]) + subscripts(index.subscripts);
  }
  std::string core(const Expr& e, const TensorLiteralExpr&) { return fmt::format("[{}]", list(e.operands)); }
  std::string core(const Expr& e, const IfExpr& branches) {
    std::string condition = expr(*e.operands[0]), then_text = block(branches.then_block);
    return fmt::format("if {} {} else {}", condition, then_text, block(branches.else_block)) + joins(branches.joins);
  }
  std::string core(const Expr&, const BlockExpr& e) {
    return (e.constant.name.valid() ? "const " : "") + block(e.block);
  }
  std::string core(const Expr& e, const ComprehensionExpr& comprehension) {
    std::vector<std::string> indices;
    for (const auto& i : comprehension.indices)
      indices.push_back(fmt::format("{} in {}..{}", name(i.var), size(i.lo), size(i.hi)));
    static const char* names[] = {"sum", "prod", "min", "max", "any", "all", "argmin", "argmax"};
    std::string head = !comprehension.is_reduction ? "tensor"
                       : comprehension.is_mean     ? "mean"
                                                   : names[static_cast<int>(comprehension.reduce)];
    std::string filter = comprehension.filter ? " if " + expr(*comprehension.filter) : "";
    return fmt::format("{}({} for {}{})", head, expr(*e.operands[0]), fmt::join(indices, ", "), filter);
  }
  std::string core(const Expr& e, const InterpExpr& interp) {
    const FormatTemplate& format = interp.format;
    std::string text;
    for (size_t i = 0; i < format.literals.size(); ++i) {
      text += format.literals[i];
      if (i < e.operands.size()) text += format.specs[i].empty() ? "{}" : fmt::format("{{:{}}}", format.specs[i]);
    }
    return fmt::format("format(\"{}\", {})", text, list(e.operands));
  }
  std::string core(const Expr& e, const RangeExpr&) const {
    return fmt::format("range({}, {}, {})", size(e.type.shape[0]), size(e.type.shape[1]), size(e.type.shape[2]));
  }
  std::string core(const Expr& e, const ListExpr& operation) {
    static const char* names[] = {"list", "length", "get", "set", "append", "concat", "slice", "join"};
    std::string text = fmt::format("list_{}({}", names[static_cast<int>(operation.op)], list(e.operands));
    const SliceBounds& bounds = operation.bounds;
    if (operation.op == ListOp::Slice) text += fmt::format("; {:d} {:d} {:d}", bounds.first, bounds.last, bounds.step);
    if (operation.op == ListOp::Join) text += fmt::format("; {} {:d}", operation.axis, operation.stack);
    return text + ")";
  }
  std::string core(const Expr& e, const TextExpr& text) {
    return fmt::format("{}({})", info(text.op).name, list(e.operands));
  }
  std::string core(const Expr& e, const DeriveExpr& derived) {
    constexpr const char* names[] = {"vjp", "jvp", "vmap", "jacobian", "checkpoint", "custom_vjp"};
    return fmt::format("{}({})", names[static_cast<int>(derived.transform)], list(e.operands));
  }
  std::string core(const Expr& e, const RecastExpr&) { return fmt::format("recast({})", list(e.operands)); }

  std::string expr(const Expr& e) {
    std::string text;
    for (const SizeBind& bind : e.binds)
      text += fmt::format("bind({} = {}) ", size(Size::of(bind.atom)), expr(*bind.value));
    text += e.visit([&](const auto& data) { return core(e, data); });
    bool plain = e.is<VariableExpr, UnitExpr, StrExpr, TupleExpr>();
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
