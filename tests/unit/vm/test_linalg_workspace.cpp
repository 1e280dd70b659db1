// The formula that `tl check --memory` takes for LAPACK's workspaces is not below what LAPACK asks for, and close to
// it.
#include "vm/linalg/linalg.h"
#include <doctest/doctest.h>

using namespace tl;

TEST_CASE("the formula of workspaces of Fourier transforms") {
  for (DType type : {DType::F32, DType::F64})
    for (LinalgOp op : {LinalgOp::Fft, LinalgOp::InverseFft, LinalgOp::RealFft, LinalgOp::RealFftTransposed})
      for (int64_t n : {1, 2, 31, 64, 65, 67, 122, 128, 1000, 1009, 2048, 3721, 4093, 4096, 65536, 99991, 1000003}) {
        for (int64_t inner : {1, 5, 16, 1000}) {
          const bool to_real = op == LinalgOp::RealFftTransposed;
          int64_t numbers[] = {1, to_real ? n / 2 + 1 : n, inner, to_real ? n : inner};
          void* args[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3]};
          CAPTURE(n);
          CAPTURE(inner);
          CHECK(linalg_workspace_formula(op, type).evaluate(args) >=
                linalg_workspace(op, type, {1, numbers[1], inner, numbers[3]}).value());
        }
      }
}

TEST_CASE("formulas of LAPACK's workspaces") {
  for (LinalgOp op : {LinalgOp::Cholesky, LinalgOp::SolveLower, LinalgOp::SolveUpper, LinalgOp::LuFactor,
                      LinalgOp::Solve, LinalgOp::Qr, LinalgOp::Svd, LinalgOp::Eigh, LinalgOp::EigParts,
                      LinalgOp::SvdValues, LinalgOp::EighValues, LinalgOp::EigValues})
    for (DType type : {DType::F32, DType::F64}) {
      SizeFormula formula = linalg_workspace_formula(op, type);
      for (int64_t m : {1, 2, 3, 5, 24, 31, 32, 33, 64, 100, 129, 300, 700})
        for (int64_t n : {1, 2, 3, 7, 25, 26, 30, 32, 40, 63, 128, 200, 300, 1000}) {
          const bool square =
              op != LinalgOp::LuFactor && op != LinalgOp::Qr && op != LinalgOp::Svd && op != LinalgOp::SvdValues;
          if (square && n != m) m = n;
          for (int64_t k : {1, 4, 50}) {
            int64_t numbers[] = {1, m, n, k};
            void* args[] = {&numbers[0], &numbers[1], &numbers[2], &numbers[3]};
            int64_t asked = linalg_workspace(op, type, {1, m, n, k}).value();
            int64_t said = formula.evaluate(args);
            CAPTURE(static_cast<int>(op));
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CHECK(said >= asked);
            if (m >= 100 && n >= 100) CHECK(static_cast<double>(said) <= 1.5 * static_cast<double>(asked));
          }
        }
    }
}
