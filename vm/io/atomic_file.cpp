// Replacing a file so that readers see the old one or the new one, and that an end of the process in between leaves no
// half of it.
//
// Where the file system can, a file has no name while it is written (O_TMPFILE): whatever ends the process, it is gone.
// Elsewhere, and for the moment in which it takes the place of another, it has a name beside its target's, which the
// handlers of SIGINT, SIGTERM and SIGHUP remove.
#include "vm/io/access.h"
#include "vm/io/formats.h"
#include "vm/io/mapping.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace tl {

namespace {

// An error of the system on the way; the file's name is added where it is known.
[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

// ---- names of half-written files ----

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

// Where a handler finds them: neither locks nor memory.
struct HalfWritten {
  std::atomic<bool> taken{false};
  std::atomic<int> folder{-1}; // its descriptor; none: nothing is there
  char name[NAME_MAX + 1];
};
std::array<HalfWritten, 64> half_written; // one beyond them stays behind where a signal ends the process

void remove_and_end(int signal) {
  for (const HalfWritten& file : half_written)
    if (const int folder = file.folder; folder >= 0) ::unlinkat(folder, file.name, 0);
  std::signal(signal, SIG_DFL);
  ::raise(signal); // comes when this handler returns: the exit code tells of it
}

// While one of them lives, the signals that would end the process remove files first. What somebody else handles or
// ignores stays his.
class EndingSignals {
public:
  EndingSignals() {
    std::lock_guard lock(mutex);
    if (users++ > 0 || signals_are_others()) return;
    struct sigaction action{};
    action.sa_handler = remove_and_end;
    for (int signal : kEndingSignals) {
      struct sigaction before{};
      ::sigaction(signal, nullptr, &before);
      if (before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
    }
  }
  ~EndingSignals() {
    std::lock_guard lock(mutex);
    if (--users > 0) return;
    for (int signal : kEndingSignals) {
      struct sigaction now{};
      ::sigaction(signal, nullptr, &now);
      if (now.sa_handler == remove_and_end) std::signal(signal, SIG_DFL);
    }
  }
  EndingSignals(const EndingSignals&) = delete;

private:
  static inline std::mutex mutex;
  static inline int users = 0;
};

// A name in a folder, removed with this object or with the process unless it became another.
class TemporaryName {
public:
  explicit TemporaryName(int folder, const std::string& target) : folder_(folder) {
    static std::atomic<unsigned> counter{0};
    name_ = fmt::format("{}.{}-{}.tmp", target.substr(0, 200), ::getpid(), counter++);
    for (HalfWritten& slot : half_written) {
      if (slot.taken.exchange(true)) continue;
      slot_ = &slot;
      break;
    }
  }
  ~TemporaryName() {
    if (made_) ::unlinkat(folder_, name_.c_str(), 0);
    forget();
    if (slot_) slot_->taken = false;
  }
  TemporaryName(const TemporaryName&) = delete;

  const std::string& text() const { return name_; }
  // Calls make(), which gives a file this name; a number, negative where that fails (errno).
  template <class Make> int make(Make&& make) {
    if (slot_) {
      *std::copy(name_.begin(), name_.end(), slot_->name) = '\0';
      slot_->folder = folder_; // before there is something to remove: a signal may come at once
    }
    const int result = make();
    made_ = result >= 0;
    if (!made_) forget();
    return result;
  }
  bool rename_to(const std::string& target) {
    if (::renameat(folder_, name_.c_str(), folder_, target.c_str()) != 0) return false;
    made_ = false;
    forget();
    return true;
  }

private:
  void forget() {
    if (slot_) slot_->folder = -1;
  }
  EndingSignals signals_;
  int folder_;
  std::string name_;
  HalfWritten* slot_ = nullptr;
  bool made_ = false;
};

// ---- the target ----

// A name in a folder, which is no link.
struct Target {
  Descriptor folder;
  std::string name;
};

// Where a path leads, also by links to what is not there yet, as open(2) would make it.
Target target_of(std::string path) {
  constexpr int most_links = 40; // the kernel's
  for (int links = 0; links <= most_links; ++links) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    Target target{open_file(folder, O_PATH | O_DIRECTORY), slash == std::string::npos ? path : path.substr(slash + 1)};
    if (!target.folder) fail(errno);
    if (target.name.empty()) fail(path.empty() ? ENOENT : EISDIR);
    char link[PATH_MAX];
    const ssize_t length = ::readlinkat(target.folder.get(), target.name.c_str(), link, sizeof link);
    if (length < 0) return target; // no link, or nothing
    const std::string to(link, static_cast<size_t>(length));
    path = to.starts_with('/') || slash == std::string::npos ? to : folder + to;
  }
  fail(ELOOP);
}

// ---- writing ----

using Write = std::function<void(int descriptor)>;

// On the disk before the name is: else a crash of the machine might leave an empty file in place of the old one. Some
// file systems cannot do that, and it is no failure of ours.
void sync(int file) {
  if (::fsync(file) != 0 && errno != EINVAL && errno != ENOTSUP) fail(errno);
}

void fill(int file, const struct stat* old, const Write& write) {
  if (old) (void)!::fchmod(file, old->st_mode & 07777);
  write(file);
  sync(file);
}

// False: this file system has no files without names, or cannot give them one.
bool replace_unnamed(const Target& target, const struct stat* old, const Write& write) {
  static const bool can_be_named = ::access("/proc/self/fd", X_OK) == 0;
  if (!can_be_named) return false;
  const int folder = target.folder.get();
  Descriptor file(::openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) return false;
  if (!file) fail(errno);
  fill(file.get(), old, write);
  const std::string self = fmt::format("/proc/self/fd/{}", file.get());
  auto link_as = [&](const std::string& name) {
    return ::linkat(AT_FDCWD, self.c_str(), folder, name.c_str(), AT_SYMLINK_FOLLOW);
  };
  if (!old && link_as(target.name) == 0) return true;
  TemporaryName name(folder, target.name); // a link replaces nothing
  if (name.make([&] { return link_as(name.text()); }) < 0) {
    if (errno == EPERM || errno == EOPNOTSUPP) return false; // no hard links
    fail(errno);
  }
  if (!name.rename_to(target.name)) fail(errno);
  return true;
}

void replace_named(const Target& target, const struct stat* old, const Write& write) {
  const int folder = target.folder.get();
  TemporaryName name(folder, target.name);
  Descriptor file(name.make([&] {
    return ::openat(folder, name.text().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  }));
  if (!file) fail(errno);
  fill(file.get(), old, write);
  if (!file.close() || !name.rename_to(target.name)) fail(errno);
}

// A pipe or a device: nothing to replace.
void write_directly(const std::string& path, const Write& write) {
  const Descriptor file = open_file(path, O_WRONLY);
  if (!file) fail(errno);
  write(file.get());
}

} // namespace

void write_bytes(int descriptor, const void* data, size_t count) {
  for (auto* at = static_cast<const std::byte*>(data); count > 0;) {
    ssize_t done = ::write(descriptor, at, std::min<size_t>(count, size_t{1} << 30));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(errno);
    at += done;
    count -= static_cast<size_t>(done);
  }
}

void write_file_atomically(const std::string& path, const Write& write, WhileWritten how) {
  try {
    struct stat info{};
    const Descriptor there = open_file(path, O_PATH);
    const bool exists = there && ::fstat(there.get(), &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) fail(EISDIR);
    if (exists && !S_ISREG(info.st_mode)) return write_directly(path, write);
    const Target target = target_of(path);
    if (exists && ::faccessat(target.folder.get(), target.name.c_str(), W_OK, 0) != 0) fail(errno);
    const struct stat* old = exists ? &info : nullptr;
    if (how == WhileWritten::Named || !replace_unnamed(target, old, write)) replace_named(target, old, write);
  } catch (const std::system_error& error) {
    throw IoError(fmt::format("cannot write '{}': {}", path, system_error_text(error.code().value())));
  }
}

void write_file_atomically(const std::string& path, const Write& write) {
  write_file_atomically(path, write, WhileWritten::Unnamed);
}

} // namespace tl
