// The disk cache against everything that can happen to a folder, and the provider that takes kernels from it.
#include "backend/cache/disk_cache.h"
#include "llvm_kernels.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace tl::test {
namespace {

namespace fs = std::filesystem;

class Folder {
public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tl_cache_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }

  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) result.push_back(entry.path());
    return result;
  }
  fs::path path;
};

CacheKey key_number(uint8_t number, uint8_t subfolder = 7) {
  CacheKey key{};
  key[0] = subfolder;
  key[1] = number;
  return key;
}

CacheKey key_of(const fs::path& entry) {
  std::string name = entry.stem().string();
  CacheKey key{};
  for (size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
  return key;
}

std::string content(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void overwrite(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

void set_age(const fs::path& file, std::chrono::hours age) {
  fs::last_write_time(file, fs::file_time_type::clock::now() - age);
}

} // namespace

TEST_CASE("disk cache: what is stored is found, by whoever looks") {
  Folder folder;
  std::string bytes("machine code\0and more", 21);
  DiskCache writer({folder.path / "made" / "on demand"});
  CHECK(!writer.find(key_number(1)));
  writer.store(key_number(1), bytes);
  writer.store(key_number(2), "");
  DiskCache reader({folder.path / "made" / "on demand"});
  CHECK(reader.find(key_number(1)) == bytes);
  CHECK(reader.find(key_number(2)) == "");
  CHECK(!reader.find(key_number(3)));
  CHECK(reader.hits() == 2);
  CHECK(reader.misses() == 1);
  CHECK(writer.stored() == 2);
  CHECK(reader.problem().empty());
  CHECK(writer.problem().empty());
  // Parts are kept apart in a key.
  CHECK(cache_key({"ab", "c"}) != cache_key({"a", "bc"}));
  CHECK(cache_key({"ab", "c"}) == cache_key({"ab", "c"}));
  CHECK(!build_id().empty());
}

TEST_CASE("disk cache: damage of any kind is a miss, and the next store heals it") {
  Folder folder;
  CacheOptions options{folder.path};
  DiskCache(options).store(key_number(1), "some bytes of code");
  fs::path file = folder.files().at(0);
  std::string whole = content(file);
  auto is_miss = [&](const std::string& bytes) {
    overwrite(file, bytes);
    DiskCache cache(options);
    return !cache.find(key_number(1)) && cache.problem().find("is damaged") != std::string::npos;
  };
  for (size_t length = 0; length < whole.size(); ++length)
    CHECK(is_miss(whole.substr(0, length)));
  CHECK(is_miss(whole + "x"));
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    CHECK(is_miss(damaged));
  }
  overwrite(file, whole);
  CHECK(DiskCache(options).find(key_number(1)) == "some bytes of code");
  // A whole entry under another's name is not the other.
  DiskCache(options).store(key_number(2), "others");
  for (const fs::path& other : folder.files())
    if (other != file) fs::copy_file(other, file, fs::copy_options::overwrite_existing);
  CHECK(!DiskCache(options).find(key_number(1)));
  DiskCache(options).store(key_number(1), "healed");
  CHECK(DiskCache(options).find(key_number(1)) == "healed");
}

TEST_CASE("disk cache: what is not a file of this user's is not read") {
  Folder folder;
  CacheOptions options{folder.path};
  DiskCache(options).store(key_number(1), "code");
  fs::path file = folder.files().at(0), aside = folder.path / "aside";
  ::chmod(file.c_str(), 0666);
  CHECK(!DiskCache(options).find(key_number(1)));
  ::chmod(file.c_str(), 0600);
  CHECK(DiskCache(options).find(key_number(1)));
  fs::rename(file, aside);
  fs::create_symlink(aside, file);
  CHECK(!DiskCache(options).find(key_number(1)));
  fs::remove(file);
  REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  CHECK(!DiskCache(options).find(key_number(1))); // and does not wait for a writer
  fs::remove(file);
  fs::create_directories(file / "inside");
  DiskCache cache(options);
  CHECK(!cache.find(key_number(1)));
  cache.store(key_number(1), "code");
  CHECK(!cache.find(key_number(1)));
  CHECK(cache.stored() == 0);
  CHECK(!cache.problem().empty());
  cache.store(key_number(2), "code"); // the others are not affected
  CHECK(cache.find(key_number(2)) == "code");
}

TEST_CASE("disk cache: a folder that cannot be") {
  Folder folder;
  overwrite(folder.path / "file", "x");
  for (const char* path : {"/proc/nowhere/cache", "/dev/null/cache", "", "file"}) {
    CacheOptions options;
    options.folder = path == std::string("file") ? (folder.path / "file").string() : path;
    if (options.folder.empty()) options.folder = "/proc/self";
    DiskCache cache(options);
    CHECK(!cache.find(key_number(1)));
    cache.store(key_number(1), "code");
    cache.store(key_number(2), "code");
    CHECK(!cache.find(key_number(1)));
    CHECK(cache.stored() == 0);
    CHECK(!cache.problem().empty());
  }
}

TEST_CASE("disk cache: keeps to its limit, and removes what was not used for longest") {
  Folder folder;
  CacheOptions options{folder.path, 256 * 1000}; // 1000 bytes a subfolder
  std::string bytes(120, 'x');                   // 200 with the header: room for 5
  DiskCache cache(options);
  for (uint8_t i = 0; i < 5; ++i) {
    cache.store(key_number(i), bytes);
    for (const fs::path& file : folder.files())
      if (key_of(file) == key_number(i)) set_age(file, std::chrono::hours(100 - i));
  }
  CHECK(folder.files().size() == 5);
  CHECK(cache.find(key_number(0))); // the oldest becomes the newest
  cache.store(key_number(5), bytes);
  CHECK(folder.files().size() == 3); // three quarters, so that there is room again
  CHECK(cache.find(key_number(0)));
  CHECK(cache.find(key_number(5)));
  CHECK(!cache.find(key_number(1)));
  CHECK(!cache.find(key_number(2)));
  CHECK(!cache.find(key_number(3)));
  CHECK(cache.find(key_number(4)));
  cache.store(key_number(6), std::string(1000, 'x')); // more than the share
  CHECK(!cache.find(key_number(6)));
  // What processes left behind that died while writing goes, what others are writing now stays.
  fs::path folder_of_key = folder.files().at(0).parent_path();
  std::string entry = folder.files().at(0).filename();
  fs::path dead = folder_of_key / (entry + ".77-0.tmp"), alive = folder_of_key / (entry + ".78-0.tmp");
  overwrite(dead, "x");
  overwrite(alive, "x");
  set_age(dead, std::chrono::hours(2));
  cache.store(key_number(7), bytes);
  CHECK(!fs::exists(dead));
  CHECK(fs::exists(alive));
}

namespace {

// What else may be in a folder that a cache is given: loose objects of git, Go's build cache, documents; and names
// that are nearly those of entries, `07` being the subfolder.
std::vector<std::string> foreign_names() {
  const std::string hex(64, '7');
  return {"70c68a8a1c5a1fcd8d3b8e1f4f9b8c2d1e0f3a", // git
          "07" + std::string(62, 'a') + "-a",       // Go
          "tmp.dead",
          "thesis.odt",
          hex.substr(1) + ".tlc",
          "07" + std::string(61, 'a') + "g.tlc",
          "07" + std::string(61, 'a') + "A.tlc",
          "07" + std::string(62, 'a') + ".TLC",
          "07" + std::string(62, 'a') + ".tlc.bak",
          "08" + std::string(62, 'a') + ".tlc",
          "07" + std::string(62, 'a') + ".tlc-1-0.tmp"};
}

// Stores more than the cache may keep, in subfolder 7.
void overfill(const CacheOptions& options) {
  DiskCache cache(options);
  for (uint8_t i = 0; i < 8; ++i)
    cache.store(key_number(i), std::string(500, 'x'));
}

} // namespace

TEST_CASE("disk cache: what it did not make stays, however old and large") {
  Folder folder;
  CacheOptions options{folder.path, 256 * 1000};
  overfill(options);
  fs::path inside = folder.path / "07", document = folder.path / "document";
  std::vector<fs::path> foreign;
  for (const std::string& name : foreign_names())
    foreign.push_back(inside / name);
  for (const fs::path& file : foreign) {
    overwrite(file, std::string(5000, 'x'));
    set_age(file, std::chrono::hours(1000));
  }
  // Nor what an entry's name leads to.
  fs::path link = inside / ("07" + std::string(62, 'b') + ".tlc");
  overwrite(document, "x");
  fs::create_symlink(document, link);
  fs::create_directory(inside / ("07" + std::string(62, 'd') + ".tlc"));
  overfill(options);
  for (const fs::path& file : foreign)
    CHECK_MESSAGE(fs::exists(file), file.string());
  CHECK(fs::is_symlink(link));
  CHECK(content(document) == "x");
}

TEST_CASE("disk cache: through a link to another folder nothing is read, written or removed") {
  Folder folder, other;
  CacheOptions options{folder.path, 256 * 1000}, others{other.path, 256 * 1000};
  DiskCache(others).store(key_number(100), std::string(500, 'x'));
  fs::path entry = other.files().at(0);
  set_age(entry, std::chrono::hours(1000));
  fs::create_directory_symlink(other.path / "07", folder.path / "07");
  DiskCache cache(options);
  CHECK(!cache.find(key_number(100)));
  CHECK(cache.problem() != "");
  overfill(options);
  cache.reject(key_number(100), "nonsense");
  CHECK(fs::exists(entry));
  CHECK(other.files().size() == 1);
  // The cache's own folder may be a link of this user's.
  fs::create_directory_symlink(other.path, folder.path / "larger disk");
  CHECK(DiskCache({folder.path / "larger disk"}).find(key_number(100)));
}

TEST_CASE("disk cache: a folder that others may write to is none") {
  Folder folder;
  CacheOptions options{folder.path, 256 * 1000};
  DiskCache(options).store(key_number(1), "code");
  const auto refuses = [&](const fs::path& path, mode_t mode) {
    ::chmod(path.c_str(), mode);
    DiskCache cache(options);
    cache.store(key_number(2), "code");
    const bool refused = !cache.find(key_number(1)) && cache.stored() == 0 && !cache.problem().empty();
    ::chmod(path.c_str(), 0700);
    return refused;
  };
  for (const fs::path& path : {folder.path, folder.path / "07"})
    for (mode_t mode : {0770, 0707, 0720, 0702, 01777})
      CHECK(refuses(path, mode));
  CHECK(DiskCache(options).find(key_number(1)) == "code");
  CHECK(folder.files().size() == 1);
}

TEST_CASE("disk cache: what another user has made is not taken, and his folders stay as they are") {
  if (::geteuid() != 0) return; // nobody else can give files away
  constexpr uid_t other_user = 65534;
  Folder folder;
  CacheOptions options{folder.path, 256 * 1000};
  DiskCache(options).store(key_number(100), "code");
  fs::path entry = folder.files().at(0);
  for (const fs::path& path : {entry, folder.path / "07", folder.path}) {
    REQUIRE(::chown(path.c_str(), other_user, other_user) == 0);
    CHECK(!DiskCache(options).find(key_number(100)));
    if (path != entry) {
      set_age(entry, std::chrono::hours(1000));
      overfill(options);
      CHECK(folder.files().size() == 1);
    }
    REQUIRE(::chown(path.c_str(), 0, 0) == 0);
    CHECK(DiskCache(options).find(key_number(100)) == "code");
  }
  // His entries are not removed to make room.
  REQUIRE(::chown(entry.c_str(), other_user, other_user) == 0);
  overfill(options);
  CHECK(fs::exists(entry));
  // Nor is his link to a folder of this user's one.
  Folder place;
  fs::path link = place.path / "link";
  fs::create_directory_symlink(folder.path, link);
  REQUIRE(::lchown(link.c_str(), other_user, other_user) == 0);
  DiskCache linked({link, 256 * 1000});
  linked.store(key_number(9), "code");
  CHECK(linked.stored() == 0);
  CHECK(linked.problem() != "");
}

TEST_CASE("disk cache: many writers, readers and removers at once see entries whole or not at all") {
  Folder folder;
  auto bytes_of = [](uint8_t i) { return std::string(size_t{50} + i * 37, static_cast<char>('a' + i)); };
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0, found = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      DiskCache cache({folder.path, 256 * 3000}); // its own, as in another process; too small for all
      for (int round = 0; round < 40; ++round) {
        auto i = static_cast<uint8_t>((round * 7 + t) % 16);
        if (auto bytes = cache.find(key_number(i)))
          ++found, wrong += *bytes != bytes_of(i);
        else
          cache.store(key_number(i), bytes_of(i));
      }
      wrong += cache.problem().empty() ? 0 : 1;
    });
  for (auto& thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(found > 0);
}

TEST_CASE(
    "provider: kernels come from disk for the same processor and level, and whatever is there the result is right") {
  Folder folder;
  KernelBuilder kb("scale");
  uint32_t x = kb.input(DType::F32), n = kb.size(), out = kb.output(DType::F32);
  kb.phase([&](ValueId) {
    kb.vector_loop(kb.arg(n),
                   [&](ValueId i) { kb.store(out, i, kb.mul(kb.load(x, i), kb.constant(DType::F32, 3.0f))); });
  });
  // How many kernels came from disk.
  auto hits = [&](const std::string& cpu, int level) {
    JitOptions options;
    options.cpu = cpu;
    options.level = level;
    options.cache = std::make_shared<DiskCache>(CacheOptions{folder.path});
    auto jit = make_jit({kb.kernel}, options);
    float in[5] = {1, 2, 3, 4, 5}, result[5] = {};
    int64_t size = 5;
    run(jit->kernel(0), {in, &size, result});
    for (int i = 0; i < 5; ++i)
      CHECK(result[i] == 3 * in[i]);
    return options.cache->hits();
  };
  CHECK(hits("", 2) == 0);
  CHECK(hits("", 2) == 1);
  CHECK(hits("", 0) == 0);
  CHECK(hits("x86-64-v3", 2) == 0);
  CHECK(hits("x86-64-v3", 2) == 1);
  CHECK(folder.files().size() == 3);
  // Entries that are whole but hold no object code, or that of something else, as if keys had collided.
  for (std::string bytes : {std::string(), std::string("not an object file"),
                            std::string("\x7f"
                                        "ELF",
                                        4)}) {
    for (const fs::path& file : folder.files())
      DiskCache({folder.path}).store(key_of(file), bytes);
    CHECK(hits("", 2) == 0);
    CHECK(hits("", 2) == 1);
  }
}

} // namespace tl::test
