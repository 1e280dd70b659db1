// The table of operators: a row for each.
#pragma once
#include "importers/onnx/importer.h"
#include <string_view>
#include <vector>

namespace tl::onnx {

struct Row {
  std::string_view name;
  int since = 1; // the first operator set whose definition is read
  // How it is written: {0} is an input, {alpha:0.01} an attribute and its default.
  std::string_view form;
  void (*write)(Op& op, const Row& row);
  std::string_view domain = ""; // ONNX's own
};

// Of an operator that is a few of ONNX's: as a function of the model would be, for this call.
std::optional<Function> fused_function(Importer& in, const Node& call);

const Row* find_row(const Node& node); // null: there is no such operator

// ---- values of graphs inside nodes

const Graph& graph_of(Op& op, std::string_view attribute); // Refused where there is none
// `type` is what a value may be, by its element type and sizes, or what a sequence holds: makes it one that `other` is
// too, of sizes that hold where there were but the first `atoms` atoms. Gives whether it changed. Throws Refused.
bool widen(Importer& in, Value& type, const Value& other, size_t atoms);
ValuePtr typed_value(Importer& in, const Value& type, const std::string& name); // a variable of that type
std::string declared(Importer& in, const Value& type, const std::string& name); // "xs: List<f32[_]>"

// The sizes that windows over the axes of input 0 behind the first two leave of these, by the node's strides, dilations
// and padding; where windows may overhang, sizes that are not constant are unknown.
Dims windowed_dims(Op& op, const std::vector<Size>& size, bool ceil = false);
// Of the product of inputs a and b, as of matrices, whose sizes have to fit.
Dims product_dims(Op& op, size_t a, size_t b);

// Of one file each.
std::vector<Row> elementwise_rows();
std::vector<Row> shape_rows();
std::vector<Row> place_rows();
std::vector<Row> reduction_rows();
std::vector<Row> neural_rows();
std::vector<Row> control_rows();
std::vector<Row> loop_rows();
std::vector<Row> sequence_rows();
std::vector<Row> library_rows();

// The form with inputs and attributes put in.
std::string filled(Op& op, std::string_view form);

} // namespace tl::onnx
