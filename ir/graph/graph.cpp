#include "ir/graph/op_info.h"
#include <fmt/format.h>
#include <stdexcept>

namespace tl::ir {

Builder::Builder(Module& module, Function& function, Region& region)
    : module_(module), function_(function), region_(&region) {}

ValueId Builder::param(Type type, std::string name) {
  ValueId id{static_cast<uint32_t>(function_.values.size())};
  function_.values.push_back({std::move(type), {}, static_cast<uint32_t>(region_->params.size()), std::move(name)});
  region_->params.push_back(id);
  return id;
}

NodeId Builder::node(Op op, std::vector<ValueId> operands, std::vector<Type> results, Attrs attrs, LocId loc,
                     std::vector<Region> regions) {
  if (attrs.index() != info(op).attrs)
    throw std::logic_error(fmt::format("{} with attributes of another operation", info(op).name));
  NodeId id{static_cast<uint32_t>(function_.nodes.size())};
  Node node{op, loc, std::move(attrs), std::move(operands), {}, std::move(regions)};
  for (Type& type : results) {
    ValueId value{static_cast<uint32_t>(function_.values.size())};
    function_.values.push_back({std::move(type), id, static_cast<uint32_t>(node.results.size()), {}});
    node.results.push_back(value);
  }
  function_.nodes.push_back(std::move(node));
  region_->nodes.push_back(id);
  return id;
}

ValueId Builder::one(Op op, std::vector<ValueId> operands, Type result, Attrs attrs, LocId loc) {
  std::vector<Type> results;
  results.push_back(std::move(result));
  NodeId id = node(op, std::move(operands), std::move(results), std::move(attrs), loc);
  return function_[id].results[0];
}

ValueId Builder::scalar(ScalarOp op, std::vector<ValueId> operands, LocId loc) {
  // The operand that decides the result's type: the branches of Where, else the first.
  DType operand = function_[operands[op == ScalarOp::Where ? 1 : 0]].type.dtype;
  return one(Op::Elementwise, std::move(operands), Type::scalar(result_type(op, operand)), ElementwiseAttrs{op}, loc);
}

ValueId Builder::constant(DType type, Scalar value) {
  return one(Op::Constant, {}, Type::scalar(type), ConstantAttrs{value});
}

ValueId Builder::i64(int64_t value) { return constant(DType::I64, Scalar::of(value)); }

ValueId Builder::size(const Dim& dim) { return dim.is_constant() ? i64(dim.constant) : dim.value; }

} // namespace tl::ir
