// The iteration space of a Kernel node of kind Nest, as docs/kernels.md describes it. Used by fusion, by the choice of
// what may run in place, and by kernel lowering.
#pragma once
#include "ir/graph/graph.h"

namespace tl {

enum class NestForm : uint8_t { Map, Rows, Columns, Scan };

struct KernelShape {
  NestForm form = NestForm::Map;
  std::vector<ir::Dim> outer, inner;
  std::vector<int64_t> reduced; // Rows, Columns, Scan: the folded axes of element-level values
};

enum class Level : uint8_t { Element, Row, Other };

// Requires a Kernel node of kind Nest.
KernelShape kernel_shape(const ir::Function& function, const ir::Node& kernel);

// How a type relates to the space. In a Map kernel what has the outer sizes is an Element. In a Rows kernel without
// outer sizes a scalar is a Row.
Level level_of(const ir::Type& type, const KernelShape& shape);

} // namespace tl
