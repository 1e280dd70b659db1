// Operators that are written out as a few others, in the form of a function of the model.
#pragma once
#include "importers/onnx/importer.h"

namespace tl::onnx {

// Adds the node "y = Gelu s approximate=tanh": results, `=`, an operator, inputs and attributes. `axis=@axis` is the
// call's attribute, `alpha=@alpha:1.7` with what it is without. An operator with a `?` is Identity of its first input
// where another one is among those that are left out; where the first is, so are its results. `perm=0,2,1` and
// `axes=1,` are lists of integers, and the input `_` is left out.
void add_node(Function& function, std::string_view text, std::vector<std::string>& left_out);
void add_node(Function& function, std::string_view text); // nothing is left out

// What a call is: nodes of its inputs, each `;` behind the one before.
Function function_of(const Node& call, std::string_view inputs, std::string_view nodes, std::string_view outputs);

std::vector<std::string> words_of(std::string_view text);

// Of ONNX Runtime's attention. Throws Refused.
std::optional<Function> attention_function(Importer& in, const Node& call);

// Of a linear model, support vectors, an ensemble of trees, or a scaling (the domain ai.onnx.ml). Throws Refused.
std::optional<Function> learned_function(Importer& in, const Node& call);

} // namespace tl::onnx
