// The flags of a run: `tl run`, `tl test` and built executables have them from one table.
#pragma once
#include "vm/io/access.h"
#include "vm/io/landlock.h"
#include "vm/vm.h"
#include <span>
#include <string>
#include <string_view>

namespace tl::driver {

struct RunSetup {
  RunOptions run;
  FileRules files;
  bool stats = false, profile = false, explain_idle = false;
  std::string trace;          // a file, or empty
  std::string device = "cpu"; // or auto, gpu, gpu:N, gpu-emu: RunOptions::cards is for whoever can open them
  int emulated_cards = 1;
  std::vector<AllowedFiles> of_cards;        // what the cards need of the system while the program runs
  bool tf32 = false, exact_products = false; // how GPUs multiply

  bool looks() const { return profile || explain_idle || !trace.empty(); }
};

struct RunFlag {
  std::string_view name;  // without dashes; the environment has it as TL_NAME
  std::string_view value; // what follows it; empty: a switch, whose value is "true"
  std::string_view help;
  bool looks;                                             // shows what a run did: of commands that run one program once
  void (*set)(RunSetup& setup, const std::string& value); // throws UsageError
};

std::span<const RunFlag> run_flags();
const RunFlag* find_run_flag(std::string_view name); // null: there is none
std::string environment_name(const RunFlag& flag);

// Sets a flag that has no value by a word for true or false, as in TL_SYNC=1. Throws UsageError.
void set_switch(RunSetup& setup, const RunFlag& flag, const std::string& text);

// The same for any flag: one that has a value by its value.
void set_flag(RunSetup& setup, const RunFlag& flag, const std::string& text);

// The setting `name` of a library: a flag, but for those about the whole process, which is somebody else's. `value`
// null: "true". Throws UsageError, and `setup` is as it was.
void set_for_library(RunSetup& setup, const char* name, const char* value);

// What the environment says. Throws UsageError.
void take_environment(RunSetup& setup);

// Throws UsageError where flags speak of a GPU and there is none in the run.
void check_devices(const RunSetup& setup);

// Makes the process what the flags say of it, before the first file of a program is read: which files that may be, and
// how much of one may be in memory. Throws UsageError.
void prepare(const RunSetup& setup);

} // namespace tl::driver
