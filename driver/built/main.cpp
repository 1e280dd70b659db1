// main() of the executables that `tl build` makes.
#include "abi/visible.h"
#include "driver/confine.h"
#include "driver/run.h"
#include "driver/usage.h"
#include "kernels.h"
#include <cstdio>

int main(int argc, char** argv) {
  using namespace tl::driver;
  return guarded([&]() -> int {
    Built built;
    const tl::Program& program = built.programs.front();
    RunSetup setup;
    take_environment(setup);
    const ProgramArguments arguments = parse_arguments(program.interface, {argv + 1, argv + argc}, &setup);
    if (arguments.help) {
      std::fputs(tl::visible_lines(help_text(program.interface, argv[0], true)).c_str(), stdout);
      return kFine;
    }
    confine(setup, arguments);
    return run_program(program, built, arguments, setup, built.sources, built.main);
  });
}
