// Operators that are written out as a few others, in the form of a function of the model.
#pragma once
#include "importers/onnx/importer.h"

namespace tl::onnx {

// Adds the node "y = Gelu s approximate=tanh": results, `=`, an operator, inputs and attributes. `axis=@axis` is the
// call's attribute, `alpha=@alpha:1.7` with what it is without. An operator with a `?` is Identity of its first input
// where one of its inputs is among those that are left out.
void add_node(Function& function, std::string_view text, const std::vector<std::string>& left_out = {});

// Of a linear model, an ensemble of trees, or a scaling (the domain ai.onnx.ml). Throws Refused.
std::optional<Function> learned_function(const Node& call);

} // namespace tl::onnx
