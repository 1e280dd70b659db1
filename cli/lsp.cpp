// tl lsp: the language server, for editors.
#include "commands.h"
#include "lsp/server.h"
#include <csignal>
#include <unistd.h>

namespace tl::cli {

void add_lsp(Command app, int& exit_code) {
  auto over_stdio = std::make_shared<bool>();
  Command command = app.add_command("lsp", "serve an editor: the language server, on standard input and output");
  command.add_flag("--stdio", *over_stdio, "what editors may say; there is no other way");
  command.on_chosen([over_stdio, &exit_code] {
    std::signal(SIGPIPE, SIG_IGN); // an editor that ends is no failure
    // Nothing else may write to the client.
    const int out = ::dup(STDOUT_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    exit_code = lsp::serve(STDIN_FILENO, out, TL_VERSION);
  });
}

} // namespace tl::cli
