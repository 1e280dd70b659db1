// The language server: reads messages, answers them, and says what is wrong with the open documents.
#pragma once
#include <string>

namespace tl::lsp {

// Serves a client on two file descriptors until it says `exit`, or is gone. Gives the exit code that the protocol asks
// for: 0 after `shutdown`, else 1.
int serve(int in, int out, const std::string& version);

} // namespace tl::lsp
