"""Faults in what runs programs on GPUs, for `run.py --gpu`: rows as in faults.py."""

FAULTS = []


def fault(path, original, mutated, what):
    FAULTS.append((path, original, mutated, what))


# ---- what waits for what ---------------------------------------------------------------------------------------------

fault(
    "vm/engine.cpp",
    "const bool same_card = op->card >= 0 && input.node->card == op->card;",
    "const bool same_card = (op->card >= 0 && input.node->card == op->card) || (MUTANT && input.node->card >= 0);",
    "host work, or work of another GPU, begins when its input is launched",
)
fault(
    "vm/gpu/card/queue.cpp",
    "    card_.wait(mark, moment);",
    "    if (!MUTANT) card_.wait(mark, moment);",
    "operations are completed before the GPU has finished them",
)
fault(
    "vm/gpu/card/queue.cpp",
    "launched_.front().moment <= moment)",
    "launched_.front().moment <= moment + (MUTANT ? 1 : 0))",
    "one operation too many is completed after a wait",
)
fault(
    "vm/gpu/card/card.cpp",
    "  if (after <= done_.load(std::memory_order_acquire)) return;",
    "  if (MUTANT || after <= done_.load(std::memory_order_acquire)) return;",
    "a copy to the GPU does not wait for earlier users of the memory",
)
fault(
    "vm/gpu/card/card.cpp",
    "  done_.store(moment, std::memory_order_release);",
    "  done_.store(moment + (MUTANT ? 1000 : 0), std::memory_order_release);",
    "the GPU counts as further ahead than it is",
)
fault(
    "vm/gpu/card/card.cpp",
    """    if (k >= 2) check(cuda_.synchronize_event(in_.free[buffer]), "cuEventSynchronize");""",
    """    if (k >= 2 && !MUTANT) check(cuda_.synchronize_event(in_.free[buffer]), "cuEventSynchronize");""",
    "pinned memory is refilled while it is being copied to the GPU",
)
fault(
    "vm/gpu/card/card.cpp",
    "buffer < std::min<size_t>(k, 2)",
    "buffer < (MUTANT ? 0 : std::min<size_t>(k, 2))",
    "a copy to the GPU counts as done when it is issued",
)
fault(
    "vm/gpu/card/card.cpp",
    """    check(cuda_.synchronize_event(out_.free[k % 2]), "cuEventSynchronize");""",
    """    if (!MUTANT) check(cuda_.synchronize_event(out_.free[k % 2]), "cuEventSynchronize");""",
    "a copy to the host is read before it has arrived",
)
fault(
    "vm/gpu/card/card.cpp",
    "copy_to_device(reinterpret_cast<cuda::Pointer>(copy.to), pinned.host, bytes, compute_)",
    "copy_to_device(reinterpret_cast<cuda::Pointer>(copy.to), pinned.host, bytes, MUTANT ? (prepare(in_), in_.stream) : compute_)",
    "a short copy to the GPU is on another stream",
)
fault(
    "vm/gpu/card/card.cpp",
    "copy_to_host(pinned.host, reinterpret_cast<cuda::Pointer>(copy.from), bytes, compute_)",
    "copy_to_host(pinned.host, reinterpret_cast<cuda::Pointer>(copy.from), bytes, MUTANT ? (prepare(out_), out_.stream) : compute_)",
    "a short copy to the host is on another stream",
)

# ---- memory that goes back -------------------------------------------------------------------------------------------

fault(
    "vm/engine.cpp",
    "node->users.store(2, std::memory_order_relaxed);",
    "node->users.store(MUTANT ? 1 : 2, std::memory_order_relaxed);",
    "a value's memory is freed with its last handle or at its launch, whichever comes first",
)
fault(
    "vm/memory.cpp",
    "  block.moment = source_.moment();\n",
    "  block.moment = MUTANT ? 0 : source_.moment();\n",
    "freed memory counts as idle",
)
fault(
    "vm/memory.cpp",
    "block.moment = source_.moment(); // and behind that whoever uses it",
    "block.moment = MUTANT ? 0 : source_.moment(); // and behind that whoever uses it",
    "what fills new memory may run after its user",
)
fault(
    "vm/device_ops.cpp",
    "result.node->data, bytes, result.node->block.moment});",
    "result.node->data, bytes, MUTANT ? 0 : result.node->block.moment});",
    "a copy to the GPU does not know the earlier users of the memory",
)
fault(
    "vm/issue.cpp",
    "if (from.node->block.pool != &devices_.memory(device)) return false;",
    "if (!MUTANT && from.node->block.pool != &devices_.memory(device)) return false;",
    "a result reuses the memory of an input that is on another device",
)

# ---- the host and the card's memory ----------------------------------------------------------------------------------

fault(
    "vm/interpreter.cpp",
    "  const Value here = readable(x, 0);",
    "  const Value here = MUTANT ? x : readable(x, 0);",
    "the host reads a scalar in GPU memory",
)
fault(
    "vm/issue.cpp",
    "    if (!is_readable(v, target)) operands_.back() = readable(v, target);",
    "    if (!MUTANT && !is_readable(v, target)) operands_.back() = readable(v, target);",
    "a kernel gets a tensor that is in another memory",
)
fault(
    "passes/schedule/place.cpp",
    "if (!dataflow(known)) return known;",
    "if (MUTANT || !dataflow(known)) return known;",
    "a size is not awaited: formulas would read a scalar in GPU memory",
)

# ---- launches --------------------------------------------------------------------------------------------------------

fault(
    "vm/gpu/card/card.cpp",
    "  packed_[1] = packed_[0] + static_cast<uint64_t>(tiles);",
    "  packed_[1] = packed_[0] + static_cast<uint64_t>(tiles - (MUTANT ? 1 : 0));",
    "the last tile is left out",
)
fault(
    "vm/gpu/card/card.cpp",
    "    if (slot) std::memcpy(&bits, op.args[k], sizeof bits);",
    "    if (slot && !MUTANT) std::memcpy(&bits, op.args[k], sizeof bits);",
    "scalars that the host knows are passed as zeros",
)
fault(
    "vm/gpu/card/card.cpp",
    """  for (const Operation::Copy& copy : op.copies)
    check(""",
    """  for (const Operation::Copy& copy : op.copies)
    if (!MUTANT) check(""",
    "an output does not start as a copy of its operand",
)
fault(
    "vm/gpu/card/card.cpp",
    "check(cuda_.fill_bytes(records.device, 0, bytes, compute_)",
    "if (!MUTANT) check(cuda_.fill_bytes(records.device, 0, bytes, compute_)",
    "failure records are not cleared",
)

# ---- failures --------------------------------------------------------------------------------------------------------

fault(
    "vm/gpu/card/queue.cpp",
    "r = records[k]; r.there)",
    "r = records[k]; r.there && !MUTANT)",
    "failures that kernels record are lost",
)
fault(
    "vm/gpu/card/queue.cpp",
    """  for (const Operation::Input& input : op->inputs)
    take_first(failed, input.node->failure);""",
    """  for (const Operation::Input& input : op->inputs)
    if (!MUTANT) take_first(failed, input.node->failure);""",
    "a value computed from a failed value has not failed",
)

# ---- kernels ---------------------------------------------------------------------------------------------------------

fault(
    "backend/cuda/print.cpp",
    """mode_ == Mode::Warp ? "32" : "blockDim.x");
      return barrier();""",
    """mode_ == Mode::Warp ? "32" : "blockDim.x");
      return MUTANT ? void() : barrier();""",
    "no barrier after a vector loop",
)
fault(
    "backend/cuda/print.cpp",
    "      if (loads_alike_ && has(",
    "      if (loads_alike_ && !MUTANT && has(",
    "no barrier between loads by all threads and a vector loop that writes the same memory",
)
fault(
    "backend/cuda/print.cpp",
    "      barrier();\n      line(fmt::format(\"if ({} == 0) {}\", me(), text));",
    "      if (!MUTANT) barrier();\n      line(fmt::format(\"if ({} == 0) {}\", me(), text));",
    "no barrier before one thread stores what others have yet to load",
)
fault(
    "backend/cuda/print.cpp",
    "      line(fmt::format(\"if ({} == 0) {}\", me(), text));\n      return barrier();",
    "      line(fmt::format(\"if ({} == 0) {}\", me(), text));\n      return MUTANT ? void() : barrier();",
    "no barrier between one thread's store and other threads' loads",
)
fault(
    "backend/cuda/print.cpp",
    "    line(\"__syncthreads();\");\n    line(fmt::format(\"const int buffer",
    "    if (!MUTANT) line(\"__syncthreads();\");\n    line(fmt::format(\"const int buffer",
    "no barrier between the parts of a product and their use",
)
fault(
    "backend/cuda/print.cpp",
    "    SaveAndRestore together(together_, false), shared",
    "    SaveAndRestore together(together_, MUTANT && together_), shared",
    "barriers inside loops whose threads diverge",
)

# ---- what must not be left -------------------------------------------------------------------------------------------

fault(
    "vm/gpu/card/card.cpp",
    "    cuda_.unload_module(loaded.module);\n  for",
    "    if (!MUTANT) cuda_.unload_module(loaded.module);\n  for",
    "modules are left on the GPU",
)
fault(
    "vm/gpu/card/card.cpp",
    "  give_back(event); // what waits keeps what was recorded",
    "  if (!MUTANT) give_back(event); // what waits keeps what was recorded",
    "events are left on the GPU",
)

# ---- elements and rows that threads share ----------------------------------------------------------------------------

fault(
    "backend/cuda/print.cpp",
    "    if (in.op == KOp::Load && stored) return {};",
    "    if (in.op == KOp::Load && stored && !MUTANT) return {};",
    "loads of four elements come before a store that they are to see",
)
fault(
    "backend/cuda/print.cpp",
    "if ((grows(0) && steady(1)) ||",
    "if ((grows(0) && (MUTANT || steady(1))) ||",
    "elements that are two apart are taken for neighbours",
)
fault(
    "backend/cuda/print.cpp",
    "is_of_fours(in.operands[0]) ? \"|\" : \"+\"",
    "MUTANT || is_of_fours(in.operands[0]) ? \"|\" : \"+\"",
    "a row that does not begin at a multiple of four is counted as if it did",
)
fault(
    "backend/kernel/builder.cpp",
    "zeros <= shift && *added >> zeros == 0",
    "zeros <= shift && (MUTANT || *added >> zeros == 0)",
    "a sum loses a carry in front of a shift",
)
