// The attributes of the graph's operations: one small struct for each kind. Which kind an operation has is the column
// `attrs` of ir/graph/graph_ops.def.
//
// `fields` tells what the text form shows of a struct: it calls field(key, fields…) in the order in which they are
// printed. Under "ints" are the numbers of one field or several, under another key is one field, and the key ""
// is for what is elsewhere in the text form (or not at all). Printing and reading (ir/graph/text_*.cpp) and hashing
// (passes/simplify/cse.cpp) go through it.
#pragma once
#include "abi/format_template.h"
#include "abi/reduce_op.h"
#include "lang/boxed.h"
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tl {

// Opaque here: their headers have more than a graph needs.
enum class DeviceKind : uint8_t;  // abi/device.h
enum class LinalgOp : uint8_t;    // abi/linalg_op.h
enum class PlotKind : uint8_t;    // abi/plot_op.h
enum class SortOp : uint8_t;      // abi/sort_op.h
enum class StopwatchOp : uint8_t; // abi/stopwatch.h
enum class TextOp : uint8_t;      // abi/text_op.h

inline bool operator==(const FormatTemplate& a, const FormatTemplate& b) {
  return a.literals == b.literals && a.specs == b.specs;
}

} // namespace tl

namespace tl::ir {

enum class UpdateMode : uint8_t { Set, Add };

// What a Kernel node becomes.
enum class KernelKind : uint8_t {
  Nest,     // elementwise, views, reductions, maps: one loop nest over the outputs, rows kept in cache
  Contract, // one matrix product (dot-general), elementwise consumers as its epilogue
  Update,   // one Update or Scatter in place, with a fused value
  Loop,     // an outlined host loop: sequential native code over scalars and subscripts
};
constexpr int kKernelKindCount = static_cast<int>(KernelKind::Loop) + 1;

struct NoAttrs {
  static void fields(auto&, auto&&) {}
  bool operator==(const NoAttrs&) const = default;
};

struct ConstantAttrs {
  Scalar literal;
  static void fields(auto& a, auto&& field) { field("", a.literal); }
  bool operator==(const ConstantAttrs&) const = default;
};

struct ConstTensorAttrs {
  uint32_t tensor = 0; // into Module::tensors
  static void fields(auto& a, auto&& field) { field("tensor", a.tensor); }
  bool operator==(const ConstTensorAttrs&) const = default;
};

struct ConstStrAttrs {
  std::string text;
  static void fields(auto& a, auto&& field) { field("", a.text); }
  bool operator==(const ConstStrAttrs&) const = default;
};

struct ElementwiseAttrs {
  ScalarOp op{};
  static void fields(auto& a, auto&& field) { field("", a.op); }
  bool operator==(const ElementwiseAttrs&) const = default;
};

struct AxesAttrs {
  std::vector<int64_t> axes;
  static void fields(auto& a, auto&& field) { field("ints", a.axes); }
  bool operator==(const AxesAttrs&) const = default;
};

struct AxisAttrs {
  int64_t axis = 0;
  static void fields(auto& a, auto&& field) { field("ints", a.axis); }
  bool operator==(const AxisAttrs&) const = default;
};

struct StepsAttrs {
  std::vector<int64_t> steps; // of each axis
  static void fields(auto& a, auto&& field) { field("ints", a.steps); }
  bool operator==(const StepsAttrs&) const = default;
};

struct UpdateAttrs {
  UpdateMode mode{};
  std::vector<int64_t> steps; // of each axis; none: one element
  static void fields(auto& a, auto&& field) {
    field("mode", a.mode);
    field("ints", a.steps);
  }
  bool operator==(const UpdateAttrs&) const = default;
};

struct ScatterAttrs {
  UpdateMode mode{};
  static void fields(auto& a, auto&& field) { field("mode", a.mode); }
  bool operator==(const ScatterAttrs&) const = default;
};

struct ReduceAttrs {
  ReduceOp op{};
  std::vector<int64_t> axes; // ascending
  static void fields(auto& a, auto&& field) {
    field("op", a.op);
    field("ints", a.axes);
  }
  bool operator==(const ReduceAttrs&) const = default;
};

struct ScanAttrs {
  ReduceOp op{};
  int64_t axis = 0;
  static void fields(auto& a, auto&& field) {
    field("op", a.op);
    field("ints", a.axis);
  }
  bool operator==(const ScanAttrs&) const = default;
};

struct ContractAttrs { // the labels of each one's axes
  std::vector<int64_t> lhs, rhs, result;
  static void fields(auto& a, auto&& field) {
    field("ints", a.lhs, a.rhs);
    field("labels", a.result);
  }
  bool operator==(const ContractAttrs&) const = default;
};

struct CallAttrs {
  uint32_t function = 0;
  static void fields(auto& a, auto&& field) { field("function", a.function); }
  bool operator==(const CallAttrs&) const = default;
};

struct ListMakeAttrs {
  int64_t width = 0, count = 0;
  static void fields(auto& a, auto&& field) { field("ints", a.width, a.count); }
  bool operator==(const ListMakeAttrs&) const = default;
};

struct LeafAxis {
  int64_t leaf = 0, axis = 0;
  bool operator==(const LeafAxis&) const = default;
};

struct ListGetAttrs {
  std::vector<LeafAxis> sizes;
  static void fields(auto& a, auto&& field) { field("ints", a.sizes); }
  bool operator==(const ListGetAttrs&) const = default;
};

struct ListAppendAttrs {
  int64_t width = 0;
  static void fields(auto& a, auto&& field) { field("ints", a.width); }
  bool operator==(const ListAppendAttrs&) const = default;
};

struct ListSliceAttrs { // which bounds are operands
  bool first = false, last = false, step = false;
  static void fields(auto& a, auto&& field) { field("ints", a.first, a.last, a.step); }
  bool operator==(const ListSliceAttrs&) const = default;
};

struct ListJoinAttrs {
  uint32_t site = 0;
  int64_t axis = 0;
  bool stack = false; // along a new axis
  static void fields(auto& a, auto&& field) {
    field("site", a.site);
    field("ints", a.axis, a.stack);
  }
  bool operator==(const ListJoinAttrs&) const = default;
};

struct LinalgAttrs {
  LinalgOp op{};
  uint32_t site = 0;
  static void fields(auto& a, auto&& field) {
    field("site", a.site);
    field("ints", a.op);
  }
  bool operator==(const LinalgAttrs&) const = default;
};

struct SortAttrs {
  SortOp op{};
  static void fields(auto& a, auto&& field) { field("ints", a.op); }
  bool operator==(const SortAttrs&) const = default;
};

struct TextAttrs {
  TextOp op{};
  std::vector<int64_t> bounds; // of a Slice: 1 or 0, whether first, last and step are operands
  static void fields(auto& a, auto&& field) {
    field("index", a.op);
    field("ints", a.bounds);
  }
  bool operator==(const TextAttrs&) const = default;
};

struct SiteAttrs {
  uint32_t site = 0; // into Module::sites
  static void fields(auto& a, auto&& field) { field("site", a.site); }
  bool operator==(const SiteAttrs&) const = default;
};

struct FormatAttrs {
  FormatTemplate format;
  static void fields(auto& a, auto&& field) { field("format", a.format); }
  bool operator==(const FormatAttrs&) const = default;
};

struct AssertAttrs {
  uint32_t site = 0;
  FormatTemplate format;
  static void fields(auto& a, auto&& field) {
    field("site", a.site);
    field("format", a.format);
  }
  bool operator==(const AssertAttrs&) const = default;
};

struct PrintAttrs {
  bool to_stderr = false;
  static void fields(auto& a, auto&& field) { field("index", a.to_stderr); }
  bool operator==(const PrintAttrs&) const = default;
};

struct LoadAttrs {
  uint32_t options = 0; // LoadOptions, packed
  static void fields(auto& a, auto&& field) { field("index", a.options); }
  bool operator==(const LoadAttrs&) const = default;
};

struct ReadTextAttrs {
  bool names = false; // of the file's tensors, one a line, instead of its text
  static void fields(auto& a, auto&& field) { field("index", a.names); }
  bool operator==(const ReadTextAttrs&) const = default;
};

struct DebugAttrs {
  std::string name; // what x is called
  static void fields(auto& a, auto&& field) { field("", a.name); }
  bool operator==(const DebugAttrs&) const = default;
};

struct PlotAttrs {
  PlotKind kind{};
  bool has_path = false, has_x = false;
  static void fields(auto& a, auto&& field) {
    field("index", a.kind);
    field("ints", a.has_path, a.has_x);
  }
  bool operator==(const PlotAttrs&) const = default;
};

struct StopwatchAttrs {
  StopwatchOp op{};
  static void fields(auto& a, auto&& field) { field("index", a.op); }
  bool operator==(const StopwatchAttrs&) const = default;
};

struct ProgressAttrs {
  bool last = false;
  static void fields(auto& a, auto&& field) { field("index", a.last); }
  bool operator==(const ProgressAttrs&) const = default;
};

struct DeviceCountAttrs {
  DeviceKind kind{};
  static void fields(auto& a, auto&& field) { field("index", a.kind); }
  bool operator==(const DeviceCountAttrs&) const = default;
};

// ---- transforms. token: the first result is one
struct VjpAttrs {
  bool token = false, without_effects = false;
  uint32_t inputs = 0;
  std::vector<int64_t> outputs; // which y the seeds are cotangents of
  static void fields(auto& a, auto&& field) { field("ints", a.token, a.without_effects, a.inputs, a.outputs); }
  bool operator==(const VjpAttrs&) const = default;
};

struct JvpAttrs {
  bool token = false;
  uint32_t inputs = 0;
  std::vector<int64_t> outputs; // which y have tangents
  static void fields(auto& a, auto&& field) { field("ints", a.token, a.inputs, a.outputs); }
  bool operator==(const JvpAttrs&) const = default;
};

struct VmapAttrs {
  bool token = false;                  // never
  std::vector<int64_t> has_batch_axis; // of each x, 1 or 0: its first axis is the one gone over
  static void fields(auto& a, auto&& field) { field("ints", a.token, a.has_batch_axis); }
  bool operator==(const VmapAttrs&) const = default;
};

struct TokenAttrs {
  bool token = false;
  static void fields(auto& a, auto&& field) { field("ints", a.token); }
  bool operator==(const TokenAttrs&) const = default;
};

struct KernelAttrs {
  KernelKind kind{};
  static void fields(auto& a, auto&& field) { field("kernel", a.kind); }
  bool operator==(const KernelAttrs&) const = default;
};

// What a node holds. The few structs with several lists are boxed, since every node has room for the largest.
template <class T> using HeldAttrs = Held<T, 32>;
template <class... T> using AttrsOf = std::variant<HeldAttrs<T>...>;
using Attrs =
    AttrsOf<NoAttrs, ConstantAttrs, ConstTensorAttrs, ConstStrAttrs, ElementwiseAttrs, AxesAttrs, AxisAttrs, StepsAttrs,
            UpdateAttrs, ScatterAttrs, ReduceAttrs, ScanAttrs, ContractAttrs, CallAttrs, ListMakeAttrs, ListGetAttrs,
            ListAppendAttrs, ListSliceAttrs, ListJoinAttrs, LinalgAttrs, SortAttrs, TextAttrs, SiteAttrs, FormatAttrs,
            AssertAttrs, PrintAttrs, LoadAttrs, ReadTextAttrs, DebugAttrs, PlotAttrs, StopwatchAttrs, ProgressAttrs,
            DeviceCountAttrs, VjpAttrs, JvpAttrs, VmapAttrs, TokenAttrs, KernelAttrs>;

// Calls field(key, fields…) for the struct that the attributes hold.
template <class SomeAttrs, class Field> void each_field(SomeAttrs& attrs, Field&& field) {
  std::visit([&](auto& held) { unboxed(held).fields(unboxed(held), field); }, attrs);
}

} // namespace tl::ir
