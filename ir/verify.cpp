#include "ir/verify.h"
#include "ir/op_info.h"
#include "ir/rewrite.h"
#include "ir/text.h"
#include "vm/abi/linalg_op.h"
#include "vm/abi/plot_op.h"
#include "vm/abi/stopwatch.h"
#include "vm/abi/text_op.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace tl::ir {
namespace {

class Checker {
public:
  Checker(const Module& module, const Function& function, std::vector<std::string>& faults)
      : module_(module), f_(function), faults_(faults) {}

  void run() {
    defined_.assign(f_.values.size(), false);
    region(f_.body);
    if (!broken_) tokens(f_.body, true);
  }

private:
  // ---- reporting -------------------------------------------------------------------------------------------------
  void fail(const std::string& message) {
    std::string where = "@" + f_.name;
    if (node_) {
      where += fmt::format(": {}", node_->op == Op::Elementwise ? info(node_->attrs.scalar).name : name_of(node_->op));
      if (!node_->results.empty()) where += fmt::format(" (value {})", node_->results[0].index);
    }
    faults_.push_back(where + ": " + message);
    broken_ = true;
  }
  bool check(bool ok, const char* message) {
    if (!ok) fail(message);
    return ok;
  }
  template <class Message> bool check(bool ok, Message message) { // made only where it is needed: text() is slow
    if (!ok) fail(message());
    return ok;
  }

  // ---- types -----------------------------------------------------------------------------------------------------
  const Type& type(ValueId id) const { return f_[id].type; }
  const Type& in(size_t i) const { return type(node_->operands[i]); }
  const Type& out(size_t i = 0) const { return type(node_->results[i]); }
  std::string text(const Type& t) const { return to_text(t, f_); }

  // A size whose value is a constant node is that constant.
  Dim resolved(Dim dim) const {
    if (dim.is_constant() || !f_[dim.value].producer.valid()) return dim;
    const Node& producer = f_[f_[dim.value].producer];
    return producer.op == Op::Constant ? Dim::of(producer.attrs.literal.as<int64_t>()) : dim;
  }
  bool same(const Dim& a, const Dim& b) const { return a == b || resolved(a) == resolved(b); }
  bool same(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](auto& x, auto& y) { return same(x, y); });
  }
  bool same(const Type& a, const Type& b) const {
    return a.kind == b.kind && (a.kind != Type::Kind::Tensor || (a.dtype == b.dtype && same(a.dims, b.dims)));
  }
  // The type with sizes that name one of `from` naming its counterpart in `to` instead.
  static Type substituted(Type t, const std::vector<ValueId>& from, const std::vector<ValueId>& to) {
    for (Dim& dim : t.dims)
      for (size_t i = 0; i < from.size() && i < to.size(); ++i)
        if (!dim.is_constant() && dim.value == from[i]) {
          dim.value = to[i];
          break;
        }
    return t;
  }
  // Values passed for others: as many, and of their types under the substitution.
  void passes(const std::vector<ValueId>& formal, const std::vector<ValueId>& actual, std::string_view what) {
    if (!check(formal.size() == actual.size(),
               [&] { return fmt::format("{}: {} values for {}", what, actual.size(), formal.size()); }))
      return;
    for (size_t i = 0; i < formal.size(); ++i) {
      Type want = substituted(type(formal[i]), formal, actual);
      check(same(want, type(actual[i])),
            [&] { return fmt::format("{} {} is {}, not {}", what, i, text(type(actual[i])), text(want)); });
    }
  }
  void want(size_t i, const Type& t) {
    check(same(in(i), t), [&] { return fmt::format("operand {} is {}, not {}", i, text(in(i)), text(t)); });
  }
  void result(const Type& t, size_t i = 0) {
    check(same(out(i), t), [&] { return fmt::format("result {} is {}, not {}", i, text(out(i)), text(t)); });
  }
  bool counts(size_t operands, size_t results) {
    return check(node_->operands.size() == operands && node_->results.size() == results, [&] {
      return fmt::format("{} operands and {} results, not {} and {}", node_->operands.size(), node_->results.size(),
                         operands, results);
    });
  }
  bool at_least(size_t operands, size_t results) {
    return check(node_->operands.size() >= operands && node_->results.size() == results, [&] {
      return fmt::format("{} operands and {} results, not at least {} and {}", node_->operands.size(),
                         node_->results.size(), operands, results);
    });
  }
  void want_i64(size_t from, size_t to) {
    for (size_t i = from; i < to; ++i)
      want(i, Type::scalar(DType::I64));
  }
  // Axes: in range and strictly ascending.
  bool ascending(const std::vector<int64_t>& axes, size_t rank) {
    int64_t last = -1;
    for (int64_t a : axes) {
      if (a <= last || a >= static_cast<int64_t>(rank)) return check(false, "axes are not ascending or out of range");
      last = a;
    }
    return true;
  }
  bool one_axis(size_t rank) {
    return check(node_->attrs.ints.size() == 1 && node_->attrs.ints[0] >= 0 &&
                     node_->attrs.ints[0] < static_cast<int64_t>(rank),
                 "the axis is out of range");
  }

  // ---- structure -------------------------------------------------------------------------------------------------
  bool use(ValueId id) {
    if (!id.valid() || id.index >= f_.values.size()) return check(false, "uses a value that does not exist");
    return check(defined_[id.index], [&] {
      return fmt::format("uses value {} ({}) before it is defined or out of its scope", id.index, f_[id].name);
    });
  }
  void define(const std::vector<ValueId>& ids, NodeId producer, std::vector<ValueId>& scope) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!check(ids[i].valid() && ids[i].index < f_.values.size(), "defines a value that does not exist")) return;
      check(!defined_[ids[i].index], [&] { return fmt::format("defines value {} twice", ids[i].index); });
      check(f_[ids[i]].producer == producer && f_[ids[i]].result == i,
            [&] { return fmt::format("value {} does not know its producer", ids[i].index); });
      defined_[ids[i].index] = true;
      scope.push_back(ids[i]);
    }
    for (ValueId id : ids)
      for (const Dim& dim : type(id).dims) {
        if (dim.is_constant())
          check(dim.constant >= 0, "a size is negative");
        else if (use(dim.value))
          check(type(dim.value) == Type::scalar(DType::I64), "a size is not an i64");
      }
  }

  void region(const Region& r) {
    std::vector<ValueId> scope;
    define(r.params, {}, scope);
    for (NodeId id : r.nodes) {
      const Node* outer = node_;
      if (!check(id.valid() && id.index < f_.nodes.size(), "a region lists a node that does not exist")) return;
      node_ = &f_[id];
      bool fine = true;
      for (ValueId operand : node_->operands)
        fine = use(operand) && fine;
      for (const Region& inner : node_->regions)
        region(inner);
      define(node_->results, id, scope);
      if (fine && !broken_) node();
      node_ = outer;
    }
    for (ValueId id : r.yields)
      use(id);
    for (ValueId id : scope)
      defined_[id.index] = false;
  }

  // How often each token of an outer region is used in this one. Each token of this region: exactly once.
  std::map<ValueId, int> tokens(const Region& r, bool all_used) {
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

  bool regions(size_t count) { return check(node_->regions.size() == count, "has a wrong number of regions"); }

  // ---- the ops ---------------------------------------------------------------------------------------------------
  void node() {
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
      if (counts(0, 1))
        check(out().is_tensor() && out().dtype == DType::I64 && out().dims.size() == 1, "is not i64[n]");
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
      check(a.reduce == ReduceOp::Sum || a.reduce == ReduceOp::Prod, "is neither a sum nor a product");
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
      check(cond.yields.size() == 1 && type(cond.yields[0]) == Type::scalar(DType::Bool),
            "the condition is not a bool");
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
      return effect();
    case Op::Format:
      if (!check(node_->results.size() == 1, "has no result")) return;
      format(node_->operands.size());
      return result(Type::str());
    case Op::Print:
      if (!at_least(1, 1)) return;
      for (size_t i = 1; i < node_->operands.size(); ++i)
        want(i, Type::str());
      return effect();
    case Op::Assert:
      if (!at_least(2, 1)) return;
      want(1, Type::scalar(DType::Bool));
      check(a.index < module_.sites.size(), "its site does not exist");
      format(node_->operands.size() - 2);
      return effect();
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
      return effect();
    case Op::Save:
      if (!at_least(3, 1)) return;
      want(1, Type::str());
      if (in(2).is_tensor() && !counts(3, 1)) return;
      for (size_t i = in(2).is_tensor() ? 2 : 3; i < node_->operands.size(); ++i)
        check(in(i).is_tensor() || in(i).kind == Type::Kind::List, "saves no tensor");
      return effect();
    case Op::Exists:
      if (!counts(node_->operands.size() > 2 ? 3 : 2, 2)) return;
      want(1, Type::str());
      if (node_->operands.size() > 2) want(2, Type::str());
      result(Type::scalar(DType::Bool), 1);
      return effect();
    case Op::ReadText:
      if (!counts(2, 2)) return;
      want(1, Type::str());
      result(Type::str(), 1);
      return effect();
    case Op::WriteText:
      if (!counts(3, 1)) return;
      want(1, Type::str());
      want(2, Type::str());
      return effect();
    case Op::Wait:
      if (!at_least(1, node_->operands.size())) return;
      for (size_t i = 1; i < node_->operands.size(); ++i)
        result(in(i), i);
      return effect();
    case Op::WaitAll:
      if (counts(1, 1)) effect();
      return;
    case Op::Time:
      if (!counts(1, 2)) return;
      result(Type::scalar(DType::F64), 1);
      return effect();
    case Op::Interrupted:
      if (!counts(1, 2)) return;
      result(Type::scalar(DType::Bool), 1);
      return effect();
    case Op::Exit:
      if (!counts(2, 1)) return;
      want_i64(1, 2);
      return effect();
    case Op::Debug:
      if (!counts(2, 2)) return;
      result(in(1), 1);
      return effect();
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
      return effect();
    }
    case Op::Stopwatch: {
      const auto op = static_cast<StopwatchOp>(a.index);
      if (!check(a.index < static_cast<uint32_t>(kStopwatchOpCount), "does nothing") ||
          !counts(op == StopwatchOp::Start ? 1 : 2, 2))
        return;
      want_i64(1, node_->operands.size());
      result(Type::scalar(op == StopwatchOp::Start || op == StopwatchOp::Count ? DType::I64 : DType::F64), 1);
      return effect();
    }
    case Op::Progress:
      if (!at_least(4, 1)) return;
      want_i64(1, 3);
      want(3, Type::str());
      return effect();
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
      return effect();
    case Op::ReleaseCache:
      if (!counts(2, 1)) return;
      want(1, Type::scalar(DType::Device));
      return effect();
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

  // The results from `first` on are the sizes of the tensor before them.
  void sizes_beside(size_t first) {
    const Type& t = out(first - 1);
    if (!check(t.is_tensor() && node_->results.size() == first + t.dims.size(), "gives not one size per axis")) return;
    for (size_t i = 0; i < t.dims.size(); ++i) {
      result(Type::scalar(DType::I64), first + i);
      check(t.dims[i] == Dim::of(node_->results[first + i]), "the tensor's sizes are not the results beside it");
    }
  }

  void list_get() {
    const std::vector<int64_t>& own = node_->attrs.ints;
    if (!check(node_->operands.size() == 2 && own.size() % 2 == 0 && node_->results.size() > own.size() / 2,
               "has a wrong form"))
      return;
    want(0, Type::list());
    want_i64(1, 2);
    size_t width = node_->results.size() - own.size() / 2;
    for (size_t i = 0; i < own.size() / 2; ++i) {
      result(Type::scalar(DType::I64), width + i);
      auto leaf = static_cast<size_t>(own[2 * i]), axis = static_cast<size_t>(own[2 * i + 1]);
      if (!check(leaf < width && axis < out(leaf).dims.size(), "names an axis that is not there")) return;
      check(!out(leaf).dims[axis].is_constant(), "gives a size that is a constant");
    }
  }

  void linalg() {
    const std::vector<int64_t>& ints = node_->attrs.ints;
    if (!check(ints.size() == 1 && ints[0] >= 0 && ints[0] < kLinalgOpCount, "names no decomposition")) return;
    const LinalgOpInfo& row = info(static_cast<LinalgOp>(ints[0]));
    if (!counts(static_cast<size_t>(row.operands), static_cast<size_t>(row.results))) return;
    check(node_->attrs.index < module_.sites.size(), "its site does not exist");
    const size_t rank = in(0).dims.size();
    if (!check(in(0).is_tensor() && rank >= 2 && (in(0).dtype == DType::F32 || in(0).dtype == DType::F64),
               "is not of matrices of f32 or f64"))
      return;
    auto fits = [&](const Type& t) { // the leading axes are those of the first operand
      check(t.is_tensor() && t.dims.size() + 1 >= rank && t.dims.size() <= rank, "has a value of another rank");
      for (size_t i = 0; i + 2 < rank && i < t.dims.size(); ++i)
        check(t.dims[i] == in(0).dims[i], "has a value of other leading axes");
    };
    for (size_t i = 0; i < node_->operands.size(); ++i)
      fits(in(i));
    for (size_t i = 0; i < node_->results.size(); ++i)
      fits(out(i));
  }

  void text_operation() {
    if (!check(node_->attrs.index < static_cast<uint32_t>(kTextOpCount), "is no operation on text")) return;
    auto op = static_cast<TextOp>(node_->attrs.index);
    const TextOpInfo& row = info(op);
    size_t given = 0;
    bool optional = false;
    for (char kind : row.operands) {
      optional = optional || kind == '(';
      if (kind == '(' || kind == ')' || (optional && given == node_->operands.size())) continue;
      if (!check(given < node_->operands.size(), "has too few operands")) return;
      if (kind == 's') want(given, Type::str());
      if (kind == 'l') want(given, Type::list());
      if (kind == 'i') want(given, Type::scalar(DType::I64));
      if (kind == 'b') check(in(given).is_tensor() && in(given).dtype == DType::U8, "wants u8 elements");
      ++given;
    }
    if (!check(given == node_->operands.size(), "has too many operands") ||
        !check(!node_->results.empty(), "has no result"))
      return;
    switch (row.result[0]) {
    case 's': return result(Type::str());
    case 'l': return result(Type::list());
    case 'i': return result(Type::scalar(DType::I64));
    case 'b': return sizes_beside(1);
    default: check(out().is_scalar(), "gives no number");
    }
  }

  void effect() {
    want(0, Type::token());
    result(Type::token());
  }

  void format(size_t values) {
    const FormatTemplate& t = node_->attrs.format;
    check(t.literals.size() == t.specs.size() + 1 && t.specs.size() == values, "its template does not fit its values");
  }

  void const_tensor() {
    if (!counts(0, 1) || !check(node_->attrs.index < module_.tensors.size(), "its tensor does not exist")) return;
    const HostTensor& t = module_.tensors[node_->attrs.index];
    std::vector<Dim> dims;
    for (int64_t d : t.dims)
      dims.push_back(Dim::of(d));
    result(Type::tensor(t.dtype, dims));
  }

  void elementwise() {
    ScalarOp op = node_->attrs.scalar;
    if (!counts(static_cast<size_t>(info(op).arity), 1)) return;
    bool shaped = false;
    for (size_t i = 0; i < node_->operands.size(); ++i) {
      if (!check(in(i).is_tensor(), "has an operand that is not a tensor")) return;
      check(in(i).dims.empty() || same(in(i).dims, out().dims),
            [&] { return fmt::format("operand {} is {}, the result is {}", i, text(in(i)), text(out())); });
      shaped = shaped || in(i).dims.size() == out().dims.size();
    }
    check(shaped, "no operand has the result's sizes");
    DType t = in(op == ScalarOp::Where ? 1 : 0).dtype;
    auto operands_are = [&](std::vector<DType> types) {
      for (size_t i = 0; i < types.size(); ++i)
        check(in(i).dtype == types[i],
              [&] { return fmt::format("operand {} is of {}, not {}", i, name_of(in(i).dtype), name_of(types[i])); });
    };
    bool type_fits = true;
    switch (info(op).rule) {
    case TypeRule::NumSame:
    case TypeRule::OrdBool: type_fits = is_num(t); break;
    case TypeRule::FloatSame:
    case TypeRule::FloatBool: type_fits = is_float(t); break;
    case TypeRule::IntSame: type_fits = is_int(t); break;
    case TypeRule::BoolSame: type_fits = t == DType::Bool; break;
    case TypeRule::EqBool: break;
    case TypeRule::Select: operands_are({DType::Bool, t, t}); break;
    case TypeRule::Bits:
    case TypeRule::KeyFold: operands_are({DType::Key, DType::I64}); break;
    }
    check(type_fits, [&] { return fmt::format("is not for {}", name_of(t)); });
    if (op != ScalarOp::Where && op != ScalarOp::KeyBits && op != ScalarOp::KeyFold)
      operands_are(std::vector<DType>(node_->operands.size(), t));
    check(out().is_tensor() && out().dtype == result_type(op, t), "has a wrong element type");
  }

  void broadcast() {
    if (!counts(1, 1)) return;
    const std::vector<int64_t>& axes = node_->attrs.ints;
    if (!check(in(0).is_tensor() && out().is_tensor() && in(0).dtype == out().dtype, "changes the element type"))
      return;
    if (!check(axes.size() == in(0).dims.size(), "has a wrong number of axes") || !ascending(axes, out().dims.size()))
      return;
    for (size_t i = 0; i < axes.size(); ++i) {
      const Dim& from = in(0).dims[i];
      check(from == Dim::of(1) || same(from, out().dims[static_cast<size_t>(axes[i])]),
            [&] { return fmt::format("{} does not stretch to {}", text(in(0)), text(out())); });
    }
  }

  void reshape() {
    if (!counts(1, 1)) return;
    check(in(0).is_tensor() && out().is_tensor() && in(0).dtype == out().dtype, "changes the element type");
    auto count = [](const Type& t) {
      int64_t n = 1;
      for (const Dim& d : t.dims)
        n = d.is_constant() && n >= 0 ? n * d.constant : -1;
      return n;
    };
    int64_t before = count(in(0)), after = count(out());
    check(before < 0 || after < 0 || before == after,
          [&] { return fmt::format("{} to {}", text(in(0)), text(out())); });
  }

  void update() {
    if (!at_least(2, 1) || !counts(2 + in(0).dims.size(), 1)) return;
    want_i64(2, node_->operands.size());
    check(in(1).is_tensor() && in(1).dtype == in(0).dtype, "value and tensor have different element types");
    const std::vector<int64_t>& steps = node_->attrs.ints;
    if (in(1).dims.empty())
      check(steps.empty(), "an element update has steps");
    else
      check(in(1).dims.size() == in(0).dims.size() && steps.size() == in(0).dims.size(), "the value has a wrong rank");
    for (int64_t step : steps)
      check(step != 0, "has a step of 0");
    result(in(0));
  }

  void reduce() {
    if (!at_least(1, 1) || !check(node_->operands.size() <= 2, "has too many operands")) return;
    if (!check(in(0).is_tensor(), "is not of a tensor") || !ascending(node_->attrs.ints, in(0).dims.size())) return;
    if (node_->operands.size() == 2) want(1, Type::tensor(DType::Bool, in(0).dims));
    ReduceOp op = node_->attrs.reduce;
    DType t = in(0).dtype;
    bool fits = is_num(t);
    if (op == ReduceOp::Any || op == ReduceOp::All) fits = t == DType::Bool;
    if (op == ReduceOp::Sum || op == ReduceOp::Prod) fits = fits && t != DType::F16 && t != DType::BF16;
    check(fits, [&] { return fmt::format("{} is not for {}", name_of(op), name_of(t)); });
    Type r{Type::Kind::Tensor, op == ReduceOp::ArgMin || op == ReduceOp::ArgMax ? DType::I64 : t, {}};
    for (size_t i = 0; i < in(0).dims.size(); ++i)
      if (!std::count(node_->attrs.ints.begin(), node_->attrs.ints.end(), static_cast<int64_t>(i)))
        r.dims.push_back(in(0).dims[i]);
    result(r);
  }

  void contract() {
    if (!counts(2, 1) || !check(in(0).is_tensor() && in(1).is_tensor(), "is not of tensors")) return;
    const Attrs& a = node_->attrs;
    if (!check(a.ints.size() == in(0).dims.size() + in(1).dims.size(), "has a wrong number of labels")) return;
    check(in(0).dtype == in(1).dtype && is_num(in(0).dtype), "operands are not of one number type");
    std::map<int64_t, Dim> sizes;
    for (size_t i = 0; i < a.ints.size(); ++i) {
      const Dim& dim = i < in(0).dims.size() ? in(0).dims[i] : in(1).dims[i - in(0).dims.size()];
      auto [at, fresh] = sizes.emplace(a.ints[i], dim);
      check(fresh || same(at->second, dim), [&] { return fmt::format("label {} has two sizes", a.ints[i]); });
    }
    Type r = Type::tensor(in(0).dtype, {});
    std::set<int64_t> seen;
    for (int64_t label : a.labels) {
      if (!check(sizes.contains(label) && seen.insert(label).second, "a result label is unknown or repeated")) return;
      r.dims.push_back(sizes[label]);
    }
    result(r);
  }

  void map() {
    if (!regions(1) || !check(node_->operands.empty() && !node_->results.empty(), "wants no operands and some results"))
      return;
    const Region& r = node_->regions[0];
    if (!check(r.yields.size() == node_->results.size(), "gives a wrong number of values")) return;
    for (ValueId p : r.params)
      check(type(p) == Type::scalar(DType::I64), "an index is not an i64");
    for (size_t i = 0; i < r.yields.size(); ++i) {
      if (!check(type(r.yields[i]).is_scalar(), "a body's value is not a scalar")) return;
      check(out(i).dims.size() == r.params.size() && same(out(i).dims, out(0).dims), "a result has wrong sizes");
      result(Type::tensor(type(r.yields[i]).dtype, out(0).dims), i);
    }
  }

  void carried(const std::vector<ValueId>& params, const std::vector<ValueId>& initial, const Region& body) {
    passes(params, initial, "initial value");
    passes(params, body.yields, "yield");
    passes(params, node_->results, "result");
  }

  void call() {
    if (!check(node_->attrs.index < module_.functions.size(), "its function does not exist")) return;
    const Function& callee = module_.functions[node_->attrs.index];
    const Region& body = callee.body;
    if (!check(body.params.size() == node_->operands.size() && body.yields.size() == node_->results.size(),
               "passes or gives a wrong number of values"))
      return;
    // What a size of the callee is called here: an operand, a result, or (a parameter that is given back) either.
    auto matches = [&](const Dim& theirs, const Dim& ours) {
      if (theirs.is_constant()) return same(theirs, ours);
      auto is = [&](const std::vector<ValueId>& names, const std::vector<ValueId>& values) {
        for (size_t i = 0; i < names.size(); ++i)
          if (names[i] == theirs.value && same(Dim::of(values[i]), ours)) return true;
        return false;
      };
      return is(body.params, node_->operands) || is(body.yields, node_->results);
    };
    auto compare = [&](const std::vector<ValueId>& theirs, const std::vector<ValueId>& ours, std::string_view what) {
      for (size_t i = 0; i < theirs.size(); ++i) {
        const Type &want = callee[theirs[i]].type, &have = type(ours[i]);
        check(want.kind == have.kind && want.dtype == have.dtype &&
                  std::equal(want.dims.begin(), want.dims.end(), have.dims.begin(), have.dims.end(), matches),
              [&] {
                return fmt::format("{} {} is {}, which is not the callee's {}", what, i, text(have),
                                   to_text(want, callee));
              });
      }
    };
    compare(body.params, node_->operands, "operand");
    compare(body.yields, node_->results, "result");
  }

  // What is inside has been looked at; that it fits together is checked once it is expanded.
  void transform() {
    bool custom = node_->op == Op::CustomVjp, over = node_->op == Op::Vmap;
    if (!regions(custom ? 2 : 1) || !check(!node_->attrs.ints.empty(), "lacks its numbers")) return;
    size_t params = node_->regions[0].params.size(), yields = node_->regions[0].yields.size();
    check(node_->operands.size() >= params + (over ? 1 : 0), "has fewer operands than its region has parameters");
    check(node_->results.size() >= yields, "has fewer results than its region yields");
  }

  void kernel() {
    if (!regions(1) || !check(node_->regions[0].params.empty(), "its region has parameters")) return;
    std::vector<ValueId> used = captures(f_, *node_), given = node_->operands;
    std::sort(used.begin(), used.end());
    std::sort(given.begin(), given.end());
    check(used == given, "its operands are not exactly what its region uses");
    passes(node_->results, node_->regions[0].yields, "yield");
  }

  const Module& module_;
  const Function& f_;
  std::vector<std::string>& faults_;
  const Node* node_ = nullptr;
  std::vector<bool> defined_;
  bool broken_ = false;
};

} // namespace

std::vector<std::string> verify(const Module& module) {
  std::vector<std::string> faults;
  if (module.functions.empty()) return {"the module has no function"};
  if (module.entry >= module.functions.size()) faults.push_back("the entry does not exist");
  for (const Function& function : module.functions)
    Checker(module, function, faults).run();
  return faults;
}

} // namespace tl::ir
