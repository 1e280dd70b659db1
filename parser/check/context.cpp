#include "parser/check/context.h"
#include <algorithm>

namespace tl::checker {

Context::Context(const SourceManager& sources, const CheckOptions& options) : sources(sources), options(options) {
  // Operations that are written as operators have no name to call them by.
  static const std::set<std::string_view> operators = {"add", "sub", "mul", "div", "floor_div", "mod", "not", "and",
                                                       "or",  "eq",  "ne",  "lt",  "le",        "gt",  "ge"};
  for (int i = 0; i < kScalarOpCount; ++i)
    if (!operators.count(kScalarOps[i].name))
      names.builtins[std::string(kScalarOps[i].name)].scalar = static_cast<ScalarOp>(i);
  for (int i = 0; i < kBuiltinCount; ++i)
    if (auto b = static_cast<Builtin>(i); // fields, x.T and x.device; `rank` without arguments
        b != Builtin::TransposeAll && b != Builtin::DeviceOf && b != Builtin::ProcessRank)
      names.builtins[std::string(kBuiltins[i].name)].builtin = static_cast<Builtin>(i);
  for (int i = 0; i < kDTypeCount; ++i)
    if (static_cast<DType>(i) < DType::Key)
      names.builtins[std::string(name_of(static_cast<DType>(i)))].conversion = static_cast<DType>(i);
}

// Speculation: check something, look at the outcome, and take it back.
Snapshot snapshot(const Context& cx) {
  return {cx.function->reports.size(), cx.function->facts, cx.function->current,      cx.function->reachable,
          cx.function->loops,          cx.names.scope,     cx.instances.states.size()};
}

void rollback(Context& cx, const Snapshot& s) {
  cx.function->reports.resize(s.reports);
  cx.function->facts = s.facts;
  cx.function->current = s.current;
  cx.function->reachable = s.reachable;
  cx.function->loops = s.loops;
  cx.names.scope = s.scope;
  // Instances that went wrong on the way were perhaps made for what does not hold: they are made again where needed,
  // and with them those that may call them, which have no reports of that.
  std::deque<InstanceState>& states = cx.instances.states;
  const bool any_wrong = std::any_of(states.begin() + static_cast<ptrdiff_t>(s.instances), states.end(),
                                     [](const InstanceState& state) { return !state.reports.empty(); });
  for (size_t i = s.instances; any_wrong && i < states.size(); ++i) {
    InstanceState& state = states[i];
    if (!state.info || state.stage != InstanceState::Stage::Done) continue;
    if (state.reports.empty() && !state.info->is_template) continue;
    state.reports.clear();
    state.info->instances.erase(cx.program.instances[i].key);
  }
}

} // namespace tl::checker
