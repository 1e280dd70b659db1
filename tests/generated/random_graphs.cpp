// Random graphs of elementwise operations, views, reductions, products, updates, loops and branches over a few element
// types and sizes: what no table lists is how they meet in one kernel, or in one piece of memory.
#include "sections.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::generated {
namespace {

class Graph {
public:
  Graph(uint64_t seed) : random_(seed) {
    for (const Operand& x : operands())
      values_.push_back({x.name, x.dtype, x.dims});
    body_ = "  %zero: i64 = constant i64 0\n  %one: i64 = constant i64 1\n  %two: i64 = constant i64 2\n"
            "  %nl: i64 = sub %n, %one\n  %ml: i64 = sub %m, %one\n";
  }

  static std::vector<Operand> operands() {
    return {{"x", DType::F32, {"n", "m"}},  {"y", DType::F32, {"m"}}, {"w", DType::F32, {"m", "n"}},
            {"b", DType::Bool, {"n", "m"}}, {"i", DType::I64, {"n"}}, {"d", DType::F64, {"m"}},
            {"h", DType::F16, {"n", "m"}},  {"k", DType::I64, {}},    {"c", DType::F32, {}}};
  }

  std::string make(int nodes) {
    while (nodes > 0)
      if (step(body_, values_, "  ", 0)) --nodes;
    std::vector<std::string> results;
    // The last values, and some from before: they must survive what is written in place.
    for (size_t i = 0; i < 3; ++i)
      results.push_back(values_[values_.size() - 1 - i].name);
    for (int i = 0; i < 2; ++i)
      results.push_back(pick(values_).name);
    return program(operands(), body_, results);
  }

private:
  struct Value {
    std::string name;
    DType dtype;
    std::vector<std::string> dims;
    bool operator==(const Value&) const = default;
  };
  using Values = std::vector<Value>;

  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  // Later values more often, so that graphs get deep.
  const Value& pick(const Values& from) {
    size_t i = below(2) ? below(from.size()) : from.size() - 1 - below(std::min<size_t>(from.size(), 5));
    return from[i];
  }
  template <class F> const Value* pick_where(const Values& from, F fits) {
    for (int attempt = 0; attempt < 30; ++attempt) {
      const Value& v = pick(from);
      if (fits(v)) return &v;
    }
    return nullptr;
  }
  template <class T> const T& any(const std::vector<T>& from) { return from[below(from.size())]; }
  std::string last_of(const std::string& dim) { return dim == "n" ? "nl" : "ml"; }

  bool add(std::string& body, Values& values, const std::string& indent, DType type, std::vector<std::string> dims,
           const std::string& node) {
    std::string name = fmt::format("v{}", counter_++);
    body += fmt::format("{}%{}: {} = {}\n", indent, name, type_text(type, dims), node);
    values.push_back({name, type, std::move(dims)});
    return true;
  }

  // Appends one node, or a few; false where nothing fits.
  bool step(std::string& body, Values& values, const std::string& indent, int depth) {
    auto node = [&](DType type, std::vector<std::string> dims, const std::string& text) {
      return add(body, values, indent, type, std::move(dims), text);
    };
    const Value v = pick(values);
    switch (below(depth ? 12 : 18)) {
    case 0:
    case 1: { // one operand
      if (v.dtype == DType::Bool) return node(v.dtype, v.dims, "not %" + v.name);
      if (!is_float(v.dtype))
        return node(v.dtype, v.dims,
                    fmt::format("{} %{}", any<std::string>({"neg", "abs", "sign", "bit_not"}), v.name));
      return node(
          v.dtype, v.dims,
          fmt::format("{} %{}",
                      any<std::string>({"neg", "abs", "sin", "tanh", "sigmoid", "floor", "exp", "sqrt", "atan"}),
                      v.name));
    }
    case 2:
    case 3:
    case 4: { // two
      const Value* u = pick_where(
          values, [&](const Value& o) { return o.dtype == v.dtype && (o.dims == v.dims || o.dims.empty()); });
      if (!u) return false;
      std::string op =
          v.dtype == DType::Bool ? any<std::string>({"and", "or"})
          : is_float(v.dtype)
              ? any<std::string>({"add", "sub", "mul", "min", "max", "div", "mod"})
              : any<std::string>({"add", "sub", "mul", "min", "max", "floor_div", "mod", "bit_xor", "shift_right"});
      bool swap = below(2);
      return node(v.dtype, v.dims, fmt::format("{} %{}, %{}", op, swap ? u->name : v.name, swap ? v.name : u->name));
    }
    case 5: { // comparison
      const Value* u = pick_where(values, [&](const Value& o) { return o.dtype == v.dtype && o.dims == v.dims; });
      if (!u || v.dtype == DType::Bool) return false;
      return node(DType::Bool, v.dims,
                  fmt::format("{} %{}, %{}", any<std::string>({"lt", "le", "eq", "ne"}), v.name, u->name));
    }
    case 6: { // where
      const Value* c = pick_where(
          values, [&](const Value& o) { return o.dtype == DType::Bool && (o.dims == v.dims || o.dims.empty()); });
      const Value* u = pick_where(values, [&](const Value& o) { return o.dtype == v.dtype && o.dims == v.dims; });
      if (!c || !u) return false;
      return node(v.dtype, v.dims, fmt::format("where %{}, %{}, %{}", c->name, v.name, u->name));
    }
    case 7: { // conversion
      DType to = any<DType>({DType::F32, DType::F64, DType::I64, DType::F16, DType::I32, DType::F32});
      return to != v.dtype && node(to, v.dims, "convert %" + v.name);
    }
    case 8: // an element, or a row
      if (v.dims.empty()) return false;
      return node(v.dtype, {v.dims.begin() + 1, v.dims.end()},
                  fmt::format("index %{}, %{}", v.name, any<std::string>({"zero", last_of(v.dims[0])})));
    case 9: { // reversed, or a transpose
      if (v.dims.empty()) return false;
      if (v.dims.size() == 2 && below(2))
        return node(v.dtype, {v.dims[1], v.dims[0]}, fmt::format("transpose %{} {{ints = [1, 0]}}", v.name));
      std::string starts, steps;
      for (const std::string& dim : v.dims) {
        bool back = below(2);
        starts += fmt::format(", %{}", back ? last_of(dim) : "zero");
        steps += fmt::format("{}{}", steps.empty() ? "" : ", ", back ? "-1" : "1");
      }
      return node(v.dtype, v.dims, fmt::format("slice %{}{} {{ints = [{}]}}", v.name, starts, steps));
    }
    case 10: { // stretched
      if (v.dims.size() != 1) return false;
      std::string other = v.dims[0] == "n" ? "m" : "n";
      return below(2) ? node(v.dtype, {v.dims[0], other}, fmt::format("broadcast %{} {{ints = [0]}}", v.name))
                      : node(v.dtype, {other, v.dims[0]}, fmt::format("broadcast %{} {{ints = [1]}}", v.name));
    }
    case 11: { // a literal used at once
      if (!is_float(v.dtype)) return false;
      std::string name = fmt::format("l{}", counter_++);
      body += fmt::format("{}%{}: {} = constant {} {}\n", indent, name, name_of(v.dtype), name_of(v.dtype),
                          any<std::string>({"0.5", "-2", "1", "0"}));
      return node(v.dtype, v.dims,
                  fmt::format("{} %{}, %{}", any<std::string>({"add", "mul", "sub", "max"}), v.name, name));
    }
    case 12:
    case 13: { // reduction
      if (v.dims.empty() || v.dtype == DType::F16) return false;
      std::string op =
          v.dtype == DType::Bool ? any<std::string>({"any", "all"}) : any<std::string>({"sum", "max", "min", "argmax"});
      DType type = op == "argmax" ? DType::I64 : v.dtype;
      if (v.dims.size() == 1) return node(type, {}, fmt::format("reduce %{} {{op = {}, ints = [0]}}", v.name, op));
      size_t kind = below(3);
      if (kind == 2) return node(type, {}, fmt::format("reduce %{} {{op = {}, ints = [0, 1]}}", v.name, op));
      return node(type, {v.dims[1 - kind]}, fmt::format("reduce %{} {{op = {}, ints = [{}]}}", v.name, op, kind));
    }
    case 14: { // product
      if (v.dims.empty() || v.dtype == DType::Bool) return false;
      const Value* u = pick_where(
          values, [&](const Value& o) { return o.dtype == v.dtype && !o.dims.empty() && o.dims[0] == v.dims.back(); });
      if (!u) return false;
      std::vector<std::string> dims;
      std::string labels_a, labels_b, labels;
      if (v.dims.size() == 2) labels_a = "0, ", dims.push_back(v.dims[0]), labels = "0";
      if (u->dims.size() == 2) labels_b = ", 1", dims.push_back(u->dims[1]), labels += labels.empty() ? "1" : ", 1";
      return node(v.dtype, dims,
                  fmt::format("contract %{}, %{} {{ints = [{}2, 2{}], labels = [{}]}}", v.name, u->name, labels_a,
                              labels_b, labels));
    }
    case 15: { // an element or a slice replaced
      if (v.dims.empty()) return false;
      std::string mode = v.dtype != DType::Bool && below(2) ? "add" : "set", starts;
      for (const std::string& dim : v.dims)
        starts += fmt::format(", %{}", any<std::string>({"zero", last_of(dim)}));
      if (below(2)) {
        const Value* e = pick_where(values, [&](const Value& o) { return o.dtype == v.dtype && o.dims.empty(); });
        return e &&
               node(v.dtype, v.dims, fmt::format("update %{}, %{}{} {{mode = {}}}", v.name, e->name, starts, mode));
      }
      const Value* u = pick_where(values, [&](const Value& o) { return o.dtype == v.dtype && o.dims == v.dims; });
      if (!u) return false;
      // All of it, backwards.
      starts.clear();
      std::string steps;
      for (const std::string& dim : v.dims)
        starts += ", %" + last_of(dim), steps += steps.empty() ? "-1" : ", -1";
      return node(v.dtype, v.dims,
                  fmt::format("update %{}, %{}{} {{mode = {}, ints = [{}]}}", v.name, u->name, starts, mode, steps));
    }
    case 16: { // a loop with a carried value
      if (v.dtype == DType::Bool) return false;
      std::string index = fmt::format("i{}", counter_++), carried = fmt::format("c{}", counter_++), inner;
      Values inside = values;
      inside.push_back({index, DType::I64, {}});
      inside.push_back({carried, v.dtype, v.dims});
      for (int i = 0; i < 4; ++i)
        step(inner, inside, indent + "  ", depth + 1);
      const Value* out = pick_where(inside, [&](const Value& o) { return o.dtype == v.dtype && o.dims == v.dims; });
      if (!out) return false;
      return node(v.dtype, v.dims,
                  fmt::format("for %zero, %k, %one, %{} (%{}: i64, %{}: {}) {{\n{}{}  yield %{}\n{}}}", v.name, index,
                              carried, type_text(v.dtype, v.dims), inner, indent, out->name, indent));
    }
    default: { // a branch
      const Value* c = pick_where(values, [&](const Value& o) { return o.dtype == DType::Bool && o.dims.empty(); });
      if (!c) return false;
      std::string branches[2], yields[2];
      for (int i = 0; i < 2; ++i) {
        Values inside = values;
        for (int j = 0; j < 3; ++j)
          step(branches[i], inside, indent + "  ", depth + 1);
        const Value* out = pick_where(inside, [&](const Value& o) { return o.dtype == v.dtype && o.dims == v.dims; });
        if (!out) return false;
        yields[i] = out->name;
      }
      return node(v.dtype, v.dims,
                  fmt::format("if %{0} {{\n{1}{2}  yield %{3}\n{2}}} {{\n{4}{2}  yield %{5}\n{2}}}", c->name,
                              branches[0], indent, yields[0], branches[1], yields[1]));
    }
    }
  }

  Random random_;
  std::string body_;
  Values values_;
  int counter_ = 0;
};

} // namespace

void random_graphs(Tester& tester) {
  const int count = tester.options.full ? 300 : 40;
  for (int g = 0; g < count; ++g) {
    const uint64_t seed = tester.options.seed * 1000 + static_cast<uint64_t>(g);
    Random random(seed);
    Case test{fmt::format("random {}", seed), Graph(seed).make(6 + g % 20), {}};
    struct Sizes {
      int64_t n, m;
    };
    for (Sizes s : {Sizes{1, 1}, {3, 17}, {40, 33}, {5, 600}}) {
      std::vector<Argument> inputs;
      for (const Operand& x : Graph::operands()) {
        std::vector<int64_t> dims;
        for (const std::string& d : x.dims)
          dims.push_back(d == "n" ? s.n : s.m);
        if (x.name == "k")
          inputs.push_back(scalar(DType::I64, Scalar::of(int64_t(random() % 4))));
        else
          inputs.push_back(samples(x.dtype, dims, -4, 4, random));
      }
      test.inputs.push_back(std::move(inputs));
    }
    tester.run(test);
  }
}

} // namespace tl::generated
