#include "ir/op_info.h"
#include "vm/abi/text_op.h"

namespace tl::ir {
namespace {

struct OpRow {
  Op op;
  std::string_view name;
  OpKind kind;
};

constexpr OpRow kOps[] = {
    // clang-format off
    {Op::Constant, "constant", OpKind::Value},
    {Op::ConstTensor, "const_tensor", OpKind::Value},
    {Op::ConstStr, "const_str", OpKind::Value},
    {Op::Iota, "iota", OpKind::Value},
    {Op::Elementwise, "elementwise", OpKind::Value},
    {Op::Convert, "convert", OpKind::Value},
    {Op::Broadcast, "broadcast", OpKind::Value},
    {Op::Reshape, "reshape", OpKind::Value},
    {Op::Transpose, "transpose", OpKind::Value},
    {Op::Slice, "slice", OpKind::Value},
    {Op::Pad, "pad", OpKind::Value},
    {Op::Concat, "concat", OpKind::Value},
    {Op::Index, "index", OpKind::Value},
    {Op::Gather, "gather", OpKind::Value},
    {Op::Update, "update", OpKind::Value},
    {Op::Scatter, "scatter", OpKind::Value},
    {Op::Reduce, "reduce", OpKind::Value},
    {Op::Scan, "scan", OpKind::Value},
    {Op::Contract, "contract", OpKind::Value},
    {Op::Map, "map", OpKind::Control},
    {Op::If, "if", OpKind::Control},
    {Op::For, "for", OpKind::Control},
    {Op::While, "while", OpKind::Control},
    {Op::Call, "call", OpKind::Control},
    {Op::ListMake, "list_make", OpKind::Value},
    {Op::ListLength, "list_length", OpKind::Value},
    {Op::ListGet, "list_get", OpKind::Value},
    {Op::ListSet, "list_set", OpKind::Value},
    {Op::ListAppend, "list_append", OpKind::Value},
    {Op::ListConcat, "list_concat", OpKind::Value},
    {Op::ListSlice, "list_slice", OpKind::Value},
    {Op::ListJoin, "list_join", OpKind::Fallible},
    {Op::Linalg, "linalg", OpKind::Fallible},
    {Op::Text, "text", OpKind::Value},
    {Op::ReadLine, "read_line", OpKind::Effect},
    {Op::Guard, "guard", OpKind::Fallible},
    {Op::Await, "await", OpKind::Value},
    {Op::Format, "format", OpKind::Value},
    {Op::Print, "print", OpKind::Effect},
    {Op::Assert, "assert", OpKind::Effect},
    {Op::Load, "load", OpKind::Effect},
    {Op::Save, "save", OpKind::Effect},
    {Op::Exists, "exists", OpKind::Effect},
    {Op::ReadText, "read_text", OpKind::Effect},
    {Op::WriteText, "write_text", OpKind::Effect},
    {Op::Wait, "wait", OpKind::Effect},
    {Op::WaitAll, "wait_all", OpKind::Effect},
    {Op::Time, "time", OpKind::Effect},
    {Op::Interrupted, "interrupted", OpKind::Effect},
    {Op::Exit, "exit", OpKind::Effect},
    {Op::Debug, "debug", OpKind::Effect},
    {Op::Plot, "plot", OpKind::Effect},
    {Op::Stopwatch, "stopwatch", OpKind::Effect},
    {Op::Progress, "progress", OpKind::Effect},
    {Op::DeviceCount, "device_count", OpKind::Value},
    {Op::DeviceOf, "device_of", OpKind::Value},
    {Op::Transfer, "transfer", OpKind::Value},
    {Op::Place, "place", OpKind::Value},
    {Op::DeviceInfo, "device_info", OpKind::Value},
    {Op::MemoryStats, "memory_stats", OpKind::Effect},
    {Op::ReleaseCache, "release_cache", OpKind::Effect},
    {Op::ProcessRank, "process_rank", OpKind::Value},
    {Op::WorldSize, "world_size", OpKind::Value},
    {Op::AllReduce, "all_reduce", OpKind::Value},
    {Op::BroadcastFrom, "broadcast_from", OpKind::Value},
    {Op::Vjp, "vjp", OpKind::Control},
    {Op::Jvp, "jvp", OpKind::Control},
    {Op::Vmap, "vmap", OpKind::Control},
    {Op::Checkpoint, "checkpoint", OpKind::Control},
    {Op::CustomVjp, "custom_vjp", OpKind::Control},
    {Op::StopGradient, "stop_gradient", OpKind::Value},
    {Op::Kernel, "kernel", OpKind::Control},
    // clang-format on
};
static_assert(std::size(kOps) == kOpCount);
constexpr bool in_order() {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[i].op != static_cast<Op>(i)) return false;
  return true;
}
static_assert(in_order());

constexpr std::string_view kReduceNames[] = {"sum", "prod", "min", "max", "any", "all", "argmin", "argmax"};

} // namespace

std::string_view name_of(Op op) { return kOps[static_cast<int>(op)].name; }

OpKind kind_of(Op op) { return kOps[static_cast<int>(op)].kind; }

std::optional<Op> op_from_name(std::string_view name) {
  for (int i = 0; i < kOpCount; ++i)
    if (kOps[i].name == name) return static_cast<Op>(i);
  return std::nullopt;
}

std::string_view name_of(ReduceOp op) { return kReduceNames[static_cast<int>(op)]; }

std::optional<ReduceOp> reduce_from_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kReduceNames); ++i)
    if (kReduceNames[i] == name) return static_cast<ReduceOp>(i);
  return std::nullopt;
}

std::optional<ScalarOp> scalar_from_name(std::string_view name) {
  for (int i = 0; i < kScalarOpCount; ++i)
    if (kScalarOps[i].name == name) return static_cast<ScalarOp>(i);
  return std::nullopt;
}

bool is_effect(const Function& function, const Node& node) {
  return !node.results.empty() && function[node.results[0]].type.kind == Type::Kind::Token;
}

bool must_stay(const Function& function, const Node& node) {
  if (node.op == Op::Text && node.attrs.index == static_cast<uint32_t>(TextOp::Parse)) return true; // may fail
  if (kind_of(node.op) == OpKind::Fallible || node.op == Op::Call || node.op == Op::While || is_effect(function, node))
    return true;
  for (const Region& region : node.regions)
    for (NodeId id : region.nodes)
      if (must_stay(function, function[id])) return true;
  return false;
}

} // namespace tl::ir
