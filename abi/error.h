// Failures as values.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tl {

// Index into a program's table of locations; 0 is "nowhere".
struct LocId {
  uint32_t index = 0;
  bool operator==(const LocId&) const = default;
};

// A place in the source and, after inlining, the call it came through.
struct Location {
  std::string file;
  uint32_t line = 0, column = 0; // from 1
  uint32_t begin = 0, end = 0;   // byte offsets in the file, for carets
  LocId caller;                  // the call site that this place was inlined into, or nowhere
  std::string function;          // name of the function that this place is in, for the call chain
};

// A run-time failure: what ends a program with exit code 3 (or `exit_code`).
struct RuntimeError {
  std::string
      kind; // "IndexOutOfRange", "ShapeMismatch", "AssertionFailed", "OutOfMemory", "IoError", "DivisionByZero" …
  std::string message; // in the user's words, without place
  std::string hint;    // may be empty
  LocId loc;
  int exit_code = 3;
  std::vector<std::pair<std::string, LocId>> notes; // further places, such as where a size came from
};

// A place in a kernel or in bytecode that can fail. `message` holds {0} and {1} where the two recorded integers go, {e}
// where the element number goes, {d0} and {d1} where the integers are devices.
struct ErrorSite {
  std::string kind, message, hint;
  LocId loc;
  std::vector<std::pair<std::string, LocId>> notes;
};

// The failure of an operation on tensors of two devices.
RuntimeError mixed_devices(int64_t a, int64_t b, LocId loc);

} // namespace tl
