// The command line of a tl program: the parameters of its `main`.
#pragma once
#include "abi/interface.h"
#include "abi/outcome.h"
#include "driver/flags.h"
#include <string>
#include <vector>

namespace tl::driver {

struct ProgramArguments {
  std::vector<Argument> values;     // one per parameter of main; nothing where the default is to be used
  std::vector<std::string> outputs; // files after -o, in order
  bool help = false;
};

// Scalars and strings are `--name value`, lists of them the same several times (else empty, or the default); tensors,
// structs and other lists are file names in order, or `--name FILE` (driver/leaves.h); `-o FILE` takes a result. Reads
// the files and checks element type and rank. With `setup`, the flags of a run are among them, also as `--tl-NAME`,
// which no parameter can be. Throws UsageError, also for files that cannot be read.
ProgramArguments parse_arguments(const ProgramInterface& interface, const std::vector<std::string>& words,
                                 RunSetup* setup = nullptr);

// What `--help` prints; `command` is how the program is called, `with_flags` whether the flags of a run are its own.
std::string help_text(const ProgramInterface& interface, const std::string& command, bool with_flags = false);

// A scalar from text, as the command line writes it. Nothing is converted: "2.5" is no i64. Throws UsageError.
Scalar parse_scalar(DType type, const std::string& name, const std::string& text);

// Writes results to the files, in order, or prints those that no file takes. Throws IoError.
void deliver_results(const ProgramInterface& interface, const std::vector<Argument>& results,
                     const std::vector<std::string>& outputs, const OutputSink& out);

} // namespace tl::driver
