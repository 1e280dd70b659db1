// Running folds along one axis, in the order of scans (abi/orders.h).
//
// Along the last axis a row is cut into nodes of kScanNode elements, which are chunks of kScanChunk:
//   totals    tile = a node of a row; the fold of all of it
//   offsets   tile = a row; what comes before each node
//   results   tile = a node; chunk by chunk: the elements as one vector loop, then chains in their segments side by
//             side, then what comes before a segment is added to it
// A row of one node needs the last phase alone, and rows of a few segments are a chunk together. Along another axis a
// tile is a block of columns, row after row; where there are few columns, vectors of them go along the axis by
// themselves, with all that they carry in registers.
#include "backend/kernel/forms.h"
#include "backend/kernel/scalar.h"

namespace tl::kir {
namespace {

constexpr int64_t kScanChunk = kScanRadix * kScanRadix, kScanNode = kScanRadix * kScanChunk;
constexpr int64_t kColumns = 512; // of one tile
constexpr int64_t kAtOnce = 8;    // chains of one loop: each waits for itself
constexpr int64_t kBrief = 8;     // segments or elements, at most, that are not worth to be transposed
constexpr int64_t kNarrow = 32;   // columns, at most, whose state is in registers

using Values = std::vector<ValueId>;

// The steps of the order of scans, as instructions.
class Order {
public:
  Order(Builder& b, ReduceOp op, DType type)
      : acc(value_type(type)), total_type(tl::total_type(op, acc)), b_(b), op_(op), type_(type) {}

  const DType acc, total_type;

  ValueId fold(ValueId x, ValueId y) { return combine(b_, op_, type_, x, y); }
  ValueId total(ValueId x, ValueId y) { return combine(b_, op_, total_type, x, y); }
  ValueId widen(ValueId x) { return convert(b_, type_, total_type, x); }
  ValueId narrow(ValueId x) { return convert(b_, total_type, type_, x); }
  ValueId none() { return b_.constant(total_type, identity_of(op_, total_type)); }
  ValueId multiple(ValueId k, int64_t of) { return b_.eq(b_.urem(k, b_.i64(of)), b_.i64(0)); }

  // The levels after a segment that ends with `last`, the `number`th (from 1), or after any child.
  Values after_segment(Values levels, ValueId last, ValueId number) {
    return after_child(std::move(levels), widen(last), number);
  }
  Values after_child(Values levels, ValueId child, ValueId number) {
    levels[0] = total(levels[0], child);
    int64_t every = kScanRadix;
    for (size_t level = 0; level + 1 < levels.size(); ++level, every *= kScanRadix) {
      ValueId full = multiple(number, every);
      levels[level + 1] = b_.select(full, total(levels[level + 1], levels[level]), levels[level + 1]);
      levels[level] = b_.select(full, none(), levels[level]);
    }
    return levels;
  }
  // What comes before a segment.
  ValueId offset(const Values& levels) {
    ValueId offset = levels.back();
    for (size_t level = levels.size() - 1; level-- > 0;)
      offset = total(offset, levels[level]);
    return offset;
  }

  // for k in [lo, hi) with carried values
  Values carry(ValueId lo, ValueId hi, const Values& init, const std::function<Values(ValueId, const Values&)>& body) {
    Instr loop = make(KOp::For, {lo, hi, b_.i64(1)});
    std::vector<DType> types, params{DType::I64};
    for (ValueId v : init) {
      loop.operands.push_back(v);
      types.push_back(b_.type(v));
      params.push_back(b_.type(v));
    }
    std::vector<ValueId> p = b_.open(params);
    loop.blocks.push_back(b_.close(body(p[0], {p.begin() + 1, p.end()})));
    return b_.append(std::move(loop), types);
  }

private:
  Builder& b_;
  ReduceOp op_;
  DType type_;
};

class Scan {
public:
  Scan(Emitter& e, bool vector)
      : e_(e), vector_(vector), b_(e.b), n_(e.producer(e.region().yields[0])), type_(e.type(n_.results[0])),
        order_(b_, n_.as<ir::ScanAttrs>().op, type_.dtype) {
    auto axis = static_cast<size_t>(n_.as<ir::ScanAttrs>().axis);
    std::span<const ir::Dim> dims = type_.dims;
    before_.assign(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(axis));
    after_.assign(dims.begin() + static_cast<ptrdiff_t>(axis) + 1, dims.end());
    length_ = dims[axis];
    out_ = e.output_param(0);
  }

  void run() {
    if (e_.target != Target::Cpu) return after_.empty() ? rows_on_gpu() : columns_on_gpu();
    if (!after_.empty()) return columns();
    // Of an axis whose length is known when the kernel runs, the phases for other lengths have no tiles.
    const SizeFormula length = e_.formula(std::vector{length_}), rows = e_.formula(before_);
    const SizeFormula is_brief = is_at_most(length, kBrief), is_short = is_at_most(length, kBrief * kScanRadix);
    const SizeFormula is_node = is_at_most(length, kScanNode);
    if (length_.is_constant()) {
      if (length_.constant <= kBrief) return brief_rows(rows);
      if (length_.constant <= kBrief * kScanRadix) return short_rows(SizeFormula::constant(1));
      if (length_.constant <= kScanNode) return rows_of_a_node(rows);
      return long_rows(rows);
    }
    brief_rows(times(rows, is_brief));
    short_rows(minus(is_short, is_brief));
    rows_of_a_node(times(rows, minus(is_node, is_short)));
    long_rows(times(rows, minus(SizeFormula::constant(1), is_node)));
  }

private:
  // --- elements
  ValueId element(const Index& prefix, ValueId k, const Index& rest) {
    return e_.pull(n_.operands[0], full_index(prefix, k, rest));
  }
  Index full_index(const Index& prefix, ValueId k, const Index& rest) {
    Index full = prefix;
    full.push_back(k);
    full.insert(full.end(), rest.begin(), rest.end());
    return full;
  }

  // --- along the last axis
  void brief_rows(const SizeFormula& count) {
    phase(
        e_, count,
        [&](ValueId tile) {
          Index prefix = e_.decompose(tile, before_);
          order_.carry(b_.i64(0), e_.size(length_), {b_.constant(order_.acc, Scalar{})},
                       [&](ValueId k, const Values& last) -> Values {
                         ValueId v = element(prefix, k, {});
                         ValueId result = b_.select(b_.eq(k, b_.i64(0)), v, order_.fold(last[0], v));
                         b_.store(out_, e_.linearise(full_index(prefix, k, {}), type_.dims), result);
                         return {result};
                       });
        },
        e_.formula(std::vector{length_}));
  }

  // Rows of a few segments, as many as a chunk holds. `is_any`: 1 or 0: are there any?
  void short_rows(const SizeFormula& is_any) {
    const SizeFormula all = SizeFormula::constant(kScanRadix), length = e_.formula(std::vector{length_});
    const SizeFormula together = at_least_one(floor_div(all, at_least_one(ceil_div(length, all))));
    phase(
        e_, times(ceil_div(e_.formula(before_), together), is_any),
        [&](ValueId tile) {
          const ValueId n = e_.size(length_), zero = b_.i64(0), one = b_.i64(1), radix = b_.i64(kScanRadix);
          const ValueId segments = b_.udiv(b_.add(n, b_.i64(kScanRadix - 1)), radix), pitch = b_.mul(segments, radix);
          const ValueId at_once = b_.max(b_.udiv(radix, b_.max(segments, one)), one), first = b_.mul(tile, at_once);
          const ValueId count = b_.min(at_once, b_.sub(e_.product(before_), first));
          auto each = [&](const std::function<void(const Index& prefix, ValueId begin)>& body) {
            e_.serial_loop(zero, count,
                           [&](ValueId row) { body(e_.decompose(b_.add(first, row), before_), b_.mul(row, pitch)); });
          };
          each([&](const Index& prefix, ValueId begin) {
            e_.loop(zero, n, vector_, [&](ValueId k) { b_.store(buffer(), b_.add(begin, k), element(prefix, k, {})); });
          });
          chains(b_.mul(count, segments), b_.min(n, radix));
          each([&](const Index& prefix, ValueId begin) { chunk_results(prefix, zero, n, begin, order_.none()); });
        },
        times(together, length));
  }

  uint32_t buffer() { return make_buffer(buffer_, "chunk"); }
  uint32_t across() { return make_buffer(across_, "across"); }
  uint32_t make_buffer(std::optional<uint32_t>& param, const char* name) {
    const SizeFormula size = SizeFormula::constant(kScanChunk + kTransposeSlack);
    if (!param) param = e_.add_workspace(ParamKind::Local, order_.acc, size, name);
    return *param;
  }

  void rows_of_a_node(const SizeFormula& count) {
    phase(
        e_, count, [&](ValueId row) { node(row, b_.i64(0), e_.size(length_), order_.none(), true); },
        e_.formula(std::vector{length_}));
  }

  void long_rows(const SizeFormula& row_count) {
    SizeFormula work = e_.formula(std::vector{length_});
    SizeFormula nodes = at_least_one(ceil_div(e_.formula(std::vector{length_}), SizeFormula::constant(kScanNode)));
    SizeFormula all = times(row_count, nodes);
    uint32_t totals = e_.add_workspace(ParamKind::Shared, order_.total_type, all, "totals");
    uint32_t offsets = e_.add_workspace(ParamKind::Shared, order_.total_type, all, "offsets");
    auto node_count = [&] {
      ValueId n = b_.udiv(b_.add(e_.size(length_), b_.i64(kScanNode - 1)), b_.i64(kScanNode));
      return b_.max(n, b_.i64(1));
    };
    auto place = [&](ValueId tile, const std::function<void(ValueId row, ValueId begin, ValueId end)>& body) {
      ValueId count = node_count();
      ValueId begin = b_.mul(b_.urem(tile, count), b_.i64(kScanNode));
      body(b_.udiv(tile, count), begin, b_.min(b_.add(begin, b_.i64(kScanNode)), e_.size(length_)));
    };
    phase(
        e_, all,
        [&](ValueId tile) {
          place(tile, [&](ValueId row, ValueId begin, ValueId end) { // of the last node of a row nobody needs it
            ValueId is_last = b_.eq(end, e_.size(length_));
            b_.store(totals, tile, node(row, begin, b_.select(is_last, begin, end), order_.none(), false));
          });
        },
        work);
    phase(
        e_, row_count,
        [&](ValueId row) {
          ValueId count = node_count(), first = b_.mul(row, count);
          order_.carry(b_.i64(0), count, {order_.none(), order_.none()},
                       [&](ValueId t, const Values& levels) -> Values {
                         ValueId at = b_.add(first, t), next = b_.add(t, b_.i64(1));
                         b_.store(offsets, at, order_.total(levels[0], levels[1]));
                         ValueId folded = order_.total(levels[1], b_.load(totals, at, false));
                         ValueId full = order_.multiple(next, kScanRadix);
                         return {b_.select(full, order_.total(levels[0], folded), levels[0]),
                                 b_.select(full, order_.none(), folded)};
                       });
        },
        nodes);
    phase(
        e_, all,
        [&](ValueId tile) {
          place(tile, [&](ValueId row, ValueId begin, ValueId end) {
            node(row, begin, end, b_.load(offsets, tile, false), true);
          });
        },
        work);
  }

  // The elements [begin, end) of a row, a node or less, where `offset` comes before. Gives the fold of all of them.
  ValueId node(ValueId row, ValueId begin, ValueId end, ValueId offset, bool with_results) {
    Index prefix = e_.decompose(row, before_);
    ValueId length = b_.sub(end, begin), zero = b_.i64(0);
    ValueId chunks = b_.udiv(b_.add(length, b_.i64(kScanChunk - 1)), b_.i64(kScanChunk));
    return order_.carry(zero, chunks, {order_.none()}, [&](ValueId c, const Values& level) -> Values {
      ValueId first = b_.add(begin, b_.mul(c, b_.i64(kScanChunk)));
      ValueId count = b_.min(b_.sub(end, first), b_.i64(kScanChunk));
      e_.loop(zero, count, vector_, [&](ValueId k) { b_.store(buffer(), k, element(prefix, b_.add(first, k), {})); });
      ValueId segments = b_.udiv(b_.add(count, b_.i64(kScanRadix - 1)), b_.i64(kScanRadix));
      fold_segments(count, segments);
      ValueId before = order_.total(offset, level[0]);
      return {order_.total(level[0], chunk_results(prefix, first, count, zero, before, with_results))};
    })[0];
  }

  // Of so many elements of a row, whose segments are folded from `begin` of the buffer on: what comes before each
  // segment is added. Gives the fold of all of them.
  ValueId chunk_results(const Index& prefix, ValueId first, ValueId count, ValueId begin, ValueId before,
                        bool with_results = true) {
    const ValueId radix = b_.i64(kScanRadix), zero = b_.i64(0);
    const ValueId segments = b_.udiv(b_.add(count, b_.i64(kScanRadix - 1)), radix);
    return order_.carry(zero, segments, {order_.none()}, [&](ValueId s, const Values& inner) -> Values {
      const ValueId from = b_.mul(s, radix), to = b_.min(b_.add(from, radix), count);
      auto folded = [&](ValueId k) { return order_.widen(b_.load(buffer(), b_.add(begin, k), false)); };
      if (with_results) {
        const ValueId here = order_.total(before, inner[0]);
        e_.vector_loop(from, to, [&](ValueId k) {
          const ValueId result = order_.narrow(order_.total(here, folded(k)));
          b_.store(out_, e_.linearise(full_index(prefix, b_.add(first, k), {}), type_.dims), result);
        });
      }
      return {order_.total(inner[0], folded(b_.sub(to, b_.i64(1))))};
    })[0];
  }

  // Each segment of the buffer becomes its running fold: many side by side, few one after the other.
  void fold_segments(ValueId count, ValueId segments) {
    const ValueId zero = b_.i64(0), one = b_.i64(1), radix = b_.i64(kScanRadix);
    ValueId done = zero;
    if (size_of(order_.acc) <= 4) {
      const ValueId are_many = b_.select(b_.le(segments, b_.i64(kBrief)), zero, one);
      e_.serial_loop(zero, are_many, [&](ValueId) { chains(segments, radix); });
      done = b_.mul(are_many, segments);
    } else { // vectors have too few lanes to make up for the transpositions
      const ValueId groups = b_.udiv(count, b_.i64(kAtOnce * kScanRadix));
      e_.serial_loop(zero, groups, [&](ValueId g) {
        Values first;
        for (int64_t i = 0; i < kAtOnce; ++i)
          first.push_back(b_.add(b_.mul(g, b_.i64(kAtOnce * kScanRadix)), b_.i64(i * kScanRadix)));
        chain(buffer(), first, 1, radix);
      });
      done = b_.mul(groups, b_.i64(kAtOnce));
    }
    e_.serial_loop(done, segments, [&](ValueId s) {
      const ValueId first = b_.mul(s, radix);
      chain(buffer(), {first}, 1, b_.min(radix, b_.sub(count, first)));
    });
  }

  // So many segments of the buffer become running folds, as lanes of vectors between two transpositions. What is beyond
  // the end of the last one comes to nothing.
  void chains(ValueId segments, ValueId length) {
    transpose(across(), buffer(), segments, length);
    e_.vector_loop(b_.i64(0), segments, [&](ValueId lane) { chain(across(), {lane}, kScanRadix, length); });
    transpose(buffer(), across(), length, segments);
  }

  // Segments, whose elements are `apart` in memory from `first` on.
  void chain(uint32_t memory, const Values& first, int64_t apart, ValueId length) {
    Values init;
    for (ValueId at : first)
      init.push_back(b_.load(memory, at, false));
    order_.carry(b_.i64(1), length, init, [&](ValueId k, const Values& last) {
      Values next;
      for (size_t i = 0; i < first.size(); ++i) {
        const ValueId at = b_.add(first[i], b_.mul(k, b_.i64(apart)));
        next.push_back(order_.fold(last[i], b_.load(memory, at, false)));
        b_.store(memory, at, next.back());
      }
      return next;
    });
  }

  // Rows of kScanRadix elements become columns of such rows.
  void transpose(uint32_t to, uint32_t from, ValueId rows, ValueId columns) {
    const ValueId radix = b_.i64(kScanRadix);
    Instr copy = make(KOp::CopyTransposed, {b_.i64(0), radix, rows, columns, radix});
    copy.param = to, copy.source = from;
    b_.append(std::move(copy), {});
  }

  // --- along the last axis, by the blocks of a GPU
  // A tile is a chunk (or a row, chunk by chunk); its segments are the threads'. Of longer rows, what comes before each
  // chunk is found level by level.
  uint32_t of_block(DType type, int64_t count, const char* name) {
    const uint32_t param = e_.add_workspace(ParamKind::Local, type, SizeFormula::constant(count), name);
    e_.b.kernel.params[param].of_block = true;
    return param;
  }

  void rows_on_gpu() {
    constexpr int64_t kManyRows = 256; // enough blocks, so that none needs others for its row
    const SizeFormula length = e_.formula(std::vector{length_}), rows = e_.formula(before_);
    const SizeFormula is_short = is_at_most(length, kScanRadix), is_chunk = is_at_most(length, kScanChunk);
    const SizeFormula few = is_at_most(rows, kManyRows), is_node = is_at_most(length, kScanNode);
    auto no = [](const SizeFormula& x) { return minus(SizeFormula::constant(1), x); };
    const SizeFormula in_parts = times(no(is_chunk), no(times(is_node, no(few))));
    buffer_ = of_block(order_.acc, kScanRadix * kPadded, "chunk");
    offsets_ = of_block(order_.total_type, kScanRadix + 1, "segments");
    children_ = of_block(order_.total_type, kScanRadix, "children");
    brief_rows(times(rows, is_short));
    phase(e_, times(rows, minus(no(in_parts), is_short)), [&](ValueId row) {
      const Index prefix = e_.decompose(row, before_);
      const ValueId chunks = chunk_count();
      order_.carry(b_.i64(0), chunks, {order_.none()}, [&](ValueId c, const Values& level) -> Values {
        const ValueId count = stage(prefix, c);
        block_results(prefix, c, count, order_.total(order_.none(), level[0]));
        return {order_.total(level[0], whole(count))};
      });
    });
    row_parts(times(rows, in_parts));
  }

  // Threads that are at the same place of their segments are in different banks of shared memory.
  static constexpr int64_t kPadded = kScanRadix + 1;
  ValueId padded(ValueId k) { return b_.add(k, b_.udiv(k, b_.i64(kScanRadix))); }

  ValueId times_up(ValueId n, int64_t by) { return b_.udiv(b_.add(n, b_.i64(by - 1)), b_.i64(by)); }
  ValueId chunk_count() { return times_up(e_.size(length_), kScanChunk); }

  // The chunk of a row into the buffer, as running folds of its segments, and what comes before each of these.
  ValueId stage(const Index& prefix, ValueId c) {
    const ValueId first = b_.mul(c, b_.i64(kScanChunk)), zero = b_.i64(0), radix = b_.i64(kScanRadix);
    const ValueId count = b_.min(b_.sub(e_.size(length_), first), b_.i64(kScanChunk));
    const ValueId segments = times_up(count, kScanRadix);
    e_.loop(zero, count, vector_,
            [&](ValueId k) { b_.store(*buffer_, padded(k), element(prefix, b_.add(first, k), {})); });
    e_.vector_loop(count, b_.mul(segments, radix), [&](ValueId k) {
      b_.store(*buffer_, padded(k), b_.constant(order_.acc, identity_of(n_.as<ir::ScanAttrs>().op, order_.acc)));
    });
    e_.vector_loop(zero, segments, [&](ValueId s) {
      const ValueId from = b_.mul(s, b_.i64(kPadded));
      order_.carry(b_.i64(1), radix, {b_.load(*buffer_, from, false)}, [&](ValueId j, const Values& last) -> Values {
        const ValueId k = b_.add(from, j), next = order_.fold(last[0], b_.load(*buffer_, k, false));
        b_.store(*buffer_, k, next);
        return {next};
      });
    });
    children(segments, [&](ValueId s) {
      return order_.widen(b_.load(*buffer_, b_.add(b_.mul(s, b_.i64(kPadded)), b_.i64(kScanRadix - 1)), false));
    });
    return count;
  }

  // What comes before each of so many children, and behind the last, all of them.
  void children(ValueId count, const std::function<ValueId(ValueId)>& child) {
    e_.vector_loop(b_.i64(0), count, [&](ValueId k) { b_.store(children_, k, child(k)); });
    e_.vector_loop(b_.i64(0), b_.i64(1), [&](ValueId) {
      const Values all = order_.carry(b_.i64(0), count, {order_.none()}, [&](ValueId k, const Values& level) -> Values {
        b_.store(offsets_, k, level[0]);
        return {order_.total(level[0], b_.load(children_, k, false))};
      });
      b_.store(offsets_, count, all[0]);
    });
  }
  ValueId whole(ValueId count) { return b_.load(offsets_, times_up(count, kScanRadix), false); }

  void block_results(const Index& prefix, ValueId c, ValueId count, ValueId before) {
    const ValueId first = b_.mul(c, b_.i64(kScanChunk));
    e_.vector_loop(b_.i64(0), count, [&](ValueId k) {
      const ValueId here = order_.total(before, b_.load(offsets_, b_.udiv(k, b_.i64(kScanRadix)), false));
      const ValueId result = order_.narrow(order_.total(here, order_.widen(b_.load(*buffer_, padded(k), false))));
      b_.store(out_, e_.linearise(full_index(prefix, b_.add(first, k), {}), type_.dims), result);
    });
  }

  // Chunks, nodes of these, nodes of those, and all of those: what each comes to, then what comes before it.
  void row_parts(const SizeFormula& row_count) {
    constexpr int kAbove = kScanLevels - 1;
    const SizeFormula length = e_.formula(std::vector{length_});
    uint32_t totals[kAbove], before[kAbove];
    SizeFormula nodes[kAbove];
    int64_t size[kAbove];
    for (int level = 0; level < kAbove; ++level) {
      size[level] = level == 0 ? kScanChunk : size[level - 1] * kScanRadix;
      nodes[level] = times(row_count, ceil_div(length, SizeFormula::constant(size[level])));
      totals[level] = e_.add_workspace(ParamKind::Shared, order_.total_type, nodes[level], "totals");
      before[level] = e_.add_workspace(ParamKind::Shared, order_.total_type, nodes[level], "before");
    }
    auto count_of = [&](int level) { return times_up(e_.size(length_), size[level]); };
    phase(e_, nodes[0], [&](ValueId tile) {
      const ValueId count = stage(e_.decompose(b_.udiv(tile, count_of(0)), before_), b_.urem(tile, count_of(0)));
      b_.store(totals[0], tile, whole(count));
    });
    for (int level = 0; level + 1 < kAbove; ++level)
      phase(e_, nodes[level + 1], [&](ValueId tile) {
        const ValueId row = b_.udiv(tile, count_of(level + 1)), radix = b_.i64(kScanRadix);
        const ValueId first = b_.mul(b_.urem(tile, count_of(level + 1)), radix);
        const ValueId count = b_.min(b_.sub(count_of(level), first), radix);
        const ValueId at = b_.add(b_.mul(row, count_of(level)), first);
        children(count, [&](ValueId k) { return b_.load(totals[level], b_.add(at, k), false); });
        e_.vector_loop(b_.i64(0), count,
                       [&](ValueId k) { b_.store(before[level], b_.add(at, k), b_.load(offsets_, k, false)); });
        b_.store(totals[level + 1], tile, b_.load(offsets_, count, false));
      });
    phase(e_, row_count, [&](ValueId row) {
      const ValueId count = count_of(kAbove - 1), first = b_.mul(row, count);
      e_.vector_loop(b_.i64(0), b_.i64(1), [&](ValueId) {
        order_.carry(b_.i64(0), count, {order_.none()}, [&](ValueId t, const Values& level) -> Values {
          const ValueId at = b_.add(first, t);
          b_.store(before[kAbove - 1], at, level[0]);
          return {order_.total(level[0], b_.load(totals[kAbove - 1], at, false))};
        });
      });
    });
    phase(e_, nodes[0], [&](ValueId tile) {
      const ValueId row = b_.udiv(tile, count_of(0)), c = b_.urem(tile, count_of(0));
      const Index prefix = e_.decompose(row, before_);
      ValueId offset{};
      for (int level = kAbove; level-- > 0;) {
        const ValueId node = b_.udiv(c, b_.i64(size[level] / kScanChunk));
        const ValueId here = b_.load(before[level], b_.add(b_.mul(row, count_of(level)), node), false);
        offset = offset.valid() ? order_.total(offset, here) : here;
      }
      const ValueId count = stage(prefix, c);
      block_results(prefix, c, count, offset);
    });
  }

  // --- along another axis, by the threads of a GPU: a chunk of a column each
  void columns_on_gpu() {
    const SizeFormula length = e_.formula(std::vector{length_}), columns = e_.formula(after_);
    const SizeFormula is_chunk = is_at_most(length, kScanChunk), all = times(e_.formula(before_), columns);
    const SizeFormula chunks = times(all, ceil_div(length, SizeFormula::constant(kScanChunk)));
    const SizeFormula in_parts = minus(SizeFormula::constant(1), is_chunk);
    const uint32_t totals = e_.add_workspace(ParamKind::Shared, order_.total_type, times(chunks, in_parts), "totals");
    const uint32_t before = e_.add_workspace(ParamKind::Shared, order_.total_type, times(chunks, in_parts), "before");
    // By row, then chunk, then column.
    auto place = [&](ValueId tile, const std::function<void(const Index&, ValueId chunk, const Index&)>& body) {
      const ValueId width = e_.product(after_), rest = b_.udiv(tile, width);
      body(e_.decompose(b_.udiv(rest, chunk_count()), before_), b_.urem(rest, chunk_count()),
           e_.decompose(b_.urem(tile, width), after_));
    };
    auto chunk = [&](const Index& prefix, ValueId c, const Index& rest, std::optional<ValueId> offset) {
      const ValueId first = b_.mul(c, b_.i64(kScanChunk)), radix = b_.i64(kScanRadix), one = b_.i64(1);
      const ValueId count = b_.min(b_.sub(e_.size(length_), first), b_.i64(kScanChunk));
      return order_.carry(
          b_.i64(0), times_up(count, kScanRadix), {order_.none()}, [&](ValueId s, const Values& level) -> Values {
            const ValueId from = b_.add(first, b_.mul(s, radix));
            const ValueId to = b_.min(b_.add(from, radix), b_.add(first, count));
            auto result = [&](ValueId k, ValueId v) {
              if (!offset) return;
              const ValueId here = order_.total(*offset, level[0]);
              b_.store(out_, e_.linearise(full_index(prefix, k, rest), type_.dims),
                       order_.narrow(order_.total(here, order_.widen(v))));
            };
            const ValueId start = element(prefix, from, rest);
            result(from, start);
            const Values last = order_.carry(b_.add(from, one), to, {start}, [&](ValueId k, const Values& v) -> Values {
              const ValueId next = order_.fold(v[0], element(prefix, k, rest));
              result(k, next);
              return {next};
            });
            return {order_.total(level[0], order_.widen(last[0]))};
          })[0];
    };
    phase(e_, times(chunks, in_parts), [&](ValueId tile) {
      place(tile, [&](const Index& prefix, ValueId c, const Index& rest) {
        b_.store(totals, tile, chunk(prefix, c, rest, {}));
      });
    });
    phase(e_, times(all, in_parts), [&](ValueId tile) {
      const ValueId width = e_.product(after_), row = b_.udiv(tile, width), column = b_.urem(tile, width);
      const Values none(kScanLevels - 1, order_.none());
      order_.carry(b_.i64(0), chunk_count(), none, [&](ValueId c, const Values& levels) -> Values {
        const ValueId at = b_.add(b_.mul(b_.add(b_.mul(row, chunk_count()), c), width), column);
        b_.store(before, at, order_.offset(levels));
        return order_.after_child(levels, b_.load(totals, at, false), b_.add(c, b_.i64(1)));
      });
    });
    phase(e_, chunks, [&](ValueId tile) {
      place(tile, [&](const Index& prefix, ValueId c, const Index& rest) {
        const ValueId is_one = b_.le(e_.size(length_), b_.i64(kScanChunk));
        const ValueId offset = e_.branch(
            is_one, order_.total_type, [&] { return order_.none(); }, [&] { return b_.load(before, tile, false); });
        chunk(prefix, c, rest, offset);
      });
    });
  }

  // --- along another axis
  void columns() {
    const SizeFormula width = e_.formula(after_), is_narrow = is_at_most(width, kNarrow), rows = e_.formula(before_);
    narrow_columns(times(rows, is_narrow)); // each way has its phase, and one of them no tiles
    wide_columns(minus(SizeFormula::constant(1), is_narrow));
  }

  void narrow_columns(const SizeFormula& rows) {
    const SizeFormula work = times(e_.formula(std::vector{length_}), SizeFormula::constant(kNarrow));
    phase(
        e_, rows,
        [&](ValueId row) {
          const Index prefix = e_.decompose(row, before_);
          e_.loop(b_.i64(0), e_.product(after_), vector_, [&](ValueId j) { column(prefix, e_.decompose(j, after_)); });
        },
        work);
  }

  void column(const Index& prefix, const Index& rest) {
    const ValueId n = e_.size(length_), radix = b_.i64(kScanRadix), one = b_.i64(1);
    const ValueId segments = b_.udiv(b_.add(n, b_.i64(kScanRadix - 1)), radix);
    const Values none(kScanLevels, order_.none());
    order_.carry(b_.i64(0), segments, none, [&](ValueId s, const Values& levels) -> Values {
      const ValueId from = b_.mul(s, radix), to = b_.min(b_.add(from, radix), n), before = order_.offset(levels);
      auto result = [&](ValueId k, ValueId v) -> Values {
        const ValueId sum = order_.narrow(order_.total(before, order_.widen(v)));
        b_.store(out_, e_.linearise(full_index(prefix, k, rest), type_.dims), sum);
        return {v};
      };
      const Values first = result(from, element(prefix, from, rest));
      const Values last = order_.carry(b_.add(from, one), to, first, [&](ValueId k, const Values& v) {
        return result(k, order_.fold(v[0], element(prefix, k, rest)));
      });
      return order_.after_segment(levels, last[0], b_.add(s, one));
    });
  }

  void wide_columns(const SizeFormula& is_wide) {
    SizeFormula blocks = ceil_div(e_.formula(after_), SizeFormula::constant(kColumns));
    SizeFormula width = SizeFormula::constant(kColumns);
    auto local = [&](DType type, const char* name) { return e_.add_workspace(ParamKind::Local, type, width, name); };
    uint32_t last = local(order_.acc, "last"), offset = local(order_.total_type, "offset");
    std::vector<uint32_t> levels;
    for (int level = 0; level < kScanLevels; ++level)
      levels.push_back(local(order_.total_type, "level"));
    phase(
        e_, times(times(e_.formula(before_), blocks), is_wide),
        [&](ValueId tile) {
          ValueId n = e_.size(length_), zero = b_.i64(0), all = e_.product(after_);
          ValueId count = b_.udiv(b_.add(all, b_.i64(kColumns - 1)), b_.i64(kColumns));
          ValueId row = before_.empty() ? zero : b_.udiv(tile, count);
          ValueId block = before_.empty() ? tile : b_.urem(tile, count);
          Index prefix = e_.decompose(row, before_);
          ValueId lo = b_.mul(block, b_.i64(kColumns)), hi = b_.min(b_.add(lo, b_.i64(kColumns)), all);
          ValueId segments = b_.udiv(b_.add(n, b_.i64(kScanRadix - 1)), b_.i64(kScanRadix));
          auto each_column = [&](const std::function<void(ValueId j, ValueId local)>& body) {
            e_.loop(lo, hi, vector_, [&](ValueId j) { body(j, b_.sub(j, lo)); });
          };
          each_column([&](ValueId, ValueId at) {
            for (uint32_t level : levels)
              b_.store(level, at, order_.none());
            b_.store(offset, at, order_.none());
          });
          e_.serial_loop(zero, segments, [&](ValueId s) {
            ValueId from = b_.mul(s, b_.i64(kScanRadix)), to = b_.min(b_.add(from, b_.i64(kScanRadix)), n);
            auto rows = [&](ValueId begin, ValueId end, bool first) {
              e_.serial_loop(begin, end, [&](ValueId k) {
                each_column([&](ValueId j, ValueId at) {
                  Index rest = e_.decompose(j, after_);
                  ValueId v = element(prefix, k, rest);
                  if (!first) v = order_.fold(b_.load(last, at, false), v);
                  b_.store(last, at, v);
                  ValueId result = order_.narrow(order_.total(b_.load(offset, at, false), order_.widen(v)));
                  b_.store(out_, e_.linearise(full_index(prefix, k, rest), type_.dims), result);
                });
              });
            };
            ValueId second = b_.add(from, b_.i64(1));
            rows(from, second, true);
            rows(second, to, false);
            each_column([&](ValueId, ValueId at) {
              Values now;
              for (uint32_t level : levels)
                now.push_back(b_.load(level, at, false));
              now = order_.after_segment(std::move(now), b_.load(last, at, false), b_.add(s, b_.i64(1)));
              for (size_t level = 0; level < levels.size(); ++level)
                b_.store(levels[level], at, now[level]);
              b_.store(offset, at, order_.offset(now));
            });
          });
        },
        times(e_.formula(std::vector{length_}), SizeFormula::constant(64)));
  }

  Emitter& e_;
  bool vector_; // may the elements be computed side by side?
  Builder& b_;
  const ir::Node& n_;
  const ir::Type& type_;
  std::vector<ir::Dim> before_, after_;
  ir::Dim length_;
  Order order_;
  uint32_t out_ = 0;
  std::optional<uint32_t> buffer_;      // of a chunk
  std::optional<uint32_t> across_;      // its segments, side by side
  uint32_t offsets_ = 0, children_ = 0; // on GPUs: before each segment of it, or each child of a node; those
};

} // namespace

void lower_scan(Emitter& e, const Layout& layout) { Scan(e, layout.vector).run(); }

// By folding everything before it: for stray uses.
ValueId Emitter::scan_element(const ir::Node& n, const Index& index) {
  return at_level_of(n.results[0], index, [&] {
    auto axis = static_cast<size_t>(n.as<ir::ScanAttrs>().axis);
    Order order(b, n.as<ir::ScanAttrs>().op, type(n.results[0]).dtype);
    Index at = index;
    auto step = [&](ValueId k, ValueId last) { // the running fold in k's segment
      at[axis] = k;
      ValueId v = pull(n.operands[0], at);
      return b.select(order.multiple(k, kScanRadix), v, order.fold(last, v));
    };
    Values init(kScanLevels, order.none());
    init.push_back(b.constant(order.acc, Scalar{}));
    Values before = order.carry(b.i64(0), index[axis], init, [&](ValueId k, const Values& carried) {
      Values levels(carried.begin(), carried.end() - 1);
      ValueId last = step(k, carried.back()), next = b.add(k, b.i64(1)), ends = order.multiple(next, kScanRadix);
      Values after = order.after_segment(levels, last, b.udiv(next, b.i64(kScanRadix)));
      for (size_t level = 0; level < levels.size(); ++level)
        levels[level] = b.select(ends, after[level], levels[level]);
      levels.push_back(last);
      return levels;
    });
    ValueId last = step(index[axis], before.back());
    before.pop_back();
    return order.narrow(order.total(order.offset(before), order.widen(last)));
  });
}

} // namespace tl::kir
