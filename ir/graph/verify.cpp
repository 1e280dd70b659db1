#include "ir/graph/verify.h"
#include "abi/plot_op.h"
#include "abi/stopwatch.h"
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
  const Attrs& a = node_->attrs;
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
  case Op::Transpose: {
    if (!counts(1, 1)) return;
    std::vector<int64_t> sorted = a.ints;
    std::sort(sorted.begin(), sorted.end());
    if (!check(sorted.size() == in(0).dims.size(), "has a wrong number of axes") || !ascending(sorted, sorted.size()))
      return;
    Type t = in(0);
    for (size_t i = 0; i < a.ints.size(); ++i)
      t.dims[i] = in(0).dims[static_cast<size_t>(a.ints[i])];
    return result(t);
  }
  case Op::Slice: {
    if (!at_least(1, 1) || !counts(1 + in(0).dims.size(), 1)) return;
    want_i64(1, node_->operands.size());
    check(a.ints.size() == in(0).dims.size(), "has a wrong number of steps");
    for (int64_t step : a.ints)
      check(step != 0, "has a step of 0");
    check(out().is_tensor() && out().dtype == in(0).dtype && out().dims.size() == in(0).dims.size(),
          "has a wrong result");
    return;
  }
  case Op::Pad:
    if (!at_least(2, 1) || !counts(2 + in(0).dims.size(), 1)) return;
    want(1, Type::scalar(in(0).dtype));
    want_i64(2, node_->operands.size());
    check(out().is_tensor() && out().dtype == in(0).dtype && out().dims.size() == in(0).dims.size(),
          "has a wrong result");
    return;
  case Op::Concat: {
    if (!at_least(1, 1) || !one_axis(in(0).dims.size())) return;
    for (size_t i = 0; i < node_->operands.size(); ++i) {
      Type t = in(i);
      if (!check(t.dims.size() == out().dims.size(), "joins different ranks")) return;
      t.dims[static_cast<size_t>(a.ints[0])] = out().dims[static_cast<size_t>(a.ints[0])];
      result(t);
    }
    return;
  }
  case Op::Index: {
    if (!at_least(1, 1) || !check(node_->operands.size() - 1 <= in(0).dims.size(), "has too many indices")) return;
    want_i64(1, node_->operands.size());
    Type t = in(0);
    t.dims.erase(t.dims.begin(), t.dims.begin() + static_cast<long>(node_->operands.size() - 1));
    return result(t);
  }
  case Op::Gather: {
    if (!counts(2, 1) || !one_axis(in(0).dims.size())) return;
    check(in(1).is_tensor() && in(1).dtype == DType::I64, "the index is not i64");
    Type t = in(0);
    auto at = t.dims.erase(t.dims.begin() + a.ints[0]);
    t.dims.insert(at, in(1).dims.begin(), in(1).dims.end());
    return result(t);
  }
  case Op::Update: return update();
  case Op::Scatter: {
    if (!counts(3, 1) || !check(in(0).is_tensor() && !in(0).dims.empty(), "x has no axis")) return;
    check(in(1).is_tensor() && in(1).dtype == DType::I64 && in(1).dims.size() == 1, "the index is not i64[n]");
    Type value = in(0);
    value.dims[0] = in(1).dims.empty() ? value.dims[0] : in(1).dims[0];
    want(2, value);
    return result(in(0));
  }
  case Op::Reduce: return reduce();
  case Op::Scan:
    if (!counts(1, 1) || !one_axis(in(0).dims.size())) return;
    check(!gives_position(a.reduce), "is of positions");
    return result(in(0));
  case Op::Contract: return contract();
  case Op::Map: return map();
  case Op::If:
    if (!regions(2) || !check(node_->operands.size() == 1, "wants one operand")) return;
    want(0, Type::scalar(DType::Bool));
    for (const Region& r : node_->regions) {
      check(r.params.empty(), "a branch has parameters");
      passes(node_->results, r.yields, "yield");
    }
    return;
  case Op::For: {
    if (!regions(1) || !at_least(3, node_->operands.size() - 3)) return;
    want_i64(0, 3);
    const Region& r = node_->regions[0];
    if (!check(!r.params.empty(), "has no index")) return;
    check(type(r.params[0]) == Type::scalar(DType::I64), "the index is not an i64");
    return carried({r.params.begin() + 1, r.params.end()}, {node_->operands.begin() + 3, node_->operands.end()}, r);
  }
  case Op::While: {
    if (!regions(2)) return;
    const Region& cond = node_->regions[0];
    check(cond.yields.size() == 1 && type(cond.yields[0]) == Type::scalar(DType::Bool), "the condition is not a bool");
    passes(cond.params, node_->operands, "initial value");
    return carried(node_->regions[1].params, node_->operands, node_->regions[1]);
  }
  case Op::Call: return call();
  case Op::Guard:
    if (!at_least(2, 1) || !check(node_->operands.size() <= 4, "has too many payloads")) return;
    check(in(1).is_tensor() && in(1).dtype == DType::Bool, "the condition is not a bool");
    for (size_t i = 2; i < node_->operands.size(); ++i)
      check(in(i).is_tensor() && in(i).dtype == DType::I64 && (in(i).dims.empty() || same(in(i).dims, in(1).dims)),
            "a payload is not an i64 of the condition's sizes");
    check(a.index < module_.sites.size(), "its site does not exist");
    return result(in(0));
  case Op::Await:
    if (counts(1, 1) && check(in(0).is_scalar(), "is not of a scalar")) result(in(0));
    return;
  case Op::ListMake:
    if (!check(a.ints.size() == 2 && a.ints[0] > 0 && a.ints[1] >= 0, "has no width and count")) return;
    if (counts(static_cast<size_t>(a.ints[0] * a.ints[1]), 1)) result(Type::list());
    return;
  case Op::ListLength:
    if (!counts(1, 1)) return;
    want(0, Type::list());
    return result(Type::scalar(DType::I64));
  case Op::ListGet: return list_get();
  case Op::ListSet:
    if (!at_least(3, 1)) return;
    want(0, Type::list());
    want_i64(1, 2);
    return result(Type::list());
  case Op::ListAppend:
    if (!at_least(2, 1)) return;
    check(a.ints == std::vector<int64_t>{static_cast<int64_t>(node_->operands.size()) - 1}, "has a wrong width");
    want(0, Type::list());
    return result(Type::list());
  case Op::ListConcat:
    if (!counts(2, 1)) return;
    want(0, Type::list());
    want(1, Type::list());
    return result(Type::list());
  case Op::ListSlice:
    if (!check(a.ints.size() == 3, "does not say which bounds it has") ||
        !counts(static_cast<size_t>(1 + a.ints[0] + a.ints[1] + a.ints[2]), 1))
      return;
    want(0, Type::list());
    want_i64(1, node_->operands.size());
    return result(Type::list());
  case Op::ListJoin:
    if (!check(node_->operands.size() == 1 && node_->results.size() >= 1 && a.ints.size() == 2, "has a wrong form"))
      return;
    want(0, Type::list());
    check(a.index < module_.sites.size(), "its site does not exist");
    return sizes_beside(1);
  case Op::Linalg: return linalg();
  case Op::Text: return text_operation();
  case Op::ReadLine:
    if (!counts(1, 2)) return;
    result(Type::str(), 1);
    return;
  case Op::Format:
    if (!check(node_->results.size() == 1, "has no result")) return;
    format(node_->operands.size());
    return result(Type::str());
  case Op::Print:
    if (!at_least(1, 1)) return;
    for (size_t i = 1; i < node_->operands.size(); ++i)
      want(i, Type::str());
    return;
  case Op::Assert:
    if (!at_least(2, 1)) return;
    want(1, Type::scalar(DType::Bool));
    check(a.index < module_.sites.size(), "its site does not exist");
    format(node_->operands.size() - 2);
    return;
  case Op::Load:
    if (!check(node_->operands.size() >= 2 && node_->operands.size() <= 3 && node_->results.size() >= 2,
               "wants a token, a path and perhaps a name"))
      return;
    for (size_t i = 1; i < node_->operands.size(); ++i)
      want(i, Type::str());
    check(out(1).is_tensor() && out(1).dims.size() == node_->results.size() - 2, "gives not one size per axis");
    for (size_t i = 2; i < node_->results.size(); ++i) {
      result(Type::scalar(DType::I64), i);
      check(i - 2 < out(1).dims.size() && out(1).dims[i - 2] == Dim::of(node_->results[i]),
            "the tensor's sizes are not the results beside it");
    }
    return;
  case Op::Save:
    if (!at_least(3, 1)) return;
    want(1, Type::str());
    if (in(2).is_tensor() && !counts(3, 1)) return;
    for (size_t i = in(2).is_tensor() ? 2 : 3; i < node_->operands.size(); ++i)
      check(in(i).is_tensor() || in(i).kind == Type::Kind::List, "saves no tensor");
    return;
  case Op::Exists:
    if (!counts(node_->operands.size() > 2 ? 3 : 2, 2)) return;
    want(1, Type::str());
    if (node_->operands.size() > 2) want(2, Type::str());
    result(Type::scalar(DType::Bool), 1);
    return;
  case Op::ReadText:
    if (!counts(2, 2)) return;
    want(1, Type::str());
    result(Type::str(), 1);
    return;
  case Op::WriteText:
    if (!counts(3, 1)) return;
    want(1, Type::str());
    want(2, Type::str());
    return;
  case Op::Wait:
    if (!at_least(1, node_->operands.size())) return;
    for (size_t i = 1; i < node_->operands.size(); ++i)
      result(in(i), i);
    return;
  case Op::WaitAll: counts(1, 1); return;
  case Op::Time:
    if (!counts(1, 2)) return;
    result(Type::scalar(DType::F64), 1);
    return;
  case Op::Interrupted:
    if (!counts(1, 2)) return;
    result(Type::scalar(DType::Bool), 1);
    return;
  case Op::Exit:
    if (!counts(2, 1)) return;
    want_i64(1, 2);
    return;
  case Op::Debug:
    if (!counts(2, 2)) return;
    result(in(1), 1);
    return;
  case Op::Plot: {
    if (!check(a.ints.size() == 2 && a.index < static_cast<uint32_t>(kPlotKindCount), "does not say what it draws"))
      return;
    const size_t texts = a.ints[0] ? 4 : 3;
    if (!at_least(texts + 1, 1)) return;
    for (size_t i = 1; i < node_->operands.size(); ++i)
      if (i < texts)
        want(i, Type::str());
      else
        check(in(i).is_tensor(), "draws what is no tensor");
    return;
  }
  case Op::Stopwatch: {
    const auto op = static_cast<StopwatchOp>(a.index);
    if (!check(a.index < static_cast<uint32_t>(kStopwatchOpCount), "does nothing") ||
        !counts(op == StopwatchOp::Start ? 1 : 2, 2))
      return;
    want_i64(1, node_->operands.size());
    result(Type::scalar(op == StopwatchOp::Start || op == StopwatchOp::Count ? DType::I64 : DType::F64), 1);
    return;
  }
  case Op::Progress:
    if (!at_least(4, 1)) return;
    want_i64(1, 3);
    want(3, Type::str());
    return;
  case Op::DeviceCount:
  case Op::ProcessRank:
  case Op::WorldSize:
    if (counts(0, 1)) result(Type::scalar(DType::I64));
    return;
  case Op::DeviceOf:
    if (!counts(1, 1)) return;
    check(in(0).is_tensor() && !in(0).dims.empty(), "is not of a tensor");
    return result(Type::scalar(DType::I64));
  case Op::Transfer:
  case Op::Place:
    if (!counts(2, 1)) return;
    check((in(0).is_tensor() && !in(0).dims.empty()) || (node_->op == Op::Place && in(0).is_list()),
          "is not of a tensor");
    want(1, Type::scalar(DType::Device));
    return result(in(0));
  case Op::DeviceInfo:
    if (!counts(1, 4)) return;
    want(0, Type::scalar(DType::Device));
    result(Type::str());
    result(Type::scalar(DType::I64), 1);
    result(Type::scalar(DType::I64), 2);
    return result(Type::str(), 3);
  case Op::MemoryStats:
    if (!counts(2, 5)) return;
    want(1, Type::scalar(DType::Device));
    for (size_t i = 1; i < 5; ++i)
      result(Type::scalar(DType::I64), i);
    return;
  case Op::ReleaseCache:
    if (!counts(2, 1)) return;
    want(1, Type::scalar(DType::Device));
    return;
  case Op::AllReduce:
    if (counts(1, 1) && check(in(0).is_tensor(), "is not of a tensor")) result(in(0));
    return;
  case Op::BroadcastFrom:
    if (!counts(2, 1) || !check(in(0).is_tensor(), "is not of a tensor")) return;
    want_i64(1, 2);
    return result(in(0));
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
