// Computes the same thing once: a pure node equal to one before it, in this region or one around it, gives way to that.
//
// Needs: nothing.
// Gives: no two equal pure nodes without regions where the first is in scope of the second, but for what is cheaply
// computed from indices alone: a loop computes that again, where it is used, rather than read it from memory. So equal
// sizes are one value.
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "passes/edit.h"
#include "passes/passes.h"
#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tl {
using namespace ir;
namespace {

bool shared(Op op) { return kind_of(op) == OpKind::Value || kind_of(op) == OpKind::Fallible; }

bool commutes(const Node& node) {
  if (node.op != Op::Elementwise) return false;
  switch (node.as<ElementwiseAttrs>().op) {
  case ScalarOp::Add:
  case ScalarOp::Mul:
  case ScalarOp::Eq:
  case ScalarOp::Ne:
  case ScalarOp::And:
  case ScalarOp::Or:
  case ScalarOp::BitAnd:
  case ScalarOp::BitOr:
  case ScalarOp::BitXor: return true;
  default: return false;
  }
}

size_t mix(size_t seed, uint64_t value) { return seed * 0x9e3779b97f4a7c15u + (value ^ (value >> 29)) + 0x7f4a7c15u; }

template <class Number> size_t mix_field(size_t seed, const Number& number) {
  return mix(seed, static_cast<uint64_t>(number));
}
size_t mix_field(size_t seed, Scalar literal) { return mix(seed, literal.bits); }
size_t mix_field(size_t seed, const std::string& text) { return mix(seed, std::hash<std::string>()(text)); }
size_t mix_field(size_t seed, const LeafAxis& size) { return mix_field(mix_field(seed, size.leaf), size.axis); }
template <class T> size_t mix_field(size_t seed, const std::vector<T>& values) {
  for (const T& value : values)
    seed = mix_field(seed, value);
  return seed;
}
size_t mix_field(size_t seed, const FormatTemplate& format) { return mix_field(seed, format.literals); }

size_t hash_of(const Function& f, const Node& node) {
  size_t h = static_cast<size_t>(node.op);
  each_field(node.attrs, [&](std::string_view, const auto&... fields) { ((h = mix_field(h, fields)), ...); });
  if (commutes(node)) {
    h = mix(h, node.operands[0].index + node.operands[1].index);
  } else {
    for (ValueId value : node.operands)
      h = mix(h, value.index);
  }
  const Type& type = f[node.results[0]].type;
  h = mix(h, static_cast<uint64_t>(type.dtype));
  for (const Dim& dim : type.dims)
    h = mix(h, dim.is_constant() ? static_cast<uint64_t>(dim.constant) : ~uint64_t{dim.value.index});
  return h;
}

bool equal(const Function& f, const Node& a, const Node& b) {
  if (a.op != b.op || a.attrs != b.attrs) return false;
  if (!(f[a.results[0]].type == f[b.results[0]].type)) return false;
  if (a.operands == b.operands) return true;
  return commutes(a) && a.operands[0] == b.operands[1] && a.operands[1] == b.operands[0];
}

// Tensors of indices, and what takes few instructions of them.
class Numbers {
public:
  explicit Numbers(const Function& f) : f_(f) {}

  void note(const Node& node) {
    if (is_number(node)) numbers_.insert(node.results[0].index);
  }
  bool contains(ValueId value) const { return numbers_.contains(value.index); }

private:
  bool is_number(const Node& node) const {
    if (node.op == Op::Iota) return true;
    if (node.op == Op::Elementwise) {
      const ScalarOp op = node.as<ElementwiseAttrs>().op;
      if (tl::info(op).ulp != 0 || op == ScalarOp::KeyBits || op == ScalarOp::KeyFold) return false;
    } else if (node.op != Op::Convert && node.op != Op::Reshape) {
      return false;
    }
    return !f_[node.results[0]].type.is_scalar() &&
           std::all_of(node.operands.begin(), node.operands.end(),
                       [&](ValueId v) { return contains(v) || f_[v].type.is_scalar(); });
  }

  const Function& f_;
  std::unordered_set<uint32_t> numbers_;
};

void run(Module& module, Function& f) {
  Edit edit(module, f);
  using Known = std::unordered_multimap<size_t, std::pair<NodeId, int>>; // and in how many loops
  Known known, outside;
  Numbers numbers(f);
  int loops = 0;
  std::vector<Known::iterator> added;
  std::vector<size_t> scopes; // how many of `added` belong to the regions around
  edit.scope = [&](NodeId id, size_t, bool enter) {
    if (f[id].op == Op::For || f[id].op == Op::While) loops += enter ? 1 : -1;
    bool kernel = f[id].op == Op::Kernel; // it has constants of its own
    if (enter) {
      if (kernel) known.swap(outside);
      scopes.push_back(added.size());
      return;
    }
    for (; added.size() > scopes.back(); added.pop_back())
      known.erase(added.back());
    scopes.pop_back();
    if (kernel) known.swap(outside);
  };
  edit.visit = [&](NodeId id) {
    const Node& node = f[id];
    if (!shared(node.op) || node.results.size() != 1) return Edit::Keep;
    size_t hash = hash_of(f, node);
    auto [begin, end] = known.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      const auto [before, around] = at->second;
      if (!equal(f, f[before], node) || (around != loops && numbers.contains(f[before].results[0]))) continue;
      edit.replace(node.results[0], f[before].results[0]);
      return Edit::Drop;
    }
    numbers.note(node);
    added.push_back(known.emplace(hash, std::pair(id, loops)));
    return Edit::Keep;
  };
  edit.leave = [&](NodeId id) {
    if (f[id].op == Op::Kernel) f[id].operands = captures(f, f[id]); // two may have become one
    return Edit::Keep;
  };
  edit.run();
}

} // namespace

Module cse(Module module) {
  for (Function& function : module.functions)
    run(module, function);
  return module;
}

} // namespace tl
