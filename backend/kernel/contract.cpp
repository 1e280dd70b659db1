// Matrix products: a Contract whose operands are affine views of kernel inputs becomes a Gemm with its epilogue.
//
// The last labels of the result that one factor has alone are its columns; neighbours that the other factor has alone,
// as many as there are, its rows. What remains are batches, also where a factor does not have them: then it does not
// move. Columns of windows may be several axes, as a convolution's are: where each starts, a table tells. Where the
// last label of the result is of both factors, or labels of one factor stand apart in it, batches are the labels of
// both factors alone, and tables tell where each row and column of the result is, too: so the order of labels does not
// matter.
#include "abi/factors.h"
#include "backend/kernel/forms.h"
#include "passes/fuse/views.h"
#include <algorithm>
#include <fmt/format.h>

namespace tl::kir {
namespace {

// A view as strides into a parameter; the offset of element 0 is an i64 of the header.
struct Strided {
  uint32_t param = 0;
  std::vector<Monomial> strides; // per axis; factor 0: does not move
  ValueId base;
  bool is_window = false; // elements are read several times
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
    const bool fits = is_float(dtype) || (e_.target == Target::Cpu && is_int(dtype) && size_of(dtype) >= 4);
    if (!fits || e_.type(n_.operands[1]).dtype != dtype || e_.region().yields.size() != 1) return false;
    if (e_.type(e_.region().yields[0]).dims != e_.type(n_.results[0]).dims) return false;
    Builder& b = e_.b;
    b.open({});
    auto first = trace(n_.operands[0]), second = trace(n_.operands[1]);
    if (!first || !second || !find_labels(*first, *second)) return false;
    is_window_[First] = first->is_window, is_window_[Second] = second->is_window;
    memory_[First] = b.kernel.params[first->param].dtype, memory_[Second] = b.kernel.params[second->param].dtype;
    split_result();
    if (e_.target == Target::Cpu && is_tiny()) return false;
    if (e_.target == Target::Cpu && is_scattered()) split_by_factor();
    if (e_.target == Target::Cpu && !split_into_rows()) return false;
    if (e_.target == Target::Cpu && is_read_once()) return lower_in_place();
    if (columns_.empty() && e_.target == Target::Cpu && !split_into_dots()) return false;
    if (columns_.empty() && !all && !dots_) return false; // two vectors
    if (e_.target != Target::Cpu && !is_plain() && !is_worth_tiles()) return false;
    const Strided &left = swapped_ ? *second : *first, &right = swapped_ ? *first : *second;
    const Operand a = swapped_ ? Second : First, c = swapped_ ? First : Second;
    const Monomial row = scattered_ ? Monomial{0, {}} : stride(rows_, a), column = stride(columns_, c);
    const std::vector<Axis> batches = axes(batch_), sums = axes(summed_);
    const std::vector<Axis> columns =
        is_one_axis(columns_, c) && !scattered_ && !dots_ ? std::vector<Axis>{} : axes(columns_, scattered_ || dots_);
    const std::vector<Axis> rows = scattered_ ? axes(rows_, true) : std::vector<Axis>{};
    const Axis none, batch = batches.empty() ? none : batches[0], sum = sums.empty() ? none : sums[0];
    std::vector<ValueId> yields{count(batch_),
                                count(rows_),
                                count(columns_),
                                count(summed_),
                                value(batch.stride[a]),
                                value(row),
                                value(is_one_axis(summed_, a) ? stride(summed_, a) : sum.stride[a]),
                                value(batch.stride[c]),
                                value(sum.stride[c]),
                                value(column),
                                left.base,
                                right.base};
    Gemm& g = b.kernel.gemm;
    if (!is_plain()) {
      yields.push_back(value(rows_.empty() || scattered_ ? Monomial{} : result_stride(rows_.back())));
      for (const Axis& axis : batches)
        for (ValueId v : {axis.count, value(axis.stride[a]), value(axis.stride[c]), value(axis.stride[Result])})
          yields.push_back(v);
      for (const Axis& axis : sums)
        for (ValueId v : {axis.count, value(axis.stride[a]), value(axis.stride[c])})
          yields.push_back(v);
      for (const Axis& axis : columns) {
        yields.push_back(axis.count);
        if (dots_) yields.push_back(value(axis.stride[a]));
        yields.push_back(value(axis.stride[c]));
        if (scattered_) yields.push_back(value(axis.stride[Result]));
      }
      for (const Axis& axis : rows)
        for (ValueId v : {axis.count, value(axis.stride[a]), value(axis.stride[Result])})
          yields.push_back(v);
      g.dots = dots_;
      g.close_batches = scattered_ && has_close_batches();
      g.row_axes = static_cast<uint32_t>(rows.size());
      g.b_columns_evenly = is_one_axis(columns_, c);
      g.column_axes = static_cast<uint32_t>(columns.size());
      g.a_sums_evenly = is_one_axis(summed_, a);
      g.batch_axes = static_cast<uint32_t>(batches.size());
      g.sum_axes = static_cast<uint32_t>(sums.size());
      g.is_plain = false;
    }
    g.header = b.close(yields);
    g.a = left.param;
    g.b = right.param;
    g.c = e_.output_param(0);
    g.type = dtype;
    b.kernel.is_gemm = true;

    std::vector<ValueId> p = b.open({DType::I64, DType::I64, DType::I64, value_type(dtype)});
    std::map<int64_t, ValueId> position; // by label
    for (auto [labels, number] : {std::pair{&batch_, p[0]}, std::pair{&rows_, p[1]}, std::pair{&columns_, p[2]}}) {
      Index part = e_.decompose(number, dims(*labels));
      for (size_t i = 0; i < part.size(); ++i)
        position[(*labels)[i]] = part[i];
    }
    Index index;
    for (int64_t label : n_.as<ir::ContractAttrs>().result)
      index.push_back(position.at(label));
    e_.known[n_.results[0].index] = {index, round_to(b, e_.type(n_.results[0]).dtype, p[3])};
    ValueId result = e_.pull(e_.region().yields[0], index);
    g.epilogue = b.close({result});
    return true;
  }

private:
  using Labels = std::vector<int64_t>;
  enum Operand : uint8_t { First, Second, Result };
  // Neighbouring labels that are one number: how far each operand moves with it.
  struct Axis {
    ValueId count;
    Monomial stride[3] = {{0, {}}, {0, {}}, {0, {}}}; // by Operand
  };

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
    case ir::Op::Convert:
      if (e_.target != Target::Cpu || !is_factor_type(e_.type(n.operands[0]).dtype, e_.type(v).dtype))
        return std::nullopt;
      return trace(n.operands[0]);
    case ir::Op::Transpose:
    case ir::Op::Slice:
    case ir::Op::Broadcast:
    case ir::Op::Reshape:
    case ir::Op::Index: break;
    case ir::Op::Concat: return trace_window(n);
    default: return std::nullopt;
    }
    auto x = trace(n.operands[0]);
    if (!x) return x;
    const std::vector<ir::Dim>& from = e_.type(n.operands[0]).dims;
    Strided s{x->param, std::vector<Monomial>(dims.size(), Monomial{0, {}}), x->base, x->is_window};
    switch (n.op) {
    case ir::Op::Reshape: {
      if (only_names_differ(e_.function, n.operands[0], dims)) {
        s.strides = x->strides;
        break;
      }
      if (!only_ones_differ(from, dims)) {
        if (!is_whole(n.operands[0])) return std::nullopt;
        for (size_t i = 0; i < dims.size(); ++i)
          s.strides[i] = scaled(monomial(std::span(dims).subspan(i + 1)), 1);
        break;
      }
      size_t at = 0;
      for (size_t i = 0; i < dims.size(); ++i) {
        if (dims[i] == ir::Dim::of(1)) continue;
        while (from[at] == ir::Dim::of(1))
          ++at;
        s.strides[i] = x->strides[at++];
      }
      break;
    }
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

  // Is it a parameter as it lies in memory, but for its type?
  bool is_whole(ir::ValueId v) {
    while (e_.inside(v) && e_.function[v].producer.valid() && e_.producer(v).op == ir::Op::Convert)
      v = e_.producer(v).operands[0];
    return !e_.inside(v);
  }

  std::optional<Strided> trace_window(const ir::Node& n) {
    const auto window = window_view(e_.function, n);
    if (!window || !e_.inside(e_.function[window->slice].results[0])) return std::nullopt;
    auto s = trace(n.operands[0]);
    const auto x = trace(e_.function[window->slice].operands[0]);
    if (!s || !x) return std::nullopt;
    s->strides[static_cast<size_t>(n.as<ir::AxisAttrs>().axis)] = scaled(x->strides[window->along], window->distance);
    s->is_window = true;
    return s;
  }

  bool find_labels_of(const Labels& labels, Operand operand, const Strided& strided) {
    for (size_t i = 0; i < labels.size(); ++i) {
      if (!strides_[operand].emplace(labels[i], strided.strides[i]).second) return false; // a diagonal
      sizes_[labels[i]] = e_.type(n_.operands[operand]).dims[i];
    }
    return true;
  }
  bool has(Operand operand, int64_t label) const { return strides_[operand].contains(label); }

  // What each label means to the operands, and those that are summed. False if it is no product.
  bool find_labels(const Strided& first, const Strided& second) {
    const auto& [lhs, rhs, result] = n_.as<ir::ContractAttrs>();
    if (!find_labels_of(lhs, First, first) || !find_labels_of(rhs, Second, second)) return false;
    for (int64_t label : result)
      strides_[Result][label] = result_stride(label);
    for (auto& [label, size] : sizes_) {
      if (has(Result, label)) continue;
      if (!has(First, label) || !has(Second, label)) return false;
      summed_.push_back(label);
    }
    return true;
  }
  Monomial result_stride(int64_t label) const {
    const Labels& result = n_.as<ir::ContractAttrs>().result;
    const auto at = std::find(result.begin(), result.end(), label);
    return monomial(dims({at + 1, result.end()}));
  }

  // Without labels of size 1, which decide nothing (but for GPUs, where they may be all that there is).
  Labels long_ones(Labels labels) const {
    if (e_.target == Target::Cpu)
      std::erase_if(labels, [&](int64_t label) { return sizes_.at(label) == ir::Dim::of(1); });
    return labels;
  }
  Labels long_labels() const { return long_ones(n_.as<ir::ContractAttrs>().result); }

  // Columns, rows and batches. The factor that has the columns is the right one.
  void split_result() {
    const Labels result = long_labels();
    auto alone = [&](size_t i, Operand operand) { // has only this factor it?
      return has(operand, result[i]) && !has(operand == First ? Second : First, result[i]);
    };
    // The neighbours up to `end` that this factor has alone and that are one axis of it (of windows: any).
    auto run_before = [&](size_t end, Operand operand) {
      size_t begin = end;
      while (begin > 0 && alone(begin - 1, operand) &&
             ((end == result.size() && is_window_[operand]) ||
              is_one_axis({result.begin() + static_cast<long>(begin) - 1, result.begin() + static_cast<long>(end)},
                          operand)))
        --begin;
      return begin;
    };
    size_t begin = result.size();
    if (begin > 0) {
      swapped_ = alone(begin - 1, First); // C = B A with the factors exchanged: a product of two numbers does not mind
      begin = run_before(begin, swapped_ ? First : Second);
    }
    columns_.assign(result.begin() + static_cast<long>(begin), result.end());
    size_t row_begin = begin, row_end = begin;
    for (size_t end = begin; end > 0;) {
      const size_t start = run_before(end, swapped_ ? Second : First);
      if (end - start > row_end - row_begin) row_begin = start, row_end = end;
      end = std::min(start, end - 1);
    }
    for (int64_t label : n_.as<ir::ContractAttrs>().result)
      if (!std::count(result.begin(), result.end(), label)) batch_.push_back(label);
    for (size_t i = 0; i < begin; ++i)
      (i >= row_begin && i < row_end ? rows_ : batch_).push_back(result[i]);
  }

  // Rows of the result that are a vector at most, along which one factor lies, and few products for each element: to
  // pack the factors would take longer than the products, which a vector for each row makes.
  bool is_tiny() const {
    constexpr int64_t most = 16;
    const Labels result = long_labels();
    const DType type = e_.type(n_.operands[First]).dtype;
    if (!is_float(type) || result.size() < 2 || is_window_[First] || is_window_[Second]) return false;
    auto count = [&](const Labels& labels) {
      int64_t product = 1;
      for (int64_t label : labels)
        product *= sizes_.at(label).is_constant() ? std::min(sizes_.at(label).constant, most + 1) : most + 1;
      return product;
    };
    const Operand right = has(Second, result.back()) && is_side_by_side(result.back(), Second) ? Second : First;
    return count({result.back()}) <= most && count(summed_) <= most && !summed_.empty() &&
           is_side_by_side(result.back(), right);
  }

  bool is_alone(int64_t label) const { return has(First, label) != has(Second, label); }

  // Does an operand move by one element with the label?
  bool is_side_by_side(int64_t label, Operand operand) const { return stride(label, operand) == Monomial{1, {}}; }

  // Is it better to look up where rows and columns are? Not if there are none, nor where vectors may run along a batch
  // that lies side by side in both factors.
  bool is_scattered() const {
    const Labels result = long_labels();
    auto apart = [&](int64_t label) { return is_alone(label) && sizes_.at(label) != ir::Dim::of(1); };
    if (is_window_[First] || is_window_[Second] || std::none_of(result.begin(), result.end(), apart)) return false;
    if (!columns_.empty()) return std::any_of(batch_.begin(), batch_.end(), apart) && !are_images();
    return !is_side_by_side(result.back(), First) || !is_side_by_side(result.back(), Second);
  }

  // Labels that stand apart are of the columns' factor and come first, as those of images under filters: each image is
  // a product by itself, unless its columns are known to be few.
  bool are_images() const {
    constexpr int64_t few = 16;
    const Operand right = swapped_ ? First : Second;
    const Labels result = long_labels();
    const Labels images = long_ones(batch_);
    if (!is_side_by_side(result.back(), right)) return false;
    const bool of_right =
        std::all_of(images.begin(), images.end(), [&](int64_t label) { return !is_alone(label) || has(right, label); });
    int64_t columns = 1;
    for (int64_t label : columns_)
      columns *= sizes_.at(label).is_constant() ? std::min(sizes_.at(label).constant, few) : few;
    return of_right && columns >= few && std::equal(images.begin(), images.end(), result.begin());
  }

  // Batches: what both factors have. Columns are the last label's factor's, so that C is stored in runs, and where that
  // is of both, of the factor whose columns are side by side.
  void split_by_factor() {
    const Labels& result = n_.as<ir::ContractAttrs>().result;
    batch_.clear(), rows_.clear(), columns_.clear();
    auto runs_along = [&](Operand operand) {
      return std::any_of(result.begin(), result.end(), [&](int64_t label) {
        return is_alone(label) && has(operand, label) && is_side_by_side(label, operand);
      });
    };
    auto any_of = [&](Operand operand) {
      return std::any_of(result.begin(), result.end(),
                         [&](int64_t label) { return is_alone(label) && has(operand, label); });
    };
    auto is_better = [&](Operand x, Operand y) {
      return any_of(x) && (!any_of(y) || (runs_along(x) && !runs_along(y)) ||
                           (runs_along(x) && is_evenly_alone(x) && !is_evenly_alone(y)));
    };
    const int64_t last = long_labels().back();
    swapped_ = is_alone(last) ? has(First, last) : is_better(First, Second);
    std::copy_if(result.begin(), result.end(), std::back_inserter(batch_),
                 [&](int64_t label) { return !is_alone(label); });
    auto alone = [&](Operand operand, Labels labels) {
      std::erase_if(labels, [&](int64_t label) { return !is_alone(label) || !has(operand, label); });
      return labels;
    };
    // A is packed best in its own order, C stored best in that of its columns. What costs of a vector times a matrix is
    // to read this.
    const auto& attrs = n_.as<ir::ContractAttrs>();
    const Operand a = swapped_ ? Second : First, c = swapped_ ? First : Second;
    rows_ = alone(a, a == First ? attrs.lhs : attrs.rhs);
    columns_ = alone(c, !rows_.empty() ? result : c == First ? attrs.lhs : attrs.rhs);
    scattered_ = true;
  }

  // Is C closer along the last batch than along rows or columns?
  bool has_close_batches() const {
    const Labels result = long_labels();
    auto last_of = [&](const Labels& labels) {
      size_t last = 0;
      for (size_t i = 0; i < result.size(); ++i)
        if (std::count(labels.begin(), labels.end(), result[i])) last = i + 1;
      return last;
    };
    return last_of(batch_) > std::min(last_of(rows_), last_of(columns_));
  }

  // Where no row of A is used for more than one row of C, what it takes is to read B: in the order in which it lies.
  // Its columns are then the labels along which it lies side by side, wherever the result has them, and all others are
  // batches. False: it lies along a label of both factors, so that a map runs along that.
  bool split_into_rows() {
    const auto& attrs = n_.as<ir::ContractAttrs>();
    const Operand right = swapped_ ? First : Second;
    if (columns_.empty() || !long_ones(rows_).empty() || is_window_[First] || is_window_[Second] ||
        size_of(memory_[right]) < 4)
      return true;
    const Labels memory = long_ones(right == First ? attrs.lhs : attrs.rhs), now = long_ones(columns_);
    const auto along = std::find_if(memory.begin(), memory.end(), [&](int64_t l) { return is_side_by_side(l, right); });
    if (along == memory.end() || std::count(summed_.begin(), summed_.end(), *along)) return true;
    if (!is_alone(*along)) return false;
    if (!now.empty() && now.back() == *along && !scattered_) return true;
    Labels run{*along};
    for (auto label = std::make_reverse_iterator(along); label != memory.rend() && is_alone(*label); ++label) {
      run.insert(run.begin(), *label);
      if (!is_one_axis(run, right)) {
        run.erase(run.begin());
        break;
      }
    }
    columns_ = run, rows_.clear(), batch_.clear();
    for (int64_t label : attrs.result)
      if (!std::count(run.begin(), run.end(), label)) batch_.push_back(label);
    scattered_ = true;
    return true;
  }

  // Are the labels that only this operand has one axis of it?
  bool is_evenly_alone(Operand operand) const {
    const auto& attrs = n_.as<ir::ContractAttrs>();
    Labels labels = operand == First ? attrs.lhs : attrs.rhs;
    std::erase_if(labels, [&](int64_t label) { return !is_alone(label); });
    return is_one_axis(labels, operand);
  }

  // Windows that one filter alone reads, as a depthwise convolution's: to pack them would take longer than the product.
  bool is_read_once() const {
    constexpr int64_t near = 4; // elements so far apart are picked from vectors
    const Operand right = swapped_ ? First : Second;
    if (!is_window_[right] || !is_one(rows_) || columns_.empty()) return false;
    const Monomial step = stride(columns_.back(), right);
    return step.values.empty() && step.factor >= 1 && step.factor <= near;
  }

  // They are read where they lie: a tile is some rows of the result along its last axes, a vector so many columns. The
  // filter is the same for all of a tile.
  bool lower_in_place() {
    constexpr int64_t rows_at_once = 16;
    Builder& b = e_.b;
    b.close(); // what was traced so far is of no use
    check_guards(e_, true);
    const std::vector<ir::Dim> axes = e_.type(n_.results[0]).dims;
    const Labels& result = n_.as<ir::ContractAttrs>().result;
    const auto last = static_cast<size_t>(std::find(result.begin(), result.end(), columns_.back()) - result.begin());
    size_t row = last; // the last axis of more than one element before it
    while (row > 0 && axes[--row] == ir::Dim::of(1)) {
    }
    const std::vector<ir::Dim> outer(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(row));
    const ir::Dim rows = row < last ? axes[row] : ir::Dim::of(1);
    const SizeFormula blocks = ceil_div(e_.formula({&rows, 1}), SizeFormula::constant(rows_at_once));
    phase(e_, times(e_.formula(outer), blocks), [&](ValueId tile) {
      const ValueId count = e_.size(rows), at_once = b.i64(rows_at_once);
      const ValueId in_all = b.udiv(b.add(count, b.i64(rows_at_once - 1)), at_once);
      const Index outside = e_.decompose(b.udiv(tile, in_all), outer);
      const ValueId begin = b.mul(b.urem(tile, in_all), at_once);
      e_.serial_loop(begin, b.min(b.add(begin, at_once), count), [&](ValueId i) {
        e_.vector_loop(b.i64(0), e_.size(axes[last]), [&](ValueId j) {
          Index index = outside;
          index.resize(axes.size(), b.i64(0));
          index[row] = i;
          index[last] = j;
          store_outputs(e_, {0}, index);
        });
      });
    });
    return true;
  }

  // All labels of the result are of both factors, which lie along the sum: dot products are the columns. A vector of
  // them along another axis is a map.
  bool split_into_dots() {
    const Labels& result = n_.as<ir::ContractAttrs>().result;
    auto alone = [&](int64_t label) { return is_alone(label) && sizes_.at(label) != ir::Dim::of(1); };
    dots_ = is_float(e_.type(n_.operands[First]).dtype) && !summed_.empty() &&
            std::none_of(result.begin(), result.end(), alone) && is_side_by_side(summed_.back(), First) &&
            is_side_by_side(summed_.back(), Second) && size_of(memory_[First]) >= 4 && size_of(memory_[Second]) >= 4;
    if (dots_) columns_ = result, batch_.clear(), rows_.clear();
    return dots_;
  }

  // May it be told by one stride for batches, rows, columns and sums, and is the result in their order?
  // On GPUs, of what no library takes: is there enough of rows and columns for the tiles of tl's own kernel?
  bool is_worth_tiles() const {
    constexpr int64_t least = 8;
    auto enough = [&](const Labels& labels) {
      int64_t constant = 1;
      for (int64_t label : labels) {
        if (!sizes_.at(label).is_constant()) return true;
        constant *= sizes_.at(label).constant;
      }
      return constant >= least;
    };
    return enough(rows_) && enough(columns_);
  }

  bool is_plain() const {
    if (scattered_ || dots_) return false;
    Labels order = batch_;
    order.insert(order.end(), rows_.begin(), rows_.end());
    order.insert(order.end(), columns_.begin(), columns_.end());
    return long_ones(order) == long_labels() && is_one_axis(columns_, swapped_ ? First : Second) &&
           groups(batch_).size() <= 1 && groups(summed_).size() <= 1 &&
           std::all_of(batch_.begin(), batch_.end(),
                       [&](int64_t label) { return has(First, label) && has(Second, label); });
  }

  std::vector<ir::Dim> dims(const Labels& labels) const {
    std::vector<ir::Dim> result;
    for (int64_t label : labels)
      result.push_back(sizes_.at(label));
    return result;
  }
  bool is_one(const Labels& labels) const {
    return std::all_of(labels.begin(), labels.end(), [&](int64_t label) { return sizes_.at(label) == ir::Dim::of(1); });
  }
  ValueId count(const Labels& labels) { return e_.product(dims(labels)); }

  // How far an operand moves with a label; an operand that does not have it stays where it is.
  Monomial stride(int64_t label, Operand operand) const {
    const auto at = strides_[operand].find(label);
    return at == strides_[operand].end() ? Monomial{0, {}} : at->second;
  }
  // With labels that are one axis of it.
  Monomial stride(const Labels& labels, Operand operand) const {
    for (size_t i = labels.size(); i-- > 0;)
      if (sizes_.at(labels[i]) != ir::Dim::of(1)) return stride(labels[i], operand);
    return {0, {}};
  }
  // Does it move with each label by the next one's stride times its size? What there is only one of does not count.
  bool is_one_axis(const Labels& labels, Operand operand) const {
    std::optional<Monomial> stride_here;
    Monomial step{1, {}};
    for (size_t i = labels.size(); i-- > 0;) {
      ir::Dim size = sizes_.at(labels[i]);
      if (size == ir::Dim::of(1)) continue;
      const Monomial own = stride(labels[i], operand);
      if (!stride_here)
        stride_here = own;
      else if (own != scaled(times(*stride_here, step), 1))
        return false;
      step = times(step, monomial(std::span(&size, 1)));
    }
    return true;
  }
  // Neighbours that are one axis of all operands, as far as possible.
  std::vector<Labels> groups(const Labels& labels) const {
    std::vector<Labels> result;
    for (size_t end = labels.size(); end > 0;) {
      size_t begin = end - 1;
      auto part = [&](size_t from) {
        return Labels(labels.begin() + static_cast<long>(from), labels.begin() + static_cast<long>(end));
      };
      auto is_one = [&](size_t from) {
        return is_one_axis(part(from), First) && is_one_axis(part(from), Second) && is_one_axis(part(from), Result);
      };
      while (begin > 0 && is_one(begin - 1))
        --begin;
      result.insert(result.begin(), part(begin));
      end = begin;
    }
    return result;
  }
  std::vector<Axis> axes(const Labels& labels, bool at_least_one = false) {
    std::vector<Axis> result;
    if (labels.empty() && at_least_one) result.push_back({e_.b.i64(1)});
    for (const Labels& group : groups(labels)) {
      Axis axis{count(group)};
      for (Operand operand : {First, Second, Result})
        axis.stride[operand] = stride(group, operand);
      result.push_back(axis);
    }
    return result;
  }

  ValueId value(const Monomial& m) {
    ValueId v = e_.b.i64(m.factor);
    for (uint32_t size : m.values)
      v = e_.b.mul(v, e_.scalar(ir::ValueId{size}));
    return v;
  }

  Emitter& e_;
  const ir::Node& n_;
  std::map<int64_t, Monomial> strides_[3]; // of each Operand, by label
  std::map<int64_t, ir::Dim> sizes_;
  Labels batch_, rows_, columns_, summed_;
  bool swapped_ = false, scattered_ = false, dots_ = false;
  bool is_window_[2] = {};
  DType memory_[2] = {};
};

} // namespace

bool lower_gemm(Emitter& e) {
  for (ir::NodeId id : e.region().nodes)
    if (e.function[id].op == ir::Op::Contract) return Product(e, e.function[id]).lower();
  return false;
}

} // namespace tl::kir
