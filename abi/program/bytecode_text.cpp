// The bytecode as text, for `tl dump --stage bytecode`. One instruction a line:
//
//   fn @main slots 7 (s0, s1)
//     3  launch k0 s2, s1! -> s4: f32[s2, 3] reuse 1    # a.tl:4
//
// `!` marks a last use; `s4` is a slot, `k0` a kernel.
#include "abi/device.h"
#include "abi/linalg_op.h"
#include "abi/program/bytecode.h"
#include "abi/sort_op.h"
#include "abi/text_op.h"
#include <fmt/format.h>

namespace tl {

static std::string_view name_of(BcOp op) {
  switch (op) {
  case BcOp::ConstScalar: return "const";
  case BcOp::ConstTensor: return "const_tensor";
  case BcOp::ConstStr: return "const_str";
  case BcOp::Move: return "move";
  case BcOp::Scalar: return "scalar";
  case BcOp::Convert: return "convert";
  case BcOp::Guard: return "guard";
  case BcOp::Await: return "await";
  case BcOp::View: return "view";
  case BcOp::Launch: return "launch";
  case BcOp::Linalg: return "linalg";
  case BcOp::Sort: return "sort";
  case BcOp::Host: return "host";
  case BcOp::Jump: return "jump";
  case BcOp::JumpIfNot: return "jump_if_not";
  case BcOp::Call: return "call";
  case BcOp::Return: return "return";
  case BcOp::Drop: return "drop";
  }
  return "?";
}

static std::string_view name_of(HostOp op) {
  switch (op) {
  case HostOp::Format: return "format";
  case HostOp::Print: return "print";
  case HostOp::Assert: return "assert";
  case HostOp::Load: return "load";
  case HostOp::Save: return "save";
  case HostOp::Exists: return "exists";
  case HostOp::ReadText: return "read_text";
  case HostOp::WriteText: return "write_text";
  case HostOp::Wait: return "wait";
  case HostOp::WaitAll: return "wait_all";
  case HostOp::Time: return "time";
  case HostOp::Interrupted: return "interrupted";
  case HostOp::Exit: return "exit";
  case HostOp::ListMake: return "list_make";
  case HostOp::ListLength: return "list_length";
  case HostOp::ListGet: return "list_get";
  case HostOp::ListSet: return "list_set";
  case HostOp::ListAppend: return "list_append";
  case HostOp::ListConcat: return "list_concat";
  case HostOp::ListSlice: return "list_slice";
  case HostOp::ListJoin: return "list_join";
  case HostOp::Text: return "text";
  case HostOp::ReadLine: return "read_line";
  case HostOp::Debug: return "debug";
  case HostOp::Plot: return "plot";
  case HostOp::Stopwatch: return "stopwatch";
  case HostOp::Progress: return "progress";
  case HostOp::DeviceCount: return "device_count";
  case HostOp::DeviceOf: return "device_of";
  case HostOp::Transfer: return "transfer";
  case HostOp::Place: return "place";
  case HostOp::DeviceInfo: return "device_info";
  case HostOp::MemoryStats: return "memory_stats";
  case HostOp::ReleaseCache: return "release_cache";
  case HostOp::ProcessRank: return "process_rank";
  case HostOp::WorldSize: return "world_size";
  case HostOp::AllReduce: return "all_reduce";
  case HostOp::BroadcastFrom: return "broadcast_from";
  }
  return "?";
}

std::string_view operation_name(const Instruction& i) {
  if (i.op == BcOp::Host) return name_of(i.host_op);
  if (i.op == BcOp::Sort) return kSortOps[i.index];
  if (i.op == BcOp::Linalg) return info(static_cast<LinalgOp>(i.index)).name;
  return name_of(i.op);
}

static std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

static std::string literal(DType type, Scalar value) {
  switch (type) {
  case DType::Bool: return value.as<uint8_t>() ? "true" : "false";
  case DType::U8: return fmt::format("{}", value.as<uint8_t>());
  case DType::I8: return fmt::format("{}", value.as<int8_t>());
  case DType::U16: return fmt::format("{}", value.as<uint16_t>());
  case DType::I16: return fmt::format("{}", value.as<int16_t>());
  case DType::U32: return fmt::format("{}", value.as<uint32_t>());
  case DType::I32: return fmt::format("{}", value.as<int32_t>());
  case DType::U64: return fmt::format("{}", value.as<uint64_t>());
  case DType::I64: return fmt::format("{}", value.as<int64_t>());
  case DType::F16: return fmt::format("{}", f16_to_float(value.as<uint16_t>()));
  case DType::BF16: return fmt::format("{}", bf16_to_float(value.as<uint16_t>()));
  case DType::F32: return fmt::format("{}", value.as<float>());
  case DType::F64: return fmt::format("{}", value.as<double>());
  case DType::C64: // no scalar is of these
  case DType::C128:
  case DType::Key: return fmt::format("0x{:x}", value.bits);
  case DType::Device: return device_name(value.as<int64_t>());
  }
  return "?";
}

static std::string size_text(const SizeRef& size) {
  return size.is_slot ? fmt::format("s{}", size.slot.index) : fmt::format("{}", size.constant);
}

static std::string suffers_text(const Suffers& x) {
  return fmt::format("[{}] of [{}]", fmt::join(x.sites, ", "), fmt::join(x.inputs, ", "));
}

static std::string output_text(const OutputDesc& output) {
  if (output.kind != OutputDesc::Kind::Tensor) return output.kind == OutputDesc::Kind::Str ? ": str" : ": list";
  std::string text = fmt::format(": {}", name_of(output.dtype));
  if (!output.dims.empty()) {
    for (size_t i = 0; i < output.dims.size(); ++i)
      text += fmt::format("{}{}", i ? ", " : "[", size_text(output.dims[i]));
    text += "]";
  }
  if (output.mode == AliasMode::Reuse) text += fmt::format(" reuse {}", output.alias);
  if (output.mode == AliasMode::Initial) text += fmt::format(" initial {}", output.alias);
  if (output.suffers) text += " suffers " + suffers_text(*output.suffers);
  return text;
}

static std::string format_text(const FormatTemplate& format) {
  std::string text;
  for (size_t i = 0; i < format.literals.size(); ++i) {
    text += format.literals[i];
    if (i < format.specs.size()) text += format.specs[i].empty() ? "{}" : fmt::format("{{:{}}}", format.specs[i]);
  }
  return quoted(text);
}

static std::string details(const Program& program, const Instruction& i) {
  switch (i.op) {
  case BcOp::ConstScalar: return fmt::format(" {} {}", name_of(i.dtype), literal(i.dtype, i.imm));
  case BcOp::ConstTensor: return fmt::format(" t{}", i.index);
  case BcOp::ConstStr:
    return i.index < program.strings.size() ? fmt::format(" {}", quoted(program.strings[i.index])) : " ?";
  case BcOp::Scalar: return fmt::format(" {} {}", info(i.scalar).name, name_of(i.dtype));
  case BcOp::Convert: return fmt::format(" {} to {}", name_of(i.dtype2), name_of(i.dtype));
  case BcOp::Guard: return fmt::format(" site{}", i.index);
  case BcOp::Launch: return fmt::format(" k{}", i.index);
  case BcOp::Sort: return fmt::format(" {} {}", kSortOps[i.index], name_of(i.dtype));
  case BcOp::Linalg: return fmt::format(" {} {}", info(static_cast<LinalgOp>(i.index)).name, name_of(i.dtype));
  case BcOp::Jump:
  case BcOp::JumpIfNot: return fmt::format(" ->{}", i.target);
  case BcOp::Call:
    return i.index < program.functions.size() ? fmt::format(" @{}", program.functions[i.index].name) : " ?";
  case BcOp::Host: {
    std::string text = fmt::format(" {}", name_of(i.host_op));
    if (i.host_op == HostOp::Format || i.host_op == HostOp::Assert)
      text += i.index < program.formats.size() ? fmt::format(" {}", format_text(program.formats[i.index])) : " ?";
    if (i.host_op == HostOp::Text && i.index < static_cast<uint32_t>(kTextOpCount))
      text = fmt::format(" {}", info(static_cast<TextOp>(i.index)).name);
    if (!i.ints.empty()) text += fmt::format(" [{}]", fmt::join(i.ints, ", "));
    if (i.site >= 0) text += fmt::format(" site{}", i.site);
    if (i.host_op == HostOp::Load) text += fmt::format(" {}", name_of(i.dtype));
    return text;
  }
  default: return "";
  }
}

static std::string to_text(const Program& program, const Instruction& i) {
  std::string text{name_of(i.op)};
  text += details(program, i);
  for (size_t k = 0; k < i.in.size(); ++k)
    text += fmt::format("{} s{}{}", k ? "," : "", i.in[k].slot.index, i.in[k].last_use ? "!" : "");
  for (size_t k = 0; k < i.out.size(); ++k) {
    text += fmt::format("{} s{}", k ? "," : " ->", i.out[k].index);
    if (k < i.outputs.size()) text += output_text(i.outputs[k]);
  }
  if (i.loc.index && i.loc.index < program.locations.size()) {
    const Location& at = program.locations[i.loc.index];
    text += fmt::format("    # {}:{}", at.file, at.line);
  }
  return text;
}

std::string to_text(const Program& program) {
  std::string text = fmt::format("program entry @{} kernels {}\n",
                                 program.entry < program.functions.size() ? program.functions[program.entry].name : "?",
                                 program.kernel_count);
  for (size_t k = 0; k < program.tensors.size(); ++k) {
    text += fmt::format("tensor t{}: {}[", k, name_of(program.tensors[k].dtype));
    for (size_t d = 0; d < program.tensors[k].dims.size(); ++d)
      text += fmt::format("{}{}", d ? ", " : "", program.tensors[k].dims[d]);
    text += "]\n";
  }
  for (size_t k = 0; k < program.sites.size(); ++k)
    text += fmt::format("site{} {}: {}\n", k, program.sites[k].kind, quoted(program.sites[k].message));
  for (const BcFunction& function : program.functions) {
    text += fmt::format("\nfn @{} slots {} (", function.name, function.slot_count);
    for (size_t k = 0; k < function.params.size(); ++k)
      text += fmt::format("{}s{}", k ? ", " : "", function.params[k].index);
    text += ")\n";
    for (size_t k = 0; k < function.code.size(); ++k)
      text += fmt::format("{:5}  {}\n", k, to_text(program, function.code[k]));
  }
  return text;
}

} // namespace tl
