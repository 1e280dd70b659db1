// tl version: what this binary is and what it runs on.
#include "backend/cpu/jit.h"
#include "commands.h"
#include <fmt/format.h>
#include <thread>

namespace tl::cli {

std::string version_text() { return fmt::format("tl {}", TL_VERSION); }

void add_version(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("version", "version, code generator and processor");
  command->callback([&exit_code] {
    fmt::print("{}\n{}\n{} hardware threads\n", version_text(), host_description(),
               std::thread::hardware_concurrency());
    exit_code = 0;
  });
}

} // namespace tl::cli
