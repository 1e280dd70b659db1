#include "passes/memory/peak_state.h"
#include <algorithm>
#include <unordered_map>

namespace tl::peak {

Value Value::of(DType type, Scalar scalar) {
  if (type == DType::I64) return of(Size(scalar.as<int64_t>()));
  Value v;
  v.kind = Kind::Scalar;
  v.dtype = type;
  v.known = scalar;
  return v;
}

Value Value::of(Size size) {
  Value v;
  v.kind = Kind::Scalar;
  v.dtype = DType::I64;
  v.size = std::move(size);
  return v;
}

Value Value::unknown(DType type) {
  Value v;
  v.kind = Kind::Scalar;
  v.dtype = type;
  return v;
}

Value Value::tensor(DType type, std::vector<Size> dims, uint32_t block) {
  Value v;
  v.kind = Kind::Tensor;
  v.dtype = type;
  v.dims = std::move(dims);
  v.object = block;
  return v;
}

Value Value::text() {
  Value v;
  v.kind = Kind::Str;
  return v;
}

Value Value::list(uint32_t elements) {
  Value v;
  v.kind = Kind::List;
  v.object = elements;
  return v;
}

std::optional<Scalar> Value::scalar() const {
  if (dtype != DType::I64) return known;
  if (!size.is_constant()) return std::nullopt;
  return Scalar::of(size.constant());
}

void State::retain(const Value& value) {
  if (value.object == kNone) return;
  if (value.kind == Value::Kind::Tensor) ++blocks[value.object].handles;
  if (value.kind == Value::Kind::List) ++lists[value.object].handles;
}

void State::stop_counting(Block& block) {
  if (!block.counted) return;
  Memory& memory = memories[block.device];
  memory.live = memory.live - block.bytes;
  memory.live_exact -= block.exact;
  block.counted = false;
}

void State::resize(Block& block, Size bytes) {
  Memory& memory = memories[block.device];
  if (block.counted) memory.live = memory.live - block.bytes + bytes;
  block.bytes = std::move(bytes);
  memory.exact = memory.exact && !block.counted;
}

void State::release(Value& value) {
  Value old = std::move(value);
  value = {};
  if (old.object == kNone) return;
  if (old.kind == Value::Kind::Tensor) {
    Block& block = blocks[old.object];
    if (--block.handles) return;
    stop_counting(block);
    free_blocks.push_back(old.object);
  } else if (old.kind == Value::Kind::List) {
    if (--lists[old.object].handles) return;
    Elements elements = std::move(lists[old.object]);
    lists[old.object] = {};
    free_lists.push_back(old.object);
    for (Value& element : elements.values)
      release(element);
    for (Alike& alike : elements.many)
      for (Value& element : alike.unit)
        release(element);
  }
}

void State::set(Slot to, Value value) {
  retain(value);
  Value& target = slot(to);
  release(target);
  target = std::move(value);
}

uint32_t State::new_block(Block block) {
  if (block.counted) {
    Memory& memory = memories[block.device];
    memory.live = memory.live + block.bytes;
    memory.live_exact += block.exact;
    memory.exact = memory.exact && block.bytes.is_constant();
  }
  if (free_blocks.empty()) {
    blocks.push_back(std::move(block));
    return static_cast<uint32_t>(blocks.size() - 1);
  }
  uint32_t index = free_blocks.back();
  free_blocks.pop_back();
  blocks[index] = std::move(block);
  return index;
}

uint32_t State::new_list(size_t width) {
  Elements fresh;
  fresh.width = width;
  if (free_lists.empty()) {
    lists.push_back(std::move(fresh));
    return static_cast<uint32_t>(lists.size() - 1);
  }
  uint32_t index = free_lists.back();
  free_lists.pop_back();
  lists[index] = std::move(fresh);
  return index;
}

namespace {

class Fingerprint {
public:
  explicit Fingerprint(const State& state) : s_(state) {
    for (const Frame& frame : state.frames) {
      number(frame.function);
      number(frame.at);
      for (const Value& value : frame.slots)
        add(value);
    }
    for (const State::Memory& memory : state.memories) {
      for (const Size& size : memory.scratch)
        add(size);
      number(memory.scratch_exact);
      number(memory.reached);
    }
    for (const auto& [atom, size] : state.same) {
      number(atom.index);
      add(size);
    }
  }
  std::string text;

private:
  void number(uint64_t n) { text.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void add(const Size& size) {
    number(size.terms.size());
    for (const auto& term : size.terms) {
      number(static_cast<uint64_t>(term.coefficient));
      number(term.atoms.size());
      for (AtomId atom : term.atoms)
        number(atom.index);
    }
  }
  void add(const Value& v) {
    number(static_cast<uint64_t>(v.kind) << 8 | static_cast<uint64_t>(v.dtype));
    if (v.kind == Value::Kind::Scalar) {
      if (v.dtype == DType::I64) return add(v.size);
      number(v.known.has_value());
      if (v.known) number(v.known->bits);
      return;
    }
    for (const Size& size : v.dims)
      add(size);
    number(static_cast<uint64_t>(v.device));
    if (v.object == kNone) return number(kNone);
    auto& numbers = v.kind == Value::Kind::List ? lists_ : blocks_;
    auto [at, fresh] = numbers.try_emplace(v.object, numbers.size());
    number(at->second);
    if (!fresh) return;
    if (v.kind == Value::Kind::Tensor) {
      const Block& block = s_.blocks[v.object];
      number(block.counted);
      number(block.device);
      add(block.bytes);
    } else if (v.kind == Value::Kind::List) {
      number(s_.lists[v.object].values.size());
      for (const Value& element : s_.lists[v.object].values)
        add(element);
      for (const Alike& alike : s_.lists[v.object].many) {
        add(alike.count);
        for (const Value& element : alike.unit)
          add(element);
      }
    }
  }
  const State& s_;
  std::unordered_map<uint32_t, uint64_t> blocks_, lists_;
};

// Both walks of widen: first whether the structures are alike, then the changes.
class Widener {
public:
  Widener(const State& before, State& now, const Widen& name) : before_(before), now_(now), name_(name) {}

  bool run(bool apply) {
    apply_ = apply;
    blocks_.clear();
    back_.clear();
    if (before_.frames.size() != now_.frames.size()) return false;
    for (size_t f = 0; f < now_.frames.size(); ++f) {
      const Frame& then = before_.frames[f];
      Frame& frame = now_.frames[f];
      if (then.function != frame.function || then.at != frame.at) return false;
      for (uint32_t slot = 0; slot < frame.slots.size(); ++slot)
        if (!pair(f, slot, then.slots[slot], frame.slots[slot])) return false;
    }
    return true;
  }

private:
  bool pair(size_t frame, uint32_t slot, const Value& a, Value& b) {
    if (a.kind != b.kind || a.dtype != b.dtype || a.device != b.device || a.dims.size() != b.dims.size()) return false;
    switch (a.kind) {
    case Value::Kind::Empty:
    case Value::Kind::Str: return true;
    case Value::Kind::Scalar:
      if (!apply_) return true;
      if (b.dtype == DType::I64) {
        if (a.size != b.size) b.size = name_(frame, slot, -1, a.size, b.size);
      } else if (a.known && (!b.known || a.known->bits != b.known->bits)) {
        b.known.reset();
      }
      return true;
    case Value::Kind::List: {
      if (b.object == kNone) return true; // no more is known of it than that
      if (a.object == kNone) return false;
      const Elements& x = before_.lists[a.object];
      Elements& y = now_.lists[b.object];
      if (x.values.size() != y.values.size()) { // a list of texts or numbers holds no memory that counts
        auto holds_none = [](const Value& v) { return v.is_scalar() || v.kind == Value::Kind::Str; };
        if (!std::all_of(x.values.begin(), x.values.end(), holds_none)) return false;
        if (!std::all_of(y.values.begin(), y.values.end(), holds_none)) return false;
        if (!apply_) return true;
        now_.release(b);
        b = Value::list(kNone);
        return true;
      }
      for (size_t k = 0; k < x.values.size(); ++k)
        if (!pair(frame, slot, x.values[k], y.values[k])) return false;
      if (x.many.size() != y.many.size()) return false;
      for (size_t k = 0; k < x.many.size(); ++k) {
        if (x.many[k].count != y.many[k].count) return false;
        for (size_t leaf = 0; leaf < x.many[k].unit.size(); ++leaf)
          if (!pair(frame, slot, x.many[k].unit[leaf], y.many[k].unit[leaf])) return false;
      }
      return true;
    }
    case Value::Kind::Tensor: break;
    }
    if ((a.object == kNone) != (b.object == kNone)) return false;
    for (size_t axis = 0; apply_ && axis < a.dims.size(); ++axis)
      if (a.dims[axis] != b.dims[axis])
        b.dims[axis] = name_(frame, slot, static_cast<int>(axis), a.dims[axis], b.dims[axis]);
    if (a.object == kNone) return true;
    auto [at, fresh] = blocks_.try_emplace(b.object, a.object);
    auto [other, also] = back_.try_emplace(a.object, b.object);
    if (at->second != a.object || other->second != b.object) return false;
    const Block& x = before_.blocks[a.object];
    Block& y = now_.blocks[b.object];
    if (x.counted != y.counted || x.device != y.device) return false;
    if (apply_ && fresh && x.bytes != y.bytes) {
      Size bytes = Size(size_of(b.dtype));
      for (const Size& dim : b.dims)
        bytes = bytes * dim;
      now_.resize(y, bytes == y.bytes ? name_(frame, slot, 99, x.bytes, y.bytes) : bytes);
    }
    return true;
  }

  const State& before_;
  State& now_;
  const Widen& name_;
  bool apply_ = false;
  std::unordered_map<uint32_t, uint32_t> blocks_, back_;
};

} // namespace

std::string fingerprint(const State& state) { return Fingerprint(state).text; }

bool widen(const State& before, State& now, const Widen& name) {
  Widener widener(before, now, name);
  return widener.run(false) && widener.run(true);
}

} // namespace tl::peak
