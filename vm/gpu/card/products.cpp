#include "vm/gpu/card/products.h"
#include "abi/visible.h"
#include "vm/gpu/libraries.h"
#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace tl {
namespace {

// What a plan is made of, and told apart by. X and Y are the factors of cuBLASLt: B' and A'.
enum Part : uint8_t {
  kType,
  kSumType,
  kTf32,
  kBatch,
  kRows, // of C': columns of C
  kColumns,
  kInner,
  kTransposedX,
  kLeadingX,
  kBatchX,
  kTransposedY,
  kLeadingY,
  kBatchY,
  kAlignmentX,
  kAlignmentY,
  kAlignmentResult,
  kPartCount
};

int type_of(DType type) {
  switch (type) {
  case DType::F64: return cuda::kReal64;
  case DType::F16: return cuda::kReal16;
  case DType::BF16: return cuda::kRealB16;
  default: return cuda::kReal32;
  }
}

// As far as it matters: accesses have 16 bytes at most. All memory of the pool has that, so what is chosen by it, and
// the bits that come of it, do not depend on where a tensor lies.
int64_t alignment_of(uint64_t address) { return static_cast<int64_t>(std::min<uint64_t>(address & -address, 16)); }

} // namespace

std::optional<CublasMatrix> cublas_matrix(int64_t rows, int64_t columns, int64_t row, int64_t column) {
  const bool one_row = rows == 1, one_column = columns == 1;
  auto as_it_is = [&]() -> std::optional<CublasMatrix> {
    if ((row != 1 && !one_row) || (!one_column && column < rows)) return std::nullopt;
    return CublasMatrix{false, one_column ? rows : column};
  };
  auto transposed = [&]() -> std::optional<CublasMatrix> {
    if ((column != 1 && !one_column) || (!one_row && row < columns)) return std::nullopt;
    return CublasMatrix{true, one_row ? columns : row};
  };
  // A row of neighbours is rather one column, transposed, than many of one element.
  auto found = one_row ? transposed() : as_it_is();
  return found ? found : one_row ? as_it_is() : transposed();
}

GpuProducts::~GpuProducts() {
  for (auto& [key, plan] : plans_)
    drop(plan);
  if (handle_) cublas_->destroy(handle_);
  if (workspace_) cuda_.free(workspace_);
}

void GpuProducts::check(cuda::CublasStatus status, const char* function) const {
  if (status == cuda::kCublasSuccess) return;
  const char* text = cublas_->error_text(status);
  throw RuntimeError{"DeviceError",
                     fmt::format("{}: {}: {}", card_, function, text ? visible(text) : fmt::format("error {}", status)),
                     "--exact-products does without cuBLASLt",
                     {},
                     3,
                     {}};
}

// False: there is no room for the workspace, or the library does not start on this card. tl's own kernels do it then.
bool GpuProducts::start() {
  if (handle_) return true;
  if (refused_) return false;
  cublas_ = &cuda::cublas().functions;
  if (!workspace_ && cuda_.allocate(&workspace_, kWorkspace) != cuda::kSuccess) {
    refused_ = true;
    return false;
  }
  if (cublas_->create(&handle_) == cuda::kCublasSuccess) return true;
  handle_ = nullptr;
  refused_ = true;
  cuda_.free(workspace_);
  workspace_ = 0;
  return false;
}

void GpuProducts::drop(Plan& plan) {
  if (plan.desc) cublas_->destroy_desc(plan.desc);
  for (cuda::CublasLayout layout : {plan.a, plan.b, plan.d})
    if (layout) cublas_->destroy_layout(layout);
  plan = {};
}

void GpuProducts::make(Plan& plan, const Key& key) {
  const auto type = static_cast<DType>(key[kType]), sum_type = static_cast<DType>(key[kSumType]);
  const int compute = type == DType::F64 ? cuda::kCompute64 : key[kTf32] ? cuda::kComputeTf32 : cuda::kCompute32;
  check(cublas_->create_desc(&plan.desc, compute, type == DType::F64 ? cuda::kReal64 : cuda::kReal32),
        "cublasLtMatmulDescCreate");
  auto transpose = [&](cuda::CublasDescAttribute attribute, Part part) {
    const int32_t how = key[part] ? cuda::kTransposed : cuda::kAsItIs;
    check(cublas_->set_desc(plan.desc, attribute, &how, sizeof how), "cublasLtMatmulDescSetAttribute");
  };
  transpose(cuda::kTransposeA, kTransposedX);
  transpose(cuda::kTransposeB, kTransposedY);
  auto layout = [&](cuda::CublasLayout& made, DType of, int64_t rows, int64_t columns, bool transposed, int64_t leading,
                    int64_t stride) {
    if (transposed) std::swap(rows, columns);
    check(cublas_->create_layout(&made, type_of(of), static_cast<uint64_t>(rows), static_cast<uint64_t>(columns),
                                 leading),
          "cublasLtMatrixLayoutCreate");
    const auto count = static_cast<int32_t>(key[kBatch]);
    if (count == 1) return;
    check(cublas_->set_layout(made, cuda::kBatchCount, &count, sizeof count), "cublasLtMatrixLayoutSetAttribute");
    check(cublas_->set_layout(made, cuda::kBatchStride, &stride, sizeof stride), "cublasLtMatrixLayoutSetAttribute");
  };
  layout(plan.a, type, key[kRows], key[kInner], key[kTransposedX] != 0, key[kLeadingX], key[kBatchX]);
  layout(plan.b, type, key[kInner], key[kColumns], key[kTransposedY] != 0, key[kLeadingY], key[kBatchY]);
  layout(plan.d, sum_type, key[kRows], key[kColumns], false, key[kRows], key[kRows] * key[kColumns]);

  struct Preference {
    const cuda::Cublas& cublas;
    cuda::CublasPreference made = nullptr;
    ~Preference() {
      if (made) cublas.destroy_preference(made);
    }
  } preference{*cublas_};
  check(cublas_->create_preference(&preference.made), "cublasLtMatmulPreferenceCreate");
  auto prefer = [&](cuda::CublasPreferenceAttribute attribute, auto value) {
    check(cublas_->set_preference(preference.made, attribute, &value, sizeof value),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  prefer(cuda::kMaxWorkspace, uint64_t{kWorkspace});
  prefer(cuda::kMinAlignmentA, static_cast<uint32_t>(key[kAlignmentX]));
  prefer(cuda::kMinAlignmentB, static_cast<uint32_t>(key[kAlignmentY]));
  prefer(cuda::kMinAlignmentC, static_cast<uint32_t>(key[kAlignmentResult]));
  prefer(cuda::kMinAlignmentD, static_cast<uint32_t>(key[kAlignmentResult]));
  if (size_of(sum_type) == 2) prefer(cuda::kReductionSchemes, cuda::kReduceInComputeType); // sums are rounded once

  cuda::CublasHeuristic found{};
  int count = 0;
  const cuda::CublasStatus status =
      cublas_->heuristic(handle_, plan.desc, plan.a, plan.b, plan.d, plan.d, preference.made, 1, &found, &count);
  if (status != cuda::kCublasNotSupported) check(status, "cublasLtMatmulAlgoGetHeuristic");
  plan.algorithm = found.algorithm;
  plan.usable = status == cuda::kCublasSuccess && count > 0 && found.state == cuda::kCublasSuccess;
}

bool GpuProducts::launch(const Operation& op, cuda::Stream stream) {
  const GpuProduct& p = *op.gpu_kernel->product;
  if (op.in_slot[p.a] || op.in_slot[p.b]) return false; // a number that the host holds
  const KernelArgs args = op.args.data();
  auto value = [&](const SizeFormula& formula) { return formula.evaluate(args); };
  int64_t batch = value(p.batch), m = value(p.m);
  const int64_t n = value(p.n), k = value(p.k);
  const int64_t a_batch = value(p.a_batch), a_row = value(p.a_row), b_batch = value(p.b_batch);
  if (batch <= 0 || m <= 0 || n <= 0 || k <= 0) return false;
  if (batch > 1 && b_batch == 0 && a_batch == m * a_row) { // all of the batch times one matrix: more rows
    m *= batch;
    batch = 1;
  }
  const auto x = cublas_matrix(n, k, value(p.b_column), value(p.b_row));
  const auto y = cublas_matrix(k, m, value(p.a_column), a_row);
  if (!x || !y || (batch > 1 && (a_batch < 0 || b_batch < 0))) return false;
  for (int64_t size : {batch, m, n, k, x->leading, y->leading})
    if (size > std::numeric_limits<int32_t>::max()) return false;
  if (!start()) return false;

  const int64_t bytes = size_of(p.type);
  auto address = [&](uint32_t argument, int64_t base) {
    return reinterpret_cast<uint64_t>(args[argument]) + static_cast<uint64_t>(base * bytes);
  };
  const uint64_t from_x = address(p.b, value(p.b_base)), from_y = address(p.a, value(p.a_base));
  const uint64_t to = reinterpret_cast<uint64_t>(p.to_workspace ? op.card_shared.data : args[p.c]);
  const bool several = batch > 1;
  static_assert(kPartCount == std::tuple_size_v<Key>);
  Key key{};
  key[kType] = static_cast<int64_t>(p.type);
  key[kSumType] = static_cast<int64_t>(p.sum_type);
  key[kTf32] = p.tf32 && p.type == DType::F32;
  key[kBatch] = batch;
  key[kRows] = n;
  key[kColumns] = m;
  key[kInner] = k;
  key[kTransposedX] = x->transposed;
  key[kLeadingX] = x->leading;
  key[kBatchX] = several ? b_batch : 0;
  key[kTransposedY] = y->transposed;
  key[kLeadingY] = y->leading;
  key[kBatchY] = several ? a_batch : 0;
  key[kAlignmentX] = alignment_of(from_x);
  key[kAlignmentY] = alignment_of(from_y);
  key[kAlignmentResult] = alignment_of(to);
  auto known = plans_.find(key);
  if (known == plans_.end()) {
    if (plans_.size() >= kPlans) {
      for (auto& [other, plan] : plans_)
        drop(plan);
      plans_.clear();
    }
    known = plans_.try_emplace(key).first;
    try {
      make(known->second, key);
    } catch (const RuntimeError&) {
      drop(known->second);
      plans_.erase(known);
      throw;
    }
  }
  Plan& plan = known->second;
  if (!plan.usable) return false;
  const double one = 1, zero = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = p.type == DType::F64;
  const void *alpha = wide ? static_cast<const void*>(&one) : &one32,
             *beta = wide ? static_cast<const void*>(&zero) : &zero32;
  auto* result = reinterpret_cast<void*>(to);
  const cuda::CublasStatus status =
      cublas_->multiply(handle_, plan.desc, alpha, reinterpret_cast<const void*>(from_x), plan.a,
                        reinterpret_cast<const void*>(from_y), plan.b, beta, result, plan.d, result, plan.d,
                        &plan.algorithm, reinterpret_cast<void*>(workspace_), kWorkspace, stream);
  if (status == cuda::kCublasNotSupported) return plan.usable = false;
  check(status, "cublasLtMatmul");
  return true;
}

} // namespace tl
