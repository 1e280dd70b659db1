// Control flow and host scalars. Operations are issued in vm/issue.cpp and vm/host_ops.cpp.
#include "vm/interpreter.h"
#include "abi/scalar_functions.h"
#include "vm/nan_check.h"
#include <fmt/format.h>
#include <stdexcept>

namespace tl {

Interpreter::Interpreter(const Program& program, KernelProvider& kernels, const RunOptions& options,
                         const Devices& devices, Console& console, Stats& stats)
    : program_(program), kernels_(kernels), options_(options), devices_(devices), console_(console), stats_(stats),
      engine_(program, options, devices, stats), constant_tensors_(program.tensors.size()),
      constant_strings_(program.strings.size()), quick_(program.functions.size()), compiled_(program.kernel_count) {
  if (options.profile) options.profile->watch(&instruction_);
  Node* start = engine_.nodes.create();
  start->waiters.store(Node::done_mark(), std::memory_order_relaxed);
  effects_ = Value::of_node(engine_.nodes, start, Value::Kind::Str);
}

Interpreter::~Interpreter() { engine_.wait_all(); }

void Interpreter::malformed(const std::string& what) const {
  throw std::logic_error(fmt::format("malformed program: {}", what));
}

const Value& Interpreter::host_scalar(const Instruction& i, size_t k) {
  if (k >= i.in.size()) malformed("an operand is missing");
  const Value& value = slot(i.in[k].slot);
  if (value.kind != Value::Kind::Scalar) malformed(fmt::format("slot {} is no host scalar", i.in[k].slot.index));
  return value;
}

const Value& Interpreter::tensor(const Instruction& i, size_t k) {
  if (k >= i.in.size()) malformed("an operand is missing");
  const Value& value = slot(i.in[k].slot);
  if (value.kind != Value::Kind::Tensor) malformed(fmt::format("slot {} is no tensor", i.in[k].slot.index));
  return value;
}

void Interpreter::give_away(const Instruction& i) {
  for (const auto& operand : i.in)
    if (operand.last_use) slot(operand.slot).reset();
}

FailureRef Interpreter::fail(RuntimeError error) {
  if (!error.loc.index) error.loc = instruction_->loc;
  FailureRef failure(new Failure(std::move(error), {issue_, piece_}));
  engine_.record(failure);
  return failure;
}

void Interpreter::flush() {
  try {
    console_.flush();
  } catch (const IoError& e) {
    stop(fail({e.kind, e.what(), "", {}, 3, {}}));
  }
}

void Interpreter::check_stop() {
  if (engine_.stopped()) stop(engine_.effect_failure());
  if (options_.interrupt && options_.interrupt->load(std::memory_order_relaxed)) throw Interrupted{};
}

const Quick* Interpreter::quick(uint32_t function) {
  auto& code = quick_.at(function);
  if (!code)
    code = std::make_unique<const std::vector<Quick>>(quick_code(program_.functions[function], options_.check_nan));
  return code->data();
}

// What is plain is done here, without a call and without a look into the Instruction; all else is a step.
std::vector<Value> Interpreter::loop() {
  NativeMath m;
  uint64_t issue = issue_;
  Frame* frame = nullptr;
  const Quick* code = nullptr;
  Value* slots = nullptr;
  size_t at = 0;
  auto enter = [&] {
    frame = top_;
    code = frame->quick;
    slots = frame->slots.data();
    at = frame->at;
  };
  enter();
  while (true) {
    const Quick& q = code[at++];
    ++issue;
    Value &a = slots[q.a], &b = slots[q.b], &out = slots[q.out];
    switch (q.kind) {
    case Quick::Kind::Step: break;
    case Quick::Kind::End: malformed("a function ends without return");
    case Quick::Kind::Const:
      if (!out.holds_nothing()) break;
      out.become(q.type, q.imm);
      continue;
    case Quick::Kind::Move:
      if (q.gives)
        out = std::move(a);
      else
        out = a;
      continue;
    case Quick::Kind::Where: {
      const Value& c = slots[q.c];
      if (!a.is_plain_number() || !b.is_plain_number() || !c.is_plain_number() || !out.holds_nothing()) break;
      out.become(q.type, a.scalar.as<bool>() ? b.scalar : c.scalar);
      continue;
    }
    case Quick::Kind::Guard:
      if (!b.is_plain_number() || !b.scalar.as<uint8_t>()) break;
      if (q.gives)
        out = std::move(a);
      else
        out = a;
      continue;
    case Quick::Kind::Index: {
      const Value& zero = slots[q.c];
      if (!a.is_plain_number() || !b.is_plain_number() || !zero.is_plain_number() || !out.holds_nothing()) break;
      const auto count = b.scalar.as<int64_t>();
      auto k = a.scalar.as<int64_t>();
      if (k < 0 && count >= 0) k += count;
      if (zero.scalar.bits != 0 || k < 0 || k >= count) break;
      if (q.index != Quick::kNone) slots[q.index] = Value::of_scalar(DType::I64, Scalar::of(k));
      if (q.holds != Quick::kNone) slots[q.holds] = Value::of_scalar(DType::Bool, Scalar::of(true));
      out.become(DType::I64, Scalar::of(k));
      at += Quick::kIndexed - 1;
      issue += Quick::kIndexed - 1;
      continue;
    }
    case Quick::Kind::Jump:
      if (!is_calm()) break;
      at = q.c;
      piece_ = issue;
      continue;
    case Quick::Kind::JumpIfNot:
      if (!a.is_plain_number() || !is_calm()) break;
      if (!a.scalar.as<uint8_t>()) at = q.c;
      piece_ = issue;
      continue;
    case Quick::Kind::Call:
    case Quick::Kind::Return: {
      const Instruction& i = frame->function->code[at - 1];
      instruction_ = &i;
      issue_ = issue;
      frame->at = at;
      if (q.kind == Quick::Kind::Call) {
        check_stop();
        call(i);
      } else if (depth_ > 1) {
        go_back(i);
      } else {
        break;
      }
      piece_ = issue;
      enter();
      continue;
    }
    case Quick::Kind::Launch:
      if (!launch_here(frame->function->code[at - 1])) break;
      continue;
    case Quick::Kind::Text:
      if (!text_here(frame->function->code[at - 1])) break;
      continue;
    case Quick::Kind::Format:
      if (!format_here(frame->function->code[at - 1])) break;
      continue;
    case Quick::Kind::ListLength: {
      if (a.kind != Value::Kind::List || a.failure || q.gives || !out.holds_nothing()) break;
      out.become(DType::I64, Scalar::of(static_cast<int64_t>(a.list ? a.list->length() : 0)));
      continue;
    }
    case Quick::Kind::ListGet: {
      if (a.kind != Value::Kind::List || a.failure || !a.list || a.list->width != 1 || q.gives) break;
      const auto k = b.scalar.as<uint64_t>();
      if (!b.is_plain_number() || k >= a.list->values.size()) break;
      if (a.list->values.is_number(k) && out.holds_nothing())
        a.list->values.get_number(k, out);
      else
        out = q.takes && is_own(a) ? a.list->values.take(k) : a.list->values.get(k);
      continue;
    }
    case Quick::Kind::ListLeaves: {
      const Instruction& i = frame->function->code[at - 1];
      instruction_ = &i;
      issue_ = issue;
      list_get(i, q.takes);
      continue;
    }
    case Quick::Kind::ListSet: {
      if (!(q.gives & 1) || !is_own(a) || a.failure || a.list->width != 1) break;
      const auto k = b.scalar.as<uint64_t>();
      if (!b.is_plain_number() || k >= a.list->values.size()) break;
      Value& given = slots[q.c];
      if (given.is_plain_number() && a.list->values.is_number(k))
        a.list->values.put_number(k, given);
      else
        a.list->values.put(k, q.gives & 4 ? std::move(given) : given);
      out = std::move(a);
      continue;
    }
    case Quick::Kind::ListAppend:
      if (!(q.gives & 1) || !is_own(a) || a.failure || a.list->width != 1) break;
      if (b.is_plain_number())
        a.list->values.push_number(b);
      else
        a.list->values.push_back(q.gives & 2 ? std::move(b) : b);
      out = std::move(a);
      continue;
#define TL_QUICK(dtype, native, op)                                                                                    \
  case Quick::Kind::op##dtype:                                                                                         \
    if (!a.is_plain_number() || !b.is_plain_number() || !out.holds_nothing()) break;                                   \
    out.become(q.type, Scalar::of(body::op(m, a.scalar.as<native>(), b.scalar.as<native>())));                         \
    continue;
      TL_QUICK_SCALARS(TL_QUICK)
#undef TL_QUICK
#define TL_QUICK(dtype, native, op)                                                                                    \
  case Quick::Kind::op##dtype##Jump: {                                                                                 \
    if (!a.is_plain_number() || !b.is_plain_number() || !out.holds_nothing() || !is_calm()) break;                     \
    const bool holds = body::op(m, a.scalar.as<native>(), b.scalar.as<native>());                                      \
    out.become(DType::Bool, Scalar::of(holds));                                                                        \
    piece_ = ++issue;                                                                                                  \
    at = holds ? at + 1 : q.c;                                                                                         \
    continue;                                                                                                          \
  }
      TL_QUICK_TESTS(TL_QUICK)
#undef TL_QUICK
    }
    const Instruction& i = frame->function->code[at - 1];
    instruction_ = &i;
    issue_ = issue;
    frame->at = at;
    if (i.op == BcOp::Return && depth_ == 1) {
      std::vector<Value> values;
      for (const auto& operand : i.in) {
        values.push_back(slot(operand.slot));
        bring_home(values.back());
      }
      return values;
    }
    step(i);
    if (i.op == BcOp::Jump || i.op == BcOp::JumpIfNot || i.op == BcOp::Call || i.op == BcOp::Return) piece_ = issue_;
    enter();
  }
}

void Interpreter::go_back(const Instruction& i) {
  Frame& callee = *top_;
  --depth_;
  top_ = &frames_[depth_ - 1];
  const Instruction& caller = top_->function->code[top_->at - 1];
  for (size_t k = 0; k < caller.out.size() && k < i.in.size(); ++k)
    set(caller.out[k], callee.slots[i.in[k].slot.index]);
  for (Value& v : callee.slots)
    v.reset();
}

void Interpreter::step(const Instruction& i) {
  switch (i.op) {
  case BcOp::ConstScalar: set(i.out[0], Value::of_scalar(i.dtype, i.imm)); break;
  case BcOp::ConstTensor: {
    Value& constant = constant_tensors_.at(i.index);
    if (!constant.node) {
      const HostTensor& x = program_.tensors[i.index];
      Node* node = engine_.nodes.create();
      node->external = x.bytes;
      node->data = x.bytes.get();
      node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
      Dims dims;
      for (int64_t d : x.dims)
        dims.push_back(d);
      constant = Value::of_node(engine_.nodes, node, Value::Kind::Tensor, x.dtype, std::move(dims));
    }
    set(i.out[0], constant);
    break;
  }
  case BcOp::ConstStr: {
    Value& constant = constant_strings_.at(i.index);
    if (!constant.node) {
      Node* node = engine_.nodes.create();
      node->text = program_.strings[i.index];
      node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
      constant = Value::of_node(engine_.nodes, node, Value::Kind::Str);
    }
    set(i.out[0], constant);
    break;
  }
  case BcOp::Move:
    if (i.in[0].last_use)
      set(i.out[0], std::move(in(i, 0)));
    else
      set(i.out[0], in(i, 0));
    break;
  case BcOp::Scalar: scalar(i); break;
  case BcOp::Convert: {
    const Value& from = host_scalar(i, 0);
    Value result = Value::of_scalar(i.dtype, convert_scalar(i.dtype2, i.dtype, from.scalar));
    result.failure = from.failure;
    give_away(i);
    set(i.out[0], std::move(result));
    break;
  }
  case BcOp::Guard: guard(i); break;
  case BcOp::Await: await(i); break;
  case BcOp::View: view(i); break;
  case BcOp::Launch:
    check_stop();
    launch(i);
    break;
  case BcOp::Sort:
    check_stop();
    sort(i);
    break;
  case BcOp::Linalg:
    check_stop();
    linalg(i);
    break;
  case BcOp::Host:
    check_stop();
    host(i);
    break;
  case BcOp::Jump:
    check_stop();
    top().at = i.target;
    break;
  case BcOp::JumpIfNot: {
    check_stop();
    const Value& condition = host_scalar(i, 0);
    if (condition.failure) stop(condition.failure);
    bool holds = condition.scalar.as<uint8_t>() != 0;
    give_away(i);
    if (!holds) top().at = i.target;
    break;
  }
  case BcOp::Call:
    check_stop();
    call(i);
    break;
  case BcOp::Return: go_back(i); break;
  case BcOp::Drop:
    for (const auto& operand : i.in)
      slot(operand.slot).reset();
    break;
  }
}

void Interpreter::scalar(const Instruction& i) {
  Scalar args[3];
  FailureRef failure;
  size_t n = i.in.size();
  if (n > 3 || static_cast<int>(n) != info(i.scalar).arity) malformed("a scalar operation has too many operands");
  for (size_t k = 0; k < n; ++k) {
    const Value& v = host_scalar(i, k);
    args[k] = v.scalar;
    if (v.failure) take_first(failure, v.failure);
  }
  const Scalar result = eval_scalar(i.scalar, i.dtype, {args, n});
  give_away(i);
  Value& out = slot(i.out[0]);
  if (out.kind != Value::Kind::Scalar) out = Value::of_scalar(result_type(i.scalar, i.dtype), result);
  out.dtype = result_type(i.scalar, i.dtype);
  out.scalar = result;
  if (failure || out.failure) out.failure = std::move(failure);
  if (options_.check_nan) {
    bool had = false;
    for (size_t k = 0; k < n; ++k)
      had = had || first_nan(i.dtype, reinterpret_cast<const std::byte*>(&args[k].bits), 1) >= 0;
    if (!had) stop_at_nan(slot(i.out[0]), i);
  }
}

void Interpreter::guard(const Instruction& i) {
  const Value& condition = host_scalar(i, 1);
  if (!condition.failure && condition.scalar.as<uint8_t>()) {
    Value value = i.in[0].last_use ? std::move(in(i, 0)) : in(i, 0);
    give_away(i);
    set(i.out[0], std::move(value));
    return;
  }
  FailureRef failure = condition.failure;
  if (!failure) {
    int64_t payload[2] = {0, 0};
    for (size_t k = 2; k < i.in.size() && k < 4; ++k) {
      const Value& v = host_scalar(i, k);
      payload[k - 2] = v.scalar.as<int64_t>();
      take_first(failure, v.failure);
    }
    if (!failure)
      failure =
          fail(engine_.error_at_site(static_cast<int32_t>(i.index), 0, payload[0], payload[1], i.loc, call_chain()));
  }
  Value result = in(i, 0);
  if (result.kind == Value::Kind::Scalar || result.kind == Value::Kind::List) {
    take_first(failure, result.failure);
    if (result.kind == Value::Kind::List) result = Value::of_list(nullptr);
    result.failure = std::move(failure);
  } else { // the guarded value may turn out to have failed before
    Operation* op = operation();
    op->failure = std::move(failure);
    engine_.add_input(*op, result.node, false);
    Node* node = engine_.nodes.create();
    node->loc = i.loc;
    engine_.add_output(*op, node);
    int16_t device = result.device;
    result = Value::of_node(engine_.nodes, node, result.kind, result.dtype, result.dims);
    result.device = device;
    engine_.submit(op);
  }
  give_away(i);
  set(i.out[0], std::move(result));
}

void Interpreter::view(const Instruction& i) {
  const OutputDesc& desc = i.outputs.at(0);
  Dims dims;
  FailureRef poison;
  bool known = sizes(desc, dims, poison);
  int64_t start = 0;
  if (i.in.size() > 1) {
    const Value& at = host_scalar(i, 1);
    start = at.scalar.as<int64_t>();
    take_first(poison, at.failure);
  }
  Value made;
  if (in(i, 0).kind == Value::Kind::Scalar) { // a branch may give either: from here on a tensor
    take_first(poison, in(i, 0).failure);
    HostTensor x = HostTensor::make(in(i, 0).dtype, {});
    x.set(0, in(i, 0).scalar);
    Node* node = engine_.nodes.create();
    node->external = x.bytes;
    node->data = x.bytes.get();
    node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
    made = Value::of_node(engine_.nodes, node, Value::Kind::Tensor, x.dtype);
  }
  const Value& from = made.node ? made : tensor(i, 0);
  // A value that a guard refused has the sizes it really has: whether this one was is seen when it is done.
  auto count = dims.count(), there = from.dims.count();
  bool outside = from.node->data && (!count || !there || start < 0 || *count > *there - start);
  // A check of sizes may have failed that this value does not depend on: what was issued before goes on.
  if (outside && !poison) poison = engine_.first_failure();
  if (!known || poison || outside) {
    Operation* op = operation();
    if (outside && !poison) {
      op->kind = Operation::Kind::Task;
      op->task = [](Operation&) { throw std::logic_error("malformed program: a view reaches outside its tensor"); };
    }
    op->failure = std::move(poison);
    engine_.add_input(*op, from.node, false);
    Value result = make_output(*op, desc.dtype, std::move(dims));
    result.device = from.device;
    submit(op, i);
    set(i.out[0], std::move(result));
    return;
  }
  Value result = made.node ? std::move(made) : i.in[0].last_use ? std::move(in(i, 0)) : from;
  result.dtype = desc.dtype;
  result.dims = std::move(dims);
  result.offset += start * size_of(desc.dtype);
  give_away(i);
  set(i.out[0], std::move(result));
}

void Interpreter::await(const Instruction& i) {
  check_stop();
  const Value& from = in(i, 0);
  if (from.kind == Value::Kind::Scalar) {
    if (from.failure) stop(from.failure);
    Value copy = from;
    give_away(i);
    set(i.out[0], std::move(copy));
    return;
  }
  Value out = host_number(tensor(i, 0));
  if (out.failure) stop(out.failure);
  give_away(i);
  set(i.out[0], std::move(out));
}

Value Interpreter::host_number(const Value& x) {
  const Value here = readable(x, 0);
  wait_for(here.node);
  Value out = Value::of_scalar(x.dtype, {});
  out.failure = here.node->failure;
  if (!out.failure) std::memcpy(&out.scalar.bits, here.node->data + here.offset, static_cast<size_t>(size_of(x.dtype)));
  return out;
}

void Interpreter::wait_for(Node* node) {
  if (!node->done()) flush();
  engine_.wait(node);
}

void Interpreter::call(const Instruction& i) {
  const BcFunction& callee = program_.functions.at(i.index);
  if (depth_ > options_.max_call_depth) // main itself is not a call
    stop(fail({"StackOverflow",
               fmt::format("calls are nested more than {} deep", options_.max_call_depth),
               "does the recursion end?",
               i.loc,
               3,
               {}}));
  if (callee.params.size() != i.in.size())
    malformed(fmt::format("'{}' takes {} values", callee.name, callee.params.size()));
  if (frames_.size() == depth_) frames_.emplace_back();
  Frame& frame = frames_[depth_];
  frame.function = &callee;
  frame.quick = quick(i.index);
  frame.at = 0;
  frame.slots.resize(callee.slot_count);
  frame.from = i.loc;
  frame.call = nullptr;
  for (size_t k = 0; k < i.in.size(); ++k)
    frame.slots[callee.params[k].index] = slot(i.in[k].slot);
  give_away(i);
  ++depth_;
  top_ = &frame;
}

const CallSite* Interpreter::call_chain() {
  size_t known = depth_ - 1; // main is not a call
  while (known > 0 && !frames_[known].call)
    --known;
  for (size_t k = known + 1; k < depth_; ++k) {
    const CallSite* caller = frames_[k - 1].call;
    const LocId from = frames_[k].from;
    const CallSite* nearest = nullptr;
    int times = 0;
    for (const CallSite* at = caller; at && times < kRecursion; at = at->caller)
      if (at->loc == from && ++times == 1) nearest = at;
    if (times == kRecursion) {
      frames_[k].call = nearest;
      continue;
    }
    CallSite& site = calls_[{caller, from.index}];
    site = {from, caller};
    frames_[k].call = &site;
  }
  return top().call;
}

} // namespace tl
