#include "vm/io/access.h"
#include "vm/io/io.h"
#include "vm/io/source.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <map>
#include <sys/syscall.h>
#include <unistd.h>

namespace tl {
namespace {

// ---- where files are ----

// Without `.` and without empty parts.
std::string tidied(const std::string& path) {
  std::string result;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (!part.empty() && part != ".") result += "/" + part;
    at = end + 1;
  }
  return result;
}

// A path from `/` on. The current folder's own name holds no links, so what leads upwards from it is known.
std::string absolute(const std::string& path) {
  if (path.starts_with('/')) return tidied(path);
  char current[PATH_MAX];
  std::string folder = ::getcwd(current, sizeof current) ? tidied(current) : "";
  std::string rest = tidied(path);
  while (rest == "/.." || rest.starts_with("/../")) {
    rest.erase(0, 3);
    folder.resize(folder.empty() ? 0 : folder.rfind('/'));
  }
  return folder + rest;
}

// ---- which may be used ----

struct Rules {
  FileRules given;
  Descriptor folder;                // of Reach::Folder
  std::array<std::string, 2> names; // its own: without links, and as given
};
Rules rules; // written before other threads are there

std::map<std::string, Descriptor> held; // hold_file

thread_local int by_user = 0; // NamedByUser that live

int open_below(const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags) | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  constexpr int tries = 100; // somebody moves folders about meanwhile
  int file = -1;
  for (int i = 0; i < tries; ++i) {
    file = static_cast<int>(::syscall(SYS_openat2, rules.folder.get(), path.c_str(), &how, sizeof how));
    if (file >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return file;
}

[[noreturn]] void forbid(const std::string& path) {
  if (rules.given.reach == FileRules::Reach::None)
    throw IoError(fmt::format("cannot use '{}': the program may use no files (--no-files)", path));
  throw IoError(fmt::format("cannot use '{}': it is not below '{}' (--root)", path, rules.given.folder));
}

// What leads to the path from the folder.
std::string below_folder(const std::string& path) {
  const std::string whole = absolute(path);
  for (const std::string& name : rules.names) {
    if (whole == name) return ".";
    if (whole.starts_with(name + "/")) return whole.substr(name.size() + 1);
  }
  forbid(path);
}

// ---- how much of them ----

std::atomic<uint64_t> limit{0}; // 0: nobody has said

uint64_t most_of_the_machine() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 5 * 4;
}

} // namespace

void restrict_files(const FileRules& wanted) {
  rules.given = wanted;
  if (wanted.reach != FileRules::Reach::Folder) return;
  auto refuse = [&](const std::string& why) {
    throw IoError(fmt::format("cannot keep the program to '{}': {}", wanted.folder, why));
  };
  rules.folder = Descriptor(::open(wanted.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!rules.folder) refuse(system_error_text(errno));
  char real[PATH_MAX];
  if (!::realpath(wanted.folder.c_str(), real)) refuse(system_error_text(errno));
  rules.names = {tidied(real), absolute(wanted.folder)};
  if (!Descriptor(open_below(".", O_PATH))) refuse("this system has no openat2");
}

NamedByUser::NamedByUser() { ++by_user; }
NamedByUser::~NamedByUser() { --by_user; }

void hold_file(const std::string& path, Descriptor file) { held.insert_or_assign(path, std::move(file)); }

Descriptor open_file(const std::string& path, int flags) {
  if (auto found = held.find(path); found != held.end()) // opened anew: with a place of its own in the file
    return Descriptor(::open(fmt::format("/proc/self/fd/{}", found->second.get()).c_str(), flags | O_CLOEXEC));
  if (rules.given.reach == FileRules::Reach::All || by_user > 0) {
    int file = -1;
    do
      file = ::open(path.c_str(), flags | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    return Descriptor(file);
  }
  if (rules.given.reach == FileRules::Reach::None) forbid(path);
  Descriptor file(open_below(below_folder(path), flags));
  if (!file && (errno == EXDEV || errno == ELOOP)) forbid(path);
  return file;
}

void limit_reading(uint64_t bytes) { limit = bytes; }

uint64_t reading_limit() {
  constexpr uint64_t kAlways = 900; // what a program says of a small file comes before its limit
  const uint64_t said = limit;
  return said ? std::max(said, kAlways) : most_of_the_machine();
}

void require_readable(const std::string& path, uint64_t bytes) {
  if (bytes > reading_limit())
    throw IoError(fmt::format("cannot read '{}': what it holds takes more than the memory limit of {} bytes", path,
                              reading_limit()),
                  "OutOfMemory");
}

} // namespace tl
