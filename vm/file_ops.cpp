// Run-time entries that read and write files.
#include "vm/interpreter.h"
#include "vm/io/io.h"

namespace tl {

// The text of an operand that the program must know to go on.
const std::string& Interpreter::known_text(const Instruction& i, size_t k) {
  Node* node = k < i.in.size() ? in(i, k).node : nullptr;
  if (!node || in(i, k).kind != Value::Kind::Str) malformed("an operand is no string");
  wait_for(node);
  if (node->failure) stop(node->failure);
  return node->text;
}

void Interpreter::save(const Instruction& i) {
  Operation* op = effect();
  std::vector<Operand> values;
  std::vector<Value> held; // until it is submitted
  for (size_t k = 0; k < i.in.size(); ++k) {
    const Value& value = in(i, k);
    if (value.kind != Value::Kind::List) {
      values.push_back(operand(*op, value));
      continue;
    }
    take_first(op->failure, value.failure);
    for (size_t n = 0; value.list && n < value.list->values.size(); ++n)
      values.push_back(operand(*op, held.emplace_back(value.list->values.get(n))));
  }
  for (const Operand& v : values)
    take_first(op->failure, v.failure);
  op->lane = kFileLane;
  op->task = [values = std::move(values)](Operation&) {
    std::vector<NamedTensor> tensors;
    bool named = values.at(1).kind == Value::Kind::Str;
    for (size_t k = named ? 2 : 1; k < values.size(); ++k)
      tensors.push_back({"", values[k].host()});
    if (named) set_names(tensors, values[1].node->text);
    save_tensors(values[0].node->text, tensors);
  };
  submit(op, i);
}

// The sizes are needed to go on, so the file is opened here, once the effects before are done. The elements are read
// behind the program's back, as an effect; or, where the file's pages can stand for them, when they are touched.
void Interpreter::load(const Instruction& i) {
  const OutputDesc& desc = i.outputs.at(0);
  wait_for(effects_.node);
  check_stop();
  std::string path = known_text(i, 0), name = i.in.size() > 1 ? known_text(i, 1) : std::string();
  std::shared_ptr<TensorReader> reader;
  HostTensor mapped;
  Scalar scalar;
  try {
    reader = std::make_shared<TensorReader>(
        path, ReadOptions{LoadOptions::unpacked(i.imm), std::move(name), i.dtype, desc.dims.size()});
    require_type(path, reader->header(), i.dtype, desc.dims.size());
    mapped = reader->map();
    if (desc.dims.empty()) reader->read(reinterpret_cast<std::byte*>(&scalar.bits));
  } catch (const IoError& e) {
    RuntimeError error{e.kind, e.what(), "", i.loc, 3, {}};
    Engine::add_calls(error, call_chain());
    stop(fail(std::move(error)));
  }
  const TensorHeader& header = reader->header();
  Dims dims;
  for (int64_t d : header.dims)
    dims.push_back(d);
  std::vector<int64_t> sizes = header.dims;
  Operation* op = nullptr;
  Value result;
  if (desc.dims.empty()) { // the host knows it, as it knows sizes
    result = Value::of_scalar(i.dtype, scalar);
  } else if (mapped.bytes) {
    Node* node = engine_.nodes.create();
    node->loc = i.loc;
    node->external = mapped.bytes;
    node->data = mapped.data();
    node->waiters.store(Node::done_mark(), std::memory_order_relaxed);
    result = Value::of_node(engine_.nodes, node, Value::Kind::Tensor, i.dtype, std::move(dims));
  } else {
    op = effect();
    result = make_output(*op, i.dtype, std::move(dims));
    auto bytes = static_cast<uint64_t>(element_count(header.dims) * size_of(i.dtype));
    if (!engine_.allocate(*op, *result.node, op->device, bytes, [this] { sweep(); }))
      op->failure = no_memory(*op, type_text(header.dtype, header.dims), bytes);
    op->lane = kFileLane;
    op->task = [reader, data = result.node->data](Operation&) { reader->read(data); };
  }
  if (op) engine_.submit(op);
  give_away(i);
  set(i.out[0], std::move(result));
  for (size_t k = 0; k < sizes.size() && k + 1 < i.out.size(); ++k)
    set(i.out[k + 1], Value::of_scalar(DType::I64, Scalar::of(sizes[k])));
}

void Interpreter::exists(const Instruction& i) {
  wait_for(effects_.node);
  check_stop();
  bool there = false;
  try {
    there = i.in.size() > 1 ? holds_tensor(known_text(i, 0), known_text(i, 1)) : file_exists(known_text(i, 0));
  } catch (const IoError& e) {
    RuntimeError error{e.kind, e.what(), "", i.loc, 3, {}};
    Engine::add_calls(error, call_chain());
    stop(fail(std::move(error)));
  }
  give_away(i);
  set(i.out[0], Value::of_scalar(DType::Bool, Scalar::of(uint8_t{there})));
}

void Interpreter::read_text(const Instruction& i) {
  Operation* op = effect();
  Operand path = operand(*op, in(i, 0));
  Node* node = engine_.nodes.create();
  node->loc = i.loc;
  engine_.add_output(*op, node);
  op->lane = kFileLane;
  op->task = [path = std::move(path), node, names = i.index == 1](Operation&) {
    node->text = names ? tensor_names_text(path.node->text) : tl::read_text(path.node->text);
  };
  Value result = Value::of_node(engine_.nodes, node, Value::Kind::Str);
  submit(op, i);
  set(i.out[0], std::move(result));
}

void Interpreter::write_text(const Instruction& i) {
  Operation* op = effect();
  Operand path = operand(*op, in(i, 0)), text = operand(*op, in(i, 1));
  op->lane = kFileLane;
  op->task = [path = std::move(path), text = std::move(text)](Operation&) {
    tl::write_text(path.node->text, text.node->text);
  };
  submit(op, i);
}

} // namespace tl
