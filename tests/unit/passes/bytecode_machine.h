// A machine for bytecode that is as simple as can be: one instruction after the other, kernels by the reference
// interpreter. It insists on lifetimes: no slot is read after its reference was given away, none is left at the end.
#pragma once
#include "pass_support.h"
#include "vm/io/io.h"
#include <functional>

namespace tl::test {

class BytecodeMachine {
public:
  BytecodeMachine(const ir::Module& module, const Scheduled& scheduled) : module_(module), s_(scheduled) {}

  std::string printed;
  int launches = 0;
  // Runs a kernel in place of the interpreter. Whoever holds the only reference to an operand may write to it.
  std::function<std::vector<Argument>(const Instruction&, std::vector<HostTensor> operands)> kernels;

  // One cell for each parameter of the entry.
  std::vector<Argument> run(std::vector<Argument> arguments) { return call(s_.program.entry, std::move(arguments)); }

private:
  struct Cell {
    bool full = false, host = false;
    Argument value;
  };
  struct Frame {
    std::vector<Cell> cells;
  };

  static int64_t i64(const Cell& cell) { return std::get<HostTensor>(cell.value).get(0).as<int64_t>(); }
  static Argument scalar(DType type, Scalar value) {
    HostTensor t = HostTensor::make(type, {});
    t.set(0, value);
    return t;
  }

  std::vector<Argument> call(uint32_t index, std::vector<Argument> arguments) {
    const BcFunction& f = s_.program.functions[index];
    Frame frame{std::vector<Cell>(f.slot_count)};
    REQUIRE(arguments.size() == f.params.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      auto* t = std::get_if<HostTensor>(&arguments[i]);
      frame.cells[f.params[i].index] = {true, t && t->dims.empty(), arguments[i]};
    }
    for (size_t at = 0;;) {
      REQUIRE(at < f.code.size());
      const Instruction& i = f.code[at++];
      std::vector<Cell> in;
      if (i.op != BcOp::Drop)
        for (const Operand& operand : i.in) {
          REQUIRE_MESSAGE(frame.cells[operand.slot.index].full,
                          fmt::format("{} reads an empty slot {} at {}", f.name, operand.slot.index, at - 1));
          in.push_back(frame.cells[operand.slot.index]);
        }
      for (const Operand& operand : i.in)
        if (operand.last_use) frame.cells[operand.slot.index] = {};
      auto set = [&](size_t k, Argument value, bool host) { frame.cells[i.out[k].index] = {true, host, value}; };
      auto size = [&](const SizeRef& ref) { return ref.is_slot ? i64(frame.cells[ref.slot.index]) : ref.constant; };
      auto dims = [&](const OutputDesc& desc) {
        std::vector<int64_t> result;
        for (const SizeRef& ref : desc.dims)
          result.push_back(size(ref));
        return result;
      };
      auto tensor = [&](size_t k) -> const HostTensor& { return std::get<HostTensor>(in[k].value); };
      switch (i.op) {
      case BcOp::ConstScalar: set(0, scalar(i.dtype, i.imm), true); break;
      case BcOp::ConstTensor: set(0, s_.program.tensors[i.index], false); break;
      case BcOp::ConstStr: set(0, s_.program.strings[i.index], false); break;
      case BcOp::Move: set(0, in[0].value, in[0].host); break;
      case BcOp::Scalar: {
        Scalar operands[3];
        for (size_t k = 0; k < in.size(); ++k) {
          REQUIRE(in[k].host);
          operands[k] = tensor(k).get(0);
        }
        Scalar value = eval_scalar(i.scalar, i.dtype, {operands, in.size()});
        set(0, scalar(result_type(i.scalar, i.dtype), value), true);
        break;
      }
      case BcOp::Convert:
        REQUIRE(in[0].host);
        set(0, scalar(i.dtype, convert_scalar(i.dtype2, i.dtype, tensor(0).get(0))), true);
        break;
      case BcOp::Guard:
        REQUIRE(tensor(1).get(0).as<uint8_t>() == 1); // only programs without failures come here
        set(0, in[0].value, in[0].host);
        break;
      case BcOp::Await: set(0, in[0].value, true); break;
      case BcOp::View: {
        int64_t offset = in.size() > 1 ? i64(in[1]) : 0;
        HostTensor t = HostTensor::make(i.outputs[0].dtype, dims(i.outputs[0]));
        for (int64_t k = 0; k < t.count(); ++k) {
          REQUIRE(offset + k < tensor(0).count());
          t.set(k, tensor(0).get(offset + k));
        }
        set(0, t, false);
        break;
      }
      case BcOp::Launch: {
        ++launches;
        for (const OutputDesc& out : i.outputs)
          if (out.mode != AliasMode::None) CHECK(tensor(out.alias).dims == dims(out));
        std::vector<HostTensor> operands;
        for (Cell& cell : in)
          operands.push_back(std::get<HostTensor>(std::move(cell.value)));
        in.clear();
        auto results = kernels ? kernels(i, std::move(operands)) : launch(i, operands);
        REQUIRE(results.size() == i.out.size());
        for (size_t k = 0; k < results.size(); ++k) {
          CHECK(std::get<HostTensor>(results[k]).dims == dims(i.outputs[k]));
          set(k, results[k], false);
        }
        break;
      }
      case BcOp::Linalg:
      case BcOp::Sort: FAIL("no test has decompositions, or sorts"); break;
      case BcOp::Host:
        if (i.host_op == HostOp::Print) {
          for (Cell& cell : in)
            printed += std::get<std::string>(cell.value);
        } else if (i.host_op == HostOp::Format) {
          std::string text = s_.program.formats[i.index].literals[0];
          for (size_t k = 0; k < in.size(); ++k) {
            REQUIRE(s_.program.formats[i.index].specs[k].empty());
            auto* t = std::get_if<HostTensor>(&in[k].value);
            text += !t                ? std::get<std::string>(in[k].value)
                    : t->dims.empty() ? format_scalar(t->dtype, t->get(0), "")
                                      : format_tensor(*t, "");
            text += s_.program.formats[i.index].literals[k + 1];
          }
          set(0, text, false);
        } else {
          FAIL("a host operation that these tests do not use");
        }
        break;
      case BcOp::Jump: at = i.target; break;
      case BcOp::JumpIfNot:
        REQUIRE(in[0].host);
        if (!tensor(0).get(0).as<uint8_t>()) at = i.target;
        break;
      case BcOp::Call: {
        std::vector<Argument> values;
        for (Cell& cell : in)
          values.push_back(cell.value);
        auto results = call(i.index, std::move(values));
        for (size_t k = 0; k < results.size(); ++k) {
          auto* t = std::get_if<HostTensor>(&results[k]);
          set(k, results[k], t && t->dims.empty());
        }
        break;
      }
      case BcOp::Return: {
        for (const Cell& cell : frame.cells)
          CHECK_MESSAGE((!cell.full || cell.host || std::get_if<HostTensor>(&cell.value) == nullptr ||
                         std::get<HostTensor>(cell.value).dims.empty()),
                        "a tensor outlives its function");
        std::vector<Argument> results;
        for (Cell& cell : in)
          results.push_back(cell.value);
        return results;
      }
      case BcOp::Drop: break;
      }
    }
  }

  // The kernel's region as a program of its own.
  std::vector<Argument> launch(const Instruction& i, const std::vector<HostTensor>& in) {
    const KernelRef& ref = s_.kernels[i.index];
    const ir::Function& f = module_.functions[ref.function];
    const ir::Node& kernel = f[ref.node];
    ir::Module small;
    small.sites = module_.sites;
    small.locations = module_.locations;
    small.functions.emplace_back();
    ir::Function& g = small.functions[0];
    ir::Builder b(small, g, g.body);
    ir::Cloner cloner(small, f, g);
    std::vector<Argument> arguments;
    ir::ValueId token = b.param(ir::Type::token());
    std::vector<std::pair<ir::ValueId, ir::ValueId>> tensors;
    for (size_t k = 0; k < kernel.operands.size(); ++k) {
      const ir::Type& type = f[kernel.operands[k]].type;
      const HostTensor& value = in[k];
      ParamInfo info;
      info.kind = type.is_scalar() ? ParamInfo::Kind::Scalar : ParamInfo::Kind::Tensor;
      info.dtype = type.dtype;
      info.rank = static_cast<uint32_t>(type.dims.size());
      for (size_t axis = 0; axis < type.dims.size(); ++axis)
        b.param(ir::Type::scalar(DType::I64));
      ir::ValueId param = b.param(type);
      cloner.map(kernel.operands[k], param);
      tensors.emplace_back(kernel.operands[k], param);
      small.interface.params.push_back(info);
      arguments.push_back(value);
    }
    for (auto& [from, to] : tensors)
      g[to].type = cloner(f[from].type);
    std::vector<ir::ValueId> yields = cloner.inline_region(kernel.regions[0], b);
    g.body.yields = {token};
    for (ir::ValueId value : yields) {
      g.body.yields.push_back(value);
      ResultInfo info;
      info.is_scalar = g[value].type.is_scalar();
      info.dtype = g[value].type.dtype;
      info.rank = static_cast<uint32_t>(g[value].type.dims.size());
      small.interface.results.push_back(info);
    }
    Outcome outcome = ir::interpret(small, arguments, [](std::string_view) {});
    REQUIRE_MESSAGE(!outcome.error, "a kernel failed");
    return outcome.results;
  }

  const ir::Module& module_;
  const Scheduled& s_;
};

// What the entry's bytecode wants, from one argument per parameter of main (none has a default).
inline std::vector<Argument> entry_arguments(const std::vector<Argument>& arguments) {
  std::vector<Argument> cells;
  for (const Argument& argument : arguments) {
    if (auto* t = std::get_if<HostTensor>(&argument))
      for (int64_t n : t->dims)
        cells.push_back(scalar_of(DType::I64, static_cast<double>(n)));
    cells.push_back(argument);
  }
  return cells;
}

// Runs a module without failures through all passes and bytecode; the result as text_of gives it.
inline std::string by_bytecode(const ir::Module& optimised, const std::vector<Argument>& arguments,
                               int* launches = nullptr) {
  Scheduled scheduled = schedule(optimised);
  BytecodeMachine machine(optimised, scheduled);
  Outcome outcome;
  outcome.results = machine.run(entry_arguments(arguments));
  if (launches) *launches = machine.launches;
  return text_of(outcome, machine.printed);
}

} // namespace tl::test
