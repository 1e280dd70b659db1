// Profiles count every operation once and every byte, and timelines stay within the run, on every schedule.
#include "machine.h"
#include "vm/nan_check.h"
#include "vm/profile.h"
#include <array>
#include <cmath>
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::test;

TEST_CASE("a profile counts operations and bytes by place") {
  Machine m;
  Slot n = m.i64(10000), two = m.i64(2);
  Slot x = m.launch(kIota, {two, n}, {n});
  uint32_t iota = m.main().code.back().loc.index;
  Slot y = m.launch(kAdd, {x, x, n}, {n});
  uint32_t add = m.main().code.back().loc.index;
  m.print(m.launch(kSum, {y, n}, {}));
  m.ret();
  for (bool timeline : {false, true})
    for (int threads : {1, 3}) {
      Profile profile(timeline);
      RunOptions options;
      options.threads = threads;
      options.profile = &profile;
      CHECK(!m.run(options).error);
      CHECK(profile.rows().at(iota).operations == 1);
      CHECK(profile.rows().at(iota).bytes == 80000);
      CHECK(profile.rows().at(add).bytes == 240000);
      CHECK(profile.rows().at(add).seconds > 0);
      CHECK(profile.pieces().empty() == !timeline);
      CHECK(profile.left_out() == 0);
      for (const Profile::Piece& piece : profile.pieces()) {
        CHECK(piece.begin >= 0);
        CHECK(piece.begin <= piece.end);
        CHECK(piece.worker <= threads);
      }
    }
}

TEST_CASE("NaN of every float type") {
  auto find = [](DType type, auto... values) {
    std::array all{values...};
    return first_nan(type, reinterpret_cast<const std::byte*>(all.data()), static_cast<int64_t>(all.size()));
  };
  CHECK(find(DType::F32, 1.0f, INFINITY, NAN) == 2);
  CHECK(find(DType::F32, 1.0f, -INFINITY) == -1);
  CHECK(find(DType::F64, std::nan(""), 1.0) == 0);
  CHECK(find(DType::F16, uint16_t{0x7C00}, uint16_t{0xFE00}) == 1); // infinity, NaN
  CHECK(find(DType::BF16, uint16_t{0xFF80}, uint16_t{0x7FC0}) == 1);
  CHECK(find(DType::I32, int32_t{-1}) == -1);
}
