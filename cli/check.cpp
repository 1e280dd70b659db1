// tl check FILE…: all errors of the files, without running them.
#include "commands.h"
#include "compile.h"
#include "messages.h"
#include "programs.h"

namespace tl::cli {

void add_check(CLI::App& app, int& exit_code) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* command = app.add_subcommand("check", "report every error of the files");
  command->add_option("FILE", *files, "programs and folders of them; - is standard input")->required();
  add_message_format(*command);
  command->callback([files, &exit_code] {
    for (const std::string& path : programs_under(*files)) {
      Frontend frontend;
      read_source(frontend, path);
      typed::Program program = check_source(frontend, true);
      if (!frontend.diagnostics.has_errors()) lower_source(frontend, program);
      show(frontend.diagnostics, frontend.sources);
      if (frontend.diagnostics.has_errors()) exit_code = kRejected;
    }
  });
}

} // namespace tl::cli
