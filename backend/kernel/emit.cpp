#include "backend/kernel/loops.h"
#include "ir/graph/op_info.h"
#include <fmt/format.h>
#include <stdexcept>

namespace tl::kir {

// A name may be an expression of several lines, and what is printed of a kernel has it in comments of one.
static std::string one_line(std::string name) {
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '\n' || c == '\r' || c == '\\'; }, ' ');
  return name;
}

void unsupported(const std::string& what) { throw std::logic_error("kernel lowering: " + what); }

Emitter::Emitter(const ir::Module& module, const ir::Function& function, const ir::Node& node, Kernel& kernel,
                 Target target)
    : module(module), function(function), node(node), target(target), b(kernel) {
  inside_.assign(function.values.size(), false);
  mark_inside(region());
  for (ir::ValueId v : node.operands) {
    const ir::Type& t = type(v);
    if (!t.is_tensor()) unsupported("an operand that is no tensor");
    Param param{.kind = ParamKind::Input, .dtype = t.dtype, .name = one_line(function[v].name), .count = {}};
    param.rank_0 = t.is_scalar();
    if (t.is_scalar() && t.dtype == DType::I64) param.kind = ParamKind::Size;
    if (param.name.empty()) param.name = fmt::format("a{}", kernel.params.size());
    operand_of_.emplace(v.index, static_cast<uint32_t>(kernel.params.size()));
    kernel.params.push_back(std::move(param));
  }
  for (size_t i = 0; i < node.results.size(); ++i) {
    const ir::Value& value = function[node.results[i]];
    std::string name = value.name.empty() ? function[region().yields[i]].name : value.name;
    if (name.empty()) name = fmt::format("out{}", i);
    kernel.params.push_back({.kind = ParamKind::Output, .dtype = value.type.dtype, .name = name, .count = {}});
  }
}

void Emitter::mark_inside(const ir::Region& region) {
  for (ir::ValueId v : region.params)
    inside_[v.index] = true;
  for (ir::NodeId id : region.nodes) {
    for (ir::ValueId v : function[id].results)
      inside_[v.index] = true;
    for (const ir::Region& inner : function[id].regions)
      mark_inside(inner);
  }
}

uint32_t Emitter::param_of(ir::ValueId v) const {
  auto it = operand_of_.find(v.index);
  if (it == operand_of_.end()) unsupported("a captured value that is no operand");
  return it->second;
}

uint32_t Emitter::add_workspace(ParamKind kind, DType dtype, SizeFormula count, std::string name) {
  b.kernel.params.push_back({.kind = kind, .dtype = dtype, .name = std::move(name), .count = std::move(count)});
  return static_cast<uint32_t>(b.kernel.params.size() - 1);
}

// --- sizes and offsets

ValueId Emitter::size(const ir::Dim& dim) { return dim.is_constant() ? b.i64(dim.constant) : scalar(dim.value); }

ValueId Emitter::product(std::span<const ir::Dim> dims) {
  ValueId n = b.i64(1);
  for (const ir::Dim& dim : dims)
    n = b.mul(n, size(dim));
  return n;
}

SizeFormula Emitter::formula(std::span<const ir::Dim> dims) const {
  SizeFormula f;
  int64_t constant = 1;
  for (const ir::Dim& dim : dims) {
    if (dim.is_constant()) {
      constant *= dim.constant;
      continue;
    }
    bool literal = function[dim.value].producer.valid() && producer(dim.value).op == ir::Op::Constant;
    if (literal && !operand_of_.count(dim.value.index)) {
      constant *= producer(dim.value).as<ir::ConstantAttrs>().literal.as<int64_t>();
      continue;
    }
    if (inside(dim.value)) unsupported("a size made inside the kernel");
    f.steps.push_back({SizeFormula::Op::Arg, param_of(dim.value)});
    if (f.steps.size() > 1) f.steps.push_back({SizeFormula::Op::Mul});
  }
  if (constant != 1 || f.steps.empty()) {
    f.steps.push_back({SizeFormula::Op::Const, constant});
    if (f.steps.size() > 1) f.steps.push_back({SizeFormula::Op::Mul});
  }
  return f;
}

static bool is_unit(const ir::Dim& dim) { return dim.is_constant() && dim.constant == 1; }

Index Emitter::decompose(ValueId linear, std::span<const ir::Dim> dims, const std::vector<bool>& as_one) {
  Index index(dims.size(), b.i64(0));
  std::vector<size_t> axes;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!is_unit(dims[i])) axes.push_back(i);
  auto note = [&](ValueId number, size_t first, size_t end) { // of axes[first], …
    Part part{number, {}, {}};
    for (size_t p = first; p < end; ++p) {
      part.dims.push_back(dims[axes[p]]);
      part.components.push_back(index[axes[p]]);
    }
    std::vector<Part>& parts = parts_[part.components[0].index];
    auto same = [&](const Part& other) { return other.linear == part.linear && other.components == part.components; };
    if (std::none_of(parts.begin(), parts.end(), same)) parts.push_back(std::move(part));
  };
  auto joined = [&](size_t p) { // with the one before it
    if (p == 0 || as_one.empty()) return false;
    for (size_t i = axes[p - 1]; i < axes[p]; ++i)
      if (!as_one[i]) return false;
    return true;
  };
  struct Whole {
    ValueId number;
    size_t first, end;
  };
  std::vector<Whole> numbers; // of axes that are in `index`
  ValueId rest = linear;
  for (size_t end = axes.size(); end > 0;) { // the axes before `end` have the number `rest`
    size_t first = end - 1;
    std::vector<ir::Dim> range{dims[axes[first]]};
    for (; joined(first); --first)
      range.insert(range.begin(), dims[axes[first - 1]]);
    if (end > 1) numbers.push_back({rest, 0, end});
    ValueId inside = first == 0 ? rest : b.urem(rest, product(range));
    if (first > 0) rest = b.udiv(rest, product(range));
    for (size_t p = end; p-- > first; inside = b.udiv(inside, size(dims[axes[p]]))) {
      if (p > first) numbers.push_back({inside, first, p + 1});
      index[axes[p]] = p == first ? inside : b.urem(inside, size(dims[axes[p]]));
      if (p == first) break;
    }
    end = first;
  }
  for (const Whole& whole : numbers)
    note(whole.number, whole.first, whole.end);
  return index;
}

ValueId Emitter::linearise(std::span<const ValueId> index, std::span<const ir::Dim> dims) {
  Index values;
  std::vector<ir::Dim> sizes;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!is_unit(dims[i])) {
      values.push_back(index[i]);
      sizes.push_back(dims[i]);
    }
  ValueId offset = b.i64(0);
  for (size_t i = 0; i < values.size();) {
    const Part* best = nullptr;
    ValueId more; // what is added to the first of the components
    auto look = [&](ValueId first, ValueId added) {
      auto it = parts_.find(first.index);
      if (it == parts_.end()) return;
      for (const Part& part : it->second) {
        size_t m = part.components.size();
        if (i + m > values.size() || (best && best->components.size() >= m)) continue;
        bool match = true;
        for (size_t t = 1; t < m; ++t)
          match &= values[i + t] == part.components[t] && sizes[i + t] == part.dims[t];
        if (match) best = &part, more = added;
      }
    };
    look(values[i], {});
    if (!best && i + 1 < values.size())
      if (const Instr* sum = b.definition(values[i]); sum && sum->op == KOp::Add)
        for (size_t side = 0; side < 2; ++side)
          look(sum->operands[side], sum->operands[1 - side]);
    size_t count = best ? best->components.size() : 1;
    ValueId group = best ? best->linear : values[i];
    if (more.valid()) group = b.add(group, b.mul(more, product(std::span(sizes).subspan(i + 1, count - 1))));
    if (i) offset = b.mul(offset, product(std::span(sizes).subspan(i, count)));
    offset = b.add(offset, group);
    i += count;
  }
  return offset;
}

Monomial monomial(std::span<const ir::Dim> dims) {
  Monomial m;
  for (const ir::Dim& dim : dims) {
    if (dim.is_constant())
      m.factor *= dim.constant;
    else
      m.values.push_back(dim.value.index);
  }
  std::sort(m.values.begin(), m.values.end());
  return m;
}

Monomial times(const Monomial& a, const Monomial& b) {
  Monomial m{a.factor * b.factor, a.values};
  m.values.insert(m.values.end(), b.values.begin(), b.values.end());
  std::sort(m.values.begin(), m.values.end());
  return m;
}

static bool divides(const Monomial& a, const Monomial& b) {
  return a.factor != 0 && b.factor % a.factor == 0 &&
         std::includes(b.values.begin(), b.values.end(), a.values.begin(), a.values.end());
}

// Cuts both lists of sizes into blocks of equal products, as small as can be seen, and renumbers within each.
Index Emitter::reshape_index(std::span<const ir::Dim> from, std::span<const ir::Dim> to, const Index& index) {
  Index result(from.size(), b.i64(0));
  size_t i = 0, j = 0; // in `to` and `from`
  auto skip_units = [&] {
    while (i < to.size() && is_unit(to[i]))
      ++i;
    while (j < from.size() && is_unit(from[j]))
      ++j;
  };
  for (skip_units(); i < to.size() && j < from.size(); skip_units()) {
    size_t i2 = i + 1, j2 = j + 1;
    while (true) {
      Monomial a = monomial(to.subspan(i, i2 - i)), c = monomial(from.subspan(j, j2 - j));
      if (a == c) break;
      if (divides(a, c) && i2 < to.size())
        ++i2;
      else if (divides(c, a) && j2 < from.size())
        ++j2;
      else {
        i2 = to.size();
        j2 = from.size();
        break;
      }
    }
    if (i2 == i + 1 && j2 == j + 1)
      result[j] = index[i];
    else {
      ValueId linear = linearise(std::span(index).subspan(i, i2 - i), to.subspan(i, i2 - i));
      Index part = decompose(linear, from.subspan(j, j2 - j));
      std::copy(part.begin(), part.end(), result.begin() + static_cast<ptrdiff_t>(j));
    }
    i = i2;
    j = j2;
  }
  return result;
}

// --- dependencies

static void unite(std::vector<uint32_t>& into, const std::vector<uint32_t>& more) {
  std::vector<uint32_t> result;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(result));
  into = std::move(result);
}

const std::vector<uint32_t>& Emitter::dependencies(ir::ValueId v) {
  static const std::vector<uint32_t> none;
  if (!inside(v)) return none;
  if (function[v].producer.valid()) return dependencies(function[v].producer);
  own_.assign(1, v.index);
  return own_;
}

const std::vector<uint32_t>& Emitter::dependencies(ir::NodeId id) {
  auto it = dependencies_.find(id.index);
  if (it != dependencies_.end()) return it->second;
  const ir::Node& n = function[id];
  std::vector<uint32_t> all;
  auto use = [&](ir::ValueId v) { unite(all, std::vector<uint32_t>(dependencies(v))); };
  auto use_type = [&](ir::ValueId v) {
    for (const ir::Dim& dim : type(v).dims)
      if (!dim.is_constant()) use(dim.value);
  };
  for (ir::ValueId v : n.operands) {
    use(v);
    use_type(v);
  }
  for (ir::ValueId v : n.results)
    use_type(v);
  for (const ir::Region& r : n.regions) {
    std::vector<uint32_t> own;
    for (ir::ValueId v : r.params)
      own.push_back(v.index);
    std::sort(own.begin(), own.end());
    std::vector<uint32_t> inner;
    std::swap(inner, all);
    for (ir::NodeId nested : r.nodes)
      unite(all, std::vector<uint32_t>(dependencies(nested)));
    for (ir::ValueId v : r.yields)
      use(v);
    std::vector<uint32_t> outer;
    std::set_difference(all.begin(), all.end(), own.begin(), own.end(), std::back_inserter(outer));
    all = std::move(inner);
    unite(all, outer);
  }
  return dependencies_[id.index] = std::move(all);
}

MemoKey Emitter::memo_key(ir::ValueId v, const Index& index) {
  MemoKey key{10, v.index};
  for (ValueId i : index)
    key.push_back(i.index);
  for (uint32_t param : dependencies(v)) {
    auto it = bound.find(param);
    key.push_back(it == bound.end() ? UINT64_MAX : it->second.index);
  }
  return key;
}

int Emitter::natural_level(ir::ValueId v, const Index& index) {
  int level = 0;
  for (ValueId i : index)
    level = std::max(level, b.level(i));
  for (uint32_t param : dependencies(v)) {
    auto it = bound.find(param);
    if (it != bound.end()) level = std::max(level, b.level(it->second));
  }
  return level;
}

// --- values

LocId Emitter::place_of(ir::ValueId v) const {
  return inside(v) && function[v].producer.valid() ? producer(v).loc : LocId{};
}

ValueId Emitter::pull(ir::ValueId v, const Index& index) {
  if (auto it = bound.find(v.index); it != bound.end()) return it->second;
  if (auto it = known.find(v.index); it != known.end()) {
    if (it->second.index == index) return it->second.value;
    if (!it->second.elsewhere) unsupported("a value is read at another index than the kernel computes it at");
  }
  MemoKey key = memo_key(v, index);
  if (auto found = b.find(key)) return *found;
  Builder::At here(b, place_of(v));
  ValueId value = compute(v, index);
  bool is_guard = inside(v) && function[v].producer.valid() && producer(v).op == ir::Op::Guard;
  if (!is_guard) b.remember(b.level(value), std::move(key), value);
  return value;
}

bool Emitter::holds(const Buffer& buffer, const Index& index) const {
  auto same = [&](ValueId x, ValueId y) {
    const auto constant = b.constant_of(x);
    return x == y || (constant && constant == b.constant_of(y));
  };
  return std::equal(buffer.where.begin(), buffer.where.end(), index.begin(), same);
}

bool Emitter::keeps_in_range(const ir::Node& guard) const {
  const ir::ValueId value = guard.operands[0];
  if (type(value).dtype != DType::I64) return false;
  if (!function[value].producer.valid() || producer(value).op != ir::Op::Constant) return true;
  return producer(value).as<ir::ConstantAttrs>().literal.as<int64_t>() != 0;
}

ValueId Emitter::captured(ir::ValueId v, const Index& index) {
  // A constant size of an operand need not be an operand.
  if (!operand_of_.count(v.index) && function[v].producer.valid() && producer(v).op == ir::Op::Constant)
    return literal(b, type(v).dtype, producer(v).as<ir::ConstantAttrs>().literal);
  uint32_t param = param_of(v);
  const ir::Type& t = type(v);
  if (b.kernel.params[param].kind == ParamKind::Size) return b.arg(param);
  if (load_from)
    if (auto value = load_from(v, index)) return *value;
  return b.load(param, linearise(index, t.dims), t.is_scalar() || !loads_stay);
}

ValueId Emitter::buffer_offset(const Buffer& buffer, ir::ValueId v, const Index& index) {
  ValueId offset = linearise(std::span(index).subspan(buffer.skip), std::span(type(v).dims).subspan(buffer.skip));
  if (buffer.apart != 1) offset = b.mul(offset, b.i64(buffer.apart));
  return buffer.base.valid() ? b.add(buffer.base, offset) : offset;
}

ValueId Emitter::compute(ir::ValueId v, const Index& index) {
  using ir::Op;
  if (auto it = buffers.find(v.index); it != buffers.end() && holds(it->second, index))
    return b.load(it->second.param, buffer_offset(it->second, v, index), it->second.stable);
  if (auto it = memory.find(v.index); it != memory.end())
    return b.load(it->second, linearise(index, type(v).dims), false);
  if (!inside(v)) return captured(v, index);
  if (!function[v].producer.valid()) unsupported("a parameter of a region without a value");
  ir::NodeId id = function[v].producer;
  const ir::Node& n = function[id];
  DType dtype = type(v).dtype;
  switch (n.op) {
  case Op::Constant: return literal(b, dtype, n.as<ir::ConstantAttrs>().literal);
  case Op::Iota: return index[0];
  case Op::Elementwise: {
    std::vector<ValueId> operands;
    for (ir::ValueId o : n.operands)
      operands.push_back(pull(o, type(o).is_scalar() ? Index{} : index));
    const ScalarOp op = n.as<ir::ElementwiseAttrs>().op;
    ir::ValueId typed = n.operands[op == ScalarOp::Where ? 1 : 0];
    return expand(b, op, type(typed).dtype, operands);
  }
  case Op::Convert: return convert(b, type(n.operands[0]).dtype, dtype, pull(n.operands[0], index));
  case Op::Broadcast:
  case Op::Reshape:
  case Op::Transpose:
  case Op::Slice:
  case Op::Index:
  case Op::Gather: return view(n, index);
  case Op::Pad: return pad(n, index);
  case Op::Concat: return concat(n, id, index);
  case Op::Reduce: return reduce(n, index);
  case Op::Contract: return contract(n, index);
  case Op::Map: return map_element(n, function[v].result, index);
  case Op::Scan: return scan_element(n, index);
  case Op::Update: return update_element(n, index);
  case Op::If: return conditional(n, function[v].result, index);
  case Op::For:
  case Op::While: return loop_result(n, function[v].result);
  case Op::Guard: {
    const ir::Type& condition = type(n.operands[1]);
    bool scalar_condition = condition.is_scalar();
    bool apart = (checked_apart && element_.empty()) || checked.contains(&n);
    Index at = scalar_condition ? Index{} : index;
    if (!scalar_condition && condition.dims != type(v).dims) {
      if (!apart) unsupported("a Guard whose condition has other sizes than its value");
      return pull(n.operands[0], index);
    }
    if (apart && !keeps_in_range(n)) return pull(n.operands[0], index);
    ValueId ok = apart ? pull(n.operands[1], at) : guard(n, at);
    ValueId value = pull(n.operands[0], index);
    return dtype == DType::I64 ? b.select(ok, value, b.i64(0)) : value;
  }
  case Op::Await: return pull(n.operands[0], index);
  default: unsupported(fmt::format("{} inside a kernel", ir::name_of(n.op)));
  }
}

ValueId Emitter::guard(const ir::Node& n, const Index& index) {
  Builder::At here(b, n.loc);
  ValueId ok = pull(n.operands[1], index);
  ValueId payload[2] = {b.i64(0), b.i64(0)};
  for (size_t i = 0; i + 2 < n.operands.size() && i < 2; ++i) {
    ir::ValueId p = n.operands[i + 2];
    payload[i] = pull(p, type(p).is_scalar() ? Index{} : index);
  }
  ValueId element = index.empty() ? element_number() : linearise(index, type(n.operands[1]).dims);
  b.check(static_cast<int32_t>(n.as<ir::SiteAttrs>().site), ok, element, payload[0], payload[1]);
  return ok;
}

ValueId Emitter::element_number() { return element_.empty() ? b.i64(0) : element_.back(); }

ValueId Emitter::map_element(const ir::Node& n, uint32_t result, const Index& index) {
  const ir::Region& body = n.regions[0];
  std::vector<std::pair<uint32_t, std::optional<ValueId>>> saved;
  for (size_t i = 0; i < body.params.size(); ++i) {
    uint32_t param = body.params[i].index;
    auto it = bound.find(param);
    saved.emplace_back(param, it == bound.end() ? std::nullopt : std::optional(it->second));
    bound[param] = index[i];
  }
  const std::vector<ir::Dim>& dims = type(n.results[result]).dims;
  ValueId number = linearise(index, dims);
  if (!element_.empty()) number = b.add(b.mul(element_.back(), product(dims)), number);
  element_.push_back(number);
  ValueId value = scalar(body.yields[result]);
  element_.pop_back();
  for (auto& [param, before] : saved) {
    if (before)
      bound[param] = *before;
    else
      bound.erase(param);
  }
  return value;
}

std::vector<ir::Dim> Emitter::folded_dims(const ir::Node& n) const {
  std::vector<ir::Dim> dims;
  for (int64_t axis : n.as<ir::ReduceAttrs>().axes)
    dims.push_back(type(n.operands[0]).dims[static_cast<size_t>(axis)]);
  return dims;
}

Index Emitter::folded_index(const ir::Node& n, const Index& kept, ValueId k) {
  const std::vector<int64_t>& axes = n.as<ir::ReduceAttrs>().axes;
  // Axes beside each other are one stretch of memory: their number is cut into indices only where it has to be.
  std::vector<ir::Dim> dims = folded_dims(n);
  Index parts(dims.size());
  for (size_t end = dims.size(); end > 0;) {
    size_t first = end - 1;
    while (first > 0 && axes[first - 1] + 1 == axes[first])
      --first;
    std::span<const ir::Dim> group = std::span(dims).subspan(first, end - first);
    ValueId number = first == 0 ? k : b.urem(k, product(group));
    std::vector<bool> as_one;
    for (size_t i = first; i + 1 < end; ++i)
      as_one.push_back(std::all_of(n.operands.begin(), n.operands.end(), [&](ir::ValueId operand) {
        return lies_as_one(operand, static_cast<size_t>(axes[i]));
      }));
    Index of_group = decompose(number, group, as_one);
    std::copy(of_group.begin(), of_group.end(), parts.begin() + static_cast<ptrdiff_t>(first));
    if (first > 0) k = b.udiv(k, product(group));
    end = first;
  }
  return with_folded(n, kept, parts);
}

Index Emitter::with_folded(const ir::Node& n, const Index& kept, const Index& folded) const {
  const std::vector<int64_t>& axes = n.as<ir::ReduceAttrs>().axes;
  Index full(type(n.operands[0]).dims.size());
  size_t next_kept = 0, next_folded = 0;
  for (size_t axis = 0; axis < full.size(); ++axis) {
    bool is_folded = std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
    full[axis] = is_folded ? folded[next_folded++] : kept[next_kept++];
  }
  return full;
}

// Whether an operand, of bools, of a Reduce is true anywhere.
ValueId Emitter::any_element(const ir::Node& n, size_t operand, const Index& index) {
  const ValueId count = product(folded_dims(n));
  const bool lanes = !b.in_lanes();
  ValueId k = b.open({DType::I64})[0];
  if (lanes) b.run_in_lanes();
  ValueId element = pull(n.operands[operand], folded_index(n, index, k));
  Block block = b.close({element});
  if (!lanes || !is_nonuniform(block, k)) {
    Instr any = make(KOp::Reduce, {count});
    any.reduce = ReduceOp::Any;
    any.dtype = DType::Bool;
    any.blocks.push_back(std::move(block));
    return b.append(std::move(any), {DType::Bool})[0];
  }
  // Inner loops have bounds of their own: one element after the other.
  Instr loop = make(KOp::For, {b.i64(0), count, b.i64(1), b.constant(DType::Bool, Scalar{})});
  std::vector<ValueId> params = b.open({DType::I64, DType::Bool});
  element = pull(n.operands[operand], folded_index(n, index, params[0]));
  loop.blocks.push_back(b.close({b.pure(KOp::Or, DType::Bool, {params[1], element})}));
  return b.append(std::move(loop), {DType::Bool})[0];
}

ValueId Emitter::unmasked_zero(const ir::Node& n, const Index& index, ValueId sum) {
  DType dtype = b.type(sum);
  if (n.operands.size() < 2 || n.as<ir::ReduceAttrs>().op != ReduceOp::Sum || !is_float(dtype)) return sum;
  ValueId zero = b.constant(dtype, Scalar{});
  return branch(
      b.eq(sum, zero), dtype, [&] { return b.select(any_element(n, 1, index), sum, zero); }, [&] { return sum; });
}

ValueId Emitter::contract(const ir::Node& n, const Index& index) {
  return at_level_of(n.results[0], index, [&] {
    const std::vector<ir::Dim>& a_dims = type(n.operands[0]).dims;
    const std::vector<ir::Dim>& b_dims = type(n.operands[1]).dims;
    const auto& [lhs, rhs, kept] = n.as<ir::ContractAttrs>();
    std::map<int64_t, ir::Dim> summed; // by label, ascending
    for (size_t i = 0; i < lhs.size(); ++i)
      summed.emplace(lhs[i], a_dims[i]);
    for (size_t i = 0; i < rhs.size(); ++i)
      summed.emplace(rhs[i], b_dims[i]);
    std::map<int64_t, ValueId> at;
    for (size_t i = 0; i < kept.size(); ++i) {
      summed.erase(kept[i]);
      at[kept[i]] = index[i];
    }
    std::vector<ir::Dim> dims;
    for (auto& [label, dim] : summed)
      dims.push_back(dim);
    DType dtype = value_type(type(n.operands[0]).dtype);
    Instr instr = make(KOp::Contract, {product(dims)});
    instr.dtype = dtype;
    ValueId k = b.open({DType::I64})[0];
    Index parts = decompose(k, dims);
    size_t next = 0;
    for (auto& [label, dim] : summed)
      at[label] = parts[next++];
    Index a_index, b_index;
    for (int64_t label : lhs)
      a_index.push_back(at[label]);
    for (int64_t label : rhs)
      b_index.push_back(at[label]);
    ValueId a_value = pull(n.operands[0], a_index), b_value = pull(n.operands[1], b_index);
    instr.blocks.push_back(b.close({a_value, b_value}));
    ValueId result = b.append(std::move(instr), {dtype})[0];
    return round_to(b, type(n.results[0]).dtype, result);
  });
}

ValueId Emitter::conditional(const ir::Node& n, uint32_t result, const Index& index) {
  ir::ValueId v = n.results[result];
  return at_level_of(v, index, [&] {
    ValueId condition = scalar(n.operands[0]);
    if (!index.empty())
      return branch(
          condition, value_type(type(v).dtype), [&] { return pull(n.regions[0].yields[result], index); },
          [&] { return pull(n.regions[1].yields[result], index); });
    // All scalar results at once: the other ones will be asked for too.
    std::vector<uint32_t> scalars;
    std::vector<DType> types;
    for (uint32_t i = 0; i < n.results.size(); ++i)
      if (type(n.results[i]).is_scalar()) {
        scalars.push_back(i);
        types.push_back(value_type(type(n.results[i]).dtype));
      }
    std::vector<ValueId> results;
    if (auto constant = b.constant_of(condition)) {
      for (uint32_t i : scalars)
        results.push_back(scalar(n.regions[*constant ? 0 : 1].yields[i]));
    } else {
      Instr instr = make(KOp::If, {condition});
      for (const ir::Region& r : n.regions) {
        b.open({}, true);
        std::vector<ValueId> yields;
        for (uint32_t i : scalars)
          yields.push_back(scalar(r.yields[i]));
        instr.blocks.push_back(b.close(std::move(yields)));
      }
      results = b.append(std::move(instr), types);
    }
    ValueId wanted;
    for (size_t i = 0; i < scalars.size(); ++i) {
      b.remember(b.level(results[i]), memo_key(n.results[scalars[i]], {}), results[i]);
      if (scalars[i] == result) wanted = results[i];
    }
    return wanted;
  });
}

ValueId Emitter::loop_result(const ir::Node& n, uint32_t result) {
  bool counted = n.op == ir::Op::For;
  size_t fixed = counted ? 3 : 0;
  return at_level_of(n.results[result], {}, [&] {
    std::vector<ValueId> operands;
    std::vector<DType> carried;
    for (ir::ValueId v : n.operands) {
      if (!type(v).is_scalar()) unsupported("a loop over tensors inside an element");
      operands.push_back(scalar(v));
    }
    for (size_t i = fixed; i < operands.size(); ++i)
      carried.push_back(b.type(operands[i]));
    Instr instr = make(counted ? KOp::For : KOp::While, operands);
    for (const ir::Region& r : n.regions) {
      std::vector<DType> params = carried;
      if (counted) params.insert(params.begin(), DType::I64);
      std::vector<ValueId> ids = b.open(params, true); // it may not run at all
      for (size_t i = 0; i < ids.size(); ++i)
        bound[r.params[i].index] = ids[i];
      std::vector<ValueId> yields;
      for (ir::ValueId v : r.yields)
        yields.push_back(scalar(v));
      instr.blocks.push_back(b.close(std::move(yields)));
      for (ir::ValueId v : r.params)
        bound.erase(v.index);
    }
    std::vector<ValueId> results = b.append(std::move(instr), carried);
    for (size_t i = 0; i < results.size(); ++i)
      b.remember(b.level(results[i]), memo_key(n.results[i], {}), results[i]);
    return results[result];
  });
}

} // namespace tl::kir
