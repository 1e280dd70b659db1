// The kernel's part in keeping a program to files, behind that of the VM (vm/io/access.h).
#pragma once
#include "driver/arguments.h"
#include <string>

namespace tl::driver {

// Where the flags keep the program to some files, has the kernel keep this process to them, to the files of the command
// line that it has yet to write, and to the folder of the cache (or none): a fault in what reads files or in machine
// code reaches no others. Says so on stderr where the kernel cannot. Before the first thread; what depends on files of
// the system is settled in `setup`. Not of a process among several: MPI needs what it needs.
void confine(RunSetup& setup, const ProgramArguments& arguments, const std::string& cache_folder = {});

} // namespace tl::driver
