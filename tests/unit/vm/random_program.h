// Programs made by chance from the test machine's kernels, with what a serial evaluation says they print and how they
// fail. The evaluation knows the language's rules alone: values or failures, effects in order.
#pragma once
#include "machine.h"
#include "vm/io/io.h"
#include <cstdlib>
#include <map>
#include <optional>
#include <random>

namespace tl::test {

// How many programs a test tries: `few`, or in the long suite (TL_TEST_ROUNDS) that many times as many.
inline uint64_t rounds(uint64_t few) {
  const char* times = std::getenv("TL_TEST_ROUNDS");
  return few * (times ? std::strtoull(times, nullptr, 10) : 1);
}

// The first of them: other programs with another TL_TEST_SEED, so that several processes share the long suite.
inline uint64_t first_seed() {
  const char* seed = std::getenv("TL_TEST_SEED");
  return seed ? std::strtoull(seed, nullptr, 10) * 1'000'000 : 0;
}

using Data = std::vector<int64_t>;

struct Tracked { // a tensor in the program and what it must be
  Slot slot;
  size_t size_index;
  Data data;
  std::optional<int> failure; // the step that failed
  bool gone = false;          // its slot was given away
};

class RandomProgram {
public:
  Machine m;
  std::string out;
  std::optional<int> failure;          // the step whose failure is reported
  std::map<int, std::string> messages; // of the steps that failed

  RandomProgram(uint64_t seed, int steps, bool failing, const std::vector<int64_t>& sizes = {0, 1, 5, 64, 700, 3000},
                int devices = kDevices)
      : random_(seed), failing_(failing) {
    m.devices = devices;
    site_ = m.site("Test", "step {0} element {e} is {1}");
    site_slot_ = m.i64(site_);
    for (int64_t n : sizes) {
      sizes_.push_back(n);
      size_slots_.push_back(m.i64(n));
    }
    for (int i = 0; i < 4; ++i)
      iota();
    for (step_ = 0; step_ < steps && !stopped_; ++step_)
      step();
    if (!stopped_) {
      m.ret();
      if (!roots_.empty()) failure = roots_.front();
    }
  }

private:
  uint64_t pick(uint64_t n) { return random_() % n; }
  Tracked* any() {
    for (int tries = 0; tries < 50; ++tries)
      if (Tracked& t = values_[pick(values_.size())]; !t.gone) return &t;
    return nullptr;
  }
  Tracked* like(const Tracked& other) {
    for (int tries = 0; tries < 50; ++tries)
      if (Tracked& t = values_[pick(values_.size())]; !t.gone && t.size_index == other.size_index) return &t;
    return nullptr;
  }
  static std::optional<int> first(std::optional<int> a, std::optional<int> b) {
    return !a ? b : !b ? a : std::min(*a, *b);
  }
  void add(Slot slot, size_t size_index, Data data, std::optional<int> failed) {
    values_.push_back({slot, size_index, std::move(data), failed, false});
  }
  Slot n(const Tracked& t) const { return size_slots_[t.size_index]; }

  void iota() {
    size_t s = pick(sizes_.size());
    auto factor = static_cast<int64_t>(pick(100)) + 1;
    Slot slot = m.launch(kIota, {m.i64(factor), size_slots_[s]}, {size_slots_[s]});
    Data data(static_cast<size_t>(sizes_[s]));
    for (size_t i = 0; i < data.size(); ++i)
      data[i] = factor * static_cast<int64_t>(i);
    add(slot, s, std::move(data), {});
  }

  // Takes the first operand away where chance wants, so that its memory may be reused.
  void maybe_give_away(Tracked& x) {
    if (pick(2)) {
      m.give_away(0);
      x.gone = true;
    }
  }

  void step() {
    Tracked* x = any();
    if (!x) return iota();
    Data data = x->data;
    std::optional<int> failed = x->failure;
    size_t s = x->size_index;
    switch (pick(failing_ ? 12 : 11)) {
    case 0: return iota();
    case 1: {
      Tracked* y = like(*x);
      if (!y) return;
      bool reuse = pick(2);
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = multiply_add(1, data[i], y->data[i]);
      failed = first(failed, y->failure);
      Slot out =
          m.launch(kAdd, {x->slot, y->slot, n(*x)}, {n(*x)}, DType::I64, reuse ? AliasMode::Reuse : AliasMode::None, 0);
      if (x != y) maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 2: {
      std::reverse(data.begin(), data.end());
      Slot out = m.launch(kReverse, {x->slot, n(*x)}, {n(*x)});
      maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 3: {
      Tracked* y = like(*x);
      if (!y) return;
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = multiply_add(3, y->data[i], data[i]);
      failed = first(failed, y->failure);
      Slot out = m.launch(kBump, {x->slot, y->slot, n(*x)}, {n(*x)}, DType::I64, AliasMode::Initial, 0);
      if (x != y) maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 4: {
      for (int64_t& v : data)
        v = multiply_add(5, v, 1);
      Slot out = m.launch(kScale, {x->slot, n(*x)}, {n(*x)}, DType::I64, AliasMode::Reuse, 0);
      maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 5: { // a view of the whole: another handle on the same memory
      Slot v = m.fresh();
      Instruction view = Machine::make(BcOp::View, {x->slot}, {v});
      view.outputs = {{DType::I64, {Machine::size(n(*x))}, AliasMode::None, 0}};
      m.emit(view);
      maybe_give_away(*x);
      return add(v, s, std::move(data), failed);
    }
    case 6: { // print
      if (pick(3)) return;
      m.print(x->slot);
      if (failed) return stop(failed);
      HostTensor t = HostTensor::make(DType::I64, {sizes_[s]});
      for (size_t i = 0; i < data.size(); ++i)
        t.set(static_cast<int64_t>(i), Scalar::of(data[i]));
      out += format_tensor(t) + "\n";
      return;
    }
    case 7: { // print the sum as a host scalar: waits
      if (pick(3)) return;
      Slot total = m.launch(kSum, {x->slot, n(*x)}, {});
      Slot known = m.await(total);
      if (failed) return stop(failed);
      m.print(known);
      int64_t sum = 0;
      for (int64_t v : data)
        sum = multiply_add(1, sum, v);
      out += std::to_string(sum) + "\n";
      return;
    }
    case 8: {
      Slot out = m.launch(kSlow, {x->slot, m.i64(static_cast<int64_t>(pick(60))), n(*x)}, {n(*x)});
      maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 9: { // small enough for the issuing thread
      for (int64_t& v : data)
        v = multiply_add(1, v, 1);
      Slot out =
          m.launch(kTiny, {x->slot, n(*x)}, {n(*x)}, DType::I64, pick(2) ? AliasMode::Reuse : AliasMode::None, 0);
      maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 10: { // to a device, perhaps where it is
      Slot out = m.transfer(x->slot, m.i64(static_cast<int64_t>(pick(static_cast<uint64_t>(m.devices)))));
      maybe_give_away(*x);
      return add(out, s, std::move(data), failed);
    }
    case 11: {
      if (pick(2)) return;
      auto modulus = static_cast<int64_t>(pick(4000)) + 500;
      Slot out = m.launch(kCheck, {x->slot, m.i64(modulus), m.i64(step_), site_slot_, n(*x)}, {n(*x)});
      if (!failed)
        for (size_t i = 1; i < data.size() && !failed; ++i)
          if (data[i] % modulus == 0) fails(i, data[i], failed);
      if (!failed && !data.empty() && data[0] % modulus == 0)
        fails(0, data[0], failed);
      else if (failed && !x->failure && !data.empty() && data[0] % modulus == 0)
        messages[step_] = message(0, data[0]);
      return add(out, s, std::move(data), failed);
    }
    }
  }
  std::string message(size_t i, int64_t v) const {
    return "step " + std::to_string(step_) + " element " + std::to_string(i) + " is " + std::to_string(v);
  }
  void fails(size_t i, int64_t v, std::optional<int>& failed) {
    failed = step_;
    messages[step_] = message(i, v);
    roots_.push_back(step_);
  }
  void stop(std::optional<int> failed) {
    failure = failed;
    stopped_ = true;
    m.print(site_slot_); // never reached
    m.ret();
  }

  std::mt19937_64 random_;
  bool failing_;
  int32_t site_;
  Slot site_slot_;
  int step_ = 0;
  bool stopped_ = false;
  std::vector<int64_t> sizes_;
  std::vector<Slot> size_slots_;
  std::vector<Tracked> values_;
  std::vector<int> roots_;
};

} // namespace tl::test
