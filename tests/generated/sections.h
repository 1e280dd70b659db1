// The sections of tl_generated. Each makes its cases from tables and runs them.
#pragma once
#include "harness.h"

namespace tl::generated {

void elementwise(Tester& tester); // every row of the op table, every type
void conversions(Tester& tester); // every pair of types
void reductions(Tester& tester);  // every reduction and scan, around the lanes and chunks of the order of sums
void contractions(Tester& tester);
void views(Tester& tester);   // views, indexing, updates
void control(Tester& tester); // loops, branches, failures
void random_graphs(Tester& tester);
void vectorized(Tester& tester);  // random regions for all positions of a batch at once
void examples(Tester& tester);    // of the op table, from source text
void derivatives(Tester& tester); // of every operation and of random programs, against central differences
void cuda(Tester& tester);        // CUDA C++ of all kernels that the sections before compiled, through NVRTC

} // namespace tl::generated
