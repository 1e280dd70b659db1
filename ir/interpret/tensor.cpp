#include "ir/interpret/tensor.h"
#include "abi/orders.h"
#include "ir/graph/op_info.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

namespace tl::ir {
namespace {

// Row-major strides, in elements.
Dims strides_of(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

// Visits all positions of a shape in row-major order: visit(linear index, coordinates).
template <class Visit> void each_position(const Dims& dims, Visit visit) {
  int64_t count = element_count(dims);
  Dims at(dims.size(), 0);
  for (int64_t linear = 0; linear < count; ++linear) {
    visit(linear, at);
    for (size_t i = dims.size(); i-- > 0;) {
      if (++at[i] < dims[i]) break;
      at[i] = 0;
    }
  }
}

int64_t offset(const Dims& at, const Dims& strides) {
  int64_t sum = 0;
  for (size_t i = 0; i < at.size(); ++i)
    sum += at[i] * strides[i];
  return sum;
}

Scalar binary(ScalarOp op, DType type, Scalar a, Scalar b) {
  Scalar args[] = {a, b};
  return eval_scalar(op, type, args);
}

void unshare(Data& x) {
  if (x.is_scalar() || x.tensor.bytes.use_count() == 1) return;
  HostTensor copy = HostTensor::make(x.dtype, x.dims());
  std::copy_n(x.tensor.data(), x.tensor.byte_count(), copy.data());
  x.tensor = std::move(copy);
}

} // namespace

Data Data::of(HostTensor tensor) {
  Data d;
  d.dtype = tensor.dtype;
  if (tensor.dims.empty())
    d.scalar = tensor.get(0);
  else
    d.tensor = std::move(tensor);
  return d;
}

Data Data::make(DType type, Dims dims) {
  Data d;
  d.dtype = type;
  if (!dims.empty()) d.tensor = HostTensor::make(type, std::move(dims));
  return d;
}

HostTensor Data::host() const {
  if (!is_scalar()) return tensor;
  HostTensor t = HostTensor::make(dtype, {});
  t.set(0, scalar);
  return t;
}

Data iota(int64_t count) {
  Data r = Data::make(DType::I64, {count});
  for (int64_t i = 0; i < count; ++i)
    r.set(i, Scalar::of(i));
  return r;
}

Data elementwise(ScalarOp op, DType type, const std::vector<const Data*>& operands, DType result, const Dims& dims) {
  Data r = Data::make(result, dims);
  Scalar args[3];
  int64_t count = r.count();
  for (int64_t k = 0; k < count; ++k) {
    for (size_t i = 0; i < operands.size(); ++i)
      args[i] = operands[i]->get(k);
    r.set(k, eval_scalar(op, type, std::span(args, operands.size())));
  }
  return r;
}

Data convert(const Data& x, DType to) {
  Data r = Data::make(to, x.dims());
  for (int64_t k = 0; k < x.count(); ++k)
    r.set(k, convert_scalar(x.dtype, to, x.get(k)));
  return r;
}

Data broadcast(const Data& x, const std::vector<int64_t>& axes, const Dims& dims) {
  Data r = Data::make(x.dtype, dims);
  Dims strides = strides_of(x.dims());
  each_position(dims, [&](int64_t linear, const Dims& at) {
    int64_t from = 0;
    for (size_t i = 0; i < axes.size(); ++i)
      if (x.dims()[i] != 1) from += at[static_cast<size_t>(axes[i])] * strides[i];
    r.set(linear, x.get(from));
  });
  return r;
}

Data reshape(const Data& x, const Dims& dims) {
  if (dims.empty()) return Data::of(x.dtype, x.get(0));
  if (x.is_scalar()) {
    Data r = Data::make(x.dtype, dims);
    r.set(0, x.scalar);
    return r;
  }
  Data r = x;
  r.tensor.dims = dims;
  return r;
}

Data transpose(const Data& x, const std::vector<int64_t>& axes) {
  Dims dims(axes.size()), from(axes.size()), strides = strides_of(x.dims());
  for (size_t i = 0; i < axes.size(); ++i) {
    dims[i] = x.dims()[static_cast<size_t>(axes[i])];
    from[i] = strides[static_cast<size_t>(axes[i])];
  }
  Data r = Data::make(x.dtype, dims);
  each_position(dims, [&](int64_t linear, const Dims& at) { r.set(linear, x.get(offset(at, from))); });
  return r;
}

Data slice(const Data& x, const Dims& starts, const std::vector<int64_t>& steps, const Dims& dims) {
  Dims strides = strides_of(x.dims());
  Data r = Data::make(x.dtype, dims);
  each_position(dims, [&](int64_t linear, const Dims& at) {
    int64_t from = 0;
    for (size_t i = 0; i < at.size(); ++i)
      from += (starts[i] + at[i] * steps[i]) * strides[i];
    r.set(linear, x.get(from));
  });
  return r;
}

Data pad(const Data& x, Scalar value, const Dims& before, const Dims& dims) {
  Dims strides = strides_of(x.dims());
  Data r = Data::make(x.dtype, dims);
  each_position(dims, [&](int64_t linear, const Dims& at) {
    int64_t from = 0;
    bool inside = true;
    for (size_t i = 0; i < at.size(); ++i) {
      int64_t p = at[i] - before[i];
      inside = inside && p >= 0 && p < x.dims()[i];
      from += p * strides[i];
    }
    r.set(linear, inside ? x.get(from) : value);
  });
  return r;
}

Data concat(const std::vector<const Data*>& parts, int64_t axis, const Dims& dims) {
  Data r = Data::make(parts[0]->dtype, dims);
  Dims strides = strides_of(dims);
  int64_t begin = 0;
  for (const Data* part : parts) {
    each_position(part->dims(), [&](int64_t linear, const Dims& at) {
      r.set(offset(at, strides) + begin * strides[static_cast<size_t>(axis)], part->get(linear));
    });
    begin += part->dims()[static_cast<size_t>(axis)];
  }
  return r;
}

Data index(const Data& x, const Dims& at) {
  if (x.is_scalar()) return x;
  Dims strides = strides_of(x.dims());
  int64_t from = offset(at, strides);
  Dims dims(x.dims().begin() + static_cast<long>(at.size()), x.dims().end());
  if (dims.empty()) return Data::of(x.dtype, x.get(from));
  Data r = Data::make(x.dtype, dims);
  int size = size_of(x.dtype);
  std::copy_n(x.tensor.data() + from * size, r.tensor.byte_count(), r.tensor.data());
  return r;
}

Data gather(const Data& x, const Data& idx, int64_t axis) {
  auto a = static_cast<size_t>(axis);
  Dims dims(x.dims().begin(), x.dims().begin() + axis);
  dims.insert(dims.end(), idx.dims().begin(), idx.dims().end());
  dims.insert(dims.end(), x.dims().begin() + axis + 1, x.dims().end());
  Data r = Data::make(x.dtype, dims);
  Dims strides = strides_of(x.dims()), idx_strides = strides_of(idx.dims());
  size_t idx_rank = idx.dims().size();
  each_position(dims, [&](int64_t linear, const Dims& at) {
    int64_t from = 0, which = 0;
    for (size_t i = 0; i < a; ++i)
      from += at[i] * strides[i];
    for (size_t i = 0; i < idx_rank; ++i)
      which += at[a + i] * idx_strides[i];
    from += idx.get(which).as<int64_t>() * strides[a];
    for (size_t i = a + 1; i < x.dims().size(); ++i)
      from += at[idx_rank - 1 + i] * strides[i];
    r.set(linear, x.get(from));
  });
  return r;
}

Data update(Data x, const Data& value, const Dims& starts, const std::vector<int64_t>& steps, UpdateMode mode) {
  unshare(x);
  Dims strides = strides_of(x.dims());
  auto write = [&](int64_t to, Scalar v) {
    x.set(to, mode == UpdateMode::Add ? binary(ScalarOp::Add, x.dtype, x.get(to), v) : v);
  };
  if (steps.empty()) {
    write(offset(starts, strides), value.get(0));
    return x;
  }
  each_position(value.dims(), [&](int64_t linear, const Dims& at) {
    int64_t to = 0;
    for (size_t i = 0; i < at.size(); ++i)
      to += (starts[i] + at[i] * steps[i]) * strides[i];
    write(to, value.get(linear));
  });
  return x;
}

Data scatter(Data x, const Data& idx, const Data& value, UpdateMode mode) {
  unshare(x);
  int64_t row = x.dims()[0] == 0 ? 0 : x.count() / x.dims()[0];
  for (int64_t j = 0; j < idx.count(); ++j)
    for (int64_t k = 0; k < row; ++k) {
      int64_t to = idx.get(j).as<int64_t>() * row + k;
      Scalar v = value.get(j * row + k);
      x.set(to, mode == UpdateMode::Add ? binary(ScalarOp::Add, x.dtype, x.get(to), v) : v);
    }
  return x;
}

namespace {

// One reduction of n elements: load(k) gives the element, taken(k) whether it takes part.
template <class Load, class Taken> Scalar fold(ReduceOp op, DType type, int64_t n, Load load, Taken taken) {
  if (op == ReduceOp::Sum) { // a sum of nothing is +0.0, though its identity is -0.0
    bool any = false;
    for (int64_t k = 0; k < n && !any; ++k)
      any = taken(k);
    if (!any) return {};
  }
  const DType total_type = tl::total_type(op, type);
  const ScalarOp combine = info(op).combine;
  Scalar identity = identity_of(op, type);
  Scalar total = reduce_in_order(
      n, identity, [&](int64_t k) { return taken(k) ? load(k) : identity; },
      [&](Scalar a, Scalar b) { return binary(combine, type, a, b); },
      [&](Scalar a) { return convert_scalar(type, total_type, a); },
      [&](Scalar a, Scalar b) { return binary(combine, total_type, a, b); });
  return convert_scalar(total_type, type, total);
}

// The first position that holds the least or greatest element; a NaN wins over everything.
template <class Load, class Taken> int64_t arg_fold(ReduceOp op, DType type, int64_t n, Load load, Taken taken) {
  ScalarOp better = op == ReduceOp::ArgMin ? ScalarOp::Lt : ScalarOp::Gt;
  auto is_nan = [&](Scalar v) {
    return is_float(type) && std::isnan(convert_scalar(type, DType::F64, v).as<double>());
  };
  int64_t best = -1;
  Scalar value;
  for (int64_t k = 0; k < n; ++k) {
    if (!taken(k)) continue;
    Scalar v = load(k);
    bool wins = best < 0 || (!is_nan(value) && (is_nan(v) || binary(better, type, v, value).template as<uint8_t>()));
    if (!wins) continue;
    best = k;
    value = v;
  }
  return std::max<int64_t>(best, 0);
}

} // namespace

Data reduce(ReduceOp op, const Data& x, const Data* mask, const std::vector<int64_t>& axes) {
  Dims strides = strides_of(x.dims());
  Dims kept_dims, kept_strides, reduced_dims;
  std::vector<int64_t> reduced_offsets;
  Dims reduced_strides;
  for (size_t i = 0; i < x.dims().size(); ++i) {
    bool is_reduced = std::count(axes.begin(), axes.end(), static_cast<int64_t>(i)) > 0;
    (is_reduced ? reduced_dims : kept_dims).push_back(x.dims()[i]);
    (is_reduced ? reduced_strides : kept_strides).push_back(strides[i]);
  }
  each_position(reduced_dims, [&](int64_t, const Dims& at) { reduced_offsets.push_back(offset(at, reduced_strides)); });
  auto n = static_cast<int64_t>(reduced_offsets.size());
  const bool arg = gives_position(op);
  Data r = Data::make(arg ? DType::I64 : x.dtype, kept_dims);
  each_position(kept_dims, [&](int64_t linear, const Dims& at) {
    int64_t base = offset(at, kept_strides);
    auto load = [&](int64_t k) { return x.get(base + reduced_offsets[static_cast<size_t>(k)]); };
    auto taken = [&](int64_t k) {
      return !mask || mask->get(base + reduced_offsets[static_cast<size_t>(k)]).as<uint8_t>() != 0;
    };
    r.set(linear, arg ? Scalar::of(arg_fold(op, x.dtype, n, load, taken)) : fold(op, x.dtype, n, load, taken));
  });
  return r;
}

Data scan(ReduceOp op, const Data& x, int64_t axis) {
  Data r = Data::make(x.dtype, x.dims());
  const Dims& dims = x.dims();
  const int64_t n = dims[static_cast<size_t>(axis)], stride = strides_of(dims)[static_cast<size_t>(axis)];
  const DType wide = total_type(op, x.dtype);
  const ScalarOp combine = info(op).combine;
  each_position(dims, [&](int64_t linear, const Dims& at) {
    if (at[static_cast<size_t>(axis)] != 0) return; // each row from its first element
    ScanInOrder row(
        identity_of(op, x.dtype), [&](Scalar a, Scalar b) { return binary(combine, x.dtype, a, b); },
        [&](Scalar a) { return convert_scalar(x.dtype, wide, a); },
        [&](Scalar a, Scalar b) { return binary(combine, wide, a, b); },
        [&](Scalar a) { return convert_scalar(wide, x.dtype, a); });
    for (int64_t k = 0; k < n; ++k)
      r.set(linear + k * stride, row.next(x.get(linear + k * stride)));
  });
  return r;
}

Data contract(const Data& a, const Data& b, const ContractAttrs& labels) {
  std::map<int64_t, int64_t> sizes, a_strides, b_strides; // by label
  Dims as = strides_of(a.dims()), bs = strides_of(b.dims());
  for (size_t i = 0; i < a.dims().size(); ++i) {
    sizes[labels.lhs[i]] = a.dims()[i];
    a_strides[labels.lhs[i]] += as[i];
  }
  for (size_t i = 0; i < b.dims().size(); ++i) {
    sizes[labels.rhs[i]] = b.dims()[i];
    b_strides[labels.rhs[i]] += bs[i];
  }
  Dims kept_dims, kept_a, kept_b, summed_dims, summed_a, summed_b;
  for (int64_t label : labels.result) {
    kept_dims.push_back(sizes[label]);
    kept_a.push_back(a_strides[label]);
    kept_b.push_back(b_strides[label]);
  }
  for (auto [label, size] : sizes)
    if (!std::count(labels.result.begin(), labels.result.end(), label)) {
      summed_dims.push_back(size);
      summed_a.push_back(a_strides[label]);
      summed_b.push_back(b_strides[label]);
    }
  Dims a_offsets, b_offsets;
  each_position(summed_dims, [&](int64_t, const Dims& at) {
    a_offsets.push_back(offset(at, summed_a));
    b_offsets.push_back(offset(at, summed_b));
  });
  DType acc = accumulator_of(a.dtype);
  auto fma = [&](Scalar x, Scalar y, Scalar z) {
    if (acc == DType::F32) return Scalar::of(std::fma(x.as<float>(), y.as<float>(), z.as<float>()));
    if (acc == DType::F64) return Scalar::of(std::fma(x.as<double>(), y.as<double>(), z.as<double>()));
    return binary(ScalarOp::Add, acc, binary(ScalarOp::Mul, acc, x, y), z);
  };
  auto add = [&](Scalar x, Scalar y) { return binary(ScalarOp::Add, acc, x, y); };
  auto widened = [&](Scalar v) { return acc == a.dtype ? v : convert_scalar(a.dtype, acc, v); };
  Data r = Data::make(a.dtype, kept_dims);
  each_position(kept_dims, [&](int64_t linear, const Dims& at) {
    int64_t a_base = offset(at, kept_a), b_base = offset(at, kept_b);
    auto from_a = [&](int64_t k) { return widened(a.get(a_base + a_offsets[static_cast<size_t>(k)])); };
    auto from_b = [&](int64_t k) { return widened(b.get(b_base + b_offsets[static_cast<size_t>(k)])); };
    Scalar sum = contract_in_order(static_cast<int64_t>(a_offsets.size()), Scalar{}, from_a, from_b, fma, add);
    r.set(linear, acc == a.dtype ? sum : convert_scalar(acc, a.dtype, sum));
  });
  return r;
}

// By comparisons of values, which share nothing with the keys of vm/sort.
Data sort(SortOp op, const Data& x, const Dims& dims) {
  Data result = Data::make(op == SortOp::Values ? x.dtype : DType::I64, dims);
  const int64_t n = x.dims().back(), kept = dims.back();
  auto is_nan = [&](int64_t i) { return binary(ScalarOp::Ne, x.dtype, x.get(i), x.get(i)).as<uint8_t>() != 0; };
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t row = 0; row < (n == 0 ? 0 : x.count() / n); ++row) {
    std::iota(order.begin(), order.end(), row * n);
    if (x.dtype == DType::Bool) { // masks may be long; false before true
      const bool first = op == SortOp::Top;
      std::stable_partition(order.begin(), order.end(),
                            [&](int64_t i) { return (x.get(i).as<uint8_t>() != 0) == first; });
    } else {
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        if (op == SortOp::Top) std::swap(a, b);
        if (is_nan(a) || is_nan(b)) return !is_nan(a);
        return binary(ScalarOp::Lt, x.dtype, x.get(a), x.get(b)).as<uint8_t>() != 0;
      });
    }
    for (int64_t k = 0; k < kept; ++k) {
      const int64_t from = order[static_cast<size_t>(k)];
      result.set(row * kept + k, op == SortOp::Values ? x.get(from) : Scalar::of(from - row * n));
    }
  }
  return result;
}

std::optional<LinalgFailure> decompose(LinalgOp op, const std::vector<const Data*>& operands,
                                       std::vector<Data>& results) {
  const Dims& dims = operands[0]->dims();
  const size_t leading = dims.size() - 2;
  LinalgSizes sizes{element_count({dims.begin(), dims.begin() + static_cast<long>(leading)}), dims[leading],
                    dims[leading + 1], operands.size() > 1 ? operands[1]->dims().back() : 0};
  if (op == LinalgOp::RealFftTransposed) sizes.k = results[0].dims()[leading];
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const Data* operand : operands)
    from.push_back(operand->tensor.data());
  for (Data& result : results)
    to.push_back(result.tensor.data());
  return run_linalg(op, operands[0]->dtype, sizes, from, to);
}

} // namespace tl::ir
