// Random graphs keep their meaning, to the bit, through every pass, with each pass off, and as bytecode.
#include "bytecode_machine.h"
#include "random_graph.h"

using namespace tl;
using namespace tl::test;

namespace {

const std::vector<Argument> kArguments{numbers(DType::F32, {4, 3}), numbers(DType::F32, {5}, 0.2),
                                       scalar_of(DType::F32, 0.75)};

} // namespace

TEST_CASE("random graphs keep their meaning") {
  int kernels = 0, alone = 0;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    ir::Module module = RandomGraph(seed).make(25, false);
    require_sound(module, "as made");
    std::string expected = interpreted(module, kArguments);
    REQUIRE(expected.find("error") == std::string::npos);
    ir::Module result = optimised(module, kArguments);
    int launches = 0;
    CHECK_MESSAGE(by_bytecode(result, kArguments, &launches) == expected, ir::to_text(result));
    kernels += count(result, ir::Op::Kernel);

    static constexpr const char* kOff[] = {"inline", "fold", "simplify", "cse", "dce", "hoist", "outline", "fuse"};
    const char* off = kOff[seed % 8];
    CAPTURE(off);
    ir::Module without = optimised(module, kArguments, {off});
    CHECK_MESSAGE(by_bytecode(without, kArguments) == expected, ir::to_text(without));
    ir::Module single = run_passes(module, {{"fuse"}, false, {}, nullptr});
    alone += count(single, ir::Op::Kernel);
  }
  MESSAGE("kernels: " << kernels << " fused, " << alone << " not");
  CHECK(kernels < alone);
}

TEST_CASE("random graphs fail as before") {
  int failures = 0;
  for (uint32_t seed = 1001; seed <= 1080; ++seed) {
    CAPTURE(seed);
    ir::Module module = RandomGraph(seed).make(20, true);
    require_sound(module, "as made");
    failures += interpreted(module, kArguments).find("error") != std::string::npos;
    schedule(optimised(module, kArguments)); // and can be scheduled
  }
  CHECK(failures > 10);
}

TEST_CASE("simplifying again changes nothing") {
  for (uint32_t seed = 2001; seed <= 2060; ++seed) {
    CAPTURE(seed);
    ir::Module once = simplify(RandomGraph(seed).make(30, false));
    std::string text = ir::to_text(once);
    CHECK(ir::to_text(simplify(once)) == text);
  }
}
