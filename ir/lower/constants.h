// The values of consts that are computed when the program is compiled (typed::ConstPart): which a program needs, the
// program that computes one, and what lowering is then given. Whoever runs the compiler runs that program too.
#pragma once
#include "abi/outcome.h"
#include "ir/graph/graph.h"
#include "lang/source.h"
#include "lang/typed.h"
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tl::ir {

// Uses with the same key have the same value. The type is the one that a use wants: sizes follow from the value.
struct ConstantKey {
  uint32_t file = 0, begin = 0, part = 0;
  std::string type;
  auto operator<=>(const ConstantKey&) const = default;
};
ConstantKey key_of(const typed::Expr& constant);

struct ConstantValue {
  std::vector<Argument> leaves;
  std::vector<std::optional<int64_t>> sizes; // of the atoms that are bound in the expression, as far as it knows them
};
using Constants = std::map<ConstantKey, ConstantValue>;

// The expressions of the consts that the top level, main and tests need, one for each key; what a const needs itself
// comes before it.
std::vector<const typed::Expr*> constants_of(const typed::Program& program);

// The entry gives the leaves of the value, then its sizes. `before`: the consts that were computed until now.
struct ConstantProgram {
  Module module;
  size_t leaves = 0;
  std::vector<bool> sizes; // which of the atoms are known
};
ConstantProgram lower_constant(const typed::Program& program, const SourceManager& sources, const typed::Expr& constant,
                               const Constants& before);
ConstantValue value_of(const ConstantProgram& program, std::vector<Argument> results);

} // namespace tl::ir
