// Keys of the disk cache: another one for whatever the machine code depends on, the same for the same.
#include "backend/cpu/jit.h"
#include "backend/cuda/provider.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <unistd.h>

namespace tl::test {
namespace fs = std::filesystem;

TEST_CASE("keys of GPU code: text, architecture, version, options, and which file NVRTC is") {
  std::string name = (fs::temp_directory_path() / "tl_keys_XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const fs::path folder = name;
  auto write = [&](const char* file, const char* text) { std::ofstream(folder / file) << text; };
  write("libnvrtc.so.12.1.55", "a");
  write("libnvrtc.so.12.1.105", "b");
  const fs::path link = folder / "libnvrtc.so.12";
  fs::create_symlink("libnvrtc.so.12.1.55", link);

  const NvrtcIdentity nvrtc{12, 1, link.string(), {"-fmad=false", "-std=c++17"}};
  const CacheKey key = gpu_cache_key("text", "sm_90", nvrtc);
  CHECK(gpu_cache_key("text", "sm_90", nvrtc) == key);
  std::set<CacheKey> keys{key};
  size_t expected = 1;
  auto differs = [&](const char* what, const CacheKey& other) {
    keys.insert(other);
    INFO(what);
    CHECK(keys.size() == ++expected);
  };
  differs("text", gpu_cache_key("text ", "sm_90", nvrtc));
  differs("architecture", gpu_cache_key("text", "sm_90a", nvrtc));
  differs("where one ends", gpu_cache_key("texts", "m_90", nvrtc));
  NvrtcIdentity other = nvrtc;
  other.major = 13;
  differs("major version", gpu_cache_key("text", "sm_90", other));
  other = nvrtc;
  other.minor = 2;
  differs("minor version", gpu_cache_key("text", "sm_90", other));
  other = nvrtc;
  other.options[0] = "-fmad=true";
  differs("an option", gpu_cache_key("text", "sm_90", other));
  other = nvrtc;
  other.options.push_back("-G");
  differs("one option more", gpu_cache_key("text", "sm_90", other));
  other = nvrtc;
  other.path = (folder / "libnvrtc.so.12.1.105").string();
  differs("another file", gpu_cache_key("text", "sm_90", other));

  // The same name and version, another patch level.
  const fs::file_time_type time = fs::last_write_time(folder / "libnvrtc.so.12.1.55");
  fs::last_write_time(folder / "libnvrtc.so.12.1.105", time);
  fs::remove(link);
  fs::create_symlink("libnvrtc.so.12.1.105", link);
  differs("the link leads to another file", gpu_cache_key("text", "sm_90", nvrtc));
  fs::remove(link);
  fs::create_symlink("libnvrtc.so.12.1.55", link);
  CHECK(gpu_cache_key("text", "sm_90", nvrtc) == key);
  fs::last_write_time(folder / "libnvrtc.so.12.1.55", time + std::chrono::seconds(1));
  differs("the file is of another time", gpu_cache_key("text", "sm_90", nvrtc));
  write("libnvrtc.so.12.1.55", "longer");
  fs::last_write_time(folder / "libnvrtc.so.12.1.55", time);
  differs("the file is of another size", gpu_cache_key("text", "sm_90", nvrtc));
  fs::remove_all(folder);
}

TEST_CASE("keys of GPU code: the installed NVRTC's identity has the options that it is given") {
  const NvrtcIdentity nvrtc = nvrtc_identity();
  if (!nvrtc_available()) return; // as it is made
  CHECK(nvrtc.major >= 11);
  CHECK(!nvrtc.path.empty());
  CHECK(nvrtc.options == std::vector<std::string>{"-fmad=false", "-std=c++17", "-default-device"});
}

TEST_CASE("keys of CPU code: build, processor, features, level, kernel") {
  const CpuCodeOrigin origin{"build", "znver4", "+avx2", 2, "kernel"};
  const CacheKey key = cpu_cache_key(origin);
  CHECK(cpu_cache_key(origin) == key);
  std::set<CacheKey> keys{key};
  CpuCodeOrigin other = origin;
  other.build = "another build";
  keys.insert(cpu_cache_key(other));
  other = origin;
  other.cpu = "znver3";
  keys.insert(cpu_cache_key(other));
  other = origin;
  other.features = "+avx2,+avx512f";
  keys.insert(cpu_cache_key(other));
  other = origin;
  other.level = 0;
  keys.insert(cpu_cache_key(other));
  other = origin;
  other.kernel = "kernel 2";
  keys.insert(cpu_cache_key(other));
  other = origin; // the parts are not run together
  other.cpu = "znver4+";
  other.features = "avx2";
  keys.insert(cpu_cache_key(other));
  keys.insert(gpu_cache_key("kernel", "znver4", {}));
  CHECK(keys.size() == 8);
}

} // namespace tl::test
