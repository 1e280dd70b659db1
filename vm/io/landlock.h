// The kernel keeps this process to some files (Linux 5.13 and later, where Landlock is switched on).
#pragma once
#include <string>
#include <vector>

namespace tl {

struct AllowedFiles {
  std::string path; // a file, or a folder and all below it; what is not there is left out
  bool writes = false;
  bool runs = false;     // programs in it may be run, with the same rules
  bool controls = false; // a device, or devices in it, may be asked for more than to read and write (ioctl)
  bool tidies = false;   // empty folders in it may be removed, and nothing more than that be read
};

// From here on this thread, and those that it starts, opens nothing else, makes no connections and runs no other
// program than those; descriptors that are open stay so. It cannot be undone. False: the kernel cannot do that.
bool keep_process_to(const std::vector<AllowedFiles>& allowed);

} // namespace tl
