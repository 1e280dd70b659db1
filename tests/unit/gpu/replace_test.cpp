// Tables that are filled from functions of the program itself, as those of the emulated card.
#include "vm/gpu/libraries.h"
#include <cstring>
#include <doctest/doctest.h>
#include <set>
#include <thread>

using namespace tl;
using namespace tl::cuda;

namespace {

Result refuse() { return kInvalidValue; }
int started = 0;

// Every function is there; those that are called when libraries are opened do something.
void* symbol(const char* name) {
  auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("cuInit")) return reinterpret_cast<void*>(+[](unsigned) -> Result { return ++started, kSuccess; });
  if (is("cuDeviceGetCount"))
    return reinterpret_cast<void*>(+[](int* count) -> Result { return *count = 2, kSuccess; });
  if (is("nvrtcVersion"))
    return reinterpret_cast<void*>(+[](int* major, int* minor) { return *major = 13, *minor = 1, 0; });
  if (is("cuGetErrorName"))
    return reinterpret_cast<void*>(+[](Result result, const char** text) -> Result {
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      return result == kOutOfMemory ? kSuccess : kInvalidValue;
    });
  if (is("cuGetErrorString"))
    return reinterpret_cast<void*>(+[](Result result, const char** text) -> Result {
      *text = "out of memory";
      return result == kOutOfMemory ? kSuccess : kInvalidValue;
    });
  return reinterpret_cast<void*>(refuse);
}

} // namespace

TEST_CASE("fill names the first function that is missing") {
  Driver driver;
  Nvrtc nvrtc;
  CHECK(fill(driver, symbol).empty());
  Cublas cublas;
  CHECK(fill(nvrtc, symbol).empty());
  CHECK(fill(cublas, symbol).empty());
  auto without = [](const std::string& gone) {
    return [gone](const char* name) { return gone == name ? nullptr : symbol(name); };
  };
  CHECK(fill(driver, without("cuLaunchKernel")) == "cuLaunchKernel");
  CHECK(fill(nvrtc, without("nvrtcGetErrorString")) == "nvrtcGetErrorString");
  CHECK(fill(cublas, without("cublasLtMatmul")) == "cublasLtMatmul");
  CHECK(fill(cublas, without("cublasLtGetStatusString")) == "cublasLtGetStatusString");
  CHECK(fill(driver, without("nvrtcVersion")).empty());
}

TEST_CASE("no function stands twice in a table") {
  std::multiset<std::string> names;
  auto note = [&](const char* name) { return names.insert(name), symbol(name); };
  Driver driver;
  Nvrtc nvrtc;
  Cublas cublas;
  fill(driver, note);
  fill(nvrtc, note);
  fill(cublas, note);
  for (const std::string& name : names)
    CHECK_MESSAGE(names.count(name) == 1, name);
}

TEST_CASE("errors in words") {
  Driver driver;
  CHECK(explain(driver, "cuInit", 803) == "cuInit: error 803"); // an empty table
  REQUIRE(fill(driver, symbol).empty());
  CHECK(explain(driver, "cuMemAlloc_v2", kOutOfMemory) == "cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  CHECK(explain(driver, "cuInit", 803) == "cuInit: error 803"); // one that the driver does not know
}

TEST_CASE("versions in words") {
  CHECK(version_text(13000) == "13.0");
  CHECK(version_text(12080) == "12.8");
  CHECK(version_text(11040) == "11.4");
  CHECK(cublas_version_text(130100) == "13.1.0");
  CHECK(cublas_version_text(120805) == "12.8.5");
}

TEST_CASE("a replacement is used by all threads, and started once") {
  replace([](const char* name) { return std::strcmp(name, "cublasLtMatmul") == 0 ? nullptr : symbol(name); },
          "(emulated)");
  std::vector<std::thread> threads;
  std::set<const void*> seen[8];
  for (auto& mine : seen)
    threads.emplace_back([&mine] { mine = {&driver(), &nvrtc()}; });
  for (std::thread& thread : threads)
    thread.join();
  for (const auto& mine : seen)
    CHECK(mine == std::set<const void*>{&driver(), &nvrtc()});
  CHECK(driver().ok);
  CHECK(driver().path == "(emulated)");
  CHECK(nvrtc().ok);
  CHECK(nvrtc().path == "(emulated)");
  CHECK(!cublas().ok);
  CHECK(cublas().reason == "(emulated) is too old, or no cuBLASLt: it has no cublasLtMatmul");
  CHECK(started == 1);
}
