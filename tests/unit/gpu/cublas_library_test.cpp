// The attributes that tl sets, with cuBLASLt itself where it is installed: that needs no card.
#include "vm/gpu/libraries.h"
#include <dlfcn.h>
#include <doctest/doctest.h>

using namespace tl::cuda;

TEST_CASE("cuBLASLt takes the attributes that tl sets, of these sizes") {
  void* library = nullptr;
  for (const std::string& file : candidates("libcublasLt.so", {"13", "12", ""}))
    if (!library) library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    MESSAGE("skipped: no cuBLASLt");
    return;
  }
  Cublas c;
  REQUIRE(fill(c, [&](const char* name) { return dlsym(library, name); }) == "");
  CHECK(c.version() >= 120000);
  CHECK(std::string(c.error_text(kCublasNotSupported)).find("not supported") != std::string::npos);

  const int32_t how = kTransposed, count = 3;
  const int64_t stride = 64;
  const uint64_t bytes = 32 << 20;
  const uint32_t alignment = 16, schemes = kReduceInComputeType;
  CublasDesc desc = nullptr;
  for (int compute : {kCompute32, kComputeTf32, kCompute64}) {
    REQUIRE(c.create_desc(&desc, compute, compute == kCompute64 ? kReal64 : kReal32) == kCublasSuccess);
    CHECK(c.set_desc(desc, kTransposeA, &how, sizeof how) == kCublasSuccess);
    CHECK(c.set_desc(desc, kTransposeB, &how, sizeof how) == kCublasSuccess);
    CHECK(c.set_desc(desc, kTransposeB, &stride, sizeof stride) == kCublasInvalidValue);
    CHECK(c.destroy_desc(desc) == kCublasSuccess);
  }
  CublasLayout layout = nullptr;
  for (int type : {kReal32, kReal64, kReal16, kRealB16}) {
    REQUIRE(c.create_layout(&layout, type, 8, 8, 8) == kCublasSuccess);
    CHECK(c.set_layout(layout, kBatchCount, &count, sizeof count) == kCublasSuccess);
    CHECK(c.set_layout(layout, kBatchStride, &stride, sizeof stride) == kCublasSuccess);
    CHECK(c.destroy_layout(layout) == kCublasSuccess);
  }
  CublasPreference preference = nullptr;
  REQUIRE(c.create_preference(&preference) == kCublasSuccess);
  CHECK(c.set_preference(preference, kMaxWorkspace, &bytes, sizeof bytes) == kCublasSuccess);
  CHECK(c.set_preference(preference, kReductionSchemes, &schemes, sizeof schemes) == kCublasSuccess);
  for (int which : {kMinAlignmentA, kMinAlignmentB, kMinAlignmentC, kMinAlignmentD})
    CHECK(c.set_preference(preference, which, &alignment, sizeof alignment) == kCublasSuccess);
  CHECK(c.destroy_preference(preference) == kCublasSuccess);
}
