// What a library gives to its callers.
#pragma once
#include "parser/check/context.h"

namespace tl::checker {

void check_export(Context& cx, const std::string& name);
void check_export_top_level(Context& cx, const std::string& name);

// Tells structs and lists of a program apart: the name, and the element types of its parts where they may differ;
// "List_f32_2d", "List_Tuple2_Model_i64".
std::string record_name(Context& cx, const Type& type);
// What a value of this type is made of.
ValueInfo value_info(Context& cx, const Type& type);
// Can it leave the program, as a part of a value?
bool can_cross(Context& cx, const Type& type);

} // namespace tl::checker
