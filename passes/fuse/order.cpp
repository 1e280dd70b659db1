// Puts what reads a tensor before the kernel that writes into its memory.
//
// Needs: kernels.
// Gives: the same values. Fusion may have put a read behind an update of what it reads, where the update would have to
//        copy the whole tensor; what does not depend on the update moves before it, unless the program may end in it.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/passes.h"
#include <algorithm>
#include <unordered_map>

namespace tl {
using namespace ir;
namespace {

class Order {
public:
  explicit Order(Function& function) : f_(function) {}

  void region(Region& r) {
    for (NodeId id : r.nodes)
      for (size_t k = 0; k < f_[id].regions.size(); ++k)
        if (f_[id].op != Op::Kernel) region(f_[id].regions[k]);
    if (std::none_of(r.nodes.begin(), r.nodes.end(), [&](NodeId id) { return written(id).valid(); })) return;
    find_reads(r);
    std::vector<NodeId> order;
    std::vector<bool> placed(r.nodes.size());
    for (size_t i = 0; i < r.nodes.size(); ++i) {
      if (placed[i]) continue;
      if (ValueId x = written(r.nodes[i]); x.valid())
        for (size_t reader : readers_[x.index])
          if (reader > i && !placed[reader]) {
            std::vector<size_t> before;
            if (independent(reader, i, r.nodes, placed, before))
              for (size_t at : before) {
                placed[at] = true;
                order.push_back(r.nodes[at]);
              }
          }
      placed[i] = true;
      order.push_back(r.nodes[i]);
    }
    r.nodes = std::move(order);
  }

private:
  // The tensor into whose memory a kernel writes.
  ValueId written(NodeId id) const {
    const Node& node = f_[id];
    if (node.op != Op::Kernel || node.as<KernelAttrs>().kind != KernelKind::Update) return {};
    NodeId update = f_[node.regions[0].yields[0]].producer;
    return update.valid() ? f_[update].operands[0] : ValueId{};
  }

  void find_reads(const Region& r) {
    uses_.assign(r.nodes.size(), {});
    readers_.clear();
    std::unordered_map<uint32_t, size_t> made;
    for (size_t i = 0; i < r.nodes.size(); ++i) {
      const Node& node = f_[r.nodes[i]];
      auto use = [&](ValueId v) {
        readers_[v.index].push_back(i);
        if (auto from = made.find(v.index); from != made.end()) uses_[i].push_back(from->second);
      };
      for (ValueId v : node.operands)
        use(v);
      if (!node.regions.empty() && node.op != Op::Kernel)
        for (ValueId v : captures(f_, node))
          use(v);
      for (ValueId v : node.results) {
        for (const Dim& dim : f_[v].type.dims)
          if (!dim.is_constant()) use(dim.value);
        made[v.index] = i;
      }
    }
  }

  // Where the host waits for a value, the program ends if that has failed: what it prints before, it prints before
  // that.
  bool may_end_program(const Node& node) const {
    if (node.op == Op::Kernel) return node.as<KernelAttrs>().kind == KernelKind::Loop;
    return node.op == Op::Await || is_effect(f_, node) || kind_of(node.op) == OpKind::Control;
  }

  // Can node `at` come before node `limit`? Then `before` is it and what it needs from behind there, in order.
  bool independent(size_t at, size_t limit, const std::vector<NodeId>& nodes, const std::vector<bool>& placed,
                   std::vector<size_t>& before) const {
    std::vector<size_t> work{at};
    while (!work.empty()) {
      size_t i = work.back();
      work.pop_back();
      if (i == limit) return false;
      if (placed[i] || i < limit || std::count(before.begin(), before.end(), i)) continue;
      before.push_back(i);
      work.insert(work.end(), uses_[i].begin(), uses_[i].end());
    }
    std::sort(before.begin(), before.end());
    // What may end the program stays behind every other place where it may end, and behind what is printed.
    auto ends = [&](size_t i) { return may_end_program(f_[nodes[i]]); };
    auto last = std::find_if(before.rbegin(), before.rend(), ends);
    for (size_t i = limit; last != before.rend() && i < *last; ++i)
      if (!placed[i] && !std::binary_search(before.begin(), before.end(), i) && ends(i)) return false;
    return true;
  }

  Function& f_;
  std::vector<std::vector<size_t>> uses_; // by position: positions whose results it uses
  std::unordered_map<uint32_t, std::vector<size_t>> readers_;
};

} // namespace

Module order(Module module) {
  for (Function& function : module.functions)
    Order(function).region(function.body);
  return module;
}

} // namespace tl
