// Lists and text: one graph node for each operation. What they mean: lang/typed.h, abi/text_op.h.
#include "abi/text_op.h"
#include "ir/lower/function.h"
#include <algorithm>
#include <set>

namespace tl::ir {

// Wrapped, and guarded to be in range.
ValueId FunctionLowerer::list_index(ValueId list, ValueId index, Span span) {
  ValueId n = here().one(Op::ListLength, {list}, Type::scalar(DType::I64), {}, loc(span)), zero = i64(0);
  ValueId negative = scalar(ScalarOp::Lt, {index, zero});
  ValueId value = scalar(ScalarOp::Where, {negative, scalar(ScalarOp::Add, {index, n}), index});
  ValueId fine = scalar(ScalarOp::And, {scalar(ScalarOp::Ge, {value, zero}), scalar(ScalarOp::Lt, {value, n})});
  uint32_t s = site("IndexOutOfRange", "index {0} is out of range for a list of length {1}", span);
  return guard(value, fine, s, {index, n}, span);
}

Leaves FunctionLowerer::list_operation(const typed::Expr& e, const std::vector<Leaves>& operands) {
  using typed::ListOp;
  LocId at = loc(e.span);
  Leaves flat;
  for (size_t i = 0; i < operands.size(); ++i)
    for (ValueId leaf : operands[i])
      flat.push_back(leaf);
  auto width = [](const tl::Type& list) {
    return list.elements.empty() ? 1 : std::max<int64_t>(1, static_cast<int64_t>(leaf_types(list.elements[0]).size()));
  };
  // An element without leaves (a struct without fields) is held by one of no meaning.
  auto hold = [&](size_t elements) {
    if (e.type.elements.empty() || !leaf_types(e.type.elements[0]).empty()) return;
    for (size_t i = 0; i < elements; ++i)
      flat.push_back(here().constant(DType::Bool, {}));
  };
  auto one = [&](Op op, Attrs attrs) -> Leaves {
    return {here().one(op, std::move(flat), graph_type(e.type), std::move(attrs), at)};
  };
  const auto& operation = e.as<typed::ListExpr>();
  switch (operation.op) {
  case ListOp::Make:
    hold(e.operands.size());
    return one(Op::ListMake, ListMakeAttrs{width(e.type), static_cast<int64_t>(e.operands.size())});
  case ListOp::Length: return {here().one(Op::ListLength, std::move(flat), Type::scalar(DType::I64), {}, at)};
  case ListOp::Get: {
    if (!operation.in_range)
      flat.at(1) = list_index(flat[0], flat[1], e.operands[1]->span);
    else if (keeps_checks())
      flat.at(1) =
          proven_below(flat[1], here().one(Op::ListLength, {flat[0]}, Type::scalar(DType::I64), {}, at), e.span);
    std::set<AtomId> own;
    for (const typed::FreshAtom& fresh : e.fresh)
      own.insert(fresh.atom);
    std::vector<tl::Type> leaves = leaf_types(e.type);
    std::vector<LeafAxis> sizes;
    std::vector<Type> types;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i].is_tensor()) {
        types.push_back(graph_type(leaves[i]));
        continue;
      }
      Type t = Type::scalar(leaves[i].dtype);
      for (size_t axis = 0; axis < leaves[i].shape.size(); ++axis) {
        auto atom = leaves[i].shape[axis].as_atom();
        bool is_own = atom && own.contains(*atom);
        t.dims.push_back(is_own ? Dim::of(0) : dim(leaves[i].shape[axis]));
        if (is_own) sizes.push_back({static_cast<int64_t>(i), static_cast<int64_t>(axis)});
      }
      types.push_back(std::move(t));
    }
    if (types.empty()) types.push_back(Type::scalar(DType::Bool));
    types.insert(types.end(), sizes.size(), Type::scalar(DType::I64));
    NodeId node = here().node(Op::ListGet, std::move(flat), std::move(types), ListGetAttrs{sizes}, at);
    std::vector<ValueId> results = f_[node].results;
    for (size_t i = 0; i < sizes.size(); ++i)
      f_[results[static_cast<size_t>(sizes[i].leaf)]].type.dims[static_cast<size_t>(sizes[i].axis)] =
          Dim::of(results[leaves.size() + i]);
    results.resize(leaves.size());
    // A field marked `state` is a constant to derivatives, here too.
    std::vector<bool> trained = trained_leaves(e.type);
    for (size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].is_tensor() && is_float(leaves[i].dtype) && !trained[i])
        results[i] = here().one(Op::StopGradient, {results[i]}, Type(type(results[i])), {}, at);
    return results;
  }
  case ListOp::Set:
    flat.at(1) = list_index(flat[0], flat[1], e.operands[1]->span);
    hold(1);
    return one(Op::ListSet, {});
  case ListOp::Append: hold(1); return one(Op::ListAppend, ListAppendAttrs{static_cast<int64_t>(flat.size()) - 1});
  case ListOp::Concat: return one(Op::ListConcat, {});
  case ListOp::Slice:
    return one(Op::ListSlice, ListSliceAttrs{operation.bounds.first, operation.bounds.last, operation.bounds.step});
  case ListOp::Join: {
    const uint32_t unfit = site("ShapeMismatch", "the elements of the list do not fit together", e.span);
    const ListJoinAttrs attrs{unfit, operation.axis, operation.stack};
    std::vector<Type> types{Type::tensor(e.type.dtype, std::vector<Dim>(e.type.rank()))};
    types.insert(types.end(), e.type.rank(), Type::scalar(DType::I64));
    NodeId node = here().node(Op::ListJoin, std::move(flat), std::move(types), attrs, at);
    std::vector<ValueId> results = f_[node].results;
    for (size_t axis = 0; axis < e.type.rank(); ++axis)
      f_[results[0]].type.dims[axis] = Dim::of(results[1 + axis]);
    return {results[0]};
  }
  }
  throw std::logic_error("lowering: an operation on lists of an unexpected kind");
}

Leaves FunctionLowerer::text_operation(const typed::Expr& e, const std::vector<Leaves>& operands) {
  Leaves flat;
  for (const Leaves& operand : operands)
    flat.insert(flat.end(), operand.begin(), operand.end());
  const auto& [op, bounds] = e.as<typed::TextExpr>();
  TextAttrs attrs{op, {}};
  if (op == TextOp::Slice) attrs.bounds = {bounds.first, bounds.last, bounds.step};
  const bool gives_bytes = info(op).result == "b";
  std::vector<Type> types;
  if (gives_bytes)
    types = {Type::tensor(DType::U8, {Dim::of(0)}), Type::scalar(DType::I64)};
  else
    types = {graph_type(e.type)};
  NodeId node = here().node(Op::Text, std::move(flat), std::move(types), std::move(attrs), loc(e.span));
  std::vector<ValueId> results = f_[node].results;
  if (gives_bytes) f_[results[0]].type.dims[0] = Dim::of(results[1]);
  return {results[0]};
}

} // namespace tl::ir
