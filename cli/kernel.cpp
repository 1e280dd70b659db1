// tl kernel: the Jupyter kernel, which is the Python package's (python/tl/kernel.py).
#include "commands.h"
#include "driver/usage.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace tl::cli {

// For the python3 of the user, with what follows `tl kernel`.
static constexpr const char* kProgram = R"(import sys
try:
    from tl.kernel import main
except ModuleNotFoundError as missing:
    sys.stderr.write("tl: error[UsageError]: the kernel is in the Python package of tl, which %s lacks (%s)\n"
        "  hint: install it by pip, with its extra `jupyter`; or run `python -m tl.kernel` with a Python that has it\n"
        % (sys.executable, missing))
    sys.exit(2)
main(sys.argv[1:])
)";

void add_kernel(Command app) {
  Command command = app.add_command("kernel", "the Jupyter kernel: `tl kernel --install` makes it known to Jupyter");
  command.leave_rest();
  command.on_chosen([command] {
    const std::vector<std::string> words = command.rest();
    std::vector<const char*> arguments = {"python3", "-c", kProgram};
    for (const std::string& word : words)
      arguments.push_back(word.c_str());
    arguments.push_back(nullptr);
    ::execvp(arguments[0], const_cast<char* const*>(arguments.data()));
    throw driver::UsageError(
        fmt::format("the kernel is a Python program, and python3 cannot be run: {}", std::strerror(errno)));
  });
}

} // namespace tl::cli
