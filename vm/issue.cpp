// Issuing kernels: sizes, memory in program order, memory taken over from values that nobody needs any more.
#include "vm/interpreter.h"
#include "vm/interrupt.h"
#include "vm/linalg/linalg.h"
#include "vm/sort/sort.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>

namespace tl {

static std::string bytes_text(uint64_t bytes) {
  constexpr const char* units[] = {"bytes", "KB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(units))
    value /= 1000, ++unit;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

const CompiledKernel& Interpreter::kernel(uint32_t index) {
  if (index >= compiled_.size()) compiled_.resize(index + 1);
  if (!compiled_[index]) {
    const Profile::Time begun = options_.profile ? options_.profile->now() : 0;
    compiled_[index] = &kernels_.kernel(index);
    if (options_.profile) options_.profile->did(Profile::Doing::Compile, begun, options_.profile->now());
    ++stats_.kernels_compiled;
  }
  return *compiled_[index];
}

const GpuKernel* Interpreter::gpu_kernel(const Instruction& i) {
  try {
    if (i.op == BcOp::Sort) return kernels_.gpu_sort(static_cast<SortOp>(i.index), i.dtype);
    return i.op == BcOp::Launch ? kernels_.gpu_kernel(i.index) : nullptr;
  } catch (RuntimeError& error) { // it does not compile
    stop(fail(std::move(error)));
  }
}

bool Interpreter::sizes(const OutputDesc& desc, Dims& dims, FailureRef& poison) {
  dims.clear();
  bool known = true;
  for (const SizeRef& size : desc.dims) {
    if (!size.is_slot) {
      dims.push_back(size.constant);
      continue;
    }
    const Value& v = slot(size.slot);
    if (v.kind != Value::Kind::Scalar) malformed(fmt::format("slot {} is no size", size.slot.index));
    if (v.failure) {
      take_first(poison, v.failure);
      known = false;
      dims.push_back(0);
    } else {
      dims.push_back(v.scalar.as<int64_t>());
    }
  }
  return known;
}

Value Interpreter::make_output(Operation& op, DType type, Dims dims, int64_t offset) {
  Node* node = engine_.nodes.create();
  node->loc = instruction_->loc;
  engine_.add_output(op, node);
  return Value::of_node(engine_.nodes, node, Value::Kind::Tensor, type, std::move(dims), offset);
}

// Whether an output may take the memory of its input `desc.alias`: the frame's reference is the only one left, and no
// other operand is the same value. Operations in flight that read it come first (Operation::overwrites).
bool Interpreter::can_take_over(const Instruction& i, const OutputDesc& desc, int device, uint64_t bytes) {
  if (desc.mode == AliasMode::None || desc.alias >= i.in.size() || !i.in[desc.alias].last_use) return false;
  const Value& from = slot(i.in[desc.alias].slot);
  if (from.kind != Value::Kind::Tensor || from.node->handles != 1 || !from.node->block) return false;
  if (from.node->block.pool != &devices_.memory(device)) return false;
  if (static_cast<uint64_t>(from.offset) + bytes > from.node->block.bytes) return false;
  for (size_t k = 0; k < i.in.size(); ++k)
    if (k != desc.alias && slot(i.in[k].slot).node == from.node) return false;
  return true;
}

constexpr int64_t kTinyShare = 20; // of the work that is worth a task of its own, about 100 us

// Of one tile that few elements are in: `tiles` is ceil(elements / most). Nothing: there are more tiles, or another
// formula.
static std::optional<int64_t> elements_of_one(const SizeFormula& tiles, KernelArgs args, int64_t& most) {
  using Op = SizeFormula::Op;
  const auto& steps = tiles.steps;
  if (steps.size() < 3 || steps.back().op != Op::CeilDiv || steps[steps.size() - 2].op != Op::Const)
    return std::nullopt;
  most = steps[steps.size() - 2].value;
  int64_t elements = 1;
  for (size_t k = 0; k + 2 < steps.size(); ++k) { // a product
    int64_t factor = 1;
    if (steps[k].op == Op::Arg)
      std::memcpy(&factor, args[steps[k].value], sizeof factor);
    else if (steps[k].op == Op::Const)
      factor = steps[k].value;
    else if (steps[k].op != Op::Mul)
      return std::nullopt;
    if (__builtin_mul_overflow(elements, factor, &elements)) return std::nullopt;
  }
  return elements >= 0 && elements <= most ? std::optional(elements) : std::nullopt;
}

bool Interpreter::is_small(const CompiledKernel& kernel, KernelArgs args) const {
  for (const KernelPhase& phase : kernel.phases) {
    int64_t tiles = phase.tiles.evaluate(args), grain = phase.grain.evaluate(args);
    if (tiles <= 0 || tiles <= grain / kTinyShare) continue;
    int64_t most = 0, share = 0;
    const auto elements = elements_of_one(phase.tiles, args, most);
    if (!elements || __builtin_mul_overflow(grain, most, &share) || *elements > share / kTinyShare) return false;
  }
  return true;
}

void Interpreter::sweep() {
  std::function<void(const Value&)> drop = [&](const Value& v) {
    if (v.node && v.node->replicas) engine_.nodes.drop_replicas(*v.node);
    if (v.list)
      for (size_t k = 0; k < v.list->values.size(); ++k)
        if (v.list->values.has_handle(k)) drop(v.list->values.get(k));
    if (!v.node || !v.node->done() || !v.node->failure) return;
    engine_.nodes.ledger.credit(*v.node);
    Pool::free(v.node->block);
  };
  for (size_t d = 0; d < depth_; ++d)
    for (const Value& v : frames_[d].slots)
      drop(v);
}

FailureRef Interpreter::no_memory(const Operation& op, const std::string& what, uint64_t bytes) {
  // Everything in flight is done: an input that failed is the reason to report, not memory.
  for (const Operation::Input& input : op.inputs)
    if (input.node->done() && input.node->failure) return input.node->failure;
  RuntimeError error;
  error.kind = "OutOfMemory";
  const Pool& pool = devices_.memory(op.device);
  error.message = fmt::format("there is no room for {} ({}) under the memory limit of {}", what, bytes_text(bytes),
                              bytes_text(pool.limit()));
  if (pool.in_use() + Pool::class_bytes(bytes) <= pool.limit()) // others may use the device, too
    error.message += fmt::format(", and {} gives no more", device_name(devices_.number(op.device)));
  error.loc = instruction_->loc;
  // The largest values that are still needed, each once.
  std::vector<const Value*> live;
  for (size_t d = 0; d < depth_; ++d)
    for (const Value& v : frames_[d].slots)
      if (v.kind == Value::Kind::Tensor && v.node->block &&
          std::none_of(live.begin(), live.end(), [&](const Value* other) { return other->node == v.node; }))
        live.push_back(&v);
  std::stable_sort(live.begin(), live.end(),
                   [](const Value* a, const Value* b) { return a->node->block.bytes > b->node->block.bytes; });
  for (size_t k = 0; k < live.size() && k < 3; ++k)
    error.notes.emplace_back(fmt::format("{} ({}) is still needed", type_text(live[k]->dtype, live[k]->dims.view()),
                                         bytes_text(live[k]->node->block.bytes)),
                             live[k]->node->loc);
  Engine::add_calls(error, call_chain());
  return fail(std::move(error));
}

void Interpreter::note_shapes(Operation& op, const Instruction& i) const {
  auto add = [](std::vector<Profile::Shape>& to, const Value& v) {
    if (v.kind != Value::Kind::Tensor) return;
    auto dims = v.dims.view();
    to.push_back({v.dtype, {dims.begin(), dims.end()}});
  };
  const std::string* name = op.kernel ? &op.kernel->name : op.gpu_kernel ? &op.gpu_kernel->name : nullptr;
  if (name && !name->empty()) options_.profile->set_name(*op.record, *name);
  for (const auto& operand : i.in)
    add(op.record->reads, frames_[depth_ - 1].slots[operand.slot.index]);
  for (const Value& value : outputs_)
    add(op.record->makes, value);
}

void Interpreter::launch(const Instruction& i) { launch(i, nullptr, {}, 0); }

// Whether a kernel is tiny whatever its arguments are, and needs no workspace.
static bool is_tiny(const CompiledKernel& kernel) {
  auto constant = [](const SizeFormula& formula) -> std::optional<int64_t> {
    if (formula.steps.empty()) return 0;
    if (formula.steps.size() > 1 || formula.steps[0].op != SizeFormula::Op::Const) return std::nullopt;
    return formula.steps[0].value;
  };
  return constant(kernel.shared_bytes) == 0 && constant(kernel.local_bytes) == 0 &&
         std::all_of(kernel.phases.begin(), kernel.phases.end(), [&](const KernelPhase& phase) {
           return constant(phase.tiles) && constant(phase.grain) && *constant(phase.tiles) > 0 &&
                  *constant(phase.tiles) <= *constant(phase.grain) / kTinyShare;
         });
}

// As an operation it would take many times as long, and its results a memory of their own each. What fails goes the way
// of all.
bool Interpreter::launch_here(const Instruction& i) {
  constexpr size_t most = 16;
  if (i.index >= runs_here_.size()) runs_here_.resize(i.index + 1);
  Here& known = runs_here_[i.index];
  if (known == Here::Unknown) {
    const bool watched = options_.watch || options_.inject || options_.profile || options_.check_nan ||
                         options_.schedule_seed || engine_.is_card(options_.device);
    known = !watched && is_tiny(kernel(i.index)) && i.in.size() + i.out.size() <= most ? Here::Yes : Here::No;
  }
  if (known == Here::No) return false;
  struct Noticed : KernelErrors {
    bool any = false;
  } errors{{[](KernelErrors* self, int32_t, int64_t, int64_t, int64_t) { static_cast<Noticed*>(self)->any = true; }}};
  void* args[most];
  uint64_t results[most]; // only those that there are are set
  size_t n = 0;
  for (const tl::Operand& operand : i.in) {
    Value& value = slot(operand.slot);
    if (!value.is_plain_number()) return false;
    args[n++] = &value.scalar;
  }
  for (size_t k = 0; k < i.out.size(); ++k) {
    results[k] = 0;
    args[n++] = &results[k];
  }
  const CompiledKernel& compiled = *compiled_[i.index];
  const KernelWorkspace none{};
  auto run = [&] {
    for (const KernelPhase& phase : compiled.phases)
      phase.function(args, 0, phase.tiles.steps[0].value, &none, &errors);
  };
  if (!options_.interrupt || !i.outputs[0].suffers) // else it has loops
    run();
  else if (!run_interruptibly(*options_.interrupt, run))
    return false;
  if (errors.any) return false;
  ++stats_.operations;
  ++stats_.kernels_launched;
  for (size_t k = 0; k < i.out.size(); ++k) { // numbers need not be given away
    Value& out = slot(i.out[k]);
    if (!out.holds_nothing()) out.reset();
    out.become(i.outputs[k].dtype, Scalar{results[k]});
    stats_.bytes += static_cast<uint64_t>(size_of(i.outputs[k].dtype));
  }
  return true;
}

// Of the phase that has most.
static int64_t most_tiles(const GpuKernel& kernel, KernelArgs args) {
  int64_t tiles = 1;
  for (const GpuPhase& phase : kernel.phases)
    tiles = std::max(tiles, phase.tiles.evaluate(args));
  return tiles;
}

// Whether a kernel runs for milliseconds at least: it must not begin ahead of what may stop the program, since what has
// been launched cannot be stopped. A tile is a row, or what one thread does at a time, or some thousand elements.
static bool is_long_on_card(const GpuKernel& kernel, KernelArgs args) {
  constexpr double most = 1 << 20, elements = 4096; // of tiles, and of a tile
  return std::any_of(kernel.phases.begin(), kernel.phases.end(), [&](const GpuPhase& phase) {
    const auto tiles = static_cast<double>(phase.tiles.evaluate(args));
    if (!phase.row.steps.empty()) return tiles * static_cast<double>(phase.row.evaluate(args)) > most * elements;
    return (phase.by_thread ? tiles / kGpuThreads : tiles) > most;
  });
}

void Interpreter::linalg(const Instruction& i) {
  FailureRef poison;
  int64_t numbers[4];
  for (size_t k = 0; k < 4; ++k) {
    const Value& v = host_scalar(i, k);
    numbers[k] = v.scalar.as<int64_t>();
    take_first(poison, v.failure);
  }
  const auto op = static_cast<LinalgOp>(i.index);
  const LinalgSizes sizes{numbers[0], numbers[1], numbers[2], numbers[3]};
  std::optional<int64_t> local = 0;
  if (!poison) local = linalg_workspace(op, i.dtype, sizes);
  if (!local) poison = fail({"OutOfMemory", linalg_too_large(op, sizes), "", i.loc, 3, {}});
  launch(i, &linalg_kernel(op, i.dtype), std::move(poison), local.value_or(0));
}

void Interpreter::sort(const Instruction& i) {
  const Value& n = host_scalar(i, 1);
  FailureRef poison = n.failure;
  // What a mask chooses is found in rows of any length, but not by a card.
  const bool any_length =
      i.dtype == DType::Bool && static_cast<SortOp>(i.index) == SortOp::Top && devices_.cards() == 0;
  if (const int64_t length = n.scalar.as<int64_t>(); !poison && !any_length && length > kLongestSortedRow)
    poison = fail({"OutOfMemory",
                   "rows of " + std::to_string(length) + " elements are too long: at most " +
                       std::to_string(kLongestSortedRow) + " can be sorted",
                   "",
                   i.loc,
                   3,
                   {}});
  launch(i, &sort_kernel(static_cast<SortOp>(i.index), i.dtype), std::move(poison), 0);
}

// `compiled`: null: the instruction's. `poison`: why it need not run. `local_bytes`: workspace of each worker beside
// what the kernel's formula gives.
void Interpreter::launch(const Instruction& i, const CompiledKernel* compiled, FailureRef poison, int64_t local_bytes) {
  if (i.outputs.size() != i.out.size()) malformed("a launch whose outputs are not described");
  if (planned_.size() < i.outputs.size()) planned_.resize(i.outputs.size());
  taken_.assign(i.in.size(), 0);
  for (size_t k = 0; k < i.outputs.size(); ++k) {
    planned_[k].bytes = 0;
    planned_[k].in_place = false;
    sizes(i.outputs[k], planned_[k].dims, poison);
  }
  const bool partly = !i.outputs.empty() && i.outputs[0].suffers; // outputs do not fail all together
  std::vector<FailureRef> host_failures;
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& v = in(i, k);
    if (v.kind != Value::Kind::Scalar && v.kind != Value::Kind::Tensor) malformed("a kernel's operand is no number");
    if (!v.failure) continue;
    if (partly) {
      host_failures.resize(i.in.size());
      host_failures[k] = v.failure;
    } else {
      take_first(poison, v.failure);
    }
  }
  int16_t device = kNoDevice; // of the first output that has one: there it runs
  for (size_t k = 0; k < i.outputs.size(); ++k) {
    planned_[k].device = device_of(i, i.outputs[k]);
    if (device == kNoDevice) device = planned_[k].device;
  }
  const int wanted = device == kNoDevice ? options_.device : devices_.index(device);
  int target = wanted;
  const GpuKernel* on_card = nullptr;
  if (engine_.is_card(wanted)) {
    // Sequential code, whose outputs do not fail all together, and decompositions are the host's.
    if (!partly && !i.decides) on_card = gpu_kernel(i);
    if (!on_card) target = 0;
  }
  if (!compiled && !on_card) compiled = &kernel(i.index);
  operands_.clear();
  for (size_t k = 0; k < i.in.size() && devices_.cards() > 0; ++k) {
    const Value& v = in(i, k);
    operands_.emplace_back(); // empty: it can be read where it is
    if (v.kind != Value::Kind::Tensor) continue;
    if (on_card && on_card->sizes[k]) malformed("a size that nobody has awaited"); // formulas are the host's
    if (!is_readable(v, target)) operands_.back() = readable(v, target);
  }
  auto operand = [&](size_t k) -> const Value& {
    return k < operands_.size() && operands_[k].kind != Value::Kind::Empty ? operands_[k] : in(i, k);
  };
  bool had_nan = false;
  if (options_.check_nan)
    for (size_t k = 0; k < i.in.size(); ++k)
      had_nan = had_nan || nan_in(in(i, k)) >= 0;

  uint64_t bytes_before = stats_.bytes;
  Operation* op = operation();
  op->kind = Operation::Kind::Kernel;
  op->kernel = on_card ? nullptr : compiled;
  op->gpu_kernel = on_card;
  op->device = static_cast<int16_t>(target);
  if (on_card) op->card = op->device;
  if (partly) {
    for (const OutputDesc& output : i.outputs)
      op->suffers.push_back(&output.suffers.value());
    op->host_failures = std::move(host_failures);
    op->errors.in_order = true;
  }
  ++stats_.kernels_launched;
  stats_.kernels_on_cards += on_card != nullptr;
  op->scalars.reserve(i.in.size());
  outputs_.clear();

  // Which inputs' memory becomes an output's, before the others count as readers.
  for (size_t k = 0; k < i.outputs.size() && !poison; ++k) {
    const OutputDesc& desc = i.outputs[k];
    auto count = planned_[k].dims.count();
    if (!count || __builtin_mul_overflow(*count, size_of(desc.dtype), &planned_[k].bytes)) {
      auto view = planned_[k].dims.view();
      bool negative = std::any_of(view.begin(), view.end(), [](int64_t d) { return d < 0; });
      std::string what =
          fmt::format("the sizes of {} are {}", type_text(desc.dtype, view), negative ? "negative" : "too large");
      poison = fail({negative ? "NegativeSize" : "OutOfMemory", what, "", i.loc, 3, {}});
      break;
    }
    if (can_take_over(i, desc, op->device, static_cast<uint64_t>(planned_[k].bytes)) && !taken_[desc.alias]) {
      taken_[desc.alias] = true;
      planned_[k].in_place = true;
    }
  }
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& v = operand(k);
    if (on_card) op->in_slot.push_back(v.kind == Value::Kind::Scalar);
    if (v.kind == Value::Kind::Scalar) {
      op->scalars.push_back(v.failure ? Scalar{} : v.scalar);
      op->args.push_back(&op->scalars.back());
    } else {
      engine_.add_input(*op, v.node, !poison && !taken_[k]);
      if (partly) op->operand_of.push_back(static_cast<uint32_t>(k));
      op->args.push_back(v.node->data ? v.node->data + v.offset : nullptr); // null: it has failed
      if (auto count = v.dims.count()) stats_.bytes += static_cast<uint64_t>(*count * size_of(v.dtype));
    }
  }
  for (size_t k = 0; k < i.outputs.size(); ++k) {
    const OutputDesc& desc = i.outputs[k];
    auto size = static_cast<uint64_t>(planned_[k].bytes);
    if (!poison && planned_[k].in_place) {
      Value& from = slot(i.in[desc.alias].slot);
      outputs_.push_back(make_output(*op, desc.dtype, std::move(planned_[k].dims), from.offset));
      Node* node = outputs_.back().node;
      node->block = std::exchange(from.node->block, {});
      node->data = from.node->data;
      if (!node->block) poison = from.node->failure; // it had failed, and its memory was wanted elsewhere
      engine_.nodes.ledger.take_over(*from.node, *node);
      engine_.add_overwritten(*op, from.node);
    } else {
      outputs_.push_back(make_output(*op, desc.dtype, std::move(planned_[k].dims)));
      Node* node = outputs_.back().node;
      if (!poison) {
        auto taken = [&] { return op->overwrites.size() + op->claims.size(); };
        const size_t before = taken();
        if (!engine_.allocate(*op, *node, op->device, size, [this] { sweep(); }))
          poison = no_memory(*op, type_text(desc.dtype, outputs_.back().dims.view()), size);
        planned_[k].in_place = taken() > before;
      }
      if (!poison && desc.mode == AliasMode::Initial) {
        if (desc.alias >= i.in.size()) malformed("an output that starts as an operand which is not there");
        op->copies.push_back({static_cast<const std::byte*>(op->args[desc.alias]), node->data, planned_[k].bytes});
      }
    }
    Value& made = outputs_.back();
    if (!desc.dims.empty()) made.device = planned_[k].device;
    op->args.push_back(made.node->data ? made.node->data + made.offset : nullptr);
    stats_.bytes += size;
  }
  bool is_long = false;
  if (!poison) {
    const KernelArgs args = op->args.data();
    int64_t shared = (on_card ? on_card->shared_bytes : compiled->shared_bytes).evaluate(args);
    int64_t local = on_card ? on_card->local_bytes.evaluate(args) : local_bytes + compiled->local_bytes.evaluate(args);
    if (on_card) {
      op->blocks = std::min(static_cast<uint64_t>(most_tiles(*on_card, args)), devices_.card(target)->blocks_at_once());
      is_long = is_long_on_card(*on_card, args);
    }
    if (shared > 0) {
      const auto of_all = static_cast<uint64_t>(shared);
      if (on_card) op->card_shared = engine_.allocate_on_card(*op, of_all, [this] { sweep(); });
      if (on_card ? !op->card_shared : !engine_.add_workspace(*op, of_all, [this] { sweep(); }))
        poison = no_memory(*op, "a workspace", of_all);
    }
    if (!poison && local > 0 && on_card) {
      op->local_bytes = static_cast<uint64_t>((local + 63) / 64 * 64);
      uint64_t of_all = op->local_bytes * op->blocks;
      while (!(op->card_local = engine_.allocate_on_card(*op, of_all, [this] { sweep(); })) && op->blocks > 1) {
        op->blocks = std::max<uint64_t>(1, op->blocks / 8); // where memory is short, fewer do the work
        of_all = op->local_bytes * op->blocks;
      }
      if (!op->card_local) poison = no_memory(*op, "workspaces", of_all);
    } else if (!poison && local > 0) {
      op->local_bytes = static_cast<uint64_t>(local);
      if (!engine_.reserve_scratch(*op)) poison = no_memory(*op, "workspaces", op->local_bytes);
    }
  }
  if (poison) {
    op->kind = Operation::Kind::Poison;
    op->card = -1;
    op->failure = std::move(poison);
    for (size_t k = 0; k < outputs_.size(); ++k) // memory that nothing is written to, and that nobody else uses
      if (!planned_[k].in_place) {
        engine_.nodes.ledger.credit(*outputs_[k].node);
        Pool::free(outputs_[k].node->block);
        outputs_[k].node->data = nullptr;
      }
  } else if (!on_card) {
    op->small = op->copies.empty() && is_small(*compiled, op->args.data());
  }
  if (op->record) note_shapes(*op, i);
  op->bytes = stats_.bytes - bytes_before;
  Value decision;
  if (i.decides) { // a node without contents, which fails where a condition did
    Node* node = engine_.nodes.create();
    engine_.add_output(*op, node);
    op->suffers.push_back(&*i.decides);
    decision = Value::of_node(engine_.nodes, node, Value::Kind::Str);
  }
  if (op->card >= 0 && is_long) engine_.wait_all();
  submit(op, i);
  if (decision.node) {
    Operation* decides = effect();
    engine_.add_input(*decides, decision.node, false);
    decides->small = true;
    decides->task = [](Operation&) {};
    engine_.submit(decides);
  }
  if (target != wanted) ++stats_.off_card[std::string(operation_name(i))]; // what its card cannot do
  for (size_t k = 0; k < outputs_.size(); ++k)
    set(i.out[k], std::move(outputs_[k]));
  outputs_.clear();
  operands_.clear();
  if (options_.check_nan && !had_nan)
    for (const Slot& made : i.out)
      stop_at_nan(slot(made), i);
}

} // namespace tl
