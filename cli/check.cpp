// tl check FILE…: all errors of the files, without running them.
#include "commands.h"
#include "compile.h"

namespace tl::cli {

void add_check(CLI::App& app, int& exit_code) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("check", "report every error of the files");
  command->add_option("FILE", *files, "programs; - is standard input")->required();
  command->callback([files, &exit_code] {
    for (const std::string& path : *files) {
      Frontend frontend;
      read_source(frontend, path);
      typed::Program program = check_source(frontend, true);
      if (!frontend.diagnostics.has_errors()) lower_source(frontend, program);
      std::fputs(render(frontend.diagnostics, frontend.sources).c_str(), stderr);
      if (frontend.diagnostics.has_errors()) exit_code = kRejected;
    }
  });
}

} // namespace tl::cli
