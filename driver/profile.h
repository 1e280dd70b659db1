// What --profile, --trace and --explain-idle show of a run.
#pragma once
#include "abi/error.h"
#include "lang/source.h"
#include "vm/profile.h"
#include "vm/vm.h"
#include <string>
#include <vector>

namespace tl::driver {

// A table by source line, sorted by time: seconds, share of the run, operations, bytes, GB/s and their share of the
// memory bandwidth that is measured here (some milliseconds). `main` is the program's file.
std::string profile_table(const Profile& profile, const Stats& stats, const std::vector<Location>& locations,
                          const SourceManager& sources, FileId main);

// "a.tl:3", or "elsewhere".
std::string place_text(Span span, const SourceManager& sources);

// The timeline as the JSON that Perfetto and chrome://tracing open: a process for the program, with a row for the
// issuing thread and one for files, and one for each device, with a row for each worker and each direction of copying;
// a slice per piece of work, arrows from what computes a value to what takes it, memory in use and operations in flight
// as counters. Throws IoError.
void write_trace(const std::string& path, const Profile& profile, const std::vector<Location>& locations,
                 const SourceManager& sources, FileId main);

} // namespace tl::driver
