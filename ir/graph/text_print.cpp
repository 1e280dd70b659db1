#include "ir/graph/op_info.h"
#include "ir/graph/text.h"
#include "ir/graph/text_scalar.h"
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <stdexcept>

namespace tl::ir {
namespace {

bool is_identifier(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (char c : name)
    if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return false;
  return true;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    switch (c) {
    case '"': out += "\\\""; break;
    case '\\': out += "\\\\"; break;
    case '\n': out += "\\n"; break;
    case '\t': out += "\\t"; break;
    default:
      if (static_cast<unsigned char>(c) < 0x20)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      else
        out += c;
    }
  }
  return out + "\"";
}

std::string int_list(const std::vector<int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

// Names of the functions of a module: @name where unique, @name.3 (its index) where not.
std::string function_name(const Module& module, uint32_t index) {
  const std::string& name = module.functions[index].name;
  int same = 0;
  for (const Function& f : module.functions)
    same += f.name == name;
  std::string text = "@" + (is_identifier(name) ? name : quoted(name));
  return same == 1 ? text : fmt::format("{}.{}", text, index);
}

class Printer {
public:
  Printer(const Module* module, const Function& function) : module_(module), function_(function) {
    names_.resize(function.values.size());
    std::map<std::string, int> uses;
    count_names(function.body, uses);
    number(function.body, uses);
  }

  std::string function(const std::string& name) {
    out_ = "func " + name;
    region(function_.body, 0, true);
    out_ += "\n";
    return std::move(out_);
  }

  std::string type(const Type& type) const {
    if (type.kind == Type::Kind::Token) return "token";
    if (type.kind == Type::Kind::Str) return "str";
    if (type.kind == Type::Kind::List) {
      std::string text;
      for (const Type& element : type.elements)
        text += (text.empty() ? "" : ", ") + this->type(element);
      return text.empty() ? "list" : "list(" + text + ")";
    }
    std::string text(name_of(type.dtype));
    if (type.dims.empty()) return text;
    text += "[";
    for (size_t i = 0; i < type.dims.size(); ++i) {
      const Dim& dim = type.dims[i];
      if (i) text += ", ";
      text += dim.is_constant() ? std::to_string(dim.constant) : value(dim.value);
    }
    return text + "]";
  }

private:
  template <class Visit> void each_definition(const Region& region, Visit visit) const {
    for (ValueId id : region.params)
      visit(id);
    for (NodeId node : region.nodes) {
      for (ValueId id : function_[node].results)
        visit(id);
      for (const Region& inner : function_[node].regions)
        each_definition(inner, visit);
    }
  }
  void count_names(const Region& region, std::map<std::string, int>& uses) const {
    each_definition(region, [&](ValueId id) { ++uses[function_[id].name]; });
  }
  void number(const Region& region, std::map<std::string, int>& uses) {
    int next = 0;
    each_definition(region, [&](ValueId id) {
      const std::string& name = function_[id].name;
      if (!is_identifier(name))
        names_[id.index] = fmt::format("%{}", next);
      else if (uses[name] > 1)
        names_[id.index] = fmt::format("%{}.{}", name, next);
      else
        names_[id.index] = "%" + name;
      ++next;
    });
  }

  std::string value(ValueId id) const {
    if (!id.valid() || id.index >= names_.size()) return "%?invalid";
    if (names_[id.index].empty()) return fmt::format("%?{}", id.index); // a broken graph: still printable
    return names_[id.index];
  }
  std::string values(const std::vector<ValueId>& ids) const {
    std::string text;
    for (ValueId id : ids)
      text += (text.empty() ? "" : ", ") + value(id);
    return text;
  }
  std::string typed(const std::vector<ValueId>& ids) const {
    std::string text;
    for (ValueId id : ids)
      text += (text.empty() ? "" : ", ") + value(id) + ": " + type(function_[id].type);
    return text;
  }

  void region(const Region& region, int depth, bool always_params) {
    if (always_params || !region.params.empty()) out_ += (always_params ? "(" : " (") + typed(region.params) + ")";
    out_ += " {\n";
    std::string indent(static_cast<size_t>(depth + 1) * 2, ' ');
    for (NodeId id : region.nodes) {
      out_ += indent;
      node(function_[id], depth + 1);
      out_ += "\n";
    }
    out_ += indent + "yield" + (region.yields.empty() ? "" : " " + values(region.yields)) + "\n";
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + "}";
  }

  void node(const Node& node, int depth) {
    if (!node.results.empty()) out_ += typed(node.results) + " = ";
    out_ += name_of(node);
    if (node.op == Op::Constant) {
      DType dtype = function_[node.results[0]].type.dtype;
      out_ += fmt::format(" {} {}", name_of(dtype), scalar_text(dtype, node.as<ConstantAttrs>().literal));
    }
    if (node.op == Op::ConstStr) out_ += " " + quoted(node.as<ConstStrAttrs>().text);
    if (!node.operands.empty()) out_ += " " + values(node.operands);
    std::string attributes = attrs(node);
    if (!attributes.empty()) out_ += " {" + attributes + "}";
    for (const Region& inner : node.regions)
      region(inner, depth, false);
    if (node.loc.index) out_ += fmt::format(" @{}", node.loc.index);
  }

  std::string attrs(const Node& node) const {
    std::string text;
    each_field(node.attrs, [&](std::string_view key, const auto&... fields) {
      const std::string value = field(key, fields...);
      if (!value.empty()) text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", key, value);
    });
    return text;
  }

  // The value of a key; none where the key is not printed.
  template <class... T> std::string field(std::string_view key, const T&... fields) const {
    if (key.empty()) return {};
    if (key == "ints" || key == "labels") {
      std::vector<int64_t> ints;
      (append(ints, fields), ...);
      return ints.empty() && key == "ints" ? std::string() : int_list(ints);
    }
    return (one_field(key, fields), ...);
  }
  std::string one_field(std::string_view, ReduceOp op) const { return std::string(name_of(op)); }
  std::string one_field(std::string_view, KernelKind kind) const { return std::string(name_of(kind)); }
  std::string one_field(std::string_view, UpdateMode mode) const { return mode == UpdateMode::Set ? "set" : "add"; }
  std::string one_field(std::string_view, const FormatTemplate& format) const {
    std::string pieces;
    for (size_t i = 0; i < format.literals.size(); ++i) {
      pieces += (i ? ", " : "") + quoted(format.literals[i]);
      if (i < format.specs.size()) pieces += ", " + quoted(format.specs[i]);
    }
    return "[" + pieces + "]";
  }
  template <class T> std::string one_field(std::string_view key, const T& number) const {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      const auto index = static_cast<uint32_t>(number);
      if (key == "index" && index == 0) return {};
      if (key == "function" && module_ && index < module_->functions.size()) return function_name(*module_, index);
      return std::to_string(index);
    }
    return {};
  }

  template <class T> static void append(std::vector<int64_t>& ints, const T& number) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) ints.push_back(static_cast<int64_t>(number));
  }
  static void append(std::vector<int64_t>& ints, const std::vector<int64_t>& more) {
    ints.insert(ints.end(), more.begin(), more.end());
  }
  static void append(std::vector<int64_t>& ints, const std::vector<LeafAxis>& more) {
    for (const LeafAxis& size : more)
      ints.insert(ints.end(), {size.leaf, size.axis});
  }

  const Module* module_;
  const Function& function_;
  std::vector<std::string> names_;
  std::string out_;
};

std::string notes_text(const std::vector<std::pair<std::string, LocId>>& notes) {
  std::string text;
  for (const auto& [note, loc] : notes)
    text += fmt::format(" note {} @{}", quoted(note), loc.index);
  return text;
}

void print_tables(const Module& module, std::string& out) {
  for (size_t i = 1; i < module.locations.size(); ++i) {
    const Location& l = module.locations[i];
    out += fmt::format("location {} {} {}:{} {}..{} in {} caller {}\n", i, quoted(l.file), l.line, l.column, l.begin,
                       l.end, quoted(l.function), l.caller.index);
  }
  for (size_t i = 0; i < module.sites.size(); ++i) {
    const ErrorSite& s = module.sites[i];
    out += fmt::format("site {} {} {} hint {} @{}{}\n", i, quoted(s.kind), quoted(s.message), quoted(s.hint),
                       s.loc.index, notes_text(s.notes));
  }
  for (size_t i = 0; i < module.tensors.size(); ++i) {
    const HostTensor& t = module.tensors[i];
    out += fmt::format("tensor {} {}{} =", i, name_of(t.dtype), int_list(t.dims));
    for (int64_t k = 0; k < t.count(); ++k)
      out += " " + scalar_text(t.dtype, t.get(k));
    out += "\n";
  }
}

void print_interface(const ProgramInterface& interface, std::string& out) {
  if (!interface.doc.empty()) out += fmt::format("doc {}\n", quoted(interface.doc));
  for (const ParamInfo& p : interface.params) {
    std::string kind = p.kind == ParamInfo::Kind::Str ? "str" : std::string(name_of(p.dtype));
    if (p.kind == ParamInfo::Kind::List) kind = "list";
    if (p.kind == ParamInfo::Kind::Tensor) kind += fmt::format(" tensor {}", p.rank);
    out += fmt::format("param {} {} type {} doc {}", quoted(p.name), kind, quoted(p.type_text), quoted(p.doc));
    if (p.has_default) out += " default " + quoted(p.default_text);
    out += "\n";
  }
  for (const ResultInfo& r : interface.results) {
    std::string kind = r.is_str ? "str" : r.is_list ? "list" : std::string(name_of(r.dtype));
    if (!r.is_str && !r.is_list && !r.is_scalar) kind += fmt::format(" tensor {}", r.rank);
    out += "result " + kind + "\n";
  }
}

} // namespace

std::string_view name_of(KernelKind kind) {
  constexpr std::string_view names[] = {"nest", "contract", "update", "loop"};
  return names[static_cast<int>(kind)];
}

std::string scalar_text(DType type, Scalar value) {
  auto floating = [&](double number, uint64_t plain_nan, std::string text) {
    if (std::isnan(number)) return value.bits == plain_nan ? std::string("nan") : fmt::format("0x{:x}", value.bits);
    if (std::isinf(number)) return std::string(number > 0 ? "inf" : "-inf");
    return text;
  };
  switch (type) {
  case DType::Bool: return value.as<uint8_t>() ? "true" : "false";
  case DType::U8: return std::to_string(value.as<uint8_t>());
  case DType::I8: return std::to_string(value.as<int8_t>());
  case DType::U16: return std::to_string(value.as<uint16_t>());
  case DType::I16: return std::to_string(value.as<int16_t>());
  case DType::U32: return std::to_string(value.as<uint32_t>());
  case DType::I32: return std::to_string(value.as<int32_t>());
  case DType::C64: // no scalar is of these
  case DType::C128:
  case DType::U64:
  case DType::Key: return std::to_string(value.as<uint64_t>());
  case DType::Device:
  case DType::I64: return std::to_string(value.as<int64_t>());
  case DType::F16: {
    float f = f16_to_float(value.as<uint16_t>());
    return floating(f, 0x7e00, fmt::format("{}", f));
  }
  case DType::BF16: {
    float f = bf16_to_float(value.as<uint16_t>());
    return floating(f, 0x7fc0, fmt::format("{}", f));
  }
  case DType::F32: return floating(value.as<float>(), 0x7fc00000, fmt::format("{}", value.as<float>()));
  case DType::F64: return floating(value.as<double>(), 0x7ff8000000000000, fmt::format("{}", value.as<double>()));
  }
  return {};
}

std::optional<Scalar> scalar_from_text(DType type, const std::string& text) {
  if (text.empty()) return std::nullopt;
  if (text.starts_with("0x")) return Scalar{std::strtoull(text.c_str() + 2, nullptr, 16)};
  char* end = nullptr;
  auto done = [&](Scalar value) { return *end == 0 ? std::optional(value) : std::nullopt; };
  switch (type) {
  case DType::Bool:
    if (text != "true" && text != "false") return std::nullopt;
    return Scalar::of(static_cast<uint8_t>(text == "true"));
  case DType::F16:
  case DType::BF16: {
    float f = std::strtof(text.c_str(), &end);
    if (std::isnan(f)) return Scalar::of(static_cast<uint16_t>(type == DType::F16 ? 0x7e00 : 0x7fc0));
    return done(Scalar::of(type == DType::F16 ? float_to_f16(f) : float_to_bf16(f)));
  }
  case DType::F32:
    if (text == "nan") return Scalar{0x7fc00000};
    return done(Scalar::of(std::strtof(text.c_str(), &end)));
  case DType::F64:
    if (text == "nan") return Scalar{0x7ff8000000000000};
    return done(Scalar::of(std::strtod(text.c_str(), &end)));
  default: {
    uint64_t bits = is_unsigned(type) ? std::strtoull(text.c_str(), &end, 10)
                                      : static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 10));
    int width = size_of(type) * 8;
    return done(Scalar{width == 64 ? bits : bits & ((uint64_t{1} << width) - 1)});
  }
  }
}

std::string to_text(const Module& module, const Function& function) {
  std::string name = "@" + (is_identifier(function.name) ? function.name : quoted(function.name));
  for (uint32_t i = 0; i < module.functions.size(); ++i)
    if (&module.functions[i] == &function) name = function_name(module, i);
  return Printer(&module, function).function(name);
}

std::string to_text(const Type& type, const Function& function) { return Printer(nullptr, function).type(type); }

std::string to_text(const Module& module) {
  std::string out;
  print_tables(module, out);
  print_interface(module.interface, out);
  if (!module.functions.empty() && module.entry < module.functions.size())
    out += "entry " + function_name(module, module.entry) + "\n";
  for (const Function& function : module.functions)
    out += "\n" + to_text(module, function);
  return out;
}

} // namespace tl::ir
