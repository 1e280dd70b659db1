// What goes into a run of a program and what comes out, whichever engine runs it (the VM, the reference interpreter, a
// built executable).
#pragma once
#include "abi/error.h"
#include "abi/tensor.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tl {

// One argument of `main`, or one leaf of its result. A scalar is a tensor of rank 0. Nothing: the argument was not
// given (its parameter has a default).
struct ListArgument;
using Argument = std::variant<std::monostate, HostTensor, std::string, std::shared_ptr<const ListArgument>>;

// A list of elements of `width` leaves each.
struct ListArgument {
  size_t width = 1;
  std::vector<Argument> values;
};

struct Outcome {
  std::optional<RuntimeError> error; // set: the program failed; exit_code is the error's
  int exit_code = 0;
  std::vector<Argument>
      results; // leaves of main's result, as ProgramInterface::results says; empty after an error or exit
};

// Takes what the program prints, in order. May throw IoError, which becomes a failure of the program.
using OutputSink = std::function<void(std::string_view)>;

} // namespace tl
