// What poisons what, by data and by control, through branches and loops.
#include "ir/graph/failure_flow.h"
#include "ir/graph/text.h"
#include <doctest/doctest.h>

using namespace tl;
using namespace tl::ir;

namespace {

const char* const kProgram = R"(location 1 "a.tl" 1:1 0..1 in "main" caller 0
site 0 "A" "a" hint "" @1
site 1 "B" "b" hint "" @1
site 2 "C" "c" hint "" @1
entry @main

func @main(%n: i64, %m: i64, %ok: bool) {
  %zero: i64 = constant i64 0
  %one: i64 = constant i64 1
  %a: i64 = guard %n, %ok {site = 0}
  %plain: i64 = add %n, %one
  %branch: i64, %other: i64 = if %ok {
    %in: i64 = guard %m, %ok {site = 1}
    yield %in, %one
  } {
    yield %zero, %one
  }
  %p: i64, %q: i64, %r: i64 = for %zero, %n, %one, %zero, %zero, %zero (%i: i64, %p0: i64, %q0: i64, %r0: i64) {
    %p1: i64 = guard %i, %ok {site = 2}
    %q1: i64 = add %q0, %p0
    %r1: i64 = add %r0, %i
    yield %p1, %q1, %r1
  }
  %bound: i64 = for %zero, %a, %one, %zero (%j: i64, %b0: i64) {
    yield %one
  }
  %w: i64, %u: i64 = while %zero, %zero (%w0: i64, %u0: i64) {
    %lt: bool = lt %u0, %m
    %c: bool = guard %lt, %ok {site = 1}
    yield %c
  } (%w0.1: i64, %u0.1: i64) {
    %w1: i64 = add %w0.1, %one
    yield %w1, %u0.1
  }
  yield %a, %plain, %branch, %other, %p, %q, %r, %bound, %w
}
)";

} // namespace

TEST_CASE("values suffer Guards by data and by control, of a loop for all turns") {
  Module module = parse_text(kProgram);
  const Function& f = module.functions[0];
  FailureFlow flow(f, f.body);
  auto sites = [&](size_t k) {
    std::vector<uint32_t> out;
    for (NodeId guard : flow.guards(f.body.yields[k])) {
      CHECK(flow.suffers(f.body.yields[k], guard));
      out.push_back(f[guard].as<SiteAttrs>().site);
    }
    return out;
  };
  using Sites = std::vector<uint32_t>;
  CHECK(sites(0) == Sites{0}); // the guarded value
  CHECK(sites(1) == Sites{});  // what the guard is computed from
  CHECK(sites(2) == Sites{1}); // one side of a branch
  CHECK(sites(3) == Sites{});  // another result of that branch
  CHECK(sites(4) == Sites{2}); // carried
  CHECK(sites(5) == Sites{2}); // a turn later
  CHECK(sites(6) == Sites{});  // beside it
  CHECK(sites(7) == Sites{0}); // by the bound
  CHECK(sites(8) == Sites{1}); // by the condition
}
