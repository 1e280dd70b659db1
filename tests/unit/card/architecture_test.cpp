#include "vm/gpu/card/card.h"
#include <doctest/doctest.h>

using namespace tl;

TEST_CASE("what is compiled runs on all cards") {
  CHECK(common_architecture({"sm_90"}) == "sm_90");
  CHECK(common_architecture({"sm_90", "sm_90"}) == "sm_90");
  CHECK(common_architecture({"sm_89", "sm_80"}) == "sm_80");
  CHECK(common_architecture({"sm_90", "sm_80"}) == "compute_80");
  CHECK(common_architecture({"sm_100", "sm_90", "sm_120"}) == "compute_90");
  CHECK(common_architecture({"compute_120", "sm_120"}) == "compute_120");
  CHECK(common_architecture({"compute_90"}) == "compute_90");
}
