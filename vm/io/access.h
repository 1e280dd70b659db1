// What this process may do with files: which ones a program may name, and how much of one it takes into memory.
#pragma once
#include "abi/descriptor.h"
#include <cstdint>
#include <string>

namespace tl {

// The files that a program may use, by any function and by import. Those that the user has named on the command line
// are not the program's choice: NamedByUser.
struct FileRules {
  enum class Reach : uint8_t { All, Folder, None };
  Reach reach = Reach::All;
  std::string folder; // of Reach::Folder: what is below it
};
// Of the whole process, before a program is read. Throws IoError: there is no such folder, or the kernel cannot keep
// anybody to it (openat2 of Linux 5.6).
void restrict_files(const FileRules& rules);

// While one of these lives, the rules do not bind this thread.
class NamedByUser {
public:
  NamedByUser();
  ~NamedByUser();
  NamedByUser(const NamedByUser&) = delete;
};

// open(2), close-on-exec, of what exists; relative to the current folder. No descriptor: the system refuses (errno).
// Throws IoError where the rules forbid it: a path that does not lead below the folder, also by `..` or a link. A link
// with an absolute path leads out of it, wherever that is.
Descriptor open_file(const std::string& path, int flags);

// From here on open_file(path) opens this file, which need have no name of its own; the path may be any. Before other
// threads are there.
void hold_file(const std::string& path, Descriptor file);

// Bytes of one file, unpacked, that may be in memory; more is an IoError of kind OutOfMemory that names the file.
// Set before a program runs; until then four fifths of the machine's memory.
void limit_reading(uint64_t bytes);
uint64_t reading_limit();
// Throws it where so many bytes are too many.
void require_readable(const std::string& path, uint64_t bytes);

} // namespace tl
