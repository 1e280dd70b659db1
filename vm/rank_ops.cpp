// What processes that run one program together do with each other: asynchronous, in program order, in a lane.
#include "vm/interpreter.h"
#include "vm/ranks.h"

namespace tl {

void Interpreter::ranks(const Instruction& i) {
  auto number = [](int64_t n) { return Value::of_scalar(DType::I64, Scalar::of(n)); };
  std::vector<Value> values;
  try {
    Ranks& world = Ranks::world();
    switch (i.host_op) {
    case HostOp::ProcessRank: values.push_back(number(world.rank())); break;
    case HostOp::WorldSize: values.push_back(number(world.size())); break;
    case HostOp::AllReduce: values.push_back(collective(i, 0)); break;
    case HostOp::BroadcastFrom: {
      const Value& root = host_scalar(i, 1);
      if (root.failure) stop(root.failure);
      world.require(root.scalar.as<int64_t>());
      values.push_back(collective(i, static_cast<int>(root.scalar.as<int64_t>())));
      break;
    }
    default: malformed("no operation of processes");
    }
  } catch (RuntimeError& error) {
    error.loc = i.loc;
    Engine::add_calls(error, call_chain());
    stop(fail(std::move(error)));
  }
  give_results(i, std::move(values));
}

// An operation that all processes come to. Its first input is the one before, so that they come in the same order; one
// that fails fails those after it, which would otherwise meet others of the other processes.
Value Interpreter::collective(const Instruction& i, int root) {
  const Value& x = in(i, 0);
  if (Ranks::world().size() == 1) return x;
  Operation* op = operation();
  op->kind = Operation::Kind::Task;
  op->lane = kRankLane;
  op->failure = x.failure; // of a number that the host knows
  op->device = cpu_of(x.device);
  come_after(*op, collectives_);
  Operand from = operand(*op, x);
  const auto bytes = static_cast<uint64_t>(x.dims.count().value_or(0) * size_of(x.dtype));
  Value result = make_output(*op, x.dtype, x.dims);
  result.device = x.device;
  if (!engine_.allocate(*op, *result.node, op->device, std::max<uint64_t>(bytes, sizeof(Scalar)), [this] { sweep(); }))
    op->failure = no_memory(*op, type_text(x.dtype, x.dims.view()), bytes);
  op->task = [from = std::move(from), to = result.node->data, count = *x.dims.count(), root,
              reduce = i.host_op == HostOp::AllReduce](Operation&) {
    const std::byte* data =
        from.node ? from.node->data + from.offset : reinterpret_cast<const std::byte*>(&from.scalar.bits);
    if (count == 1) std::memset(to, 0, sizeof(Scalar)); // a scalar's slot
    if (reduce) return Ranks::world().all_reduce(from.dtype, count, data, to);
    std::memcpy(to, data, static_cast<size_t>(count * size_of(from.dtype)));
    Ranks::world().broadcast(from.dtype, count, to, root);
  };
  engine_.submit(op);
  return result;
}

} // namespace tl
