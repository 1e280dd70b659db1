#include "backend/cache/disk_cache.h"
#include "abi/descriptor.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <llvm/Support/BLAKE3.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tl {
namespace {

constexpr char kMagic[8] = {'t', 'l', 'c', 'a', 'c', 'h', 'e', '1'};
constexpr uint64_t kMaxEntry = uint64_t{1} << 30;
constexpr int kSubfolders = 256;
constexpr time_t kTouchAfter = 3600;     // an entry's time of last use is kept to the hour
constexpr time_t kAbandonedAfter = 3600; // a temporary file so old belongs to a process that died
constexpr std::string_view kEntryEnding = ".tlc", kTemporaryEnding = ".tmp";
constexpr size_t kEntryName = 2 * std::tuple_size_v<CacheKey> + kEntryEnding.size();

struct Header {
  char magic[8];
  uint64_t length; // of what follows the header
  CacheKey key;
  CacheKey content; // BLAKE3 of what follows
};
static_assert(sizeof(Header) == 80);

CacheKey hash_of(std::string_view bytes) {
  llvm::BLAKE3 hasher;
  hasher.update(llvm::StringRef(bytes.data(), bytes.size()));
  return hasher.final<32>();
}

bool read_all(int descriptor, void* to, size_t size) {
  auto* at = static_cast<char*>(to);
  while (size > 0) {
    ssize_t count = ::read(descriptor, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool write_all(int descriptor, const void* from, size_t size) {
  const auto* at = static_cast<const char*>(from);
  while (size > 0) {
    ssize_t count = ::write(descriptor, at, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// Entries are executed and old ones removed: what somebody else owns or may write to is neither a folder of the cache
// nor an entry. Empty: it is ours.
std::string why_not_ours(const struct stat& status) {
  if (status.st_uid != geteuid()) return "belongs to somebody else";
  return status.st_mode & 022 ? "may be written to by others" : "";
}

// The descriptor of a folder if it is ours, else none and why.
Descriptor ours_alone(int descriptor, std::string& problem) {
  Descriptor folder(descriptor);
  struct stat status{};
  if (!folder || ::fstat(descriptor, &status) != 0)
    problem = errno == ENOENT ? "" : std::strerror(errno);
  else
    problem = why_not_ours(status);
  return folder && problem.empty() ? std::move(folder) : Descriptor(-1);
}

// The cache's folder may be a link of the user's own, to a larger disk.
Descriptor open_root(const std::string& path, std::string& problem) {
  struct stat link{};
  if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != geteuid()) {
    problem = "is a link of somebody else's";
    return Descriptor(-1);
  }
  return ours_alone(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), problem);
}

// Its subfolders are none.
Descriptor open_subfolder(const Descriptor& root, const std::string& name, std::string& problem) {
  return ours_alone(::openat(root.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), problem);
}

std::string entry_name(const CacheKey& key) {
  std::string name;
  for (uint8_t byte : key)
    fmt::format_to(std::back_inserter(name), "{:02x}", byte);
  return name.append(kEntryEnding);
}

std::string subfolder_name(const CacheKey& key) { return fmt::format("{:02x}", key[0]); }

// Of an entry in this subfolder.
bool is_entry_name(std::string_view name, std::string_view subfolder) {
  return name.size() == kEntryName && name.starts_with(subfolder) && name.ends_with(kEntryEnding) &&
         name.find_first_not_of("0123456789abcdef") == kEntryName - kEntryEnding.size();
}

// The name that an entry has while it is written.
std::string temporary_name(const std::string& entry) {
  static std::atomic<unsigned> counter{0};
  return fmt::format("{}.{}-{}{}", entry, ::getpid(), counter++, kTemporaryEnding);
}
bool is_temporary_name(std::string_view name, std::string_view subfolder) {
  return name.size() > kEntryName && is_entry_name(name.substr(0, kEntryName), subfolder) && name[kEntryName] == '.' &&
         name.ends_with(kTemporaryEnding);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Is this code a part of that object, the program or a library?
bool holds_this_code(const dl_phdr_info& info) {
  const auto here = reinterpret_cast<uintptr_t>(&build_id);
  return std::any_of(info.dlpi_phdr, info.dlpi_phdr + info.dlpi_phnum, [&](const auto& segment) {
    return segment.p_type == PT_LOAD && here - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz;
  });
}

int find_build_id(dl_phdr_info* info, size_t, void* result) {
  if (!holds_this_code(*info)) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    const char* end = at + segment.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof(*note);
      const char* bytes = name + (note->n_namesz + 3) / 4 * 4;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        static_cast<std::string*>(result)->assign(bytes, note->n_descsz);
        return 1;
      }
      at = bytes + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

} // namespace

CacheKey cache_key(std::initializer_list<std::string_view> parts) {
  llvm::BLAKE3 hasher;
  for (std::string_view part : parts) {
    uint64_t size = part.size();
    hasher.update(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(&size), sizeof(size)));
    hasher.update(llvm::StringRef(part.data(), part.size()));
  }
  return hasher.final<32>();
}

std::string build_id() {
  std::string result;
  dl_iterate_phdr(find_build_id, &result);
  return result;
}

std::string default_cache_folder() {
  if (std::string folder = variable("TL_CACHE_DIR"); !folder.empty()) return folder;
  // The base directory specification wants relative paths to be ignored here.
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty() && folder[0] == '/') return folder + "/tl";
  if (std::string folder = variable("HOME"); !folder.empty()) return folder + "/.cache/tl";
  return "";
}

bool make_cache_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  if (!make_cache_folder(path.substr(0, slash))) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

std::string DiskCache::path_of(const CacheKey& key) const {
  return fmt::format("{}/{}/{}", options_.folder, subfolder_name(key), entry_name(key));
}

void DiskCache::note(std::string problem) {
  std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = std::move(problem);
}

std::string DiskCache::problem() const {
  std::lock_guard lock(mutex_);
  return problem_;
}

std::optional<std::string> DiskCache::find(const CacheKey& key) {
  std::string path = path_of(key);
  auto miss = [&](std::string why) -> std::optional<std::string> {
    if (!why.empty()) note(fmt::format("{}: {}", path, why));
    ++misses_;
    return std::nullopt;
  };
  std::string problem;
  Descriptor root = open_root(options_.folder, problem);
  if (!root) return miss(problem);
  Descriptor folder = open_subfolder(root, subfolder_name(key), problem);
  if (!folder) return miss(problem);
  // Neither through a link nor waiting for the writer of a pipe.
  Descriptor file(::openat(folder.get(), entry_name(key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return miss(errno == ENOENT ? "" : std::strerror(errno));
  struct stat status{};
  if (fstat(file.get(), &status) != 0) return miss(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return miss("is not a file");
  if (std::string why = why_not_ours(status); !why.empty()) return miss(why);
  Header header{};
  auto size = static_cast<uint64_t>(status.st_size);
  if (size < sizeof(header) || size > kMaxEntry || !read_all(file.get(), &header, sizeof(header)))
    return miss("is damaged");
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.key != key ||
      header.length != size - sizeof(header))
    return miss("is damaged");
  std::string bytes(header.length, '\0');
  if (!read_all(file.get(), bytes.data(), bytes.size()) || hash_of(bytes) != header.content) return miss("is damaged");
  if (time(nullptr) - status.st_mtime > kTouchAfter) (void)futimens(file.get(), nullptr);
  ++hits_;
  return bytes;
}

void DiskCache::store(const CacheKey& key, std::string_view bytes) {
  if (!writable_ || bytes.size() + sizeof(Header) > std::min(kMaxEntry, options_.limit / kSubfolders)) return;
  auto fail = [&](const std::string& where, const std::string& why) {
    writable_ = false;
    note(fmt::format("{}: {}", where, why));
  };
  if (!make_cache_folder(options_.folder)) return fail(options_.folder, std::strerror(errno));
  std::string problem;
  Descriptor root = open_root(options_.folder, problem);
  if (!root) return fail(options_.folder, problem);
  const std::string subfolder = subfolder_name(key), name = entry_name(key);
  if (::mkdirat(root.get(), subfolder.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(options_.folder, std::strerror(errno));
  Descriptor folder = open_subfolder(root, subfolder, problem);
  if (!folder) return fail(fmt::format("{}/{}", options_.folder, subfolder), problem);
  const std::string temporary = temporary_name(name);
  Descriptor file(
      ::openat(folder.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail(path_of(key), std::strerror(errno));
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.length = bytes.size();
  header.key = key;
  header.content = hash_of(bytes);
  bool written = write_all(file.get(), &header, sizeof(header)) && write_all(file.get(), bytes.data(), bytes.size());
  written = file.close() && written;
  if (!written) writable_ = false;
  if (!written || ::renameat(folder.get(), temporary.c_str(), folder.get(), name.c_str()) != 0) {
    note(fmt::format("{}: {}", path_of(key), std::strerror(errno)));
    ::unlinkat(folder.get(), temporary.c_str(), 0);
    return;
  }
  ++stored_;
  trim(folder.get(), subfolder, name);
}

void DiskCache::reject(const CacheKey& key, std::string why) {
  std::string problem;
  if (Descriptor root = open_root(options_.folder, problem); root)
    if (Descriptor folder = open_subfolder(root, subfolder_name(key), problem); folder)
      ::unlinkat(folder.get(), entry_name(key).c_str(), 0);
  note(fmt::format("{}: {}", path_of(key), why));
  --hits_;
  ++misses_;
}

void DiskCache::trim(int folder, std::string_view subfolder, const std::string& keep) const {
  struct Entry {
    std::string name;
    time_t used;
    uint64_t size;
  };
  const int reading = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = reading >= 0 ? ::fdopendir(reading) : nullptr;
  if (!directory) return;
  std::vector<Entry> entries;
  uint64_t total = 0;
  while (const dirent* item = ::readdir(directory)) {
    const std::string name = item->d_name;
    const bool temporary = is_temporary_name(name, subfolder);
    if (!temporary && !is_entry_name(name, subfolder)) continue; // others may keep files here too
    struct stat status{};
    if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode) ||
        status.st_uid != geteuid())
      continue;
    if (temporary) {
      if (time(nullptr) - status.st_mtime > kAbandonedAfter) ::unlinkat(folder, name.c_str(), 0);
      continue;
    }
    entries.push_back({name, status.st_mtime, static_cast<uint64_t>(status.st_size)});
    total += entries.back().size;
  }
  ::closedir(directory);
  uint64_t share = options_.limit / kSubfolders;
  if (total <= share) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= share - share / 4) break; // room for some more, so that not every store has to remove something
    if (entry.name == keep) continue;
    ::unlinkat(folder, entry.name.c_str(), 0);
    total -= entry.size;
  }
}

} // namespace tl
