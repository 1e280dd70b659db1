#include "ir/lower/lower.h"
#include "ir/graph/rewrite.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <utility>

namespace tl::ir {
namespace {

constexpr std::string_view kTestPrefix = "test ";

Signature signature_of(const typed::Program& program, const typed::Instance& instance) {
  Signature s;
  s.effects = instance.has_effects;
  s.atoms = instance.size_params;
  s.atoms.insert(s.atoms.end(), instance.captured_atoms.begin(), instance.captured_atoms.end());
  auto is_parameter = [&](const Size& size) {
    auto atom = size.as_atom();
    return size.is_constant() || (atom && std::count(s.atoms.begin(), s.atoms.end(), *atom)) ||
           std::count(s.sizes.begin(), s.sizes.end(), size);
  };
  auto add = [&](typed::VarId var) {
    for (const tl::Type& leaf : leaf_types(program.variables[var.index].type)) {
      for (const Size& size : leaf.shape)
        if (!is_parameter(size)) s.sizes.push_back(size);
      s.leaves.push_back(leaf);
    }
  };
  for (typed::VarId var : instance.captures)
    add(var);
  for (typed::VarId var : instance.params)
    add(var);
  leaf_types(instance.result, s.results);
  for (const tl::Type& leaf : s.results)
    for (const Size& size : leaf.shape)
      if (!is_parameter(size) && !std::count(s.result_sizes.begin(), s.result_sizes.end(), size))
        s.result_sizes.push_back(size);
  return s;
}

} // namespace

LowerProgram::LowerProgram(const typed::Program& program, const SourceManager& sources, SizeAtoms& atoms,
                           const Constants& constants)
    : program(program), sources(sources), atoms(atoms), checked_atoms(atoms.size()), constants(constants) {}

void LowerProgram::find_called(const typed::Expr* only) {
  if (!only) module.interface = program.interface;
  // Instances that are called, in order. The others may be unfinished.
  std::set<uint32_t> found;
  std::vector<uint32_t> work;
  VisitExpr visit = [&](const typed::Expr& e) {
    const auto* call = e.get_if<typed::CallExpr>();
    if (call && found.insert(call->instance.index).second) work.push_back(call->instance.index);
    return !value_of_const(e); // else what computes it is not called
  };
  if (only) {
    walk(only->as<typed::BlockExpr>().block, visit, nullptr);
  } else {
    walk(program.top_level, visit, nullptr);
    walk(program.main_call, visit, nullptr);
    for (const typed::Test& test : program.tests)
      if (found.insert(test.instance.index).second) work.push_back(test.instance.index);
  }
  while (!work.empty()) {
    uint32_t next = work.back();
    work.pop_back();
    walk(program.instances[next].body, visit, nullptr);
  }
  for (uint32_t id : found) {
    function_of[id] = static_cast<uint32_t>(called.size());
    called.push_back({id});
    signatures[id] = signature_of(program, program.instances[id]);
  }
}

LineColumn LowerProgram::line_column(Span span) {
  if (last_span.valid() && last_span.file == span.file) {
    const auto [from, to] = std::minmax(last_span.begin, span.begin);
    std::string_view between = sources.text(span.file).substr(from, to - from);
    if (between.find('\n') == between.npos) {
      auto characters = static_cast<uint32_t>(character_count(between));
      last_place.column = span.begin == to ? last_place.column + characters : last_place.column - characters;
      last_span = span;
      return last_place;
    }
  }
  last_span = span;
  return last_place = sources.line_column(span);
}

LocId LowerProgram::location(Span span, const std::string& function, LocId caller) {
  if (!span.valid()) return caller;
  auto [found, fresh] =
      locations.emplace(LocKey{span.file.index, span.begin, span.end, caller.index, function}, LocId());
  if (fresh) found->second = new_location(span, function, caller);
  return found->second;
}

LocId LowerProgram::new_location(Span span, const std::string& function, LocId caller) {
  if (!span.valid()) return caller;
  LineColumn at = line_column(span);
  LocId id{static_cast<uint32_t>(module.locations.size())};
  module.locations.push_back({sources.name(span.file), at.line, at.column, span.begin, span.end, caller, function});
  return id;
}

// ---- functions

FunctionLowerer::FunctionLowerer(LowerProgram& shared, std::string name) : shared_(shared) {
  f_.name = name;
  callees_.push_back({nullptr, 0, 0, {}, std::move(name), {}});
  push(f_.body, ScopeKind::Plain);
}

void FunctionLowerer::bind_parameters(const std::vector<typed::VarId>& vars, const Leaves& leaves) {
  size_t next = 0;
  for (typed::VarId id : vars) {
    const typed::Variable& var = shared_.program.variables[id.index];
    size_t count = leaf_types(var.type).size();
    env_[id.index] = Leaves(leaves.begin() + static_cast<long>(next), leaves.begin() + static_cast<long>(next + count));
    if (var.atom.valid() && count == 1) bind_atom(var.atom, leaves[next]);
    next += count;
  }
}

// The body of the current callee, whose result ends up in its pseudo variable.
void FunctionLowerer::function_body(const typed::Block& body, const tl::Type& result) {
  Callee& callee = callees_.back();
  callee.result_type = &result;
  callee.returned = new_flag();
  callee.result = new_pseudo();
  VarKey result_key = callee.result; // `callee` moves when a call is inlined
  find_jumps(body);
  block(body, [&](const Leaves& value) {
    env_[result_key] = as_type(value, result);
    return Leaves();
  });
  if (!env_.contains(result_key)) env_[result_key] = placeholder(result); // never returns
  flow_ = Flow::Goes;
}

Function FunctionLowerer::instance(typed::InstanceId id) {
  const typed::Instance& instance = shared_.program.instances[id.index];
  const Signature& s = shared_.signatures.at(id.index);
  Builder builder = here();
  if (s.effects) set_token(builder.param(Type::token()));
  for (AtomId atom : s.atoms)
    bind_atom(atom, builder.param(Type::scalar(DType::I64), shared_.atoms[atom].name));
  for (const Size& size : s.sizes)
    scopes_[0].sizes[size] = builder.param(Type::scalar(DType::I64));
  Leaves leaves;
  for (const tl::Type& leaf : s.leaves)
    leaves.push_back(builder.param(graph_type(leaf)));
  std::vector<typed::VarId> vars = instance.captures;
  vars.insert(vars.end(), instance.params.begin(), instance.params.end());
  bind_parameters(vars, leaves);
  for (typed::VarId var : vars)
    if (env_[var.index].size() == 1) f_[env_[var.index][0]].name = shared_.program.variables[var.index].name;

  bool is_top = shared_.program.has_main && id == shared_.program.main;
  for (const typed::Test& test : shared_.program.tests)
    is_top = is_top || id == test.instance;
  if (is_top && shared_.program.uses_devices) placing_ = device(shared_.default_device);
  function_body(instance.body, instance.result);

  Leaves result = env_[callees_.back().result];
  bind_fresh(instance.result_atoms, instance.result, result);
  if (s.effects) f_.body.yields.push_back(token());
  for (ValueId leaf : as_type(result, instance.result))
    f_.body.yields.push_back(leaf);
  for (const Size& size : s.result_sizes)
    f_.body.yields.push_back(size_value(size));
  hold_unread_guards(shared_.module, f_);
  if (!shared_.program.uses_devices) remove_dead_nodes(f_); // else passes/devices looks at all of it first
  return std::move(f_);
}

// ---- calls

Leaves FunctionLowerer::call(const typed::Expr& e, std::vector<Leaves> arguments) {
  const auto& to = e.as<typed::CallExpr>();
  const typed::Instance& callee = shared_.program.instances[to.instance.index];
  for (Leaves& argument : arguments)
    argument = checked(std::move(argument), e.checks, true);
  // Bodies of maps hold no calls: there the callee is lowered in place, unless it is recursive.
  bool recursive = std::count(inlining_.begin(), inlining_.end(), to.instance) > 0;
  if (!frames_.empty() && !callee.has_effects && !recursive) return inline_call(e, callee, std::move(arguments));
  Leaves result = call_instance(to.instance, to.size_args, std::move(arguments), e.span);
  bind_fresh(e.fresh, e.type, result);
  return as_type(std::move(result), e.type);
}

Leaves FunctionLowerer::call_instance(typed::InstanceId id, const std::vector<Size>& size_args,
                                      std::vector<Leaves> arguments, Span span) {
  const typed::Instance& callee = shared_.program.instances[id.index];
  const Signature& s = shared_.signatures.at(id.index);
  std::map<AtomId, Size> by;
  for (size_t i = 0; i < callee.size_params.size(); ++i)
    by[callee.size_params[i]] = size_args.at(i);
  // Sizes of parameters may be computed from i64 parameters: fn f(n: i64, x: f32[n]).
  std::vector<AtomId> mentioned;
  for (const Size& size : s.sizes)
    shared_.atoms.collect(size, mentioned);
  for (size_t i = 0; i < callee.params.size(); ++i) {
    AtomId atom = shared_.program.variables[callee.params[i].index].atom;
    if (atom.valid() && std::count(mentioned.begin(), mentioned.end(), atom)) by[atom] = as_size(arguments.at(i).at(0));
  }
  auto translated = [&](const Size& size) { return shared_.atoms.substitute(size, by); };

  std::vector<ValueId> operands;
  if (s.effects) operands.push_back(token());
  for (AtomId atom : s.atoms)
    operands.push_back(size_value(translated(Size::of(atom))));
  for (const Size& size : s.sizes)
    operands.push_back(size_value(translated(size)));
  Leaves leaves;
  for (typed::VarId var : callee.captures) {
    auto found = env_.find(var.index);
    if (found == env_.end()) throw std::logic_error("lowering: a captured variable has no value in " + f_.name);
    leaves.insert(leaves.end(), found->second.begin(), found->second.end());
  }
  for (const Leaves& argument : arguments)
    leaves.insert(leaves.end(), argument.begin(), argument.end());
  for (size_t i = 0; i < leaves.size(); ++i) {
    std::vector<Dim> wanted;
    for (const Size& size : s.leaves.at(i).shape)
      wanted.push_back(dim(translated(size)));
    operands.push_back(retyped(leaves[i], wanted));
  }

  std::vector<Type> types;
  if (s.effects) types.push_back(Type::token());
  size_t first = types.size();
  for (const tl::Type& leaf : s.results)
    types.push_back(leaf.is_tensor() ? Type::tensor(leaf.dtype, std::vector<Dim>(leaf.rank())) : graph_type(leaf));
  types.insert(types.end(), s.result_sizes.size(), Type::scalar(DType::I64));
  const CallAttrs function{shared_.function_of.at(id.index)};
  NodeId node = here().node(Op::Call, operands, types, function, loc(span));
  std::vector<ValueId> results = f_[node].results;
  // A result's size is a constant, one that was passed, or a result of its own.
  for (size_t i = 0; i < s.results.size(); ++i)
    for (size_t axis = 0; axis < s.results[i].shape.size(); ++axis) {
      const Size& size = s.results[i].shape[axis];
      auto own = std::find(s.result_sizes.begin(), s.result_sizes.end(), size);
      Dim d = own == s.result_sizes.end()
                  ? dim(translated(size))
                  : Dim::of(results[first + s.results.size() + static_cast<size_t>(own - s.result_sizes.begin())]);
      f_[results[first + i]].type.dims[axis] = d;
    }
  if (s.effects) set_token(results[0]);
  return Leaves(results.begin() + static_cast<long>(first),
                results.begin() + static_cast<long>(first + s.results.size()));
}

Leaves FunctionLowerer::inline_call(const typed::Expr& e, const typed::Instance& callee,
                                    std::vector<Leaves> arguments) {
  std::vector<ValueId> sizes;
  for (const Size& size : e.as<typed::CallExpr>().size_args)
    sizes.push_back(size_value(size));
  LocId caller = loc(e.span);
  ValueId placing = std::exchange(placing_, ValueId{});
  inlining_.push_back(e.as<typed::CallExpr>().instance);
  callees_.push_back({nullptr, 0, 0, {}, callee.name, caller});
  push(*scopes_.back().region, ScopeKind::Inline);
  for (size_t i = 0; i < sizes.size(); ++i)
    bind_atom(callee.size_params[i], sizes[i]);
  Leaves leaves;
  for (size_t i = 0; i < arguments.size(); ++i) {
    AtomId atom = shared_.program.variables[callee.params[i].index].atom;
    if (atom.valid() && arguments[i].size() == 1) bind_atom(atom, arguments[i][0]);
    leaves.insert(leaves.end(), arguments[i].begin(), arguments[i].end());
  }
  std::vector<tl::Type> types;
  for (typed::VarId var : callee.params)
    leaf_types(shared_.program.variables[var.index].type, types);
  for (size_t i = 0; i < leaves.size(); ++i)
    leaves[i] = as_type(leaves[i], types.at(i));
  bind_parameters(callee.params, leaves);
  function_body(callee.body, callee.result);
  Leaves result = env_[callees_.back().result];
  bind_fresh(callee.result_atoms, callee.result, result);
  pop();
  callees_.pop_back();
  inlining_.pop_back();
  placing_ = placing;
  bind_fresh(e.fresh, e.type, result);
  return as_type(std::move(result), e.type);
}

// ---- the entry

void FunctionLowerer::entry_parameters() {
  Builder builder = here();
  std::vector<typed::VarId> devices; // checked behind the parameters
  for (const typed::EntryParam& param : shared_.program.entry_params) {
    const typed::Variable& var = shared_.program.variables[param.var.index];
    if (param.given.valid()) env_[param.given.index] = {builder.param(Type::scalar(DType::Bool), var.name + "_given")};
    std::vector<Dim> dims;
    for (const Size& size : var.type.shape) {
      ValueId value = builder.param(Type::scalar(DType::I64));
      bind_atom(size.as_atom().value(), value);
      dims.push_back(Dim::of(value));
    }
    Type t = var.type.is_tensor() ? Type::tensor(var.type.dtype, dims) : graph_type(var.type);
    env_[param.var.index] = {builder.param(std::move(t), var.name)};
    if (var.type.is_scalar() && var.type.dtype == DType::Device) devices.push_back(param.var);
    if (var.atom.valid()) bind_atom(var.atom, env_[param.var.index][0]);
  }
  for (typed::VarId device : devices)
    for (ValueId& value : env_[device.index])
      value = existing(value, shared_.program.variables[device.index].span);
}

// What earlier pieces of a session left.
void FunctionLowerer::session_parameters() {
  Builder builder = here();
  const typed::SessionState& session = shared_.program.session;
  for (AtomId atom : session.sizes)
    bind_atom(atom, builder.param(Type::scalar(DType::I64), shared_.atoms[atom].name));
  for (typed::VarId id : session.given) {
    const typed::Variable& var = shared_.program.variables[id.index];
    Leaves& leaves = env_[id.index];
    for (const tl::Type& leaf : leaf_types(var.type)) {
      if (leaf.is_tensor())
        for (const Size& size : leaf.shape) {
          ValueId axis = builder.param(Type::scalar(DType::I64));
          // Also one that could be computed: what parameters' types refer to are parameters.
          if (!size.is_constant()) scopes_[0].sizes.try_emplace(size, axis);
        }
      leaves.push_back(builder.param(graph_type(leaf), var.name));
    }
    if (var.atom.valid() && leaves.size() == 1 && !knows(Size::of(var.atom))) bind_atom(var.atom, leaves[0]);
  }
}

void FunctionLowerer::session_results() {
  const typed::Program& program = shared_.program;
  if (!program.session.is_piece) return;
  for (typed::VarId id : program.session.kept) {
    auto found = env_.find(id.index);
    if (found == env_.end()) // the piece has ended before
      found = env_.emplace(id.index, placeholder(program.variables[id.index].type)).first;
    f_.body.yields.insert(f_.body.yields.end(), found->second.begin(), found->second.end());
  }
  for (size_t i = program.session.first_atom; i < shared_.checked_atoms; ++i) {
    AtomId atom{static_cast<uint32_t>(i)};
    AtomKind kind = shared_.atoms[atom].kind;
    bool has_value = kind == AtomKind::Named || kind == AtomKind::Value || kind == AtomKind::Fresh;
    if (!has_value || !scopes_[0].sizes.contains(Size::of(atom))) continue;
    shared_.session_sizes.push_back(atom);
    f_.body.yields.push_back(scopes_[0].sizes.at(Size::of(atom)));
  }
  f_.body.yields.push_back(constant(DType::Bool, 1));
}

Function FunctionLowerer::entry() {
  set_token(here().param(Type::token()));
  entry_parameters();
  session_parameters();
  if (shared_.program.uses_devices) {
    placing_ = device(shared_.default_device);
    for (auto& [var, leaves] : env_)
      place_parameters(leaves);
  }
  static const tl::Type unit = tl::Type::unit();
  callees_.back().result_type = &unit;
  callees_.back().returned = new_flag();
  callees_.back().result = new_pseudo();
  // One block after the other in one scope: main's call sees the variables of the script.
  const typed::Program& program = shared_.program;
  find_jumps(program.top_level);
  Leaves result = block(program.top_level, [&](const Leaves&) {
    return program.has_main ? block(program.main_call, [](const Leaves& value) { return value; }) : Leaves();
  });
  f_.body.yields.push_back(token());
  size_t count = program.interface.results.size();
  if (result.size() > count) result.resize(count);
  if (result.size() < count) result = placeholder(program.main_call.result->type); // exit before main
  f_.body.yields.insert(f_.body.yields.end(), result.begin(), result.end());
  session_results();
  hold_unread_guards(shared_.module, f_);
  if (!shared_.program.uses_devices) remove_dead_nodes(f_); // else passes/devices looks at all of it first
  return std::move(f_);
}

Function FunctionLowerer::test(const typed::Test& test) {
  set_token(here().param(Type::token()));
  static const tl::Type unit = tl::Type::unit();
  callees_.back().result_type = &unit;
  callees_.back().returned = new_flag();
  callees_.back().result = new_pseudo();
  if (shared_.program.uses_devices) placing_ = device(shared_.default_device);
  find_jumps(shared_.program.top_level);
  block(shared_.program.top_level, [&](const Leaves&) { return call_instance(test.instance, {}, {}, test.span); });
  f_.body.yields.push_back(token());
  hold_unread_guards(shared_.module, f_);
  if (!shared_.program.uses_devices) remove_dead_nodes(f_); // else passes/devices looks at all of it first
  return std::move(f_);
}

Piece lower_piece(const typed::Program& program, const SourceManager& sources, SizeAtoms& atoms, int64_t default_device,
                  const Constants& constants) {
  if (!program.ok) throw std::logic_error("lowering: the program has errors");
  LowerProgram shared(program, sources, atoms, constants);
  shared.find_called();
  shared.default_device = default_device;
  for (typed::InstanceId id : shared.called)
    shared.module.functions.push_back(FunctionLowerer(shared, program.instances[id.index].name).instance(id));
  shared.module.entry = static_cast<uint32_t>(shared.module.functions.size());
  shared.module.functions.push_back(FunctionLowerer(shared, "").entry());
  shared.module.functions.back().name = "entry";
  for (const typed::Test& test : program.tests) {
    Function f = FunctionLowerer(shared, "").test(test);
    f.name = std::string(kTestPrefix) + test.name;
    shared.module.functions.push_back(std::move(f));
  }
  return {std::move(shared.module), std::move(shared.session_sizes)};
}

Module lower(const typed::Program& program, const SourceManager& sources, int64_t default_device,
             const Constants& constants) {
  SizeAtoms atoms = program.atoms;
  return lower_piece(program, sources, atoms, default_device, constants).module;
}

size_t leaf_count(const tl::Type& type) { return leaf_types(type).size(); }

std::vector<TestEntry> tests(const Module& module) {
  std::vector<TestEntry> entries;
  for (uint32_t i = module.entry + 1; i < module.functions.size(); ++i) { // they follow the entry
    const std::string& name = module.functions[i].name;
    if (name.starts_with(kTestPrefix)) entries.push_back({name.substr(kTestPrefix.size()), i});
  }
  return entries;
}

Module with_entry(const Module& module, const TestEntry& test) {
  Module result = module;
  result.entry = test.function;
  result.interface = {};
  return result;
}

} // namespace tl::ir
