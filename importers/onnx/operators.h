// The table of operators: a row for each, in ONNX's own domain unless it says otherwise.
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
  bool is_random = false; // not the same when importing and when running
  std::string_view domain = {};
};

const Row* find_row(std::string_view domain, std::string_view name);
const std::vector<const Row*>& all_rows();

// Of one file each; operators.cpp joins them.
std::vector<Row> elementwise_rows();
std::vector<Row> shape_rows();
std::vector<Row> reduction_rows();
std::vector<Row> neural_rows();
std::vector<Row> control_rows();
std::vector<Row> library_rows();

// The form with inputs and attributes put in.
std::string filled(Op& op, std::string_view form);

} // namespace tl::onnx
