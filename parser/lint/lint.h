// Warnings: what a program without errors says and probably does not mean. By the syntax tree and the meanings of its
// names; each rule is exact in what it claims, so that a program can be kept free of warnings.
#pragma once
#include "lang/ast.h"
#include "lang/diagnostics.h"
#include "parser/check/check.h"
#include "parser/index/index.h"
#include "parser/syntax/imports.h"
#include <functional>
#include <vector>

namespace tl::lint {

struct Input {
  const ast::File& file;
  const Index& index; // of the file
  const ExprTypes& types;
  const Imports& imports;
  const ast::File& prelude;
};
// Reports on the file alone, not on what it imports.
void warn(const Input& input, Diagnostics& diagnostics);

} // namespace tl::lint
