#include "ir/graph/verify.h"
#include "ir/graph/verify_checker.h"

namespace tl::ir {

void Checker::region(const Region& r) {
  std::vector<ValueId> scope;
  define(r.params, {}, scope);
  for (NodeId id : r.nodes) {
    const Node* outer = node_;
    if (!check(id.valid() && id.index < f_.nodes.size(), "a region lists a node that does not exist")) return;
    node_ = &f_[id];
    bool fine = true;
    for (ValueId operand : node_->operands)
      fine = use(operand) && fine;
    for (const Region& inner : node_->regions) {
      const bool outside = in_branch_;
      in_branch_ = in_branch_ || node_->op == Op::If;
      region(inner);
      in_branch_ = outside;
    }
    define(node_->results, id, scope);
    if (fine && !broken_) tokens_fit();
    if (fine && !broken_) node();
    node_ = outer;
  }
  for (ValueId id : r.yields)
    use(id);
  for (ValueId id : scope)
    defined_[id.index] = false;
}

// How often each token of an outer region is used in this one. Each token of this region: exactly once.
std::map<ValueId, int> Checker::tokens(const Region& r, bool all_used) {
  std::map<ValueId, int> uses;
  auto is_token = [&](ValueId id) { return type(id).kind == Type::Kind::Token; };
  for (NodeId id : r.nodes) {
    const Node& n = f_[id];
    const Node* outer = node_;
    node_ = &n;
    for (ValueId v : n.operands)
      if (is_token(v)) ++uses[v];
    std::vector<std::map<ValueId, int>> inner;
    for (size_t i = 0; i < n.regions.size(); ++i)
      inner.push_back(tokens(n.regions[i], !(n.op == Op::While && i == 0))); // a condition has no effects
    if (n.op == Op::Vjp || n.op == Op::Jvp || n.op == Op::Checkpoint) {
      for (auto& [token, count] : inner[0])
        uses[token] += count;
    } else if (n.op == Op::If && inner.size() == 2) {
      check(inner[0] == inner[1], "only one branch uses a token");
      for (auto& [token, count] : inner[0])
        uses[token] += count;
    } else {
      for (auto& captured : inner)
        check(captured.empty(), "a loop, map or kernel captures a token");
    }
    node_ = outer;
  }
  for (ValueId v : r.yields)
    if (is_token(v)) ++uses[v];
  auto own = [&](ValueId id) {
    if (!is_token(id)) return;
    int count = uses.contains(id) ? uses[id] : 0;
    uses.erase(id);
    check(count == 1 || (count == 0 && !all_used),
          [&] { return fmt::format("token {} is used {} times", id.index, count); });
  };
  for (ValueId id : r.params)
    own(id);
  for (NodeId n : r.nodes)
    for (ValueId id : f_[n].results)
      own(id);
  return uses;
}

bool Checker::regions(size_t count) { return check(node_->regions.size() == count, "has a wrong number of regions"); }

// ---- the ops ---------------------------------------------------------------------------------------------------
void Checker::node() {
  if (!check(node_->attrs.index() == info(node_->op).attrs, "has attributes of another operation")) return;
  switch (node_->op) {
  case Op::Constant:
    if (counts(0, 1)) check(out().is_scalar(), "is not a scalar");
    return;
  case Op::ConstTensor: return const_tensor();
  case Op::ConstStr:
    if (counts(0, 1)) result(Type::str());
    return;
  case Op::Iota:
    if (counts(0, 1)) check(out().is_tensor() && out().dtype == DType::I64 && out().dims.size() == 1, "is not i64[n]");
    return;
  case Op::Elementwise: return elementwise();
  case Op::Convert:
    if (counts(1, 1) && check(in(0).is_tensor() && out().is_tensor(), "is not of tensors"))
      check(same(in(0).dims, out().dims), "changes sizes");
    return;
  case Op::Broadcast: return broadcast();
  case Op::Reshape: return reshape();
  case Op::Transpose: return transpose();
  case Op::Slice: return slice();
  case Op::Pad: return pad();
  case Op::Concat: return concat();
  case Op::Index: return index();
  case Op::Gather: return gather();
  case Op::Update: return update();
  case Op::Scatter: return scatter();
  case Op::Reduce: return reduce();
  case Op::Scan:
    if (!counts(1, 1) || !is_axis(node_->as<ScanAttrs>().axis, in(0).dims.size())) return;
    check(!gives_position(node_->as<ScanAttrs>().op), "is of positions");
    return result(in(0));
  case Op::Contract: return contract();
  case Op::Map: return map();
  case Op::If: return branch();
  case Op::For: return for_loop();
  case Op::While: return while_loop();
  case Op::Call: return call();
  case Op::Guard: return guard();
  case Op::Await:
    if (counts(1, 1) && check(in(0).is_scalar(), "is not of a scalar")) result(in(0));
    return;
  case Op::ListMake:
  case Op::ListLength:
  case Op::ListGet:
  case Op::ListSet:
  case Op::ListAppend:
  case Op::ListConcat:
  case Op::ListSlice:
  case Op::ListJoin: return list_operation();
  case Op::Linalg: return linalg();
  case Op::Sort: return sort();
  case Op::Text: return text_operation();
  case Op::ReadLine:
  case Op::Print:
  case Op::Assert:
  case Op::Load:
  case Op::Save:
  case Op::Exists:
  case Op::ReadText:
  case Op::WriteText:
  case Op::Wait:
  case Op::WaitAll:
  case Op::Time:
  case Op::Interrupted:
  case Op::Exit:
  case Op::Debug:
  case Op::Plot:
  case Op::Stopwatch:
  case Op::Progress: return effect();
  case Op::Format:
    if (!check(node_->results.size() == 1, "has no result")) return;
    format(node_->as<FormatAttrs>().format, node_->operands.size());
    return result(Type::str());
  case Op::DeviceCount:
  case Op::ProcessRank:
  case Op::WorldSize:
  case Op::DeviceOf:
  case Op::Transfer:
  case Op::Place:
  case Op::DeviceInfo:
  case Op::MemoryStats:
  case Op::ReleaseCache:
  case Op::AllReduce:
  case Op::BroadcastFrom: return device_operation();
  case Op::Vjp:
  case Op::Jvp:
  case Op::Vmap:
  case Op::Checkpoint:
  case Op::CustomVjp: return transform();
  case Op::StopGradient:
    if (counts(1, 1)) result(in(0));
    return;
  case Op::Kernel: return kernel();
  }
}

std::vector<std::string> verify(const Module& module) {
  std::vector<std::string> faults;
  if (module.functions.empty()) return {"the module has no function"};
  if (module.entry >= module.functions.size()) faults.push_back("the entry does not exist");
  for (const Function& function : module.functions)
    Checker(module, function, faults).run();
  return faults;
}

} // namespace tl::ir
