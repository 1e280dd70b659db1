// A file's pages as memory. Internal to vm/io.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tl {

// Pages of an open file from `offset` on (any offset), readable, and writable without changing the file; unmapped when
// the last reference goes. Nothing if the system refuses. If somebody cuts the file short while it is mapped, touching
// what is gone ends the process with a message and exit code 3, not by a signal.
std::shared_ptr<std::byte[]> map_file(int descriptor, uint64_t offset, uint64_t count);

// Of a process that is not ours, which keeps its signal handlers: from here on map_file gives nothing.
void leave_signals_alone();
bool signals_are_others(); // the process is not ours

} // namespace tl
