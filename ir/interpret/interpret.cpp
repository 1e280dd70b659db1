#include "ir/interpret/interpret.h"
#include "abi/device.h"
#include "abi/interrupted.h"
#include "abi/stopwatch.h"
#include "abi/visible.h"
#include "ir/graph/op_info.h"
#include "ir/interpret/values.h"
#include "lang/deep_stack.h"
#include "vm/io/io.h"
#include "vm/io/list.h"
#include "vm/io/text.h"
#include "vm/plot/plot.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <new>
#include <stdexcept>
#include <utility>

namespace tl::ir {
namespace {

constexpr int kMaxCallDepth = 10000;

class Interpreter {
public:
  Interpreter(const Module& module, const OutputSink& out, const OutputSink& err, const std::atomic<bool>* interrupt,
              int cpu_devices)
      : module_(module), out_(out), err_(err), interrupt_(interrupt), cpu_devices_(cpu_devices),
        single_uses_(module.functions.size()) {}

  Outcome run(const std::vector<Argument>& arguments) {
    Outcome outcome;
    try {
      std::vector<Cell> results = run_entry(arguments);
      if (first_failure_) throw Stop{first_failure_, 0};
      for (size_t i = 1; i < results.size(); ++i) {
        if (results[i].poison) throw Stop{results[i].poison, 0};
        outcome.results.push_back(argument(results[i]));
      }
    } catch (const Stop& stop) {
      outcome.exit_code = stop.exit_code;
      if (stop.failure) {
        outcome.error = stop.failure->error;
        outcome.exit_code = stop.failure->error.exit_code;
      }
    }
    return outcome;
  }

private:
  std::vector<Cell> run_entry(const std::vector<Argument>& arguments) {
    try {
      return call(module_.entry, entry_arguments(module_, arguments), {});
    } catch (const std::bad_alloc&) {
      throw Stop{fail({"OutOfMemory", "there is not enough memory", "", loc_, 3, {}}), 0};
    }
  }

  // ---- failures ----------------------------------------------------------------------------------------------------
  Poison fail(RuntimeError error) {
    auto failure = std::make_shared<const Failure>(Failure{std::move(error), next_order_++});
    if (!first_failure_) first_failure_ = failure;
    return failure;
  }
  Poison fail_at(const ErrorSite& site, const std::string& message) {
    RuntimeError error{site.kind, message, site.hint, site.loc, 3, site.notes};
    constexpr size_t most = 20;
    for (size_t i = 0; i < calls_.size() && i < most; ++i)
      error.notes.emplace_back("called from here", calls_[calls_.size() - 1 - i]);
    if (calls_.size() > most) error.notes.emplace_back(fmt::format("and {} more calls", calls_.size() - most), LocId{});
    return fail(std::move(error));
  }
  [[noreturn]] static void fault(const std::string& what) { throw std::logic_error("interpreter: " + what); }

  static std::string filled(std::string text, const std::vector<std::pair<std::string, int64_t>>& holes) {
    for (const auto& [hole, value] : holes)
      for (size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at))
        text.replace(at, hole.size(), hole[1] == 'd' ? device_name(value) : std::to_string(value));
    return text;
  }

  // ---- control -----------------------------------------------------------------------------------------------------
  // What runs at every level of a recursion keeps its frame small: rare and large things are functions of their own.
  [[noreturn, gnu::noinline]] void too_deep(LocId loc) {
    std::string message = fmt::format("calls are nested more than {} deep", kMaxCallDepth);
    throw Stop{fail({"StackOverflow", std::move(message), "does the recursion end?", loc, 3, {}}), 0};
  }

  std::vector<Cell> call(uint32_t index, std::vector<Cell> arguments, LocId loc) {
    if (depth_ >= kMaxCallDepth) too_deep(loc);
    const Function& f = module_.functions[index];
    if (single_uses_[index].empty()) single_uses_[index] = find_single_uses(f);
    if (f.body.params.size() != arguments.size()) fault("@" + f.name + " gets a wrong number of arguments");
    Frame frame(f.values.size());
    for (size_t i = 0; i < arguments.size(); ++i)
      frame[f.body.params[i].index] = std::move(arguments[i]);
    const std::vector<bool>* single = std::exchange(single_, &single_uses_[index]);
    ++depth_;
    if (loc.index) calls_.push_back(loc);
    std::vector<Cell> results = region(f, f.body, frame);
    if (loc.index) calls_.pop_back();
    --depth_;
    single_ = single;
    return results;
  }

  // The value of an operand or yield; moved where this is its only use.
  Cell take(Frame& frame, ValueId id) { return (*single_)[id.index] ? std::move(frame[id.index]) : frame[id.index]; }

  std::vector<Cell> region(const Function& f, const Region& r, Frame& frame) {
    if (interrupt_ && interrupt_->load(std::memory_order_relaxed))
      throw Stop{fail({"Interrupted", "interrupted", "", loc_, 130, {}}), 0};
    for (NodeId id : r.nodes)
      node(f, f[id], frame);
    std::vector<Cell> results;
    results.reserve(r.yields.size());
    for (ValueId id : r.yields)
      results.push_back(take(frame, id));
    return results;
  }

  // Inside a map a condition that failed poisons the element; elsewhere the program must know it and stops.
  bool needs(const Node& n, Frame& frame, const Poison& poison) {
    if (!poison) return true;
    if (map_depth_ == 0) throw Stop{poison, 0};
    for (ValueId id : n.results) {
      frame[id.index] = {};
      frame[id.index].poison = poison;
    }
    return false;
  }

  static void give(Frame& frame, const std::vector<ValueId>& to, std::vector<Cell>&& values) {
    for (size_t i = 0; i < to.size(); ++i)
      frame[to[i].index] = std::move(values[i]);
  }

  void run_if(const Function& f, const Node& n, Frame& frame) {
    const Cell& condition = frame[n.operands[0].index];
    if (!needs(n, frame, condition.poison)) return;
    give(frame, n.results, region(f, n.regions[condition.data.truth() ? 0 : 1], frame));
  }

  void run_for(const Function& f, const Node& n, Frame& frame) {
    Poison poison;
    for (int i = 0; i < 3; ++i)
      poison = first(poison, frame[n.operands[static_cast<size_t>(i)].index].poison);
    if (!needs(n, frame, poison)) return;
    int64_t i = frame[n.operands[0].index].data.i64(), end = frame[n.operands[1].index].data.i64();
    int64_t step = frame[n.operands[2].index].data.i64();
    const Region& body = n.regions[0];
    std::vector<ValueId> carried(body.params.begin() + 1, body.params.end());
    std::vector<Cell> values;
    for (size_t k = 3; k < n.operands.size(); ++k)
      values.push_back(take(frame, n.operands[k]));
    while (step > 0 ? i < end : i > end) {
      frame[body.params[0].index] = cell(Data::of(i));
      give(frame, carried, std::move(values));
      values = region(f, body, frame);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    give(frame, n.results, std::move(values));
  }

  void run_while(const Function& f, const Node& n, Frame& frame) {
    std::vector<Cell> values;
    for (ValueId id : n.operands)
      values.push_back(take(frame, id));
    for (;;) {
      give(frame, n.regions[0].params, std::vector<Cell>(values));
      Cell condition = region(f, n.regions[0], frame)[0];
      if (!needs(n, frame, condition.poison)) return;
      if (!condition.data.truth()) break;
      for (ValueId id : n.regions[0].params)
        frame[id.index] = {}; // so that the body may write in place
      give(frame, n.regions[1].params, std::move(values));
      values = region(f, n.regions[1], frame);
    }
    give(frame, n.results, std::move(values));
  }

  void run_map(const Function& f, const Node& n, Frame& frame) {
    Poison poison;
    Dims dims = sizes(f[n.results[0]].type, frame, poison);
    std::vector<Data> results;
    if (!poison) {
      for (ValueId id : n.results)
        results.push_back(Data::make(f[id].type.dtype, dims));
      const Region& body = n.regions[0];
      int64_t count = element_count(dims);
      Dims at(dims.size(), 0);
      ++map_depth_;
      for (int64_t linear = 0; linear < count; ++linear) {
        for (size_t i = 0; i < at.size(); ++i)
          frame[body.params[i].index] = cell(Data::of(at[i]));
        for (NodeId id : body.nodes)
          node(f, f[id], frame);
        for (size_t i = 0; i < results.size(); ++i) {
          const Cell& value = frame[body.yields[i].index];
          poison = first(poison, value.poison);
          if (!value.poison) results[i].set(linear, value.data.scalar);
        }
        for (size_t i = dims.size(); i-- > 0;) {
          if (++at[i] < dims[i]) break;
          at[i] = 0;
        }
      }
      --map_depth_;
    }
    const int16_t device = device_in(f, captures(f, n), frame);
    for (size_t i = 0; i < n.results.size(); ++i) {
      frame[n.results[i].index] = poison ? Cell{{}, nullptr, poison, nullptr} : cell(std::move(results[i]));
      frame[n.results[i].index].device = device;
    }
  }

  // ---- one node ----------------------------------------------------------------------------------------------------
  Dims sizes(const Type& type, const Frame& frame, Poison& poison) {
    Dims dims;
    for (const Dim& dim : type.dims) {
      if (dim.is_constant()) {
        dims.push_back(dim.constant);
        continue;
      }
      const Cell& size = frame[dim.value.index];
      poison = first(poison, size.poison);
      dims.push_back(size.poison ? 0 : size.data.i64());
    }
    // Of a branch that is not taken and that a transform computes all the same: a failure only if anybody needs it.
    if (!poison && std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; })) {
      RuntimeError error{"InternalError", "a size is negative and nothing checked it", "", loc_, 3, {}};
      poison = std::make_shared<const Failure>(Failure{std::move(error), next_order_++});
    }
    return dims;
  }

  void node(const Function& f, const Node& n, Frame& frame) {
    loc_ = n.loc;
    if (kind_of(n.op) == OpKind::Effect) return effect(f, n, frame);
    switch (n.op) {
    case Op::If: return run_if(f, n, frame);
    case Op::For: return run_for(f, n, frame);
    case Op::While: return run_while(f, n, frame);
    case Op::Map: return run_map(f, n, frame);
    case Op::Kernel: return run_kernel(f, n, frame);
    case Op::DeviceCount:
    case Op::DeviceOf:
    case Op::Transfer:
    case Op::Place:
    case Op::DeviceInfo:
    case Op::ProcessRank:
    case Op::WorldSize:
    case Op::AllReduce:
    case Op::BroadcastFrom: return run_device(n, frame, cpu_devices_);
    case Op::Call: return run_call(n, frame);
    case Op::Guard: return guard(n, frame);
    case Op::Format: return format_node(n, frame);
    case Op::ListMake:
    case Op::ListLength:
    case Op::ListGet:
    case Op::ListSet:
    case Op::ListAppend:
    case Op::ListConcat:
    case Op::ListSlice:
    case Op::ListJoin: return list(f, n, frame);
    case Op::Linalg: return linalg(f, n, frame);
    case Op::Text: return text(f, n, frame);
    default: return compute(f, n, frame);
    }
  }

  void run_kernel(const Function& f, const Node& n, Frame& frame) {
    give(frame, n.results, region(f, n.regions[0], frame));
  }

  void run_call(const Node& n, Frame& frame) {
    std::vector<Cell> arguments;
    for (ValueId id : n.operands)
      arguments.push_back(take(frame, id));
    give(frame, n.results, call(n.attrs.index, std::move(arguments), n.loc));
  }

  // Pure tensor operations: poisoned if an operand or a size is.
  [[gnu::noinline]] void compute(const Function& f, const Node& n, Frame& frame) {
    Cell result;
    const int16_t device = device_in(f, n.operands, frame); // before an operand is taken away
    for (ValueId id : n.operands)
      result.poison = first(result.poison, frame[id.index].poison);
    Dims dims = sizes(f[n.results[0]].type, frame, result.poison);
    if (!result.poison) {
      if (n.op == Op::ConstStr)
        result.text = std::make_shared<const std::string>(n.attrs.text);
      else if (n.op == Op::Await)
        result = frame[n.operands[0].index];
      else
        result.data = pure(f, n, frame, dims);
      if (n.op != Op::ConstStr && result.data.dims() != dims)
        fault(fmt::format("a result of {} has not the sizes of its type", name_of(n.op)));
    }
    if (!f[n.results[0]].type.dims.empty()) result.device = device;
    frame[n.results[0].index] = std::move(result);
  }

  Data pure(const Function& f, const Node& n, Frame& frame, const Dims& dims) {
    const Attrs& a = n.attrs;
    DType type = f[n.results[0]].type.dtype;
    auto in = [&](size_t i) -> const Data& { return frame[n.operands[i].index].data; };
    auto ints = [&](size_t from) {
      Dims values;
      for (size_t i = from; i < n.operands.size(); ++i)
        values.push_back(in(i).i64());
      return values;
    };
    std::vector<const Data*> operands;
    for (ValueId id : n.operands)
      operands.push_back(&frame[id.index].data);
    switch (n.op) {
    case Op::Constant: return Data::of(type, a.literal);
    case Op::ConstTensor: return Data::of(module_.tensors[a.index]);
    case Op::Iota: return iota(dims[0]);
    case Op::Elementwise:
      return elementwise(a.scalar, in(a.scalar == ScalarOp::Where ? 1 : 0).dtype, operands, type, dims);
    case Op::Convert: return convert(in(0), type);
    case Op::Broadcast: return broadcast(in(0), a.ints, dims);
    case Op::Reshape: return reshape(in(0), dims);
    case Op::Transpose: return transpose(in(0), a.ints);
    case Op::Slice: return slice(in(0), ints(1), a.ints, dims);
    case Op::Pad: return pad(in(0), in(1).scalar, ints(2), dims);
    case Op::Concat: return concat(operands, a.ints[0], dims);
    case Op::Index: return index(in(0), ints(1));
    case Op::Gather: return gather(in(0), in(1), a.ints[0]);
    case Op::Update: {
      Dims starts = ints(2);
      return update(take(frame, n.operands[0]).data, in(1), starts, a.ints, a.update);
    }
    case Op::Scatter: return scatter(take(frame, n.operands[0]).data, in(1), in(2), a.update);
    case Op::Reduce: return reduce(a.reduce, in(0), n.operands.size() == 2 ? &in(1) : nullptr, a.ints);
    case Op::Scan: return scan(a.reduce, in(0), a.ints[0]);
    case Op::Contract: return contract(in(0), in(1), a);
    default: fault(fmt::format("{} is not pure", name_of(n.op)));
    }
  }

  void guard(const Node& n, Frame& frame) {
    Cell condition = frame[n.operands[1].index];
    Cell result = take(frame, n.operands[0]);
    result.poison = first(result.poison, condition.poison);
    if (!condition.poison)
      for (int64_t k = 0; k < condition.data.count(); ++k) {
        if (condition.data.get(k).as<uint8_t>()) continue;
        const ErrorSite& site = module_.sites[n.attrs.index];
        std::vector<std::pair<std::string, int64_t>> holes{{"{e}", k}};
        for (size_t p = 2; p < n.operands.size(); ++p)
          for (const char* kind : {"", "d"})
            holes.emplace_back(fmt::format("{{{}{}}}", kind, p - 2),
                               frame[n.operands[p].index].data.get(k).as<int64_t>());
        result.poison = first(result.poison, fail_at(site, filled(site.message, holes)));
        break;
      }
    frame[n.results[0].index] = std::move(result);
  }

  std::string fill(const FormatTemplate& format, const Node& n, const Frame& frame, size_t from) const {
    std::vector<FormatValue> values;
    for (size_t i = from; i < n.operands.size(); ++i) {
      const Cell* value = &frame[n.operands[i].index];
      values.push_back([value](std::string_view spec) {
        if (value->text) return format_string(*value->text, spec);
        if (value->data.is_scalar()) return format_scalar(value->data.dtype, value->data.scalar, spec);
        return format_tensor(value->data.tensor, spec);
      });
    }
    return fill_template(format, values);
  }

  void format_node(const Node& n, Frame& frame) {
    Cell result;
    for (ValueId id : n.operands)
      result.poison = first(result.poison, frame[id.index].poison);
    if (!result.poison) result = cell(fill(n.attrs.format, n, frame, 0));
    frame[n.results[0].index] = std::move(result);
  }

  // ---- lists and text ----------------------------------------------------------------------------------------------
  void poison_results(const Node& n, Frame& frame, const Poison& poison) {
    for (ValueId id : n.results) {
      frame[id.index] = {};
      frame[id.index].poison = poison;
    }
  }

  // The list of operand 0, to be changed: a copy unless nobody else has it.
  std::shared_ptr<List> own_list(const Node& n, Frame& frame) {
    Cell taken = take(frame, n.operands[0]);
    return taken.list.use_count() == 1 ? std::move(taken.list) : std::make_shared<List>(*taken.list);
  }

  [[gnu::noinline]] void list(const Function& f, const Node& n, Frame& frame) {
    auto in = [&](size_t i) -> Cell& { return frame[n.operands[i].index]; };
    // An element may have failed; the list and its indices must not.
    size_t needed = n.operands.size();
    if (n.op == Op::ListMake) needed = 0;
    if (n.op == Op::ListAppend) needed = 1;
    if (n.op == Op::ListSet) needed = 2;
    Poison poison;
    for (size_t i = 0; i < needed; ++i)
      poison = first(poison, in(i).poison);
    if (poison) return poison_results(n, frame, poison);
    const std::vector<int64_t>& ints = n.attrs.ints;
    Cell& out = frame[n.results[0].index];
    auto leaves = [&](List& into, size_t from) {
      for (size_t i = from; i < n.operands.size(); ++i)
        into.values.push_back(in(i));
    };
    switch (n.op) {
    case Op::ListMake: {
      auto made = std::make_shared<List>();
      made->width = static_cast<size_t>(ints[0]);
      leaves(*made, 0);
      out = cell(std::move(made));
      return;
    }
    case Op::ListLength: out = cell(Data::of(in(0).list->length())); return;
    case Op::ListGet: {
      std::shared_ptr<List> from = in(0).list;
      auto at = static_cast<size_t>(in(1).data.i64());
      size_t width = n.results.size() - ints.size() / 2;
      if (at >= from->values.size() / from->width) fault("an index of a list is out of range");
      for (size_t i = 0; i < width; ++i)
        frame[n.results[i].index] = from->values[at * from->width + i];
      for (size_t i = 0; i < ints.size(); i += 2) {
        const Cell& leaf = from->values[at * from->width + static_cast<size_t>(ints[i])];
        Cell& size = frame[n.results[width + i / 2].index];
        size = leaf.poison ? Cell{} : cell(Data::of(leaf.data.dims()[static_cast<size_t>(ints[i + 1])]));
        size.poison = leaf.poison;
      }
      return;
    }
    case Op::ListSet: {
      auto at = static_cast<size_t>(in(1).data.i64());
      std::shared_ptr<List> made = own_list(n, frame);
      for (size_t i = 2; i < n.operands.size(); ++i)
        made->values.at(at * made->width + i - 2) = in(i);
      out = cell(std::move(made));
      return;
    }
    case Op::ListAppend: {
      std::shared_ptr<List> made = own_list(n, frame);
      if (made->values.empty()) made->width = static_cast<size_t>(ints[0]);
      leaves(*made, 1);
      out = cell(std::move(made));
      return;
    }
    case Op::ListConcat: {
      std::shared_ptr<List> more = in(1).list;
      if (more->values.empty()) {
        out = Cell(in(0));
        return;
      }
      std::shared_ptr<List> made = own_list(n, frame);
      made->width = more->width;
      std::vector<Cell> added = more->values; // it may be the same list
      made->values.insert(made->values.end(), added.begin(), added.end());
      out = cell(std::move(made));
      return;
    }
    case Op::ListSlice: {
      SliceBounds bounds;
      std::optional<int64_t>* parts[] = {&bounds.first, &bounds.last, &bounds.step};
      size_t next = 1;
      for (size_t i = 0; i < 3; ++i)
        if (ints[i]) *parts[i] = in(next++).data.i64();
      if (bounds.step == 0) {
        out = {};
        out.poison = fail({"WrongIndex", "the step of a slice is 0", "", n.loc, 3, {}});
        return;
      }
      const List& from = *in(0).list;
      auto made = std::make_shared<List>();
      made->width = from.width;
      auto [start, count, step] = bounds.resolve(from.length());
      for (int64_t k = 0; k < count; ++k)
        for (size_t leaf = 0; leaf < from.width; ++leaf)
          made->values.push_back(from.values[static_cast<size_t>(start + k * step) * from.width + leaf]);
      out = cell(std::move(made));
      return;
    }
    case Op::ListJoin: return list_join(f, n, frame);
    default: fault("no operation on lists");
    }
  }

  void list_join(const Function& f, const Node& n, Frame& frame) {
    const List& from = *frame[n.operands[0].index].list;
    Poison poison;
    std::vector<Dims> parts;
    for (const Cell& element : from.values) {
      poison = first(poison, element.poison);
      parts.push_back(element.data.is_scalar() ? Dims{} : element.data.dims());
    }
    if (poison) return poison_results(n, frame, poison);
    JoinedSizes joined =
        join_sizes(parts, static_cast<size_t>(n.attrs.ints[0]), n.attrs.ints[1] != 0, n.results.size() - 1);
    if (!joined.problem.empty()) return poison_results(n, frame, fail_at(module_.sites[n.attrs.index], joined.problem));
    int16_t device = kNoDevice;
    for (const Cell& element : from.values) {
      if (device != kNoDevice && element.device != kNoDevice && device != element.device) {
        RuntimeError error = mixed_devices(device, element.device, n.loc);
        return poison_results(n, frame, fail_at({error.kind, "", error.hint, error.loc, {}}, error.message));
      }
      if (device == kNoDevice) device = element.device;
    }
    const DType type = f[n.results[0]].type.dtype;
    HostTensor made = HostTensor::make(type, joined.dims);
    std::vector<HostTensor> tensors;
    std::vector<const std::byte*> bytes;
    for (const Cell& element : from.values) {
      tensors.push_back(element.data.host());
      bytes.push_back(tensors.back().data());
    }
    join_parts(joined, size_of(type), bytes, made.data());
    frame[n.results[0].index] = cell(Data::of(std::move(made)));
    frame[n.results[0].index].device = device;
    for (size_t i = 0; i < joined.dims.size(); ++i)
      frame[n.results[1 + i].index] = cell(Data::of(joined.dims[i]));
  }

  [[gnu::noinline]] void linalg(const Function& f, const Node& n, Frame& frame) {
    Poison poison;
    std::vector<const Data*> operands;
    for (ValueId id : n.operands) {
      poison = first(poison, frame[id.index].poison);
      operands.push_back(&frame[id.index].data);
    }
    std::vector<Data> results;
    for (ValueId id : n.results)
      results.push_back(Data::make(f[id].type.dtype, sizes(f[id].type, frame, poison)));
    if (poison) return poison_results(n, frame, poison);
    if (auto failed = decompose(static_cast<LinalgOp>(n.attrs.ints[0]), operands, results)) {
      const ErrorSite& site = module_.sites[n.attrs.index];
      const std::string message = filled(site.message, {{"{0}", failed->matrix}, {"{1}", failed->info}});
      return poison_results(n, frame, fail_at(site, message));
    }
    const int16_t device = device_in(f, n.operands, frame);
    for (size_t i = 0; i < results.size(); ++i) {
      frame[n.results[i].index] = cell(std::move(results[i]));
      frame[n.results[i].index].device = device;
    }
  }

  [[gnu::noinline]] void text(const Function& f, const Node& n, Frame& frame) {
    Poison poison;
    std::vector<TextInput> arguments;
    for (ValueId id : n.operands) {
      const Cell& value = frame[id.index];
      poison = first(poison, value.poison);
      if (value.poison) continue;
      if (value.text) {
        arguments.emplace_back(std::string_view(*value.text));
      } else if (value.list) {
        std::vector<std::string_view> texts;
        for (const Cell& element : value.list->values) {
          poison = first(poison, element.poison);
          if (element.text) texts.emplace_back(*element.text);
        }
        arguments.emplace_back(std::move(texts));
      } else if (f[id].type.is_scalar()) {
        arguments.emplace_back(value.data.i64());
      } else {
        const HostTensor& t = value.data.tensor;
        arguments.emplace_back(
            std::string_view(reinterpret_cast<const char*>(t.data()), static_cast<size_t>(t.count())));
      }
    }
    if (poison) return poison_results(n, frame, poison);
    const Type& type = f[n.results[0]].type;
    TextOutput result;
    try {
      result = eval_text(static_cast<TextOp>(n.attrs.index), type.dtype, arguments, n.attrs.ints);
    } catch (const IoError& error) {
      return poison_results(n, frame, fail({error.kind, error.what(), "", n.loc, 3, {}}));
    }
    Cell& out = frame[n.results[0].index];
    if (const auto* scalar = std::get_if<Scalar>(&result)) {
      out = cell(Data::of(type.dtype, *scalar));
    } else if (auto* texts = std::get_if<std::vector<std::string>>(&result)) {
      auto made = std::make_shared<List>();
      for (std::string& t : *texts)
        made->values.push_back(cell(std::move(t)));
      out = cell(std::move(made));
    } else if (type.kind == Type::Kind::Str) {
      out = cell(std::get<std::string>(std::move(result)));
    } else {
      const auto& bytes = std::get<std::string>(result);
      HostTensor t = HostTensor::make(DType::U8, {static_cast<int64_t>(bytes.size())});
      std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(t.data()));
      int64_t count = t.dims[0];
      out = cell(Data::of(std::move(t)));
      frame[n.results[1].index] = cell(Data::of(count));
    }
  }

  // ---- effects -----------------------------------------------------------------------------------------------------
  void effect(const Function& f, const Node& n, Frame& frame) {
    // An assertion needs only its condition; its values once it has failed. Debug passes failures on.
    size_t needed = n.op == Op::Assert ? 2 : n.op == Op::Debug ? 1 : n.operands.size();
    Poison poison;
    for (size_t i = 1; i < needed; ++i)
      poison = first(poison, frame[n.operands[i].index].poison);
    std::function<void(const Cell&)> elements = [&](const Cell& c) { // what is waited for is needed to its last leaf
      poison = first(poison, c.poison);
      if (c.list)
        for (const Cell& element : c.list->values)
          elements(element);
    };
    if (n.op == Op::Wait || n.op == Op::Save)
      for (size_t i = 1; i < needed; ++i)
        elements(frame[n.operands[i].index]);
    if (n.op == Op::WaitAll || n.op == Op::Exit) poison = first(poison, first_failure_);
    if (poison) throw Stop{poison, 0};
    auto in = [&](size_t i) -> const Cell& { return frame[n.operands[i].index]; };
    auto out = [&](size_t i) -> Cell& { return frame[n.results[i].index]; };
    try {
      switch (n.op) {
      case Op::Print:
        for (size_t i = 1; i < n.operands.size(); ++i)
          n.attrs.index ? print_error(*in(i).text) : out_(*in(i).text);
        return;
      case Op::Plot: return plot(n, frame);
      case Op::Stopwatch: {
        const Scalar value =
            stopwatches_(static_cast<StopwatchOp>(n.attrs.index), n.operands.size() > 1 ? in(1).data.i64() : 0);
        out(1) = cell(Data::of(f[n.results[1]].type.dtype, value));
        return;
      }
      case Op::Progress:
        return print_error(progress_text(in(1).data.i64(), in(2).data.i64(), *in(3).text, n.attrs.index, false));
      case Op::Assert: return assertion(n, frame);
      case Op::Load: {
        DType type = f[n.results[1]].type.dtype;
        std::string name = n.operands.size() > 2 ? *in(2).text : std::string();
        TensorReader reader(*in(1).text, {LoadOptions::unpacked({n.attrs.index}), name, type, n.results.size() - 2});
        require_type(*in(1).text, reader.header(), type, n.results.size() - 2);
        HostTensor t = reader.take();
        t.dtype = type; // keys are kept as u64
        for (size_t i = 0; i < t.dims.size(); ++i)
          out(2 + i) = cell(Data::of(t.dims[i]));
        out(1) = cell(Data::of(std::move(t)));
        return;
      }
      case Op::Save: {
        std::vector<NamedTensor> tensors;
        bool named = in(2).text != nullptr;
        for (size_t i = named ? 3 : 2; i < n.operands.size(); ++i)
          if (in(i).list)
            for (const Cell& element : in(i).list->values)
              tensors.push_back({"", element.data.host()});
          else
            tensors.push_back({"", in(i).data.host()});
        if (named) set_names(tensors, *in(2).text);
        return save_tensors(*in(1).text, tensors);
      }
      case Op::Exists: {
        bool there = n.operands.size() > 2 ? holds_tensor(*in(1).text, *in(2).text) : file_exists(*in(1).text);
        out(1) = cell(Data::of(DType::Bool, Scalar::of(there)));
        return;
      }
      case Op::ReadText: out(1) = cell(n.attrs.index ? tensor_names_text(*in(1).text) : read_text(*in(1).text)); return;
      case Op::WriteText: return write_text(*in(1).text, *in(2).text);
      case Op::Wait:
        for (size_t i = 1; i < n.operands.size(); ++i) {
          Cell value = in(i);
          out(i) = std::move(value);
        }
        return;
      case Op::WaitAll:
      case Op::ReleaseCache: return; // nothing is kept
      case Op::MemoryStats:          // nor counted
        for (size_t i = 1; i < n.results.size(); ++i)
          out(i) = cell(Data::of(int64_t{0}));
        return;
      case Op::Time: {
        std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
        out(1) = cell(Data::of(DType::F64, Scalar::of(now.count())));
        return;
      }
      case Op::Interrupted:
        out(1) = cell(Data::of(DType::Bool, Scalar::of(static_cast<uint8_t>(tl::interrupted()))));
        return;
      case Op::ReadLine: out(1) = cell(read_input_line()); return;
      case Op::Exit: throw Stop{nullptr, static_cast<int>(in(1).data.i64() & 0xff)};
      case Op::Debug: return debug(n, frame);
      default: fault("not an effect");
      }
    } catch (const IoError& error) {
      throw Stop{fail({error.kind, error.what(), "", n.loc, 3, {}}), 0};
    }
  }

  void plot(const Node& n, Frame& frame) {
    auto in = [&](size_t i) -> const Cell& { return frame[n.operands[i].index]; };
    PlotRequest request;
    request.kind = static_cast<PlotKind>(n.attrs.index);
    request.title = *in(1).text;
    size_t next = 2;
    if (n.attrs.ints[0]) request.path = *in(next++).text;
    request.labels = *in(next++).text;
    request.has_x = n.attrs.ints[1] != 0;
    for (; next < n.operands.size(); ++next)
      request.tensors.push_back(in(next).data.host());
    out_(draw_plot(request, terminal()));
  }

  void assertion(const Node& n, Frame& frame) {
    if (frame[n.operands[1].index].data.truth()) return;
    Poison poison;
    for (size_t i = 2; i < n.operands.size(); ++i)
      poison = first(poison, frame[n.operands[i].index].poison);
    if (poison) throw Stop{poison, 0};
    throw Stop{fail_at(module_.sites[n.attrs.index], fill(n.attrs.format, n, frame, 2)), 0};
  }

  void print_error(const std::string& text) {
    if (err_)
      err_(text);
    else
      std::fputs(text.c_str(), stderr);
  }

  void debug(const Node& n, Frame& frame) {
    Cell value = frame[n.operands[1].index];
    const Location& at = module_.locations[n.loc.index];
    std::string summary = "failed: ";
    if (value.poison) {
      summary += visible(value.poison->error.message);
    } else if (value.text) {
      summary = *value.text;
    } else {
      HostTensor t = value.data.host();
      summary = debug_summary(t.dtype, t.dims, t.data());
    }
    std::string name = n.attrs.format.literals.empty() ? "" : n.attrs.format.literals[0];
    print_error(fmt::format("{}:{}: {}{}\n", visible(at.file), at.line, name, summary));
    frame[n.results[1].index] = std::move(value);
  }

  const Module& module_;
  const OutputSink& out_;
  const OutputSink& err_;
  const std::atomic<bool>* interrupt_; // may be null
  int cpu_devices_;
  std::vector<std::vector<bool>> single_uses_; // by function, filled when it is first called
  const std::vector<bool>* single_ = nullptr;  // of the function that runs
  Poison first_failure_;
  Stopwatches stopwatches_;
  uint64_t next_order_ = 0;
  LocId loc_; // of the node that runs
  int depth_ = 0;
  std::vector<LocId> calls_; // of the calls that run, the innermost last
  int map_depth_ = 0;
};

} // namespace

Outcome interpret(const Module& module, const std::vector<Argument>& arguments, const OutputSink& out,
                  const OutputSink& err, const std::atomic<bool>* interrupt, int cpu_devices) {
  Outcome outcome;
  on_deep_stack([&] { outcome = Interpreter(module, out, err, interrupt, cpu_devices).run(arguments); });
  return outcome;
}

} // namespace tl::ir
