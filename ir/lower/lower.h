// Typed AST -> graph. Tuples are flattened, variables become SSA values that loops and branches carry, sizes become
// host i64 values (one per normalised polynomial), effects become a chain of tokens, failures become Guards.
#pragma once
#include "ir/graph/graph.h"
#include "ir/lower/constants.h"
#include "lang/source.h"
#include "lang/typed.h"
#include <stdexcept>

namespace tl::ir {

// What the language has and the compiler cannot do yet. The message says what; the location where.
struct Unsupported : std::runtime_error {
  Unsupported(const std::string& message, Span span, std::string hint = {})
      : std::runtime_error(message), span(span), hint(std::move(hint)) {}
  Span span;
  std::string hint; // may be empty
};

// The module's entry runs the top-level statements, then main, as Program (abi/program/bytecode.h) says. Each `test`
// block becomes a function that takes and gives a token: it runs the top-level statements, then the test.
// Where the program names devices, what is made at the top level, in main and in tests goes to `default_device` (its
// number, abi/device.h).
// Consts that `constants` does not have are computed where they are used.
// Requires program.ok. Throws Unsupported.
Module lower(const typed::Program& program, const SourceManager& sources, int64_t default_device = 0,
             const Constants& constants = {});

// A piece of a session: the entry's further parameters are program.session.sizes, then the leaves of
// program.session.given, a tensor behind the sizes of its axes; its further results the leaves of program.session.kept,
// then `sizes`: those of this piece that later pieces may refer to, then `true`: a piece that exits has no results.
struct Piece {
  Module module;
  std::vector<AtomId> sizes;
};
// `atoms` are the program's, or a copy of them: lowering adds compound ones.
Piece lower_piece(const typed::Program& program, const SourceManager& sources, SizeAtoms& atoms,
                  int64_t default_device = 0, const Constants& constants = {});
// How many leaves a value of this type has.
size_t leaf_count(const tl::Type& type);

struct TestEntry {
  std::string name; // the test's
  uint32_t function = 0;
};
std::vector<TestEntry> tests(const Module& module);
// The module with a test as its entry, without a command line.
Module with_entry(const Module& module, const TestEntry& test);

} // namespace tl::ir
