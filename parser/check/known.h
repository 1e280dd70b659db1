// Values that the library computes while it is checked: arithmetic on what is known for an instance.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// What `e` is if that follows from constant parameters (axes, numbers, bools, `none`, tuples of these) and ranks: their
// arithmetic, comparisons, `and or not`, `if`, `rank(x)`, `len(t)`, `t[i]`, `t + u` of tuples, `x.shape[i]`. By it a
// function of the library can call itself with another axis, and an `if` there can choose what is checked at all.
std::optional<Static> computed_static(Context& cx, const ast::Expr* e);

// Is this a function about axes, which the library alone has, and which only gives what is known?
//   axes_of(axis, rank)                the axes that `axis` means, counted from the first
//   axes_but(axis, rank)               the others
//   moved_axes(from, to, rank)         the order of axes for `permute`
//   contracted_axes(axes, rank, side)  the axes of one of its two tensors that `tensordot` sums over
bool is_about_axes(const std::string& name);

// Is it `x == none` or `x != none`? Then whether it holds; every program may ask that of a parameter.
std::optional<Static> compared_with_none(Context& cx, const ast::Expr* e);

} // namespace tl::checker
