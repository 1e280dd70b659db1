// How diagnostics, run-time failures and wrong command lines are shown on stderr: for people, or as one JSON object a
// line. And standard output.
#pragma once
#include "abi/error.h"
#include "abi/outcome.h"
#include "lang/diagnostics.h"
#include "lang/source.h"
#include <atomic>
#include <vector>

namespace tl::driver {

void show_as_json(bool json); // of the whole process

void show(const Diagnostic& diagnostic, const SourceManager& sources);
void show(const Diagnostics& diagnostics, const SourceManager& sources);
// A message that has no place in a program: `tl: message`, or an object of this kind without file and line.
void show(const std::string& kind, const std::string& message);

// While one lives, what its thread would show is kept instead.
class KeptMessages {
public:
  KeptMessages();
  ~KeptMessages();
  KeptMessages(const KeptMessages&) = delete;

  struct Message {
    Diagnostic diagnostic; // of one without a place: kind and message
    std::string file;      // of the place; empty: none
    LineColumn place;
    std::string text; // as it is shown
  };
  std::vector<Message> all;

private:
  KeptMessages* outer_;
};

// The failure of a run as a diagnostic.
Diagnostic diagnostic_of(const RuntimeError& error, const std::vector<Location>& locations,
                         const SourceManager& sources, FileId main);
// The same, with the call chain as further places; to stderr, and its exit code back.
int report_failure(const RuntimeError& error, const std::vector<Location>& locations, const SourceManager& sources,
                   FileId main);

// The place in the user's own files that `loc` is at or was called from. `main` is the program's file.
Span place_of(LocId loc, const std::vector<Location>& locations, const SourceManager& sources, FileId main);

OutputSink error_output(); // standard error, for debug
// Of a process that is not ours: written at once, since others that write to it have buffers of their own.
OutputSink flushed_output(std::FILE* file);

// Standard output. The sink hands on what it is given at once (vm/console.h gathers); a failing write is an IoError.
class StandardOutput {
public:
  OutputSink sink(); // for as long as this object is there
  void flush();
  // Has nobody been there to read it, as in `tl run … | head`? Then there is nobody to tell.
  bool reader_is_gone() const { return is_gone_; }

private:
  [[noreturn]] void fail();
  std::atomic<bool> is_gone_{false};
};

} // namespace tl::driver
