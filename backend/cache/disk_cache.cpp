#include "backend/cache/disk_cache.h"
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
constexpr time_t kTouchAfter = 3600;       // an entry's time of last use is kept to the hour
constexpr time_t kAbandonedAfter = 3600;   // a temporary file so old belongs to a process that died
constexpr const char* kTemporary = "tmp."; // prefix of its name

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

class File {
public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool valid() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }
  bool close() { // false: what was written is not on disk
    int result = ::close(descriptor_);
    descriptor_ = -1;
    return result == 0;
  }

private:
  int descriptor_;
};

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

// mkdir -p, for nobody but this user.
bool make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  size_t slash = path.find_last_of('/');
  if (errno != ENOENT || slash == std::string::npos || slash == 0) return false;
  if (!make_folder(path.substr(0, slash))) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

// Entries are executed: what somebody else owns or may have written to is not an entry.
bool is_ours(const struct stat& status) { return status.st_uid == geteuid() && (status.st_mode & 022) == 0; }

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int find_build_id(dl_phdr_info* info, size_t, void* result) {
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
  return 1; // the first object is the program itself; libraries do not count
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

std::string DiskCache::folder_of(const CacheKey& key) const {
  return fmt::format("{}/{:02x}", options_.folder, key[0]);
}

std::string DiskCache::path_of(const CacheKey& key) const {
  std::string name;
  for (uint8_t byte : key)
    fmt::format_to(std::back_inserter(name), "{:02x}", byte);
  return fmt::format("{}/{}.tlc", folder_of(key), name);
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
  // Neither through a link nor waiting for the writer of a pipe.
  File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.valid()) return miss(errno == ENOENT ? "" : std::strerror(errno));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return miss(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return miss("is not a file");
  if (!is_ours(status)) return miss("belongs to somebody else");
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
  std::string folder = folder_of(key), path = path_of(key);
  auto fail = [&](const std::string& where) { note(fmt::format("{}: {}", where, std::strerror(errno))); };
  if (!make_folder(folder)) {
    writable_ = false;
    return fail(folder);
  }
  std::string temporary = fmt::format("{}/{}XXXXXX", folder, kTemporary);
  File file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) {
    writable_ = false;
    return fail(folder);
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.length = bytes.size();
  header.key = key;
  header.content = hash_of(bytes);
  bool written = write_all(file.get(), &header, sizeof(header)) && write_all(file.get(), bytes.data(), bytes.size());
  written = file.close() && written;
  if (!written) writable_ = false;
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0) {
    fail(path);
    ::unlink(temporary.c_str());
    return;
  }
  ++stored_;
  trim(folder, path);
}

void DiskCache::reject(const CacheKey& key, std::string why) {
  std::string path = path_of(key);
  ::unlink(path.c_str());
  note(fmt::format("{}: {}", path, why));
  --hits_;
  ++misses_;
}

void DiskCache::trim(const std::string& folder, const std::string& keep) const {
  struct Entry {
    std::string path;
    time_t used;
    uint64_t size;
  };
  DIR* directory = ::opendir(folder.c_str());
  if (!directory) return;
  std::vector<Entry> entries;
  uint64_t total = 0;
  while (const dirent* item = ::readdir(directory)) {
    std::string path = fmt::format("{}/{}", folder, item->d_name);
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (std::strncmp(item->d_name, kTemporary, std::strlen(kTemporary)) == 0) {
      if (time(nullptr) - status.st_mtime > kAbandonedAfter) ::unlink(path.c_str());
      continue;
    }
    entries.push_back({std::move(path), status.st_mtime, static_cast<uint64_t>(status.st_size)});
    total += entries.back().size;
  }
  ::closedir(directory);
  uint64_t share = options_.limit / kSubfolders;
  if (total <= share) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= share - share / 4) break; // room for some more, so that not every store has to remove something
    if (entry.path == keep) continue;
    ::unlink(entry.path.c_str());
    total -= entry.size;
  }
}

} // namespace tl
