// The command line of `fn main`.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

// does it name one?
bool returns_struct(const Context& cx, const ast::NamedType& type);
// sizes: those that have a name
ExprPtr main_file(Context& cx, const ast::Param& param, std::set<std::string>& sizes);
void free_elements(Context& cx, Type& type);
ExprPtr entry_leaves(Context& cx, const ast::Param& param, Type type, const std::string& path,
                     std::set<std::string>& sizes);
ExprPtr main_list(Context& cx, ExprPtr given, std::optional<DType> dtype, typed::Block& before);
void main_results(Context& cx, typed::Block& block);

} // namespace tl::checker
