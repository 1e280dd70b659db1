// Matrix products: a Contract whose operands are affine views of kernel inputs becomes a Gemm with its epilogue.
#include "backend/kernel/forms.h"
#include <fmt/format.h>
#include <set>

namespace tl::kir {
namespace {

// A view as strides into a parameter; the offset of element 0 is an i64 of the header.
struct Strided {
  uint32_t param = 0;
  std::vector<Monomial> strides; // per axis; factor 0: does not move
  ValueId base;
};

Monomial scaled(Monomial m, int64_t factor) {
  m.factor *= factor;
  if (m.factor == 0) m.values.clear();
  return m;
}

class Product {
public:
  explicit Product(Emitter& e, const ir::Node& n) : e_(e), n_(n) {}

  bool lower() {
    const bool all = e_.target == Target::GpuWithLibrary;
    DType dtype = e_.type(n_.operands[0]).dtype;
    if (!is_float(dtype) || e_.type(n_.operands[1]).dtype != dtype || e_.region().yields.size() != 1) return false;
    if (e_.type(e_.region().yields[0]).dims != e_.type(n_.results[0]).dims) return false;
    Builder& b = e_.b;
    b.open({});
    auto left = trace(n_.operands[0]), right = trace(n_.operands[1]);
    if (!left || !right || !sort_labels()) return false;
    if (columns_.empty()) { // a matrix times a vector: one row times many columns
      swapped_ = !swapped_;
      std::swap(rows_, columns_);
    }
    if (swapped_) std::swap(left, right);
    if (columns_.empty() && !all) return false; // two vectors
    auto batch_a = collapse(batch_, left->strides, left_labels()),
         batch_b = collapse(batch_, right->strides, right_labels());
    auto row = collapse(rows_, left->strides, left_labels()),
         column = collapse(columns_, right->strides, right_labels());
    auto k_a = collapse(summed_, left->strides, left_labels()), k_b = collapse(summed_, right->strides, right_labels());
    if (!batch_a || !batch_b || !row || !column || !k_a || !k_b) return false;
    if (rows_.empty() && *column == Monomial{1, {}} && !all) return false; // a loop nest over the columns does as well
    std::vector<ValueId> yields{count(batch_),   count(rows_),   count(columns_), count(summed_),
                                value(*batch_a), value(*row),    value(*k_a),     value(*batch_b),
                                value(*k_b),     value(*column), left->base,      right->base};
    Gemm& g = b.kernel.gemm;
    g.header = b.close(yields);
    g.a = left->param;
    g.b = right->param;
    g.c = e_.output_param(0);
    g.type = dtype;
    b.kernel.is_gemm = true;

    std::vector<ValueId> p = b.open({DType::I64, DType::I64, DType::I64, value_type(dtype)});
    Index index;
    for (auto [labels, number] : {std::pair{&batch_, p[0]}, std::pair{&rows_, p[1]}, std::pair{&columns_, p[2]}}) {
      Index part = e_.decompose(number, dims(*labels));
      index.insert(index.end(), part.begin(), part.end());
    }
    e_.known[n_.results[0].index] = {index, round_to(b, e_.type(n_.results[0]).dtype, p[3])};
    ValueId result = e_.pull(e_.region().yields[0], index);
    g.epilogue = b.close({result});
    return true;
  }

private:
  using Labels = std::vector<int64_t>;

  std::optional<Strided> trace(ir::ValueId v) {
    Builder& b = e_.b;
    const std::vector<ir::Dim>& dims = e_.type(v).dims;
    if (!e_.inside(v)) {
      Strided s{e_.param_of(v), {}, b.i64(0)};
      for (size_t i = 0; i < dims.size(); ++i)
        s.strides.push_back(scaled(monomial(std::span(dims).subspan(i + 1)), 1));
      return s;
    }
    if (!e_.function[v].producer.valid()) return std::nullopt;
    const ir::Node& n = e_.producer(v);
    switch (n.op) {
    case ir::Op::Transpose:
    case ir::Op::Slice:
    case ir::Op::Broadcast:
    case ir::Op::Index: break;
    default: return std::nullopt;
    }
    auto x = trace(n.operands[0]);
    if (!x) return x;
    const std::vector<ir::Dim>& from = e_.type(n.operands[0]).dims;
    Strided s{x->param, std::vector<Monomial>(dims.size(), Monomial{0, {}}), x->base};
    switch (n.op) {
    case ir::Op::Transpose:
      for (size_t i = 0; i < dims.size(); ++i)
        s.strides[i] = x->strides[static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i])];
      break;
    case ir::Op::Broadcast:
      for (size_t i = 0; i < from.size(); ++i)
        if (from[i] != ir::Dim::of(1)) s.strides[static_cast<size_t>(n.as<ir::AxesAttrs>().axes[i])] = x->strides[i];
      break;
    default: {
      bool slice = n.op == ir::Op::Slice;
      size_t given = n.operands.size() - 1;
      for (size_t i = 0; i < from.size(); ++i) {
        if (i < given) s.base = b.add(s.base, b.mul(e_.scalar(n.operands[i + 1]), value(x->strides[i])));
        if (slice)
          s.strides[i] = scaled(x->strides[i], n.as<ir::StepsAttrs>().steps[i]);
        else if (i >= given)
          s.strides[i - given] = x->strides[i];
      }
      break;
    }
    }
    return s;
  }

  bool sort_side(const std::vector<int64_t>& labels, size_t operand, std::map<int64_t, size_t>& side) {
    for (size_t i = 0; i < labels.size(); ++i) {
      if (!side.emplace(labels[i], i).second) return false; // a diagonal
      sizes_[labels[i]] = e_.type(n_.operands[operand]).dims[i];
    }
    return true;
  }

  // Labels by their part in the product; false if it is none, or the result mixes the parts.
  bool sort_labels() {
    const auto& [lhs, rhs, result] = n_.as<ir::ContractAttrs>();
    if (!sort_side(lhs, 0, a_) || !sort_side(rhs, 1, b_)) return false;
    std::set<int64_t> kept(result.begin(), result.end());
    for (auto& [label, size] : sizes_) {
      if (kept.count(label)) continue;
      if (!a_.count(label) || !b_.count(label)) return false;
      summed_.push_back(label);
    }
    Labels only_a, only_b;
    bool a_first = true;
    int stage = 0; // 0 batch, 1 first group, 2 second group
    for (int64_t label : result) {
      bool in_a = a_.count(label) > 0, in_b = b_.count(label) > 0;
      if (in_a && in_b) {
        if (stage > 0) return false;
        batch_.push_back(label);
        continue;
      }
      if (stage == 0) {
        stage = 1;
        a_first = in_a;
      } else if (stage == 1 && in_a != a_first) {
        stage = 2;
      } else if (stage == 2 && in_a == a_first) {
        return false;
      }
      (in_a ? only_a : only_b).push_back(label);
    }
    swapped_ = !a_first; // C = B A with the factors exchanged: a product of two numbers does not mind
    rows_ = swapped_ ? only_b : only_a;
    columns_ = swapped_ ? only_a : only_b;
    return true;
  }
  const std::map<int64_t, size_t>& left_labels() const { return swapped_ ? b_ : a_; }
  const std::map<int64_t, size_t>& right_labels() const { return swapped_ ? a_ : b_; }

  std::vector<ir::Dim> dims(const Labels& labels) const {
    std::vector<ir::Dim> result;
    for (int64_t label : labels)
      result.push_back(sizes_.at(label));
    return result;
  }
  ValueId count(const Labels& labels) { return e_.product(dims(labels)); }

  // The labels as one: possible if each moves by the next one's stride times its size.
  std::optional<Monomial> collapse(const Labels& labels, const std::vector<Monomial>& strides,
                                   const std::map<int64_t, size_t>& axes) const {
    std::optional<Monomial> stride;
    Monomial step{1, {}};
    for (size_t i = labels.size(); i-- > 0;) {
      ir::Dim size = sizes_.at(labels[i]);
      if (size == ir::Dim::of(1)) continue;
      const Monomial& own = strides[axes.at(labels[i])];
      if (!stride)
        stride = own;
      else if (own != scaled(times(*stride, step), 1))
        return std::nullopt;
      step = times(step, monomial(std::span(&size, 1)));
    }
    return stride ? stride : Monomial{0, {}};
  }

  ValueId value(const Monomial& m) {
    ValueId v = e_.b.i64(m.factor);
    for (uint32_t size : m.values)
      v = e_.b.mul(v, e_.scalar(ir::ValueId{size}));
    return v;
  }

  Emitter& e_;
  const ir::Node& n_;
  std::map<int64_t, size_t> a_, b_; // label -> axis
  std::map<int64_t, ir::Dim> sizes_;
  Labels batch_, rows_, columns_, summed_;
  bool swapped_ = false;
};

} // namespace

bool lower_gemm(Emitter& e) {
  for (ir::NodeId id : e.region().nodes)
    if (e.function[id].op == ir::Op::Contract) return Product(e, e.function[id]).lower();
  return false;
}

} // namespace tl::kir
