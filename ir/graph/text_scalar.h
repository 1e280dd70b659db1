// Scalars in the text form of the graph: exact both ways.
#pragma once
#include "ir/graph/graph.h"
#include <optional>
#include <string>

namespace tl::ir {

std::string scalar_text(DType type, Scalar value);
std::optional<Scalar> scalar_from_text(DType type, const std::string& text);
std::string_view name_of(KernelKind kind);

} // namespace tl::ir
