#include "passes/memory/peak_growth.h"
#include <algorithm>
#include <set>
#include <unordered_map>

namespace tl::peak {
namespace {

// Visits the sizes of a state in an order that its structure decides.
template <class Visit> class Walk {
public:
  Walk(State& state, bool looks, Visit visit) : s_(state), looks_(looks), visit_(std::move(visit)) {}

  void run() {
    for (Frame& frame : s_.frames)
      for (Value& value : frame.slots)
        walk(value);
  }

private:
  void walk(Value& value) {
    if (value.is_scalar()) {
      if (value.dtype == DType::I64) visit_(value.size, false);
      if (value.test) {
        Comparison test = *value.test;
        visit_(test.a, false);
        visit_(test.b, false);
        if (test.a != value.test->a || test.b != value.test->b) value.test = std::make_shared<Comparison>(test);
      }
      return;
    }
    for (Size& dim : value.dims)
      visit_(dim, true);
    if (value.object == kNone) return;
    if (value.kind == Value::Kind::Tensor) walk_block(value.object);
    if (value.kind != Value::Kind::List || !lists_.insert(value.object).second) return;
    Elements& list = s_.lists[value.object];
    for (Value& element : list.values)
      walk(element);
    for (Alike& alike : list.many) {
      visit_(alike.count, true);
      for (Value& element : alike.unit) {
        for (Size& dim : element.dims)
          if (looks_) visit_(dim, true);
        if (element.kind == Value::Kind::Tensor && element.object != kNone) walk_block(element.object);
      }
    }
  }

  void walk_block(uint32_t object) {
    if (!blocks_.insert(object).second) return;
    Block& block = s_.blocks[object];
    Size bytes = block.bytes;
    visit_(bytes, true);
    if (bytes != block.bytes) s_.resize(block, bytes);
    for (Size& dim : block.dims)
      if (looks_) visit_(dim, true);
  }

  State& s_;
  const bool looks_;
  Visit visit_;
  std::set<uint32_t> blocks_, lists_;
};

template <class Visit> void walk(State& state, bool looks, Visit visit) {
  Walk<Visit>(state, looks, std::move(visit)).run();
}

class Folder {
public:
  Folder(State& older, State& newer, Fold& fold) : older_(older), newer_(newer), fold_(fold) {}

  bool run() {
    if (older_.frames.size() != newer_.frames.size()) return false;
    for (size_t f = 0; f < newer_.frames.size(); ++f) {
      Frame &a = older_.frames[f], &b = newer_.frames[f];
      if (a.function != b.function || a.at != b.at || a.slots.size() != b.slots.size()) return false;
      for (size_t slot = 0; slot < a.slots.size(); ++slot)
        if (!pair(a.slots[slot], b.slots[slot])) return false;
    }
    for (const auto& [older, newer] : kinds_)
      if (!begin_kinds(older, newer)) return false;
    for (const Grown& grown : grown_)
      count_handles(grown);
    for (const Grown& grown : grown_)
      if (!join(grown)) return false;
    fold_.grown = !grown_.empty() || !kinds_.empty();
    return true;
  }

private:
  struct Grown { // a list of both states, and which values of the newer one it has got since
    uint32_t older, newer;
    size_t first, count;
  };

  bool pair(Value& a, const Value& b) {
    if (a.kind != b.kind || a.dtype != b.dtype || a.device != b.device || a.dims.size() != b.dims.size()) return false;
    if ((a.object == kNone) != (b.object == kNone)) return false;
    if (a.is_scalar() && a.dtype != DType::I64) {
      const bool same = a.known.has_value() == b.known.has_value() && (!a.known || a.known->bits == b.known->bits);
      const bool same_test = !a.test == !b.test && (!a.test || a.test->op == b.test->op);
      if (!same && a.known) fold_.changed = true, a.known.reset();
      if (!same_test && a.test) fold_.changed = true, a.test = nullptr;
      return same_test || !b.test;
    }
    if (a.object == kNone) return true;
    if (a.kind == Value::Kind::Tensor) return pair_blocks(a.object, b.object);
    return pair_lists(a.object, b.object);
  }

  bool pair_blocks(uint32_t a, uint32_t b) {
    auto [at, fresh] = blocks_.try_emplace(b, a);
    auto [other, also] = back_.try_emplace(a, b);
    const Block &x = older_.blocks[a], &y = newer_.blocks[b];
    return at->second == a && other->second == b && x.counted == y.counted && x.device == y.device && x.many == y.many;
  }

  bool pair_lists(uint32_t a, uint32_t b) {
    auto [at, fresh] = lists_.try_emplace(b, a);
    auto [other, also] = lists_back_.try_emplace(a, b);
    if (at->second != a || other->second != b) return false;
    if (!fresh) return true;
    Elements &x = older_.lists[a], &y = newer_.lists[b];
    if (x.width != y.width || x.values.size() > y.values.size() || x.many.size() > y.many.size()) return false;
    const size_t more = y.values.size() - x.values.size();
    const size_t last = fold_.shifted ? std::min(more, x.values.size()) : 0, first = x.values.size() - last;
    for (size_t k = 0; k < x.values.size(); ++k)
      if (!pair(x.values[k], y.values[k < first ? k : k + more])) return false;
    for (size_t k = 0; k < x.many.size(); ++k)
      for (size_t leaf = 0; leaf < x.many[k].unit.size(); ++leaf)
        if (!pair(x.many[k].unit[leaf], y.many[k].unit[leaf])) return false;
    if (more) grown_.push_back({a, b, first, more});
    if (x.many.size() < y.many.size()) kinds_.emplace_back(a, b);
    return true;
  }

  // An inner loop has added kinds of elements: the older list has none of these yet.
  bool begin_kinds(uint32_t older, uint32_t newer) {
    for (size_t k = older_.lists[older].many.size(); k < newer_.lists[newer].many.size(); ++k) {
      Alike theirs{{}, newer_.lists[newer].many[k].unit};
      for (Value& leaf : theirs.unit) {
        if (leaf.object == kNone) continue;
        auto [at, fresh] = blocks_.try_emplace(leaf.object, kNone);
        if (fresh) {
          if (!newer_.blocks[leaf.object].many) return false;
          at->second = older_.new_block(empty(newer_.blocks[leaf.object]));
          back_[at->second] = leaf.object;
        }
        leaf.object = at->second;
        older_.retain(leaf);
      }
      older_.lists[older].many.push_back(std::move(theirs));
    }
    return true;
  }

  static Block empty(Block block) {
    block.handles = 0;
    block.many = true;
    block.bytes = Size();
    block.exact = 0;
    return block;
  }

  void count_handles(const Grown& grown) {
    const Elements& list = newer_.lists[grown.newer];
    for (size_t k = 0; k < grown.count; ++k) {
      const Value& value = list.values[grown.first + k];
      if (value.kind == Value::Kind::Tensor && value.object != kNone) ++added_handles_[value.object];
    }
  }

  // Moves the values that were added to those that are alike.
  bool join(const Grown& grown) {
    const size_t width = newer_.lists[grown.newer].width;
    for (size_t k = 0; k < grown.count; k += width) {
      const auto from = newer_.lists[grown.newer].values.begin() + static_cast<long>(grown.first + k);
      std::vector<Value> leaves(from, from + static_cast<long>(width));
      size_t found = 0;
      for (; found < newer_.lists[grown.newer].many.size(); ++found)
        if (fits(newer_.lists[grown.newer].many[found], leaves)) break;
      if (found == newer_.lists[grown.newer].many.size() && !begin_kind(grown, leaves)) return false;
      Alike& alike = newer_.lists[grown.newer].many[found];
      alike.count = alike.count + Size(1);
      for (size_t leaf = 0; leaf < width; ++leaf) {
        if (!is_own(leaves[leaf]) || !joined_.try_emplace(leaves[leaf].object, alike.unit[leaf].object).second)
          continue;
        Block& all = newer_.blocks[alike.unit[leaf].object];
        newer_.resize(all, all.bytes + newer_.blocks[leaves[leaf].object].bytes);
      }
    }
    auto& values = newer_.lists[grown.newer].values;
    const auto first = values.begin() + static_cast<long>(grown.first);
    std::vector<Value> gone(first, first + static_cast<long>(grown.count));
    values.erase(first, first + static_cast<long>(grown.count));
    for (Value& value : gone)
      newer_.release(value);
    return true;
  }

  // Memory that only elements hold which were added.
  bool is_own(const Value& value) const {
    if (value.kind != Value::Kind::Tensor || value.object == kNone) return false;
    if (joined_.contains(value.object)) return true;
    auto handles = added_handles_.find(value.object);
    const Block& block = newer_.blocks[value.object];
    return block.counted && !block.many && handles != added_handles_.end() && handles->second == block.handles;
  }

  bool fits(const Alike& alike, const std::vector<Value>& leaves) const {
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const Value &a = alike.unit[leaf], &b = leaves[leaf];
      if (a.kind != b.kind || a.dtype != b.dtype || a.dims != b.dims || a.device != b.device) return false;
      if ((a.object == kNone) != (b.object == kNone) || b.kind == Value::Kind::List) return false;
      if (b.object == kNone) continue;
      const Block &all = newer_.blocks[a.object], &one = newer_.blocks[b.object];
      auto joined = joined_.find(b.object);
      if (joined != joined_.end() ? joined->second != a.object
          : is_own(b)             ? !all.many || all.device != one.device
                                  : a.object != b.object)
        return false;
    }
    return true;
  }

  // No elements yet, in both states.
  bool begin_kind(const Grown& grown, const std::vector<Value>& leaves) {
    Alike ours, theirs;
    for (const Value& leaf : leaves) {
      if (leaf.kind == Value::Kind::List) return false;
      Value now = leaf, then = leaf;
      if (leaf.is_scalar()) now.known = then.known = std::nullopt, now.test = then.test = nullptr;
      if (leaf.object != kNone && is_own(leaf) && !joined_.contains(leaf.object)) {
        const Block block = empty(newer_.blocks[leaf.object]);
        then.object = older_.new_block(block);
        now.object = newer_.new_block(block);
        blocks_[now.object] = then.object, back_[then.object] = now.object;
      } else if (leaf.object != kNone) { // one block for all of them
        auto joined = joined_.find(leaf.object);
        now.object = joined == joined_.end() ? leaf.object : joined->second;
        auto other = blocks_.find(now.object);
        if (other == blocks_.end()) return false;
        then.object = other->second;
      }
      newer_.retain(now);
      older_.retain(then);
      ours.unit.push_back(std::move(now));
      theirs.unit.push_back(std::move(then));
    }
    newer_.lists[grown.newer].many.push_back(std::move(ours));
    older_.lists[grown.older].many.push_back(std::move(theirs));
    return true;
  }

  State &older_, &newer_;
  Fold& fold_;
  std::unordered_map<uint32_t, uint32_t> blocks_, back_, lists_, lists_back_; // of the newer: that of the older; back
  std::vector<Grown> grown_;
  std::vector<std::pair<uint32_t, uint32_t>> kinds_;     // lists that have more of Elements::many
  std::unordered_map<uint32_t, uint32_t> added_handles_; // by block of the newer
  std::unordered_map<uint32_t, uint32_t> joined_; // block of an element: that of those alike, which counts it now
};

} // namespace

std::vector<Quantity> quantities(const State& state) {
  std::vector<Quantity> result;
  walk(const_cast<State&>(state), false, [&](const Size& size, bool holds) { result.push_back({size, holds}); });
  return result;
}

void put_quantities(State& state, const std::vector<Size>& sizes) {
  size_t next = 0;
  walk(state, false, [&](Size& size, bool) { size = sizes.at(next++); });
}

void change_sizes(State& state, const std::function<Size(const Size&)>& change) {
  walk(state, true, [&](Size& size, bool) { size = change(size); });
  for (auto& [atom, size] : state.same)
    size = change(size);
  for (State::Memory& memory : state.memories) {
    memory.live = change(memory.live);
    for (Size& size : memory.scratch)
      size = change(size);
  }
}

bool fold_growth(State& older, State& newer, Fold& fold) { return Folder(older, newer, fold).run(); }

} // namespace tl::peak
