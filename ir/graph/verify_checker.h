// What the checks of the graph share: the rules for structure are in verify.cpp, those for one op in
// verify_rules.cpp and verify_effects.cpp.
#pragma once
#include "ir/graph/op_info.h"
#include "ir/graph/rewrite.h"
#include "ir/graph/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tl::ir {

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
      where += fmt::format(": {}", name_of(*node_));
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

  // A size whose value is a constant node is that constant; one behind a Guard or an Await is what they were given
  // (where a Guard fails nothing is read).
  Dim resolved(Dim dim) const {
    while (!dim.is_constant() && f_[dim.value].producer.valid()) {
      const Node& producer = f_[f_[dim.value].producer];
      if (producer.op == Op::Constant) return Dim::of(producer.as<ConstantAttrs>().literal.as<int64_t>());
      if (producer.op != Op::Guard && producer.op != Op::Await) break;
      dim.value = producer.operands[0];
    }
    return dim;
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
  bool is_axis(int64_t axis, size_t rank) {
    return check(axis >= 0 && axis < static_cast<int64_t>(rank), "the axis is out of range");
  }
  void site_exists(uint32_t site) { check(site < module_.sites.size(), "its site does not exist"); }

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

  // ---- structure (verify.cpp)
  void region(const Region& r);
  std::map<ValueId, int> tokens(const Region& r, bool all_used);
  bool regions(size_t count);
  void node();

  // ---- one op each (verify_rules.cpp)
  std::optional<Scalar> known(ValueId value, int depth) const;
  bool never(ValueId value) const;
  void sizes_beside(size_t first);
  void list_operation();
  void list_get();
  void linalg();
  void sort();
  void text_operation();
  void tokens_fit();
  void format(const FormatTemplate& t, size_t values);
  void const_tensor();
  void elementwise();
  void broadcast();
  void reshape();
  void transpose();
  void slice();
  void pad();
  void concat();
  void index();
  void gather();
  void scatter();
  void update();
  void reduce();
  void contract();
  void map();
  void carried(const std::vector<ValueId>& params, const std::vector<ValueId>& initial, const Region& body);
  void branch();
  void for_loop();
  void while_loop();
  void guard();
  void call();
  void transform();
  void kernel();

  // ---- effects and devices (verify_effects.cpp)
  void effect();
  void load();
  void save();
  void plot();
  void stopwatch();
  void device_operation();

  const Module& module_;
  const Function& f_;
  std::vector<std::string>& faults_;
  const Node* node_ = nullptr;
  std::vector<bool> defined_;
  bool broken_ = false;
  bool in_branch_ = false; // which is perhaps never taken
};

} // namespace tl::ir
