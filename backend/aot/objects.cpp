#include "backend/aot/objects.h"
#include "backend/cpu/codegen.h"
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <thread>

namespace tl {
namespace {

struct Processor {
  cpu::CodegenOptions options;
  std::string prefix; // of the symbols, so that variants do not collide
};

std::vector<Processor> processors(const std::string& target) {
  if (target != "baseline") return {{processor_of(target), ""}};
  constexpr const char* avx512 =
      "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe";
  return {{processor_of(target), "v3_"}, {{"x86-64-v3", avx512}, "v4_"}};
}

} // namespace

cpu::CodegenOptions processor_of(const std::string& target) {
  if (target == "baseline") return {"x86-64-v3", ""};
  if (target == "native") return {};
  return {target, ""};
}

KernelObjects compile_objects(const std::vector<kir::Kernel>& kernels, const std::string& target, DiskCache* cache) {
  if (build_id().empty()) cache = nullptr;
  KernelObjects result;
  struct Job {
    cpu::Codegen* codegen;
    const kir::Kernel* kernel;
    std::string symbol;
    CacheKey key;
  };
  std::vector<std::unique_ptr<cpu::Codegen>> generators;
  std::vector<Job> jobs;
  for (const Processor& processor : processors(target)) {
    generators.push_back(std::make_unique<cpu::Codegen>(processor.options));
    cpu::Codegen& codegen = *generators.back();
    KernelVariant& variant = result.variants.emplace_back();
    variant.features = codegen.needed_features();
    std::map<std::string, uint32_t> first; // by key: equal kernels share their code
    for (const kir::Kernel& kernel : kernels) {
      variant.kernels.push_back(codegen.describe(kernel));
      std::string key = cpu::kernel_key(kernel);
      auto [place, added] = first.emplace(key, static_cast<uint32_t>(result.functions.size()));
      variant.first_function.push_back(place->second);
      if (!added) continue;
      std::string symbol = processor.prefix + cpu::symbol_of(key);
      jobs.push_back({&codegen, &kernel, symbol,
                      cache_key({"object file", build_id(), codegen.cpu(), codegen.features(), symbol, key})});
      for (size_t i = 0; i < variant.kernels.back().phases.size(); ++i)
        result.functions.push_back(fmt::format("{}_{}", symbol, i));
    }
  }
  result.objects.resize(jobs.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      try {
        const Job& job = jobs[i];
        std::optional<std::string> known = cache ? cache->find(job.key) : std::nullopt;
        result.objects[i] = known ? std::move(*known) : job.codegen->compile(*job.kernel, job.symbol);
        if (cache && !known) cache->store(job.key, result.objects[i]);
      } catch (...) {
        std::lock_guard lock(mutex);
        failure = std::current_exception();
        next = jobs.size();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<size_t>(std::thread::hardware_concurrency(), jobs.size()); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads)
    thread.join();
  if (failure) std::rethrow_exception(failure);
  return result;
}

} // namespace tl
