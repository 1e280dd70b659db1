// What was dear to compute, kept on disk for the next process: machine code now, cubins later.
//
// One file per entry, FOLDER/ab/abcd….tlc by its key, shared by all processes and all builds of one user. A file is
// written under another name and renamed, so a reader sees it whole or not at all, and checked by length and hash when
// read: whatever is damaged, foreign or not readable is a miss. Nothing here throws or reports: a cache that does not
// work costs time and nothing else. problem() says what went wrong, for --stats.
//
// Code is taken from, written to and removed from folders that belong to this user and that nobody else may write to;
// subfolders are reached through no link. Only files named as above, and owned by this user, are ever removed: what
// others keep in the same folders stays.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tl {

using CacheKey = std::array<uint8_t, 32>;

// BLAKE3 of the parts and their lengths.
CacheKey cache_key(std::initializer_list<std::string_view> parts);

// Tells this build of tl from all others: the linker's build id, in binary. Empty where the linker wrote none.
std::string build_id();

struct CacheOptions {
  std::string folder;                   // absolute or relative to the current one; made when first written to
  uint64_t limit = uint64_t{256} << 20; // bytes of all entries; each of the 256 subfolders keeps to its share
};

// $TL_CACHE_DIR, else $XDG_CACHE_HOME/tl, else $HOME/.cache/tl; empty where none of them is set.
std::string default_cache_folder();

// With the folders that it is in, for nobody but this user; false where that cannot be (errno). Storing does it, too.
bool make_cache_folder(const std::string& path);

// Thread-safe.
class DiskCache {
public:
  explicit DiskCache(CacheOptions options) : options_(std::move(options)) {}

  std::optional<std::string> find(const CacheKey& key);
  // Afterwards the entries of the key's subfolder that were not used for longest are removed until it keeps its share.
  void store(const CacheKey& key, std::string_view bytes);
  // An entry that was whole and yet of no use: counted as a miss, and removed.
  void reject(const CacheKey& key, std::string why);

  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }
  uint64_t stored() const { return stored_; }
  std::string problem() const; // the first one; empty: none

private:
  std::string path_of(const CacheKey& key) const; // for messages
  void trim(int folder, std::string_view subfolder, const std::string& keep) const;
  void note(std::string problem);

  CacheOptions options_;
  std::atomic<uint64_t> hits_ = 0, misses_ = 0, stored_ = 0;
  std::atomic<bool> writable_ = true; // false once the folder or the disk refused: not tried again
  mutable std::mutex mutex_;
  std::string problem_;
};

} // namespace tl
