// What is in a node of the typed AST. Every walk of it is made of the first two, so that none forgets a part:
// literals get their types, called functions are found, effects are seen wherever an expression may be.
#pragma once
#include "lang/typed.h"
#include <concepts>
#include <functional>

namespace tl::typed {

template <class T, class... Kinds>
concept OneOf = (std::same_as<std::remove_const_t<T>, Kinds> || ...);

// What stands in the data of each kind of expression: a kind without a function here does not compile.
template <OneOf<UnitExpr, LiteralExpr, StrExpr, VariableExpr, SizeExpr, ScalarExpr, ConvertExpr, BuiltinExpr, CallExpr,
                TupleExpr, TupleGetExpr, TensorLiteralExpr, InterpExpr, RangeExpr, ListExpr, TextExpr, RecastExpr>
              NoParts>
void each_part_of(NoParts&, const auto&, const auto&) {}

void each_part_of(OneOf<IndexExpr> auto& index, const auto& on_expr, const auto&) {
  for (auto& subscript : index.subscripts)
    if (subscript.value) on_expr(*subscript.value);
}
void each_part_of(OneOf<IfExpr> auto& branches, const auto&, const auto& on_block) {
  on_block(branches.then_block);
  on_block(branches.else_block);
}
void each_part_of(OneOf<BlockExpr> auto& block, const auto&, const auto& on_block) { on_block(block.block); }
void each_part_of(OneOf<ComprehensionExpr> auto& comprehension, const auto& on_expr, const auto&) {
  for (auto& index : comprehension.indices)
    for (auto& bind : index.binds)
      on_expr(*bind.value);
  if (comprehension.filter) on_expr(*comprehension.filter);
}
void each_part_of(OneOf<DeriveExpr> auto& derived, const auto&, const auto& on_block) {
  on_block(derived.body);
  if (derived.rule) on_block(*derived.rule);
}

// The expressions and blocks right inside of `e`. Expr may be const.
template <class Expr, class OnExpr, class OnBlock>
void each_part(Expr& e, const OnExpr& on_expr, const OnBlock& on_block) {
  for (auto& operand : e.operands)
    if (operand) on_expr(*operand);
  for (auto& bind : e.binds)
    on_expr(*bind.value);
  e.visit([&](auto& data) { each_part_of(data, on_expr, on_block); });
}

// The same of a statement.
template <class Stmt, class OnExpr, class OnBlock>
void each_part_of_statement(Stmt& s, const OnExpr& on_expr, const OnBlock& on_block) {
  for (auto& place : s.targets)
    for (auto& subscript : place.subscripts)
      if (subscript.value) on_expr(*subscript.value);
  if (s.value) on_expr(*s.value);
  on_block(s.body);
  if (s.message) on_expr(*s.message);
}

// Every size in a type.
void each_size_of(const Type& type, const auto& on_size) {
  for (const Size& size : type.shape)
    on_size(size);
  for (const Type& element : type.elements)
    each_size_of(element, on_size);
}

// Every size in the data of a kind of expression, or in the attributes of a built-in function.
template <OneOf<UnitExpr, LiteralExpr, StrExpr, VariableExpr, ScalarExpr, ConvertExpr, TupleExpr, TupleGetExpr,
                TensorLiteralExpr, BlockExpr, InterpExpr, RangeExpr, ListExpr, TextExpr, RecastExpr, NoAttrs, AxisAttrs,
                AxesAttrs, ReduceAttrs, EinsumAttrs, PrintAttrs, ProgressAttrs, DeviceCountAttrs, DebugAttrs, LoadAttrs,
                SaveAttrs, PlotAttrs>
              NoSizes>
void each_size_of(const NoSizes&, const auto&) {}

void each_size_of(const SizeExpr& e, const auto& on_size) { on_size(e.size); }
void each_size_of(const CallExpr& call, const auto& on_size) {
  for (const Size& size : call.size_args)
    on_size(size);
}
void each_size_of(const IndexExpr& index, const auto& on_size) {
  for (const Subscript& s : index.subscripts)
    on_size(s.start), on_size(s.length);
}
void each_size_of(const IfExpr& branches, const auto& on_size) {
  for (const Join& join : branches.joins)
    each_size_of(join.type, on_size);
}
void each_size_of(const ComprehensionExpr& comprehension, const auto& on_size) {
  for (const ComprehensionIndex& index : comprehension.indices)
    on_size(index.lo), on_size(index.hi);
}
void each_size_of(const DeriveExpr& derived, const auto& on_size) { on_size(derived.count); }
void each_size_of(const ScatterAddAttrs& attrs, const auto& on_size) {
  for (const Size& size : attrs.places)
    on_size(size);
}
void each_size_of(const PadAttrs& attrs, const auto& on_size) {
  for (const PadAttrs::Margins& margins : attrs.margins)
    on_size(margins.before), on_size(margins.after);
}
void each_size_of(const LinalgAttrs& attrs, const auto& on_size) {
  for (const Size& size : attrs.shape)
    on_size(size);
}
void each_size_of(const BuiltinExpr& function, const auto& on_size) {
  std::visit([&](const auto& held) { each_size_of(unboxed(held), on_size); }, function.attrs);
}

// Every size that `e` itself mentions, not those of its parts: a part may mention a size that is in none of its
// own expressions.
template <class OnSize> void each_size(const Expr& e, const OnSize& on_size) {
  e.visit([&](const auto& data) { each_size_of(data, on_size); });
  each_size_of(e.type, on_size);
  for (const SizeCheck& check : e.checks)
    on_size(check.a), on_size(check.b);
}

// Calls on_expr and on_stmt for every node below, parents first.
struct Walker {
  std::function<void(const Expr&)> on_expr;
  std::function<void(const Stmt&)> on_stmt;

  void walk(const Expr& e) const {
    on_expr(e);
    each_part(e, [&](const Expr& part) { walk(part); }, [&](const Block& block) { walk(block); });
  }
  void walk(const Stmt& s) const {
    on_stmt(s);
    each_part_of_statement(s, [&](const Expr& part) { walk(part); }, [&](const Block& block) { walk(block); });
  }
  void walk(const Block& block) const {
    for (const Stmt& s : block.statements)
      walk(s);
    if (block.result) walk(*block.result);
  }
};

} // namespace tl::typed
