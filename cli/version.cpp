// tl version: what this binary is and what it runs on.
#include "backend/cpu/jit.h"
#include "commands.h"
#include <fmt/format.h>
#include <thread>

namespace tl::cli {

std::string version_text() { return fmt::format("tl {}", TL_VERSION); }

void add_version(Command app, int& exit_code) {
  Command command = app.add_command("version", "version, code generator and processor");
  command.on_chosen([&exit_code] {
    fmt::print("{}\n{}\n{} hardware threads\n", version_text(), host_description(),
               std::thread::hardware_concurrency());
    exit_code = 0;
  });
}

} // namespace tl::cli
