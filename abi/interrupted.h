// Ctrl-C, for programs that end by themselves.
#pragma once

namespace tl {

// Has SIGINT come since the first call? From that call on the first one is only noted; the next one ends the process as
// it would have otherwise. May be called from any thread.
bool interrupted();

} // namespace tl
