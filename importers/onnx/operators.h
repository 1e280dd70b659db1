// The table of operators of ONNX's own domain: a row for each.
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
};

const Row* find_row(const Node& node); // null: there is no such operator

// Of one file each.
std::vector<Row> elementwise_rows();
std::vector<Row> shape_rows();
std::vector<Row> reduction_rows();
std::vector<Row> neural_rows();
std::vector<Row> control_rows();
std::vector<Row> library_rows();

// The form with inputs and attributes put in.
std::string filled(Op& op, std::string_view form);

} // namespace tl::onnx
