// Makes sizes that were checked to be equal one size: behind the check of `x - y`, y has the sizes of x, also where y
// is used alone. Otherwise what is computed along one of the two could not share a kernel with what is along the other.
//
// Needs: equal sizes are one value.
// Gives: behind a Reshape of what a Guard of `n == m` lets through from [n] to [m], in the region where the later of
//        the two is defined, this is no longer used: constants before sizes, early ones before late ones. Nothing that
//        follows a failed check is seen (passes/claims.cpp), so sizes may be exchanged; a tensor from before the check
//        that has the size is behind a Guard of the same, so that no kernel reads it by a size that it does not have.
#include "passes/edit.h"
#include "passes/fuse/views.h"
#include "passes/passes.h"
#include <algorithm>
#include <set>
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

class Sizes {
public:
  Sizes(Module& module, Function& function) : f_(function), edit_(module, function) {}

  void run() {
    note_uses();
    regions_.emplace_back();
    define(f_.body.params);
    edit_.visit = [this](NodeId id) { return visit(id); };
    edit_.leave = [this](NodeId id) {
      define(std::vector<ValueId>(f_[id].results));
      return Edit::Keep;
    };
    edit_.scope = [this](NodeId id, size_t region, bool enter) {
      if (!enter) return regions_.pop_back();
      regions_.emplace_back();
      regions_.back().first = next_++;
      define(std::vector<ValueId>(f_[id].regions[region].params));
    };
    edit_.run();
  }

private:
  struct Scope {
    uint32_t first = 0; // what is defined in the region has this position or a later one
    std::unordered_map<uint32_t, std::vector<ValueId>> tensors{}; // defined in it, by a size that they have
  };

  struct Use {
    ValueId value;
    NodeId user; // invalid: a region yields it
    uint32_t number;
  };
  // By the numbers that nodes have on the way: when each value is used last, and when it is needed first by what is not
  // itself computed element by element.
  void note_uses() {
    std::vector<Use> uses;
    uses_in(f_.body, uses);
    last_use_.assign(f_.values.size(), 0);
    first_need_.assign(f_.values.size(), kNever);
    for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
      uint32_t &last = last_use_[use->value.index], &need = first_need_[use->value.index];
      last = std::max(last, use->number);
      const bool passes_on = use->user.valid() && is_by_element(f_[use->user]);
      need = std::min(need, passes_on ? first_need_[f_[use->user].results[0].index] : use->number);
    }
  }
  void uses_in(const Region& region, std::vector<Use>& uses) {
    for (NodeId id : region.nodes) {
      ++count_;
      for (ValueId value : f_[id].operands)
        uses.push_back({value, id, count_});
      for (const Region& inner : f_[id].regions)
        uses_in(inner, uses);
    }
    for (ValueId value : region.yields)
      uses.push_back({value, {}, count_ + 1});
  }
  static bool is_by_element(const Node& node) { return node.op == Op::Elementwise || node.op == Op::Convert; }
  // New values are for what comes later.
  bool is_used_later(ValueId value) const { return value.index >= last_use_.size() || last_use_[value.index] > here_; }
  bool is_needed_before(ValueId value) const {
    return value.index < first_need_.size() && first_need_[value.index] <= here_;
  }

  void define(const std::vector<ValueId>& values) {
    position_.resize(f_.values.size());
    for (ValueId value : values) {
      position_[value.index] = next_++;
      for (const Dim& dim : f_[value].type.dims)
        if (!dim.is_constant()) regions_.back().tensors[edit_.resolve(dim.value).index].push_back(value);
    }
  }

  Edit::Answer visit(NodeId id) {
    ++here_;
    if (f_[id].op == Op::Reshape) same_sizes(id);
    return Edit::Keep;
  }

  void same_sizes(NodeId id) {
    const ValueId x = f_[id].operands[0];
    const std::vector<Dim> from = f_[x].type.dims, to = f_[f_[id].results[0]].type.dims;
    if (from.size() != to.size()) return;
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] == to[i]) continue;
      const Node* guard = check_of_sizes(f_, x, from[i], to[i]);
      if (!guard) continue;
      auto is_before = [&](const Dim& a, const Dim& b) { // b is defined in this region, a before it
        if (b.is_constant() || position_[b.value.index] < regions_.back().first) return false;
        return a.is_constant() || position_[a.value.index] < position_[b.value.index];
      };
      if (is_before(from[i], to[i]))
        exchange(to[i].value, from[i], *guard);
      else if (is_before(to[i], from[i]))
        exchange(from[i].value, to[i], *guard);
    }
  }

  void exchange(ValueId old, const Dim& size, const Node guard) {
    const std::vector<ValueId> tensors = std::move(regions_.back().tensors[old.index]);
    const ValueId replacement = size.is_constant() ? edit_.constant(DType::I64, Scalar::of(size.constant)) : size.value;
    edit_.replace(old, replacement);
    std::set<ValueId> wanted; // a tensor is defined after what it is computed from
    for (auto x = tensors.rbegin(); x != tensors.rend(); ++x)
      if (is_used_later(*x) || wanted.contains(*x)) {
        wanted.insert(*x);
        if (is_computed_later(*x))
          wanted.insert(f_[f_[*x].producer].operands.begin(), f_[f_[*x].producer].operands.end());
      }
    for (ValueId x : tensors)
      if (wanted.contains(x) && edit_.resolve(x) == x) move(x, guard);
  }

  // What is computed for uses behind the check alone is computed there, beside them.
  bool is_computed_later(ValueId x) const {
    const Node* node = producer_of(f_, x);
    return node && is_by_element(*node) && !is_needed_before(x);
  }

  // x by the new size.
  void move(ValueId x, const Node& guard) {
    const Type before = f_[x].type;
    std::vector<ValueId> operands;
    ValueId result;
    if (is_computed_later(x)) {
      const Node node = f_[f_[x].producer];
      for (ValueId operand : node.operands)
        operands.push_back(edit_.resolve(operand));
      result = edit_.one(node.op, std::move(operands), edit_.resolve(before), node.attrs, node.loc);
    } else {
      operands = guard.operands;
      operands[0] = x;
      const ValueId checked = edit_.one(Op::Guard, std::move(operands), before, guard.attrs, guard.loc);
      result = edit_.one(Op::Reshape, {checked}, edit_.resolve(before), {}, guard.loc);
    }
    edit_.replace(x, result);
    define({result});
  }

  Function& f_;
  Edit edit_;
  std::vector<Scope> regions_;     // around the node being visited
  std::vector<uint32_t> position_; // where each value is defined
  static constexpr uint32_t kNever = UINT32_MAX;
  std::vector<uint32_t> last_use_, first_need_;
  uint32_t next_ = 0, count_ = 0, here_ = 0; // count_, here_: nodes on the way so far
};

} // namespace

Module sizes(Module module) {
  for (Function& function : module.functions)
    Sizes(module, function).run();
  return module;
}

} // namespace tl
