#include "ir/op_info.h"
#include "vm/abi/text_op.h"

namespace tl::ir {
namespace {

constexpr std::string_view kOpNames[] = {
    "constant",      "const_tensor",   "const_str",   "iota",         "elementwise",   "convert",      "broadcast",
    "reshape",       "transpose",      "slice",       "pad",          "concat",        "index",        "gather",
    "update",        "scatter",        "reduce",      "scan",         "contract",      "map",          "if",
    "for",           "while",          "call",        "list_make",    "list_length",   "list_get",     "list_set",
    "list_append",   "list_concat",    "list_slice",  "list_join",    "linalg",        "text",         "read_line",
    "guard",         "await",          "format",      "print",        "assert",        "load",         "save",
    "exists",        "read_text",      "write_text",  "wait",         "wait_all",      "time",         "interrupted",
    "exit",          "debug",          "plot",        "stopwatch",    "progress",      "device_count", "device_of",
    "transfer",      "place",          "device_info", "memory_stats", "release_cache", "process_rank", "world_size",
    "all_reduce",    "broadcast_from", "vjp",         "jvp",          "vmap",          "checkpoint",   "custom_vjp",
    "stop_gradient", "kernel"};
static_assert(std::size(kOpNames) == kOpCount);

constexpr std::string_view kReduceNames[] = {"sum", "prod", "min", "max", "any", "all", "argmin", "argmax"};

} // namespace

std::string_view name_of(Op op) { return kOpNames[static_cast<int>(op)]; }

std::optional<Op> op_from_name(std::string_view name) {
  for (int i = 0; i < kOpCount; ++i)
    if (kOpNames[i] == name) return static_cast<Op>(i);
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
  if (node.op == Op::ListJoin || node.op == Op::Linalg || node.op == Op::Guard || node.op == Op::Call ||
      node.op == Op::While || is_effect(function, node))
    return true;
  for (const Region& region : node.regions)
    for (NodeId id : region.nodes)
      if (must_stay(function, function[id])) return true;
  return false;
}

} // namespace tl::ir
