// The types of structs.
#pragma once
#include "parser/check/context.h"
#include "parser/check/types.h"

namespace tl::checker {

// "no size", "1 size", "2 sizes".
std::string counted(size_t count, const char* noun);

std::shared_ptr<const Record> record_of(Context& cx, StructInfo& info);
Type struct_type(Context& cx, StructInfo& info, const ast::NamedType& named, Span span, DimContext& context);
std::vector<Type> field_types(Context& cx, StructInfo& info, const std::map<std::string, Type>& types,
                              const std::vector<Size>& sizes, DimContext& context);
void learn_types(Context& cx, const ast::TypeExpr* written, const Type& actual, const ast::Struct& decl,
                 std::map<std::string, Type>& learned);
bool has_atom(const Context& cx, const Type& type, const std::vector<AtomId>& atoms);

} // namespace tl::checker
