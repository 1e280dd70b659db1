#include "backend/aot/objects.h"
#include "backend/cpu/codegen.h"
#include "backend/kernel/kernel_ops.h"
#include "lang/place.h"
#include <atomic>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <tuple>

namespace tl {
namespace {

struct Processor {
  cpu::CodegenOptions options;
  std::string prefix; // of the symbols, so that variants do not collide
};

std::vector<Processor> processors(const std::string& target) {
  // The code for x86-64-v3 is the baseline's, and so is what a cache keeps of it.
  if (target != "baseline") return {{processor_of(target), target == "x86-64-v3" ? "v3_" : ""}};
  constexpr const char* avx512 =
      "+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe";
  // Not x86-64-v3 with these features: LLVM's selection then fails to end for masks that are split (codegen.cpp).
  return {{processor_of(target), "v3_"}, {{"x86-64-v4", avx512}, "v4_"}};
}

// Numbers places so that those of the same lines, seen through calls on the same lines, are equal.
class Lines {
public:
  explicit Lines(const std::vector<Location>& locations) : locations_(locations), number_(locations.size(), 0) {}

  uint32_t operator()(LocId loc) {
    loc = user_place(loc, locations_);
    if (loc.index == 0) return 0;
    if (number_[loc.index] != 0) return number_[loc.index];
    const Location& place = locations_[loc.index];
    const uint32_t caller = (*this)(place.caller);
    auto [known, added] = known_.emplace(std::tuple(place.file, place.line, place.function, caller), known_.size() + 1);
    return number_[loc.index] = known->second;
  }

  // The numbers of all instructions of a kernel.
  std::string text(const kir::Kernel& kernel) {
    std::string text = fmt::format("{} {}", kernel.name, (*this)(kernel.loc));
    kir::for_each_instr(kernel, [&](const kir::Instr& instr) { text += fmt::format(" {}", (*this)(instr.loc)); });
    return text;
  }

private:
  const std::vector<Location>& locations_;
  std::vector<uint32_t> number_; // by LocId; 0: not known yet
  std::map<std::tuple<std::string, uint32_t, std::string, uint32_t>, uint32_t> known_;
};

} // namespace

cpu::CodegenOptions processor_of(const std::string& target) {
  if (target == "aarch64") {
#ifdef TL_AARCH64
    cpu::CodegenOptions options{"generic", "+neon"};
    options.triple = "aarch64-unknown-linux-gnu";
    return options;
#else
    throw cpu::UnknownProcessor("this build of tl has no such target (one made with cmake -DTL_AARCH64=ON has)");
#endif
  }
  if (target == "baseline") return {"x86-64-v3", ""};
  if (target == "native") return {};
  return {target, ""};
}

KernelObjects compile_objects(const std::vector<kir::Kernel>& kernels, const std::string& target, DiskCache* cache,
                              const std::vector<Location>* lines) {
  if (build_id().empty() || lines) cache = nullptr;
  KernelObjects result;
  struct Job {
    cpu::Codegen* codegen;
    const kir::Kernel* kernel;
    std::string symbol;
    CacheKey key;
  };
  std::optional<Lines> places;
  if (lines) places.emplace(*lines);
  std::vector<std::unique_ptr<cpu::Codegen>> generators;
  std::vector<Job> jobs;
  for (Processor& processor : processors(target)) {
    processor.options.lines = lines;
    generators.push_back(std::make_unique<cpu::Codegen>(processor.options));
    cpu::Codegen& codegen = *generators.back();
    KernelVariant& variant = result.variants.emplace_back();
    variant.features = codegen.needed_features();
    std::map<std::string, uint32_t> first; // by key: equal kernels share their code
    std::map<std::string, int> called;     // how many are called so
    for (const kir::Kernel& kernel : kernels) {
      variant.kernels.push_back(codegen.describe(kernel));
      std::string key = cpu::kernel_key(kernel);
      if (places) key += places->text(kernel);
      auto [place, added] = first.emplace(key, static_cast<uint32_t>(result.functions.size()));
      variant.first_function.push_back(place->second);
      if (!added) continue;
      std::string symbol = processor.prefix + cpu::symbol_of(key);
      if (lines) {
        symbol = fmt::format("tl_{}{}", processor.prefix, kernel.name);
        if (int number = ++called[kernel.name]; number > 1) symbol += fmt::format(".{}", number);
      }
      jobs.push_back(
          {&codegen, &kernel, symbol,
           cache_key({"object file", build_id(), codegen.triple(), codegen.cpu(), codegen.features(), symbol, key})});
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
  try {
    for (unsigned i = 1; i < std::min<size_t>(std::thread::hardware_concurrency(), jobs.size()); ++i)
      threads.emplace_back(work);
  } catch (const std::system_error&) { // the system grants no more: these do it
  }
  work();
  for (std::thread& thread : threads)
    thread.join();
  if (failure) std::rethrow_exception(failure);
  return result;
}

} // namespace tl
