// Typed AST -> graph. Tuples are flattened, variables become SSA values that loops and branches carry, sizes become host
// i64 values (one per normalised polynomial), effects become a chain of tokens, failures become Guards.
#pragma once
#include "ir/graph.h"
#include "lang/source.h"
#include "lang/typed.h"

namespace tl::ir {

// The module's entry runs the top-level statements, then main. Each `test` block becomes a function "test NAME" that takes
// and gives a token; tests(module) lists them, and running one is making it the entry.
// Throws tl::ir::Unsupported for what the compiler cannot do yet.
Module lower(const typed::Program& program, const SourceManager& sources);

} // namespace tl::ir
