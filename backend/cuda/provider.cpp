#include "backend/cuda/provider.h"
#include "backend/cpu/workspace.h"
#include "backend/cuda/nvrtc.h"
#include "backend/cuda/print.h"
#include "backend/cuda/sorts.h"
#include "backend/kernel/kernel_ops.h"
#include <algorithm>
#include <fmt/format.h>
#include <future>
#include <map>
#include <mutex>
#include <stdexcept>

namespace tl {
namespace {

constexpr size_t kBatch = 32;
static_assert(kGpuThreads == kCudaThreads);

void note_arguments(std::vector<uint8_t>& read, const SizeFormula& formula) {
  for (const SizeFormula::Step& step : formula.steps)
    if (step.op == SizeFormula::Op::Arg) read[static_cast<size_t>(step.value)] = 1;
}

// Of a product: one for each so many elements.
SizeFormula product_tiles(const kir::Kernel& kernel) {
  using namespace cpu;
  const kir::Block& header = kernel.gemm.header;
  auto size = [&](size_t k) { return formula_of(kernel, header, header.yields[k]); };
  return size(0) * ceil_div(size(1), number(kGemmRows)) * ceil_div(size(2), number(kGemmColumns));
}

// What a library is told of a product. Nothing: not all of its sizes and strides are formulas in what the host knows.
std::optional<GpuProduct> product_of(const kir::Kernel& kernel, bool tf32) {
  const kir::Gemm& gemm = kernel.gemm;
  const bool plain = std::all_of(kernel.params.begin(), kernel.params.end(), [](const kir::Param& p) {
    return p.kind != kir::ParamKind::Shared && p.kind != kir::ParamKind::Local;
  });
  const bool checks = std::any_of(gemm.header.instrs.begin(), gemm.header.instrs.end(),
                                  [](const kir::Instr& in) { return in.op == kir::KOp::Check; });
  if (!plain || !gemm.is_plain || checks) return std::nullopt;
  GpuProduct p;
  p.type = gemm.type;
  p.tf32 = tf32;
  p.a = cpu::argument_index(kernel, gemm.a);
  p.b = cpu::argument_index(kernel, gemm.b);
  p.c = cpu::argument_index(kernel, gemm.c);
  SizeFormula* const of_yields[] = {&p.batch,    &p.m,       &p.n,     &p.k,        &p.a_batch, &p.a_row,
                                    &p.a_column, &p.b_batch, &p.b_row, &p.b_column, &p.a_base,  &p.b_base};
  try {
    for (size_t k = 0; k < std::size(of_yields); ++k)
      *of_yields[k] = cpu::formula_of(kernel, gemm.header, gemm.header.yields[k]);
  } catch (const std::logic_error&) {
    return std::nullopt;
  }
  const Sums sums = sums_of(kernel);
  p.sum_type = sums == Sums::Result ? kernel.params[gemm.c].dtype : kir::value_type(gemm.type);
  p.to_workspace = sums == Sums::Workspace;
  using cpu::operator*;
  if (sums != Sums::Result) p.epilogue = GpuPhase{kernel.name + "_phase1", p.batch * p.m * p.n, true, {}, {}, {}};
  return p;
}

// All but the image.
GpuKernel describe(const kir::Kernel& kernel, const GpuCompileOptions& options) {
  GpuKernel result;
  result.name = kernel.name;
  for (const kir::Param& p : kernel.params)
    if (p.kind != kir::ParamKind::Shared && p.kind != kir::ParamKind::Local) result.rank_0.push_back(p.rank_0);
  result.shared_bytes = cpu::workspace_offset(kernel, kir::ParamKind::Shared, kernel.params.size());
  result.local_bytes = cpu::workspace_offset(kernel, kir::ParamKind::Local, kernel.params.size());
  if (kernel.is_gemm) result.phases.push_back({kernel.name + "_phase0", product_tiles(kernel), false, {}, {}, {}});
  for (size_t k = 0; k < kernel.phases.size(); ++k) {
    const std::string function = fmt::format("{}_phase{}", kernel.name, k);
    result.phases.push_back({function, kernel.phases[k].tiles, runs_by_thread(kernel, k), {}, {}, {}});
    result.phases.back().row = kernel.phases[k].row;
    result.phases.back().by_group = runs_by_group(kernel, k);
    result.phases.back().longest_by_warp = longest_by_warp(kernel, k);
    if (result.phases.back().longest_by_warp > 0) result.phases.back().by_warp = function + kWarps;
    if (takes_short_rows(kernel, k)) result.phases.back().by_row = function + kShortRows;
  }
  result.sizes.resize(result.rank_0.size());
  result.multiplies = kernel.is_gemm;
  if (kernel.is_gemm && options.library) result.product = product_of(kernel, options.tf32);
  if (const auto& p = result.product) {
    for (const SizeFormula* formula : {&p->batch, &p->m, &p->n, &p->k, &p->a_batch, &p->a_row, &p->a_column,
                                       &p->b_batch, &p->b_row, &p->b_column, &p->a_base, &p->b_base})
      note_arguments(result.sizes, *formula);
    using cpu::operator*;
    if (p->to_workspace) result.shared_bytes = p->epilogue->tiles * cpu::number(size_of(p->sum_type));
  }
  for (const GpuPhase& phase : result.phases) {
    note_arguments(result.sizes, phase.tiles);
    note_arguments(result.sizes, phase.row);
  }
  note_arguments(result.sizes, result.shared_bytes);
  note_arguments(result.sizes, result.local_bytes);
  result.sites = check_sites(kernel);
  return result;
}

class GpuProvider : public KernelProvider {
public:
  GpuProvider(std::unique_ptr<KernelProvider> cpu, std::vector<kir::Kernel> kernels, GpuCompileOptions options)
      : cpu_(std::move(cpu)), kernels_(std::move(kernels)), options_(std::move(options)) {
    for (size_t id = 0; id < kernels_.size(); ++id)
      kernels_[id].name += fmt::format("_k{}", id); // one name space for a batch
    descriptions_.resize(kernels_.size());
  }
  ~GpuProvider() override {
    for (std::future<void>& thread : threads_)
      if (thread.valid()) thread.wait();
  }

  const CompiledKernel& kernel(uint32_t id) override { return cpu_->kernel(id); }

  const GpuKernel* gpu_kernel(uint32_t id) override {
    std::shared_future<Compiled> batch;
    {
      std::lock_guard lock(mutex_);
      if (batches_.empty()) start();
      batch = batches_.at(id / kBatch);
    }
    const Compiled& compiled = batch.get(); // throws what the compiler found
    std::lock_guard lock(mutex_);
    std::unique_ptr<GpuKernel>& known = descriptions_[id];
    if (!known) {
      known = std::make_unique<GpuKernel>(describe(kernels_[id], options_));
      known->image = compiled;
    }
    return known.get();
  }

  const GpuKernel* gpu_sort(SortOp op, DType type) override {
    std::lock_guard lock(sorts_mutex_);
    std::unique_ptr<GpuKernel>& known = sorts_[{op, type}];
    if (!known) {
      GpuKernel made = tl::gpu_sort(op, type);
      made.image = compile(sort_text(op, type), "sort.cu");
      known = std::make_unique<GpuKernel>(std::move(made));
    }
    return known.get();
  }

private:
  using Compiled = std::shared_ptr<const GpuImage>;

  void start() {
    const size_t count = (kernels_.size() + kBatch - 1) / kBatch;
    std::vector<std::shared_ptr<std::promise<Compiled>>> promises;
    for (size_t k = 0; k < count; ++k) {
      promises.push_back(std::make_shared<std::promise<Compiled>>());
      batches_.push_back(promises.back()->get_future().share());
    }
    auto next = std::make_shared<std::atomic<size_t>>(0);
    const auto workers = std::min(count, static_cast<size_t>(std::max(1, options_.threads)));
    for (size_t t = 0; t < workers; ++t)
      threads_.push_back(std::async(std::launch::async, [this, promises, next] {
        for (size_t k; (k = next->fetch_add(1)) < promises.size();) {
          try {
            promises[k]->set_value(compile(k));
          } catch (...) {
            promises[k]->set_exception(std::current_exception());
          }
        }
      }));
  }

  Compiled compile(size_t batch) const {
    std::string text = cuda_prelude();
    const size_t end = std::min(kernels_.size(), (batch + 1) * kBatch);
    for (size_t id = batch * kBatch; id < end; ++id)
      text += cuda_kernel(kernels_[id]);
    return compile(text, fmt::format("kernels_{}.cu", batch));
  }

  Compiled compile(const std::string& text, const std::string& name) const {
    const CacheKey key = gpu_cache_key(text, options_.architecture, nvrtc_identity());
    auto image = std::make_shared<GpuImage>();
    if (options_.cache)
      if (std::optional<std::string> found = options_.cache->find(key)) {
        image->code.assign(found->begin(), found->end());
        return image;
      }
    NvrtcResult result = nvrtc_compile(text, name, options_.architecture);
    if (!result.ok)
      throw RuntimeError{"DeviceError", "NVRTC does not compile the program's kernels: " + result.log, "", {}, 3, {}};
    if (options_.cache) options_.cache->store(key, {result.code.data(), result.code.size()});
    image->code = std::move(result.code);
    return image;
  }

  std::unique_ptr<KernelProvider> cpu_;
  std::vector<kir::Kernel> kernels_;
  GpuCompileOptions options_;
  std::mutex mutex_;
  std::vector<std::shared_future<Compiled>> batches_;
  std::vector<std::unique_ptr<GpuKernel>> descriptions_;
  std::vector<std::future<void>> threads_;
  std::mutex sorts_mutex_;
  std::map<std::pair<SortOp, DType>, std::unique_ptr<GpuKernel>> sorts_; // null: it did not compile
};

} // namespace

CacheKey gpu_cache_key(std::string_view text, std::string_view architecture, const NvrtcIdentity& nvrtc) {
  return cache_key({"cubin", text, architecture, description_of(nvrtc)});
}

std::unique_ptr<KernelProvider> with_gpu_kernels(std::unique_ptr<KernelProvider> cpu, std::vector<kir::Kernel> kernels,
                                                 const GpuCompileOptions& options) {
  return std::make_unique<GpuProvider>(std::move(cpu), std::move(kernels), options);
}

} // namespace tl
