// Reverse mode: lists.
#include "passes/derive/reverse.h"
#include "passes/edit.h"

namespace tl {
using namespace ir;

// Cotangents of leaves that went into a list.
void Reverse::add_leaves(Scope& s, const std::vector<ValueId>& originals, const std::vector<ValueId>& cotangents) {
  for (size_t k = 0; k < originals.size(); ++k) {
    if (!moves(originals[k])) continue;
    bool tensor = type(originals[k]).is_tensor();
    add(s, originals[k], tensor ? emit(s).reshape(cotangents[k], dims(s, originals[k])) : cotangents[k], true);
  }
}

// Adds to the element, in place.
void Reverse::reverse_list_get(Scope& s, const Node& node) {
  ValueId list = node.operands[0];
  if (!moves(list)) return;
  ValueId i = primal(s, node.operands[1]);
  ValueId whole = cotangent_or_zero(s, list);
  Emit e = emit(s);
  std::vector<ValueId> leaves = e.element(whole, i);
  for (size_t k = 0; k < leaves.size(); ++k) {
    ValueId d = moves(node.results[k]) ? cotangent(s, node.results[k]) : ValueId{};
    if (!d.valid()) continue;
    leaves[k] = type(leaves[k]).is_list() ? e.sum(leaves[k], d)
                                          : e.add(leaves[k], e.reshape(d, std::vector<Dim>(type(leaves[k]).dims)));
  }
  set(s, list, e.with_element(whole, i, leaves), true);
}

void Reverse::reverse_list(Scope& s, const Node& node, ValueId dy) {
  Emit e = emit(s);
  const Type list = node.op == Op::ListJoin ? type(node.operands[0]) : type(node.results[0]);
  switch (node.op) {
  case Op::ListMake: {
    auto width = static_cast<size_t>(node.as<ListMakeAttrs>().width);
    for (size_t at = 0; at < node.operands.size(); at += width) {
      std::vector<ValueId> leaves(node.operands.begin() + static_cast<long>(at),
                                  node.operands.begin() + static_cast<long>(at + width));
      add_leaves(s, leaves, e.element(dy, e.i64(static_cast<int64_t>(at / width))));
    }
    return;
  }
  case Op::ListAppend: {
    ValueId before = e.sub(e.length(dy), e.i64(1));
    add_leaves(s, {node.operands.begin() + 1, node.operands.end()}, e.element(dy, before));
    if (moves(node.operands[0])) add(s, node.operands[0], e.list_slice(dy, e.i64(0), before), true);
    return;
  }
  case Op::ListSet: {
    ValueId i = primal(s, node.operands[1]);
    std::vector<ValueId> leaves = e.element(dy, i);
    add_leaves(s, {node.operands.begin() + 2, node.operands.end()}, leaves);
    if (!moves(node.operands[0])) return;
    std::vector<ValueId> still = emit(s).element(emit(s).still(emit(s).list_of(list, leaves)), emit(s).i64(0));
    add(s, node.operands[0], emit(s).with_element(dy, i, still), true);
    return;
  }
  case Op::ListConcat: {
    // The second one often is a literal.
    const Node* literal = producer_of(f_, node.operands[1]);
    bool counted = literal && literal->op == Op::ListMake;
    int64_t known = counted ? literal->as<ListMakeAttrs>().count : 0;
    ValueId whole = e.length(dy);
    ValueId second = counted ? e.i64(known) : e.length(primal(s, node.operands[1]));
    ValueId first = e.sub(whole, second);
    add(s, node.operands[0], e.list_slice(dy, e.i64(0), first), true);
    add(s, node.operands[1], emit(s).list_slice(dy, first, whole), true);
    return;
  }
  case Op::ListSlice: {
    ValueId x = node.operands[0];
    if (node.operands.size() == 1) return add(s, x, dy, true); // all of it
    ValueId whole = cotangent_or_zero(s, x);
    // Which elements: those of the list of positions under the same slice.
    Type numbers = Type::list({Type::scalar(DType::I64)});
    ValueId positions = e.list_by(numbers, e.length(whole), [](Emit&, ValueId i) { return std::vector<ValueId>{i}; });
    std::vector<ValueId> bounds = primal(s, std::vector<ValueId>(node.operands.begin() + 1, node.operands.end()));
    bounds.insert(bounds.begin(), positions);
    positions = emit(s).builder().one(Op::ListSlice, bounds, Type(numbers), node.attrs, node.loc);
    Emit last = emit(s);
    std::vector<ValueId> out = last.loop(last.i64(0), last.length(positions), last.i64(1), {whole},
                                         [&](Emit& in, ValueId i, const std::vector<ValueId>& carried) {
                                           ValueId at = in.element(positions, i)[0];
                                           std::vector<ValueId> leaves = in.element(carried[0], at),
                                                                more = in.element(dy, i);
                                           for (size_t k = 0; k < leaves.size(); ++k) {
                                             Type own = in.type(leaves[k]);
                                             if (own.is_list())
                                               leaves[k] = in.sum(leaves[k], more[k]);
                                             else if (own.is_tensor() && is_float(own.dtype))
                                               leaves[k] = in.add(leaves[k], in.reshape(more[k], own.dims));
                                           }
                                           return std::vector<ValueId>{in.with_element(carried[0], at, leaves)};
                                         });
    return set(s, x, out[0], true);
  }
  case Op::ListJoin: {
    ValueId x = node.operands[0];
    if (!moves(x)) return;
    ValueId parts = primal(s, x);
    auto axis = static_cast<size_t>(node.as<ListJoinAttrs>().axis);
    bool stack = node.as<ListJoinAttrs>().stack;
    size_t rank = type(dy).dims.size();
    std::vector<ValueId> out = e.loop(e.i64(0), e.length(parts), e.i64(1), {e.list_of(list, {}), e.i64(0)},
                                      [&](Emit& in, ValueId i, const std::vector<ValueId>& carried) {
                                        std::vector<Dim> own = in.dims(in.element(parts, i)[0]), wide = own;
                                        if (stack) wide.insert(wide.begin() + static_cast<long>(axis), Dim::of(1));
                                        std::vector<ValueId> starts(rank, in.i64(0));
                                        starts[axis] = carried[1];
                                        ValueId part = in.slice(dy, starts, std::vector<int64_t>(rank, 1), wide);
                                        ValueId longer = in.append(carried[0], {in.reshape(part, own)});
                                        return std::vector<ValueId>{longer, in.add(carried[1], in.size(wide[axis]))};
                                      });
    return add(s, x, out[0], true);
  }
  default: throw std::logic_error("derive: no operation on lists");
  }
}

} // namespace tl
