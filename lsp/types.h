// Types that the checker has found, as text: "f32[n, 784]". Empty: unknown.
#pragma once
#include "lsp/analysis.h"
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tl::lsp {

// Of the variable or parameter whose name is declared there; of one in a function that is called in several ways, those
// of all of them ("f32[n] or f64[n]").
std::string type_of_variable(const Analysis& analysis, Span declaration);
std::string type_of_call(const Analysis& analysis, Span callee); // what the call of this name gives
std::string type_of_field(const Analysis& analysis, Span name);  // of the field that this name reads
struct TypedText {
  Span span;
  std::string type;
};
// The innermost expression there that has a type.
std::optional<TypedText> expression_at(const Analysis& analysis, uint32_t offset);
// As a program may write it in this file, with `_` for sizes that have no name; empty where it cannot.
std::string written(Analysis& analysis, Type type);
// The same of the variable whose name is declared there, if it has one type only.
std::string written_type_of_variable(Analysis& analysis, Span declaration);
// Of a function that does not write it: where it would be written, and "-> f32[n]", the type as `text` has it.
using TypeText = std::function<std::string(const Type&)>;
std::optional<std::pair<uint32_t, std::string>> inferred_result(const Analysis& analysis, const Symbol& symbol,
                                                                const TypeText& text);
std::string to_string(const Analysis& analysis, const Type& type);

} // namespace tl::lsp
