// Instances of functions: what tells two apart, making them, and the sizes of their parameters in a call.
#include "parser/check/instances.h"
#include "parser/check/names.h"
#include "parser/check/sizes.h"
#include "parser/check/types.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {
constexpr int kMaxInstantiation = 200; // of a chain of calls that each need another instance
constexpr size_t kMaxInstances = 20000;
constexpr size_t kMaxParts = 10000; // types that the type of an argument is made of
} // namespace

static std::string key_of(Context& cx, const FunctionInfo& info, const Bindings& bindings) {
  std::vector<std::string> parts;
  std::map<Size, size_t> names;
  auto exact = [](const Size& size) { // by the ids of its atoms: names may mean several
    std::string text;
    for (const auto& term : size.terms) {
      text += fmt::format("+{}", term.coefficient);
      for (AtomId atom : term.atoms)
        text += fmt::format("*{}", atom.index);
    }
    return text;
  };
  auto pattern = [&](auto& self, const Type& type) -> std::string {
    if (type.is_aggregate()) {
      std::string text = type.record ? fmt::format("{}@{}", type.record->name, fmt::ptr(type.record.get())) : "";
      text += "(";
      for (const Type& element : type.elements)
        text += self(self, element) + ",";
      return text + ")";
    }
    if (type.is_function()) return fmt::format("function {}", type.function);
    if (type.is_list()) return "List<" + (type.elements.empty() ? "?" : self(self, type.elements[0])) + ">";
    if (!type.is_tensor()) return to_string(type, cx.program.atoms);
    std::vector<std::string> sizes;
    for (const Size& size : type.shape) {
      if (size.is_constant()) {
        sizes.push_back(show(cx, size));
        continue;
      }
      auto single = size.as_atom();
      if (single && cx.program.atoms[*single].kind == AtomKind::Element) {
        sizes.push_back(fmt::format("_{}", single->index));
        continue;
      }
      if (bindings.exact) {
        sizes.push_back(exact(size));
        continue;
      }
      bool named = single && cx.program.atoms[*single].kind == AtomKind::Named;
      sizes.push_back(fmt::format("{}{}", named ? "n" : "?", names.try_emplace(size, names.size()).first->second));
    }
    return fmt::format("{}[{}]", name_of(cx.open.resolved(type).dtype), fmt::join(sizes, ","));
  };
  for (const auto& [name, type] : bindings.types)
    parts.push_back(type.is_tensor() && type.rank() == 0
                        ? fmt::format("{}={}", name, name_of(cx.open.resolved(type).dtype))
                        : fmt::format("{}={}", name, pattern(pattern, cx.open.resolved(type))));
  for (const auto& [name, rank] : bindings.ranks)
    parts.push_back(fmt::format("..{}={}", name, rank));
  for (const auto& [name, size] : bindings.sizes)
    parts.push_back(fmt::format("{}={}", name, exact(size)));
  for (const auto& [name, sizes] : bindings.spreads)
    for (const Size& size : sizes)
      parts.push_back(fmt::format("..{}={}", name, exact(size)));
  for (size_t i = 0; i < bindings.params.size(); ++i) {
    const auto& param = bindings.params[i];
    if (info.decl->params[i].type && !param.constant && param.type.is_error()) continue;
    parts.push_back(fmt::format("{}={}", info.decl->params[i].name.text,
                                param.constant ? to_string(*param.constant) : pattern(pattern, param.type)));
  }
  if (!bindings.result.is_error()) {
    Type kinds = bindings.result; // element types alone
    auto strip = [](auto& self, Type& type) -> void {
      type.shape.clear();
      for (Type& element : type.elements)
        self(self, element);
    };
    strip(strip, kinds);
    parts.push_back("-> " + pattern(pattern, kinds));
  }
  return fmt::format("{}({})", info.decl->name.text, fmt::join(parts, ", "));
}

namespace {
// How many types a type is made of, up to `most`.
size_t parts_of(const Type& type, size_t most) {
  size_t count = 1;
  for (const Type& element : type.elements)
    if (count < most) count += parts_of(element, most - count);
  return count;
}

bool has_function(const Type& type) {
  return type.is_function() || std::any_of(type.elements.begin(), type.elements.end(), has_function);
}

bool takes_function(const Bindings& bindings) {
  return std::any_of(bindings.params.begin(), bindings.params.end(), [](const Bindings::Param& param) {
    return has_function(param.type) || (param.constant && param.constant->kind == Static::Kind::Function);
  });
}
} // namespace

InstanceId instance_for(Context& cx, FunctionInfo& info, const Bindings& bindings, Span call) {
  const bool is_large = std::any_of(bindings.params.begin(), bindings.params.end(), [](const Bindings::Param& param) {
    return parts_of(param.type, kMaxParts) >= kMaxParts;
  });
  std::string key = is_large ? "" : key_of(cx, info, bindings);
  if (auto it = info.instances.find(key); it != info.instances.end()) return it->second;
  InstanceId id{static_cast<uint32_t>(cx.instances.states.size())};
  cx.instances.states.emplace_back();
  cx.program.instances.emplace_back();
  info.instances[key] = id;
  if (cx.session.is_active) cx.session.with_instances.push_back(&info);
  InstanceState& state = cx.instances.states.back();
  state.info = &info;
  state.call = call;
  state.wanted = bindings.result;
  state.caller = cx.function->instance;
  state.depth = cx.function->instance.valid() ? cx.instances.states[cx.function->instance.index].depth + 1 : 0;
  typed::Instance& instance = cx.program.instances.back();
  instance.name = info.decl->name.text;
  instance.key = key;
  instance.span = info.decl->name.span;
  if (is_large || state.depth > kMaxInstantiation || cx.instances.states.size() > kMaxInstances) {
    if (is_large || state.depth == kMaxInstantiation + 1 || cx.instances.states.size() == kMaxInstances + 1)
      error(cx, "InstantiationDepth", call,
            fmt::format("calling `{}` needs ever new versions of it: each call {}", instance.name,
                        instance.name.starts_with('|') ? "has other element types, ranks or functions"
                        : takes_function(bindings)     ? "takes another function, as one that is made of the last"
                                                       : "has other element types or ranks"));
    state.stage = InstanceState::Stage::Done;
    state.signature.has_result = true;
    state.signature.result = Type::error();
    state.signature.params.resize(info.decl->params.size());
    return id;
  }
  // What is wrong with the signature is reported with the instance.
  Signature signature = make_signature(cx, info, bindings, call);
  cx.instances.states[id.index].signature = std::move(signature);
  cx.instances.waiting.push_back(id);
  return id;
}

Type substitute(Context& cx, const Type& type, const std::map<AtomId, Size>& by) {
  Type result = type;
  for (Size& size : result.shape)
    size = cx.program.atoms.substitute(size, by);
  for (Type& element : result.elements)
    element = substitute(cx, element, by);
  return result;
}

// Is the function called in a chain of calls that it began several times already? Then it has sizes of its own, so that
// a recursion ends.
bool is_called_deeply(const Context& cx, const FunctionInfo& info) {
  int times = 0;
  InstanceId id = cx.function->instance;
  for (int steps = 0; id.valid() && steps < 1000; ++steps) {
    const InstanceState& state = cx.instances.states[id.index];
    if (state.info && state.info->decl == info.decl && ++times == 3) return true;
    id = state.caller;
  }
  return false;
}

void solve_sizes(Context& cx, const std::vector<const Type*>& params, const std::vector<const Type*>& args,
                 const std::set<AtomId>& unknown, const std::string& of, Span span, std::map<AtomId, Size>& known,
                 SizeChecks& checks) {
  auto solve = [&](bool bare_only) {
    auto visit = [&](auto& self, const Type& param, const Type& arg) -> void {
      for (size_t k = 0; k < param.shape.size() && k < arg.shape.size(); ++k) {
        if (auto own = arg.shape[k].as_atom(); own && cx.program.atoms[*own].kind == AtomKind::Element) continue;
        if (auto atom = param.shape[k].as_atom(); atom && unknown.count(*atom)) {
          known.try_emplace(*atom, arg.shape[k]);
          continue;
        }
        if (bare_only) continue;
        std::vector<AtomId> atoms;
        cx.program.atoms.collect(param.shape[k], atoms);
        std::set<AtomId> open;
        for (AtomId a : atoms)
          if (unknown.count(a) && !known.count(a)) open.insert(a);
        if (open.size() != 1) continue;
        AtomId x = *open.begin();
        for (const auto& term : param.shape[k].terms) {
          if (term.atoms != std::vector<AtomId>{x}) continue;
          Size rest = cx.program.atoms.substitute(param.shape[k] - Size(term.coefficient) * Size::of(x), known);
          std::vector<AtomId> left;
          cx.program.atoms.collect(rest, left);
          if (std::find(left.begin(), left.end(), x) != left.end()) break;
          known[x] = cx.program.atoms.floor_div(arg.shape[k] - rest, term.coefficient);
          require_size(cx, known[x], 0,
                       fmt::format("the size `{}` of `{}` would be {{0}}", cx.program.atoms[x].name, of), span, checks);
          break;
        }
      }
      for (size_t k = 0; k < param.elements.size() && k < arg.elements.size(); ++k)
        self(self, param.elements[k], arg.elements[k]);
    };
    for (size_t i = 0; i < params.size(); ++i)
      visit(visit, *params[i], *args[i]);
  };
  solve(true);
  solve(false);
}

void check_solvable(Context& cx, const Signature& signature) {
  std::vector<const Type*> types;
  for (const auto& param : signature.params)
    if (param.type.is_error())
      return;
    else if (param.var.valid())
      types.push_back(&param.type);
  std::set<AtomId> unknown(signature.size_params.begin(), signature.size_params.end());
  std::map<AtomId, Size> known;
  SizeChecks checks;
  SizeFacts facts = cx.function->facts;
  solve_sizes(cx, types, types, unknown, "", {}, known, checks);
  cx.function->facts = facts;
  for (AtomId atom : unknown)
    if (!known.count(atom) && cx.program.atoms[atom].origin.valid()) {
      error(cx, "UnboundSize", cx.program.atoms[atom].origin,
            fmt::format("the size `{}` cannot be inferred from the arguments", cx.program.atoms[atom].name),
            "name it alone in the shape of some parameter, or make it a parameter");
      return; // others may follow from it
    }
}

// The sizes that the parameters of a function name, as they are in this call: see FunctionInfo::is_closure.
void exact_sizes(Context& cx, FunctionInfo& info, Bindings& bindings, const std::vector<ExprPtr>& values, Span span) {
  size_t reports = cx.function->reports.size();
  Signature signature = make_signature(cx, info, bindings, span);
  cx.function->reports.resize(reports); // said when the signature is made
  std::vector<const Type*> params, args;
  for (const auto& param : signature.params)
    if (param.var.valid()) params.push_back(&param.type);
  for (const auto& value : values)
    args.push_back(&refresh(cx, *value));
  if (params.size() != args.size()) return;
  std::set<AtomId> unknown(signature.size_params.begin(), signature.size_params.end());
  std::map<AtomId, Size> known;
  SizeChecks checks;
  SizeFacts facts = cx.function->facts;
  solve_sizes(cx, params, args, unknown, info.decl->name.text, span, known, checks);
  cx.function->facts = facts;
  auto solved = [&](const Size& size) -> const Size* {
    auto atom = size.as_atom();
    auto it = atom ? known.find(*atom) : known.end();
    return it == known.end() ? nullptr : &it->second;
  };
  for (const auto& [name, entity] : signature.scope->names) {
    if (entity.kind == Entity::Kind::SizeName) {
      if (const Size* size = solved(entity.size)) bindings.sizes[name] = *size;
    } else if (entity.kind == Entity::Kind::Spread) {
      std::vector<Size> sizes;
      for (const Size& own : entity.sizes)
        if (const Size* size = solved(own)) sizes.push_back(*size);
      if (sizes.size() == entity.sizes.size()) bindings.spreads[name] = sizes;
    }
  }
}

} // namespace tl::checker
