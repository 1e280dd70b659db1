#include "backend/cuda/nvrtc.h"
#include "backend/cuda/print.h"
#include "backend/cuda/sorts.h"
#include "kernel_harness.h"
#include <doctest/doctest.h>
#include <map>

using namespace tl;
using namespace tl::test;

namespace {

kir::Kernel row_sum() {
  return lower_text(R"(func @main(%t: token) {
  %n: i64 = constant i64 3
  %m: i64 = constant i64 40
  %x: f16[%n, %m] = map (%i: i64, %j: i64) {
    %s: i64 = add %i, %j
    %f: f16 = convert %s
    yield %f
  }
  %y: f32[%n] = kernel %x, %n, %m {kernel = nest} {
    %w: f32[%n, %m] = convert %x
    %r: f32[%n] = reduce %w {op = sum, ints = [1]}
    yield %r
  }
  yield %t, %y
}
)",
                    Target::Gpu)
      .kernel;
}

// One vector loop over rows, whose body is the text and gives %g.
std::string of_rows(const std::string& reads, const std::string& body) {
  return to_cuda(lower_text(R"(func @main(%t: token) {
  %n: i64 = constant i64 3
  %m: i64 = constant i64 4
  %x: f32[%n, %m] = map (%i: i64, %j: i64) {
    %s: i64 = add %i, %j
    %f: f32 = convert %s
    yield %f
  }
  %k: key = convert %n
  %y: f32[%m, %n] = kernel %n, %m, )" +
                                reads + R"( {kernel = nest} {
    %r: f32[%m, %n] = map (%p: i64, %q: i64) {
)" + body + R"(
      yield %g
    }
    yield %r
  }
  yield %t, %y
}
)",
                            Target::Gpu)
                     .kernel);
}

} // namespace

TEST_CASE("a thread takes four elements that lie side by side, and those apart one by one") {
  const std::string side = of_rows("%x", "      %g: f32 = index %x, %p, %q");
  CHECK(count(side, "= tl_load_quad(") == 1);
  CHECK(count(side, "  tl_store_quad(p") == 1);
  const std::string apart = of_rows("%x", "      %g: f32 = index %x, %q, %p");
  CHECK(count(apart, "= tl_load_quad(") == 0);
  CHECK(count(apart, "  tl_store_quad(p") == 1);
}

TEST_CASE("two words of a random block are of one computation") {
  const std::string words = of_rows("%k", R"(      %two: i64 = constant i64 2
      %one: i64 = constant i64 1
      %a: i64 = mul %q, %two
      %b: i64 = add %a, %one
      %u: i64 = key_bits %k, %a
      %v: i64 = key_bits %k, %b
      %w: i64 = add %u, %v
      %g: f32 = convert %w)");
  // Ten rounds of two products, by four elements at once and by the rest; one is of a word that is always zero.
  CHECK(count(words, "__umulhi(") == 2 * 19 + 1);
}

TEST_CASE("CUDA C++ names its phases and folds a row by a block or a warp") {
  std::string text = to_cuda(row_sum());
  CHECK(count(text, "TL_KERNEL(y_phase0, y_arguments) {") == 1);
  CHECK(count(text, "TL_KERNEL(y_phase0_warps, y_arguments) {") == 1);
  CHECK(count(text, "#include") == 0);
  CHECK(count(text, "= tl_reduce_block<tl_sum<float>>(scratch, 0ll, ") == 1);
  CHECK(count(text, "= tl_reduce_warp<tl_sum<float>>(0ll, ") == 1);
  CHECK(count(text, "tl_from_f16(p0[") == 3); // and a thread by itself, where rows are short
}

TEST_CASE("a library writes the sums of a product where its epilogue finds them") {
  struct Case {
    std::string factors, result, epilogue;
    Sums sums;
  };
  const Case cases[] = {{"f32", "f32", "%y1: f32[%n, %n] = neg %p", Sums::InPlace},
                        {"f32", "f32", "", Sums::Result},
                        {"bf16", "bf16", "", Sums::Result},
                        {"bf16", "f32", "%y1: f32[%n, %n] = convert %p", Sums::InPlace},
                        {"bf16", "bf16", "%y1: bf16[%n, %n] = neg %p", Sums::Workspace},
                        {"f64", "f32", "%y1: f32[%n, %n] = convert %p", Sums::Workspace}};
  for (const Case& c : cases) {
    const std::string yields = c.epilogue.empty() ? "%p" : "%y1";
    const kir::Kernel kernel =
        lower_text("func @main(%t: token) {\n  %n: i64 = constant i64 3\n  %x: " + c.factors +
                   "[%n, %n] = map (%i: i64, %j: i64) {\n    %f: " + c.factors +
                   " = convert %i\n    yield %f\n  }\n  %y: " + c.result +
                   "[%n, %n] = kernel %x, %n {kernel = contract} {\n    %u: i64 = neg %n\n    %p: " + c.factors +
                   "[%n, %n] = contract %x, %x {ints = [0, 2, 2, 1], labels = [0, 1]}\n    " + c.epilogue +
                   "\n    yield " + yields + "\n  }\n  yield %t, %y\n}\n")
            .kernel;
    REQUIRE(kernel.is_gemm);
    CHECK_MESSAGE(sums_of(kernel) == c.sums, c.factors << " " << c.epilogue);
    const std::string text = to_cuda(kernel);
    CHECK(count(text, "TL_KERNEL(y_phase0, ") == 1);
    CHECK(count(text, "TL_KERNEL(y_phase1, ") == (c.sums != Sums::Result));
    CHECK(count(text, "totals = (const float*)tl_at(a.shared)") == (c.sums == Sums::Workspace && c.factors == "bf16"));
  }
}

TEST_CASE("NVRTC makes cubins and PTX, and explains what it does not take") {
  std::string why;
  if (!nvrtc_available(&why)) {
    MESSAGE("skipped: no NVRTC (", why, ")");
    return;
  }
  std::string text = to_cuda(row_sum());
  NvrtcResult cubin = nvrtc_compile(text, "row_sum.cu", "sm_90");
  CHECK_MESSAGE(cubin.ok, cubin.log);
  CHECK(std::string(cubin.code.begin(), cubin.code.begin() + 4) == "\x7f"
                                                                   "ELF");
  NvrtcResult ptx = nvrtc_compile(text, "row_sum.cu", "compute_80");
  CHECK_MESSAGE(ptx.ok, ptx.log);
  std::string assembly(ptx.code.begin(), ptx.code.end());
  CHECK(assembly.find("y_phase0") != std::string::npos);
  NvrtcResult bad = nvrtc_compile("__global__ void f() { nothing; }", "bad.cu", "sm_90");
  CHECK_FALSE(bad.ok);
  CHECK(bad.log.find("nothing") != std::string::npos);
}

TEST_CASE("sorts compile for a card, and their tiles are those of their rows") {
  if (nvrtc_available())
    for (auto [op, type] : {std::pair(SortOp::Values, DType::Bool),
                            {SortOp::Values, DType::F64},
                            {SortOp::Order, DType::F32},
                            {SortOp::Top, DType::I64},
                            {SortOp::Top, DType::BF16}}) {
      const NvrtcResult cubin = nvrtc_compile(sort_text(op, type), "sort.cu", "sm_90");
      CHECK_MESSAGE(cubin.ok, cubin.log); // its static shared memory is no more than a block has, too
      const std::string code(cubin.code.begin(), cubin.code.end());
      for (const GpuPhase& phase : gpu_sort(op, type).phases)
        CHECK(code.find(phase.function) != std::string::npos);
    }

  const GpuKernel kernel = gpu_sort(SortOp::Order, DType::F64);
  auto tiles = [&](int64_t rows, int64_t n) {
    void* args[] = {&rows, &n, &n};
    std::map<std::string, int64_t> all;
    for (const GpuPhase& phase : kernel.phases)
      if (const int64_t count = phase.tiles.evaluate(args)) all[phase.function] += count;
    CHECK((kernel.shared_bytes.evaluate(args) > 0) == (n > 2048 && rows > 0));
    return all;
  };
  using Tiles = std::map<std::string, int64_t>;
  CHECK(tiles(5, 0).empty());
  CHECK(tiles(0, 7).empty());
  CHECK(tiles(0, 5000).empty());
  CHECK(tiles(257, 1) == Tiles{{"sort_few", 2}});
  CHECK(tiles(5, 100) == Tiles{{"sort_few", 3}});
  CHECK(tiles(5, 256) == Tiles{{"sort_few", 5}});
  CHECK(tiles(5, 257) == Tiles{{"sort_row", 5}});
  CHECK(tiles(5, 2048) == Tiles{{"sort_row", 5}});
  CHECK(tiles(2, 2049) == Tiles{{"sort_count", 8 * 2 * 2}, {"sort_scan", 8 * 2 * 32}, {"sort_move", 8 * 2 * 2}});
  CHECK(tiles(1, 1 << 21)["sort_count"] == 8 * 1024); // chunks of one tile
  CHECK(tiles(1, (1 << 21) + 1)["sort_count"] == 8 * 513);
}
