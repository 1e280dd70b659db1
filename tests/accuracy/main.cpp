// tl_accuracy: the greatest error of every approximated scalar function, as the table of docs/accuracy.md.
//   tl_accuracy          f32 in steps of 4099 through its bit patterns, f64 at random, every f16 and bf16: seconds
//   tl_accuracy --all    every f32: an hour or two of one core
#include "../unit/abi/accuracy.h"
#include <cstdio>
#include <cstring>

using namespace tl;
using namespace tl::accuracy;

int main(int argc, char** argv) {
  const bool all = argc == 2 && !std::strcmp(argv[1], "--all");
  if (argc > 1 && !all) {
    std::fprintf(stderr, "usage: tl_accuracy [--all]\n");
    return 2;
  }
  std::printf(
      "| function | bound | f32 | at | f64 | at | f16 | bf16 |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  bool fine = true;
  for (const Row& row : kRows) {
    const ScalarOpInfo& op = info(row.op);
    Worst f32, f64;
    each_f32(row.wide_lo, row.wide_hi, all ? 1 : 4099, [&](float x) { f32.see(x, row.f32(x), row.exact(x)); });
    for (auto [lo, hi] : {std::pair(op.lo, op.hi), std::pair(row.wide_lo, row.wide_hi)})
      each_f64(lo, hi, 300000, [&](double x) { f64.see(x, row.f64(x), row.exact(x)); });
    const double narrow[] = {worst_of_all(kHalves[0], row).ulp, worst_of_all(kHalves[1], row).ulp};
    std::printf("| `%s` | %g | %.3f | %.9g | %.3f | %.17g | %.3f | %.3f |\n", std::string(op.name).c_str(), op.ulp,
                f32.ulp, f32.at, f64.ulp, f64.at, narrow[0], narrow[1]);
    std::fflush(stdout);
    fine = fine && f32.ulp <= op.ulp && f64.ulp <= op.ulp;
  }
  return fine ? 0 : 1;
}
