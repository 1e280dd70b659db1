// Instances of functions: what tells two apart, making them, and the sizes of their parameters in a call.
#include "parser/check/context.h"
#include <fmt/format.h>

namespace tl::checker {

namespace {
constexpr int kMaxInstantiation = 200; // of a chain of calls that each need another instance
constexpr size_t kMaxInstances = 20000;
constexpr size_t kMaxParts = 10000; // types that the type of an argument is made of
} // namespace

std::string Checker::key_of(const FunctionInfo& info, const Bindings& bindings) {
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
    if (!type.is_tensor()) return to_string(type, p_.atoms);
    std::vector<std::string> sizes;
    for (const Size& size : type.shape) {
      if (size.is_constant()) {
        sizes.push_back(show(size));
        continue;
      }
      auto single = size.as_atom();
      if (single && p_.atoms[*single].kind == AtomKind::Element) {
        sizes.push_back(fmt::format("_{}", single->index));
        continue;
      }
      if (bindings.exact) {
        sizes.push_back(exact(size));
        continue;
      }
      bool named = single && p_.atoms[*single].kind == AtomKind::Named;
      sizes.push_back(fmt::format("{}{}", named ? "n" : "?", names.try_emplace(size, names.size()).first->second));
    }
    return fmt::format("{}[{}]", name_of(resolved(type).dtype), fmt::join(sizes, ","));
  };
  for (const auto& [name, type] : bindings.types)
    parts.push_back(type.is_tensor() && type.rank() == 0
                        ? fmt::format("{}={}", name, name_of(resolved(type).dtype))
                        : fmt::format("{}={}", name, pattern(pattern, resolved(type))));
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
} // namespace

InstanceId Checker::instance_for(FunctionInfo& info, const Bindings& bindings, Span call) {
  const bool is_large = std::any_of(bindings.params.begin(), bindings.params.end(), [](const Bindings::Param& param) {
    return parts_of(param.type, kMaxParts) >= kMaxParts;
  });
  std::string key = is_large ? "" : key_of(info, bindings);
  if (auto it = info.instances.find(key); it != info.instances.end()) return it->second;
  InstanceId id{static_cast<uint32_t>(states_.size())};
  states_.emplace_back();
  p_.instances.emplace_back();
  info.instances[key] = id;
  if (is_session_) with_instances_.push_back(&info);
  InstanceState& state = states_.back();
  state.info = &info;
  state.call = call;
  state.wanted = bindings.result;
  state.caller = ctx_->instance;
  state.depth = ctx_->instance.valid() ? states_[ctx_->instance.index].depth + 1 : 0;
  typed::Instance& instance = p_.instances.back();
  instance.name = info.decl->name.text;
  instance.key = key;
  instance.span = info.decl->name.span;
  if (is_large || state.depth > kMaxInstantiation || states_.size() > kMaxInstances) {
    if (is_large || state.depth == kMaxInstantiation + 1 || states_.size() == kMaxInstances + 1)
      error("InstantiationDepth", call,
            fmt::format("calling `{}` needs ever new versions of it: each call has other element types or ranks",
                        instance.name));
    state.stage = InstanceState::Stage::Done;
    state.signature.has_result = true;
    state.signature.result = Type::error();
    state.signature.params.resize(info.decl->params.size());
    return id;
  }
  // What is wrong with the signature is reported with the instance.
  Signature signature = make_signature(info, bindings, call);
  states_[id.index].signature = std::move(signature);
  waiting_.push_back(id);
  return id;
}

Type Checker::substitute(const Type& type, const std::map<AtomId, Size>& by) {
  Type result = type;
  for (Size& size : result.shape)
    size = p_.atoms.substitute(size, by);
  for (Type& element : result.elements)
    element = substitute(element, by);
  return result;
}

// Is the function called in a chain of calls that it began several times already? Then it has sizes of its own, so that
// a recursion ends.
bool Checker::is_called_deeply(const FunctionInfo& info) const {
  int times = 0;
  InstanceId id = ctx_->instance;
  for (int steps = 0; id.valid() && steps < 1000; ++steps) {
    const InstanceState& state = states_[id.index];
    if (state.info && state.info->decl == info.decl && ++times == 3) return true;
    id = state.caller;
  }
  return false;
}

void Checker::solve_sizes(const std::vector<const Type*>& params, const std::vector<const Type*>& args,
                          const std::set<AtomId>& unknown, const std::string& of, Span span,
                          std::map<AtomId, Size>& known, std::vector<SizeCheck>& checks) {
  auto solve = [&](bool bare_only) {
    auto visit = [&](auto& self, const Type& param, const Type& arg) -> void {
      for (size_t k = 0; k < param.shape.size() && k < arg.shape.size(); ++k) {
        if (auto own = arg.shape[k].as_atom(); own && p_.atoms[*own].kind == AtomKind::Element) continue;
        if (auto atom = param.shape[k].as_atom(); atom && unknown.count(*atom)) {
          known.try_emplace(*atom, arg.shape[k]);
          continue;
        }
        if (bare_only) continue;
        std::vector<AtomId> atoms;
        p_.atoms.collect(param.shape[k], atoms);
        std::set<AtomId> open;
        for (AtomId a : atoms)
          if (unknown.count(a) && !known.count(a)) open.insert(a);
        if (open.size() != 1) continue;
        AtomId x = *open.begin();
        for (const auto& term : param.shape[k].terms) {
          if (term.atoms != std::vector<AtomId>{x}) continue;
          Size rest = p_.atoms.substitute(param.shape[k] - Size(term.coefficient) * Size::of(x), known);
          std::vector<AtomId> left;
          p_.atoms.collect(rest, left);
          if (std::find(left.begin(), left.end(), x) != left.end()) break;
          known[x] = p_.atoms.floor_div(arg.shape[k] - rest, term.coefficient);
          require_size(known[x], 0, fmt::format("the size `{}` of `{}` would be {{0}}", p_.atoms[x].name, of), span,
                       checks);
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

void Checker::check_solvable(const Signature& signature) {
  std::vector<const Type*> types;
  for (const auto& param : signature.params)
    if (param.type.is_error())
      return;
    else if (param.var.valid())
      types.push_back(&param.type);
  std::set<AtomId> unknown(signature.size_params.begin(), signature.size_params.end());
  std::map<AtomId, Size> known;
  std::vector<SizeCheck> checks;
  SizeFacts facts = ctx_->facts;
  solve_sizes(types, types, unknown, "", {}, known, checks);
  ctx_->facts = facts;
  for (AtomId atom : unknown)
    if (!known.count(atom) && p_.atoms[atom].origin.valid()) {
      error("UnboundSize", p_.atoms[atom].origin,
            fmt::format("the size `{}` cannot be inferred from the arguments", p_.atoms[atom].name),
            "name it alone in the shape of some parameter, or make it a parameter");
      return; // others may follow from it
    }
}

// The sizes that the parameters of a function name, as they are in this call: see FunctionInfo::is_closure.
void Checker::exact_sizes(FunctionInfo& info, Bindings& bindings, const std::vector<ExprPtr>& values, Span span) {
  size_t reports = ctx_->reports.size();
  Signature signature = make_signature(info, bindings, span);
  ctx_->reports.resize(reports); // said when the signature is made
  std::vector<const Type*> params, args;
  for (const auto& param : signature.params)
    if (param.var.valid()) params.push_back(&param.type);
  for (const auto& value : values)
    args.push_back(&refresh(*value));
  if (params.size() != args.size()) return;
  std::set<AtomId> unknown(signature.size_params.begin(), signature.size_params.end());
  std::map<AtomId, Size> known;
  std::vector<SizeCheck> checks;
  SizeFacts facts = ctx_->facts;
  solve_sizes(params, args, unknown, info.decl->name.text, span, known, checks);
  ctx_->facts = facts;
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
