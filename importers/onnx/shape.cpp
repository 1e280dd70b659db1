// Operators that move elements, and those on shapes.
#include "importers/onnx/operators.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace tl::onnx {
namespace {

constexpr int64_t kFewPlaces = 64; // of a range that is written out

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

Size product(const Dims& dims) {
  Size result = 1;
  for (const Size& d : dims)
    result = result * d;
  return result;
}

Contents vector_of(std::vector<Number> items) {
  Contents result{{static_cast<int64_t>(items.size())}, std::move(items)};
  return result;
}

// ---- sizes as values

void shape(Op& op, const Row&) {
  const Dims& dims = op[0].dims;
  const auto count = static_cast<int64_t>(dims.size());
  auto bound = [&](const char* name, int64_t missing) {
    int64_t at = op.integer(name, missing);
    if (at < 0) at += count;
    return std::clamp<int64_t>(at, 0, count);
  };
  const int64_t from = bound("start", 0), to = bound("end", count);
  std::vector<Number> items;
  for (int64_t i = from; i < to; ++i)
    items.push_back(Number::of(dims[static_cast<size_t>(i)]));
  op.know(0, DType::I64, vector_of(std::move(items)));
}

void size(Op& op, const Row&) { op.know(0, DType::I64, {{}, {Number::of(product(op[0].dims))}}); }

// `dims` as ONNX's shapes write it, with 0 and -1, for what has the sizes `from`.
Dims reshaped(Op& op, const Dims& from, const Dims& dims, bool zero_is_zero) {
  Dims result;
  std::optional<size_t> open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is(0) && !zero_is_zero) {
      if (i >= from.size()) op.refuse("its shape has a 0 where its input has no axis");
      result.push_back(from[i]);
    } else if (dims[i].is(-1)) {
      if (open) op.refuse("its shape leaves two sizes open");
      open = i;
      result.emplace_back(1);
    } else {
      result.push_back(dims[i]);
    }
  }
  if (open) {
    // Equal factors first: the others may be zero or intricate.
    Dims above = from, below = result;
    below.erase(below.begin() + static_cast<std::ptrdiff_t>(*open));
    for (auto at = below.begin(); at != below.end();) {
      auto same = std::find(above.begin(), above.end(), *at);
      if (same == above.end()) {
        ++at;
        continue;
      }
      above.erase(same);
      at = below.erase(at);
    }
    const Size top = product(above), bottom = product(below);
    if (auto whole = divide_exactly(top, bottom))
      result[*open] = *whole;
    else if (bottom.is(0))
      result[*open] = 0;
    else
      result[*open] = op.in.sizes().floor_div(top, bottom);
  }
  return result;
}

void reshape_to(Op& op, const Dims& dims) {
  if (dims == op[0].dims) return op.alias(0, op.value(0));
  if (const Contents* known = op.contents(0)) {
    Contents same = *known;
    same.dims.clear();
    bool constant = true;
    for (const Size& d : dims) {
      constant &= d.is_constant();
      same.dims.push_back(d.constant());
    }
    if (constant) return op.know(0, op[0].dtype, std::move(same));
  }
  const bool to_scalar = dims.empty();
  const std::string x = op.text(0);
  if (to_scalar) {
    std::vector<std::string> zeros(op.rank(0), "0");
    op.define(0, fmt::format("{}[{}]", x, joined(zeros)), op[0].dtype, dims);
    return;
  }
  if (op.rank(0) == 0)
    return void(op.define(0, fmt::format("full({}, {})", op.in.dims_text(dims), x), op[0].dtype, dims));
  op.define(0, fmt::format("reshape({}, {})", x, op.in.dims_text(dims)), op[0].dtype, dims);
}

void reshape(Op& op, const Row&) {
  const Dims wanted = op.integers_of(1);
  bool data_dependent = false;
  for (const Size& d : wanted)
    if (auto atom = d.as_atom(); atom && op.in.sizes()[*atom].kind == AtomKind::Value && !op.contents(1))
      data_dependent = true;
  if (!data_dependent) {
    const Dims& from = op[0].dims;
    Dims to = wanted;
    // The size that the file had for an axis which was opened stands in constant shapes too: first, as in what they
    // reshape.
    if (const auto fixed = from.empty() || to.empty() ? std::nullopt : op.in.fixed_size_of(from[0]);
        fixed && to[0].is(*fixed))
      to[0] = from[0];
    to = reshaped(op, from, to, op.integer("allowzero", 0) != 0);
    if (op.in.has_opened(product(from)) && product(to) != product(from))
      op.refuse(
          fmt::format("its shape is fixed and has no place for what --dim leaves open: it makes {} elements of {}",
                      op.in.sizes().to_string(product(to)), op.in.sizes().to_string(product(from))));
    return reshape_to(op, to);
  }
  // Sizes that are computed may be 0 and -1 too.
  const Size total = product(op[0].dims);
  std::vector<std::string> sizes;
  std::string others;
  for (size_t i = 0; i < wanted.size(); ++i) {
    std::string size = op.in.size_text(wanted[i]);
    if (op.integer("allowzero", 0) == 0 && i < op.rank(0)) {
      const std::string name = op.in.fresh_name("size");
      op.in.write(
          fmt::format("let {0} = if {1} == 0 {{ {2} }} else {{ {1} }}", name, size, op.in.size_text(op[0].dims[i])));
      size = name;
    }
    sizes.push_back(size);
    others += fmt::format("{0}max({1}, -{1})", others.empty() ? "" : " * ", size);
  }
  const std::string rest = op.in.fresh_name("rest"), count = op.in.size_text(total);
  op.in.write(fmt::format("let {} = ({}) // max({}, 1)", rest, count, others));
  for (std::string& size : sizes)
    size = fmt::format("if {0} < 0 {{ {1} }} else {{ {0} }}", size, rest);
  op.define(0, fmt::format("reshape({}, [{}])", op.text(0), joined(sizes)), op[0].dtype, unknown_dims(wanted.size()));
}

void flatten(Op& op, const Row&) {
  const auto rank = static_cast<int64_t>(op.rank(0));
  int64_t axis = op.integer("axis", 1);
  if (axis < -rank || axis > rank) op.refuse(fmt::format("there is no axis {}", axis));
  if (axis < 0) axis += rank;
  const Dims& dims = op[0].dims;
  reshape_to(op, {product({dims.begin(), dims.begin() + axis}), product({dims.begin() + axis, dims.end()})});
}

void squeeze(Op& op, const Row&) {
  auto axes = op.integers("axes", 1);
  const Dims& dims = op[0].dims;
  std::vector<bool> gone(dims.size());
  if (axes)
    for (int64_t a : *axes)
      gone[static_cast<size_t>(op.axis(a, dims.size()))] = true;
  else
    for (size_t i = 0; i < dims.size(); ++i)
      gone[i] = dims[i].is(1);
  Dims left;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!gone[i])
      left.push_back(dims[i]);
    else if (!dims[i].is(1))
      op.in.require_equal(dims[i], 1);
  }
  reshape_to(op, left);
}

void unsqueeze(Op& op, const Row&) {
  auto axes = op.integers("axes", 1);
  if (!axes) op.refuse("it has no axes");
  const size_t rank = op.rank(0) + axes->size();
  std::vector<bool> is_new(rank);
  for (int64_t a : *axes) {
    const auto at = static_cast<size_t>(op.axis(a, rank));
    if (is_new[at]) op.refuse("it has an axis twice");
    is_new[at] = true;
  }
  Dims dims;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i)
    dims.push_back(is_new[i] ? Size(1) : op[0].dims[next++]);
  if (op.contents(0) || op.rank(0) == 0) return reshape_to(op, dims);
  std::vector<std::string> subscripts;
  for (size_t i = 0; i < rank; ++i)
    subscripts.push_back(is_new[i] ? "new" : ":");
  while (!subscripts.empty() && subscripts.back() == ":")
    subscripts.pop_back();
  op.define(0, fmt::format("{}[{}]", op.text(0), joined(subscripts)), op[0].dtype, dims);
}

// ---- moving elements

// The sizes where all are known, not negative, and make few elements.
std::optional<std::vector<int64_t>> few_elements(const Dims& dims) {
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (const Size& d : dims) {
    if (!d.is_constant() || d.constant() < 0 || d.constant() > kLargestContents) return std::nullopt;
    sizes.push_back(d.constant());
    count *= d.constant();
    if (count > kLargestContents) return std::nullopt;
  }
  return sizes;
}

// Elements of known contents at places: `from(position)` is where each is taken from.
template <class F> Contents rearranged(const Contents& x, std::vector<int64_t> dims, const F& from) {
  Contents result{dims, {}};
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  for (int64_t i = 0; i < count; ++i) {
    std::vector<int64_t> place(dims.size());
    int64_t rest = i;
    for (size_t k = dims.size(); k-- > 0;) {
      place[k] = rest % dims[k];
      rest /= dims[k];
    }
    const std::vector<int64_t> source = from(place);
    int64_t at = 0;
    for (size_t k = 0; k < source.size(); ++k)
      at = at * x.dims[k] + source[k];
    result.items.push_back(x.items[static_cast<size_t>(at)]);
  }
  return result;
}

void transpose(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  std::vector<int64_t> reversed(rank);
  for (size_t i = 0; i < rank; ++i)
    reversed[i] = static_cast<int64_t>(rank - 1 - i);
  const std::vector<int64_t> order = op.integers("perm", reversed);
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted.size() != rank || sorted[i] != static_cast<int64_t>(i)) op.refuse("its perm is no order of the axes");
  if (std::is_sorted(order.begin(), order.end())) return op.alias(0, op.value(0));
  Dims dims;
  for (int64_t a : order)
    dims.push_back(op[0].dims[static_cast<size_t>(a)]);
  if (const Contents* known = op.contents(0)) {
    std::vector<int64_t> sizes;
    for (int64_t a : order)
      sizes.push_back(known->dims[static_cast<size_t>(a)]);
    return op.know(0, op[0].dtype, rearranged(*known, sizes, [&](const std::vector<int64_t>& place) {
                     std::vector<int64_t> source(rank);
                     for (size_t i = 0; i < rank; ++i)
                       source[static_cast<size_t>(order[i])] = place[i];
                     return source;
                   }));
  }
  const std::string x = op.text(0);
  if (rank == 2) return void(op.define(0, x + ".T", op[0].dtype, dims));
  std::vector<size_t> moved;
  for (size_t i = 0; i < rank; ++i)
    if (order[i] != static_cast<int64_t>(i)) moved.push_back(i);
  if (moved.size() == 2)
    return void(op.define(0, fmt::format("transpose({}, {}, {})", x, moved[0], moved[1]), op[0].dtype, dims));
  op.define(0, fmt::format("permute({}, [{}])", x, fmt::join(order, ", ")), op[0].dtype, dims);
}

void concat(Op& op, const Row&) {
  const int64_t axis = op.axis(op.integer("axis", 1), op.rank(0));
  const DType dtype = op[0].dtype;
  if (op.inputs() == 1) return op.alias(0, op.value(0));
  std::vector<const Contents*> known;
  for (size_t i = 0; i < op.inputs(); ++i) {
    if (op.rank(i) != op.rank(0)) op.refuse("its inputs differ in rank");
    if (const Contents* c = op.contents(i)) known.push_back(c);
  }
  if (known.size() == op.inputs() && op.rank(0) == 1) {
    std::vector<Number> items;
    for (const Contents* c : known)
      items.insert(items.end(), c->items.begin(), c->items.end());
    if (items.size() <= kLargestContents) return op.know(0, dtype, vector_of(std::move(items)));
  }
  // A shape of which some is computed: its elements are known one by one.
  const bool of_integers = op.rank(0) == 1 && !is_float(dtype) && dtype != DType::Bool && !known.empty();
  if (of_integers) {
    std::vector<Number> items;
    bool small = true;
    for (size_t i = 0; i < op.inputs() && small; ++i) {
      small = op[i].dims[0].is_constant() && op[i].dims[0].constant() <= 8;
      if (!small) break;
      for (Size& s : op.integers_of(i))
        items.push_back(Number::of(std::move(s)));
    }
    if (small) return op.know(0, dtype, vector_of(std::move(items)));
  }
  Dims dims = op[0].dims;
  std::vector<std::string> parts;
  for (size_t i = 0; i < op.inputs(); ++i) {
    parts.push_back(op.text(i));
    if (i == 0) continue;
    for (size_t k = 0; k < dims.size(); ++k) {
      const auto at = static_cast<int64_t>(k);
      if (at == axis)
        dims[k] = dims[k] + op[i].dims[k];
      else
        op.in.require_equal(dims[k], op[i].dims[k]);
    }
  }
  op.define(0,
            axis == 0 ? fmt::format("concat(({}))", joined(parts))
                      : fmt::format("concat(({}), axis = {})", joined(parts), axis),
            dtype, dims);
}

std::string slice_text(const std::string& from, const std::string& to, int64_t step) {
  return from + ":" + to + (step == 1 ? "" : ":" + std::to_string(step));
}

// A subscript for each axis; those behind the last that is none are left out.
std::string subscripted(const std::string& x, std::vector<std::string> subscripts) {
  while (!subscripts.empty() && subscripts.back() == ":")
    subscripts.pop_back();
  return subscripts.empty() ? x : fmt::format("{}[{}]", x, joined(subscripts));
}

struct Cut { // along one axis
  std::string text;
  Size size;
  std::optional<int64_t> first, count; // where all is constant
};

// The bounds of a slice as numpy has them; `from` and `to` may count from the end. But one that goes backwards begins
// at 0 where `from` is in front of the axis.
Cut cut(Op& op, const Size& n, Size from, const Size& to, int64_t step) {
  SizeAtoms& sizes = op.in.sizes();
  if (step < 0 && from.is_constant() && from.constant() < -1 && !sizes.proves_not_negative(n + from, op.in.facts()))
    from = sizes.positive(n + from, op.in.facts());
  constexpr int64_t kFar = 1000000000; // what exporters write for the end
  const bool from_start = from.is_constant() && (step > 0 ? from.constant() == 0 : from.constant() >= kFar);
  const bool to_end = to.is_constant() && (step > 0 ? to.constant() >= kFar : to.constant() <= -kFar);
  Cut result;
  result.text = slice_text(from_start ? "" : op.in.size_text(from), to_end ? "" : op.in.size_text(to), step);
  if (n.is_constant() && from.is_constant() && to.is_constant()) {
    using Wide = __int128; // bounds and steps may be any i64
    const Wide length = n.constant(), least = step > 0 ? 0 : -1, most = step > 0 ? length : length - 1;
    auto bound = [&](Wide at) { return std::clamp(at < 0 ? std::max(at, -length - 1) + length : at, least, most); };
    const Wide begin = bound(from.constant()), end = bound(to.constant()), by = step;
    const auto count =
        static_cast<int64_t>(std::max<Wide>(0, step > 0 ? (end - begin + by - 1) / by : (begin - end - by - 1) / -by));
    result.size = count;
    result.first = static_cast<int64_t>(begin);
    result.count = count;
    return result;
  }
  if (step < 0) {
    if (from_start && to_end)
      result.size = sizes.floor_div(n + Size(-step - 1), -step);
    else
      result.size = unknown_size();
    return result;
  }
  auto sign_is_known = [&](const Size& at) { return at.is_constant() || sizes.proves_not_negative(at, op.in.facts()); };
  if (!sign_is_known(from) || !sign_is_known(to)) {
    result.size = unknown_size();
    return result;
  }
  auto bound = [&](const Size& at, bool open) {
    if (open) return n;
    return sizes.clip(at.is_constant() && at.constant() < 0 ? at + n : at, 0, n, op.in.facts());
  };
  const Size begin = from_start ? Size(0) : bound(from, false), end = bound(to, to_end);
  const Size length = sizes.positive(end - begin, op.in.facts());
  result.size = step == 1 ? length : sizes.floor_div(length + Size(step - 1), step);
  return result;
}

void slice(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  std::optional<size_t> number; // of bounds: one, unless the axes or steps say more, where only the run knows it
  if (op.version >= 10 && !op.contents(1) && op.rank(1) == 1 && !op[1].dims[0].is_constant()) {
    const auto others = op.has(3) ? op.constants_of(3) : op.has(4) ? op.constants_of(4) : std::nullopt;
    number = others ? others->size() : 1;
  }
  auto bounds = [&](const char* name, size_t input) -> Dims {
    if (op.version >= 10) return op.has(input) ? op.integers_of(input, number) : Dims();
    Dims result;
    for (int64_t v : op.integers(name, std::vector<int64_t>()))
      result.emplace_back(v);
    return result;
  };
  const Dims from = bounds("starts", 1), to = bounds("ends", 2);
  std::vector<int64_t> axes(from.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (auto given = op.version >= 10 ? (op.has(3) ? op.constants_of(3) : std::optional(axes))
                                    : std::optional(op.integers("axes", axes)))
    axes = *given;
  else
    op.refuse("its axes are known only when it runs");
  std::vector<int64_t> steps(from.size(), 1);
  if (op.version >= 10 && op.has(4)) {
    auto given = op.constants_of(4);
    if (!given) op.refuse("its steps are known only when it runs");
    steps = *given;
  }
  if (to.size() != from.size() || axes.size() != from.size() || steps.size() != from.size())
    op.refuse("its starts, ends, axes and steps differ in number");
  std::vector<std::string> subscripts(rank, ":");
  Dims dims = op[0].dims;
  std::vector<Cut> cuts(rank);
  bool all_known = true;
  for (size_t i = 0; i < from.size(); ++i) {
    const auto axis = static_cast<size_t>(op.axis(axes[i], rank));
    if (steps[i] == 0) op.refuse("it has a step of 0");
    Cut c = cut(op, op[0].dims[axis], from[i], to[i], steps[i]);
    subscripts[axis] = c.text;
    dims[axis] = c.size;
    all_known &= c.first.has_value();
    cuts[axis] = std::move(c);
  }
  if (dims == op[0].dims && std::all_of(steps.begin(), steps.end(), [](int64_t s) { return s == 1; }))
    return op.alias(0, op.value(0));
  if (const Contents* known = op.contents(0); known && all_known) {
    std::vector<int64_t> sizes = known->dims;
    std::vector<int64_t> step_of(rank, 1);
    for (size_t i = 0; i < from.size(); ++i)
      step_of[static_cast<size_t>(op.axis(axes[i], rank))] = steps[i];
    for (size_t k = 0; k < rank; ++k)
      if (cuts[k].count) sizes[k] = *cuts[k].count;
    return op.know(0, op[0].dtype, rearranged(*known, sizes, [&](std::vector<int64_t> place) {
                     for (size_t k = 0; k < rank; ++k)
                       if (cuts[k].first) place[k] = *cuts[k].first + place[k] * step_of[k];
                     return place;
                   }));
  }
  const std::string text = subscripted(op.text(0), subscripts);
  op.define(0, text, op[0].dtype, dims);
}

void split(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  const auto axis = static_cast<size_t>(op.axis(op.integer("axis", 0), rank));
  const Size n = op[0].dims[axis];
  std::vector<Size> parts;
  if (op.version >= 13 ? op.has(1) : op.attribute("split") != nullptr) {
    if (op.version >= 13)
      parts = op.integers_of(1);
    else
      for (int64_t v : op.integers("split", std::vector<int64_t>()))
        parts.emplace_back(v);
  } else {
    const auto count = static_cast<int64_t>(op.node.outputs.size());
    const Size each = n.is_constant()            ? Size((n.constant() + count - 1) / count)
                      : divide_exactly(n, count) ? *divide_exactly(n, count)
                                                 : op.in.sizes().floor_div(n + Size(count - 1), count);
    Size rest = n;
    for (int64_t i = 0; i + 1 < count; ++i) {
      parts.push_back(each);
      rest = rest - each;
    }
    parts.push_back(rest);
  }
  if (parts.size() != op.node.outputs.size()) op.refuse("its parts are not as many as its outputs");
  Size all = 0;
  for (const Size& part : parts)
    all = all + part;
  op.in.require_equal(n, all);
  const Contents* known = op.contents(0);
  Size from = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Size to = from + parts[i];
    if (op.wants(i)) {
      Dims dims = op[0].dims;
      dims[axis] = parts[i];
      if (known && from.is_constant() && parts[i].is_constant()) {
        std::vector<int64_t> sizes = known->dims;
        sizes[axis] = parts[i].constant();
        op.know(i, op[0].dtype, rearranged(*known, sizes, [&](std::vector<int64_t> place) {
                  place[axis] += from.constant();
                  return place;
                }));
      } else {
        std::vector<std::string> subscripts(rank, ":");
        subscripts[axis] = slice_text(from.is(0) ? "" : op.in.size_text(from),
                                      i + 1 == parts.size() && to == n ? "" : op.in.size_text(to), 1);
        op.define(i, subscripted(op.text(0), subscripts), op[0].dtype, dims);
      }
    }
    from = to;
  }
}

// An index tensor as i64, which tl's own subscripts take.
std::string index_text(Op& op, size_t i) {
  std::string text = op.text(i);
  if (op[i].dtype == DType::I64) return text;
  const Contents* known = op.contents(i);
  if (known && known->is_constant()) return op.in.literal(DType::I64, *known);
  return fmt::format("i64({})", text);
}

void gather(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  const int64_t axis = op.axis(op.integer("axis", 0), rank);
  const auto at = static_cast<size_t>(axis);
  const Contents *data = op.contents(0), *index = op.contents(1);
  const bool few = data && index && data->items.size() * index->items.size() <= kLargestContents;
  if (few && index->is_constant()) {
    const int64_t n = data->dims[at];
    std::vector<int64_t> sizes(data->dims.begin(), data->dims.begin() + axis);
    sizes.insert(sizes.end(), index->dims.begin(), index->dims.end());
    sizes.insert(sizes.end(), data->dims.begin() + axis + 1, data->dims.end());
    bool inside = true;
    for (const Number& item : index->items)
      inside &= item.integer() && *item.integer() >= -n && *item.integer() < n;
    if (!inside) op.refuse("an index is outside of its data");
    const size_t count = index->dims.size();
    return op.know(0, op[0].dtype, rearranged(*data, sizes, [&](const std::vector<int64_t>& place) {
                     int64_t flat = 0;
                     for (size_t k = 0; k < count; ++k)
                       flat = flat * index->dims[k] + place[at + k];
                     int64_t found = *index->items[static_cast<size_t>(flat)].integer();
                     std::vector<int64_t> source(place.begin(), place.begin() + axis);
                     source.push_back(found < 0 ? found + n : found);
                     source.insert(source.end(), place.begin() + axis + static_cast<std::ptrdiff_t>(count),
                                   place.end());
                     return source;
                   }));
  }
  Dims dims(op[0].dims.begin(), op[0].dims.begin() + axis);
  dims.insert(dims.end(), op[1].dims.begin(), op[1].dims.end());
  dims.insert(dims.end(), op[0].dims.begin() + axis + 1, op[0].dims.end());
  const std::string x = op.text(0), places = index_text(op, 1);
  if (op.rank(1) == 0) {
    std::vector<std::string> subscripts(at, ":");
    subscripts.push_back(places);
    return void(op.define(0, subscripted(x, subscripts), op[0].dtype, dims));
  }
  op.define(
      0, axis == 0 ? fmt::format("take({}, {})", x, places) : fmt::format("take({}, {}, axis = {})", x, places, axis),
      op[0].dtype, dims);
}

void gather_elements(Op& op, const Row&) {
  const int64_t axis = op.axis(op.integer("axis", 0), op.rank(0));
  const bool any_rank = op.rank(0) > 4;
  if (any_rank) op.in.use_module("onnx");
  op.define(0,
            fmt::format("{}gather_elements({}, {}, axis = {})", any_rank ? "onnx." : "", op.text(0), op.text(1), axis),
            op[0].dtype, op[1].dims);
}

void expand(Op& op, const Row&) {
  Dims wanted = op.integers_of(1);
  for (size_t i = 0; i < wanted.size() && i < op.rank(0); ++i) { // one that only the run knows may be 1
    Size& size = wanted[wanted.size() - 1 - i];
    const Size& own = op[0].dims[op.rank(0) - 1 - i];
    if (!size.is_constant() && op.in.sizes().compare(size, own, op.in.facts()) == Compare::Unknown && !own.is(1))
      size = op.in.sizes().max(own, size, op.in.facts());
  }
  Dims dims = op.in.broadcast(op[0].dims, wanted);
  if (dims == op[0].dims) return op.alias(0, op.value(0));
  if (const Contents* known = op.contents(0)) {
    if (const auto sizes = few_elements(dims)) {
      const size_t off = dims.size() - known->dims.size();
      return op.know(0, op[0].dtype, rearranged(*known, *sizes, [&](const std::vector<int64_t>& place) {
                       std::vector<int64_t> source(place.begin() + static_cast<std::ptrdiff_t>(off), place.end());
                       for (size_t k = 0; k < source.size(); ++k)
                         if (known->dims[k] == 1) source[k] = 0;
                       return source;
                     }));
    }
  }
  const std::string to = op.in.dims_text(dims), x = op.text(0);
  op.define(0, op.rank(0) == 0 ? fmt::format("full({}, {})", to, x) : fmt::format("broadcast_to({}, {})", x, to),
            op[0].dtype, dims);
}

void tile(Op& op, const Row&) {
  const Dims counts = op.integers_of(1);
  if (counts.size() != op.rank(0)) op.refuse("its repeats are not one for each axis");
  Dims dims;
  for (size_t i = 0; i < counts.size(); ++i)
    dims.push_back(op[0].dims[i] * counts[i]);
  if (dims == op[0].dims) return op.alias(0, op.value(0));
  op.define(0, fmt::format("tile({}, {})", op.text(0), op.in.dims_text(counts)), op[0].dtype, dims);
}

void pad(Op& op, const Row&) {
  const size_t rank = op.rank(0);
  Dims ends;
  if (op.version >= 11)
    ends = op.integers_of(1);
  else
    for (int64_t p : op.integers("pads", op.integers("paddings", std::vector<int64_t>())))
      ends.emplace_back(p);
  std::vector<int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (op.version >= 18 && op.has(3)) {
    auto given = op.constants_of(3);
    if (!given) op.refuse("its axes are known only when it runs");
    axes = *given;
  }
  if (ends.size() != 2 * axes.size()) op.refuse("its pads are not two for each axis");
  Dims before(rank), behind(rank);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(op.axis(axes[i], rank));
    before[axis] = ends[i];
    behind[axis] = ends[axes.size() + i];
  }
  const std::string mode = op.string("mode", "constant");
  bool cuts = false, nothing = true;
  std::vector<std::string> margins;
  Dims dims;
  for (size_t k = 0; k < rank; ++k) {
    dims.push_back(op[0].dims[k] + before[k] + behind[k]);
    nothing &= before[k].is(0) && behind[k].is(0);
    auto keeps = [&](const Size& s) { return op.in.sizes().proves_not_negative(s, op.in.facts()); };
    cuts |= !keeps(before[k]) || !keeps(behind[k]);
    margins.push_back(fmt::format("({}, {})", op.in.size_text(before[k]), op.in.size_text(behind[k])));
  }
  if (nothing) return op.alias(0, op.value(0));
  std::string value = op.version >= 11 ? (op.has(2) ? op.text(2) : "")
                                       : op.in.number_text(op[0].dtype, Number::of_real(op.real("value", 0)));
  if (op.has(2) && op.rank(2) == 1) value += "[0]";
  if (op[0].dtype == DType::Bool && value.empty()) value = "false";
  if (mode == "constant" && !cuts) {
    const std::string rest = value.empty() || value == "0.0" ? "" : fmt::format(", value = {}", value);
    return void(op.define(0, fmt::format("pad({}, [{}]{})", op.text(0), joined(margins), rest), op[0].dtype, dims));
  }
  op.in.use_module("onnx");
  std::vector<std::string> pads;
  for (const Dims* side : {&before, &behind})
    for (const Size& size : *side)
      pads.push_back(op.in.size_text(size));
  const std::string rest = value.empty() || mode != "constant" ? "" : fmt::format(", constant_value = {}", value);
  const bool known = std::all_of(ends.begin(), ends.end(), [](const Size& end) { return end.is_constant(); });
  const std::string list = known ? fmt::format("({},)", joined(pads)) : fmt::format("[{}]", joined(pads));
  op.define(0, fmt::format("onnx.pad({}, {}, mode = \"{}\"{})", op.text(0), list, mode, rest), op[0].dtype, dims);
}

// ---- making tensors

void constant(Op& op, const Row&) {
  auto known = [&](DType dtype, Contents contents) { op.know(0, dtype, std::move(contents)); };
  if (const Attribute* a = op.attribute("value"); a && a->tensor) {
    auto value = std::make_shared<Value>();
    value->name = op.node.outputs[0];
    const auto dtype = dtype_of(a->tensor->data_type);
    if (!dtype || a->tensor->has_strings)
      op.refuse(fmt::format("its elements are {}, which tl does not have", data_type_name(a->tensor->data_type)));
    value->dtype = *dtype;
    a->tensor->count();
    for (int64_t d : a->tensor->dims)
      value->dims.emplace_back(d);
    value->data = a->tensor.get();
    value->is_constant = true;
    return op.alias(0, value);
  }
  if (const Attribute* a = op.attribute("value_int"))
    return known(DType::I64, {{}, {Number::of(a->integer.value_or(0))}});
  if (const Attribute* a = op.attribute("value_float"))
    return known(DType::F32, {{}, {Number::of_real(a->real.value_or(0))}});
  if (const Attribute* a = op.attribute("value_ints")) {
    std::vector<Number> items;
    for (int64_t v : a->integers)
      items.push_back(Number::of(v));
    return known(DType::I64, vector_of(std::move(items)));
  }
  if (const Attribute* a = op.attribute("value_floats")) {
    std::vector<Number> items;
    for (float v : a->reals)
      items.push_back(Number::of_real(v));
    return known(DType::F32, vector_of(std::move(items)));
  }
  op.refuse("its value is a text, or sparse");
}

void constant_of_shape(Op& op, const Row&) {
  Dims dims = op.integers_of(0);
  DType dtype = DType::F32;
  Number value = Number::of_real(0);
  if (const Attribute* a = op.attribute("value"); a && a->tensor) {
    Value element;
    element.constant = std::make_shared<HostTensor>(load_tensor_data(op.in.model(), *a->tensor));
    if (element.constant->count() != 1) op.refuse("its value is not one element");
    element.is_constant = true;
    element.dtype = dtype = element.constant->dtype;
    const Contents* known = op.in.contents(element);
    if (!known) op.refuse("its value is an integer of more than 63 bits");
    value = known->items[0];
  }
  if (const auto sizes = few_elements(dims)) {
    const int64_t count = std::accumulate(sizes->begin(), sizes->end(), int64_t{1}, std::multiplies<>());
    return op.know(0, dtype, {*sizes, std::vector<Number>(static_cast<size_t>(count), value)});
  }
  if (op.in.block().is_constant && byte_count(dtype, dims) <= kSmallFile) { // no program is needed for that
    auto filled = std::make_shared<Value>();
    filled->name = op.node.outputs[0];
    filled->dtype = dtype;
    filled->dims = dims;
    filled->is_constant = true;
    std::vector<int64_t> sizes;
    for (const Size& d : dims)
      sizes.push_back(d.constant());
    auto tensor = std::make_shared<HostTensor>(HostTensor::make(dtype, std::move(sizes)));
    for (int64_t i = 0; i < tensor->count(); ++i)
      tensor->set(i, value.scalar(dtype));
    filled->constant = std::move(tensor);
    return op.alias(0, std::move(filled));
  }
  const std::string element = op.in.number_text(dtype, value);
  if (dtype == DType::F32 && element == "0.0")
    return void(op.define(0, fmt::format("zeros({})", op.in.dims_text(dims)), dtype, dims));
  op.define(0, fmt::format("full({}, {}, {})", op.in.dims_text(dims), element, name_of(dtype)), dtype, dims);
}

void range(Op& op, const Row&) {
  const DType dtype = op[0].dtype;
  std::vector<std::string> texts;
  std::vector<std::optional<Size>> bounds; // integers that are known
  for (size_t i = 0; i < 3; ++i) {
    const Contents* known = op.contents(i);
    if (known && known->items.size() != 1) op.refuse("its bounds and step are not one number each");
    const bool is_size = known && known->items[0].is_integer() && !is_float(dtype);
    bounds.push_back(is_size ? std::optional(known->items[0].top) : std::nullopt);
    if (is_size && dtype == DType::I64)
      texts.push_back(op.in.size_text(known->items[0].top)); // no operand
    else
      texts.push_back(op.rank(i) == 0 ? op.text(i) : fmt::format("{}[0]", op.text(i)));
  }
  const auto &from = bounds[0], &to = bounds[1], &step = bounds[2];
  if (step && step->is(0)) op.refuse("its step is 0");
  Size count = unknown_size();
  if (from && to && step && from->is_constant() && to->is_constant() && step->is_constant()) {
    const __int128 by = step->constant(), room = static_cast<__int128>(to->constant()) - from->constant();
    count = static_cast<int64_t>(std::max<__int128>(0, by > 0 ? (room + by - 1) / by : (-room - by - 1) / -by));
    if (count.constant() <= kFewPlaces) {
      std::vector<Number> items;
      for (int64_t i = 0; i < count.constant(); ++i)
        items.push_back(Number::of(from->constant() + i * step->constant()));
      return op.know(0, dtype, vector_of(std::move(items)));
    }
  } else if (from && to && step && step->is(1)) {
    count = op.in.sizes().positive(*to - *from, op.in.facts());
  }
  const std::string type = dtype == DType::I64 ? "" : fmt::format(", {}", name_of(dtype));
  const bool simple = from && from->is(0) && step && step->is(1);
  op.define(0, simple ? fmt::format("arange({}{})", texts[1], type) : fmt::format("arange({}{})", joined(texts), type),
            dtype, {count});
}

} // namespace

std::vector<Row> shape_rows() {
  return {
      {"Concat", 4, "", concat},
      {"Constant", 1, "", constant},
      {"ConstantOfShape", 9, "", constant_of_shape},
      {"Expand", 8, "", expand},
      {"Flatten", 1, "", flatten},
      {"Gather", 1, "", gather},
      {"GatherElements", 11, "", gather_elements},
      {"Pad", 2, "", pad},
      {"Range", 11, "", range},
      {"Reshape", 5, "", reshape},
      {"Shape", 1, "", shape},
      {"Size", 1, "", size},
      {"Slice", 1, "", slice},
      {"Split", 2, "", split},
      {"Squeeze", 1, "", squeeze},
      {"Tile", 6, "", tile},
      {"Transpose", 1, "", transpose},
      {"Unsqueeze", 1, "", unsqueeze},
  };
}

} // namespace tl::onnx
