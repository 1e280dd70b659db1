// The provider that compiles kernels, or finds them in the cache, and links them into this process.
#include "backend/cpu/jit.h"
#include "backend/cpu/codegen.h"
#include "backend/cpu/link.h"
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unordered_map>

namespace tl {
namespace {
using namespace cpu;

// What TL_CPU names in place of this machine's processor: for tests and measurements of the code for another that this
// one has all features of.
std::string processor_by_user() {
  const char* name = std::getenv("TL_CPU");
  return name ? name : "";
}

CodegenOptions codegen_options(const JitOptions& options) {
  const bool any = options.cpu.empty() && options.features.empty();
  return {any ? processor_by_user() : options.cpu, options.features, options.level, options.check_input};
}

class JitProvider : public KernelProvider {
public:
  JitProvider(std::vector<kir::Kernel> kernels, const JitOptions& options) : options_(options) {
    if (kernels.empty()) return;
    codegen_.emplace(codegen_options(options_));
    if (options_.on_llvm || options_.on_asm || build_id().empty()) options_.cache = nullptr;
    std::unordered_map<std::string, size_t> by_key;
    for (kir::Kernel& kernel : kernels) {
      auto [place, added] = by_key.emplace(kernel_key(kernel), units_.size());
      if (added) {
        units_.push_back(std::make_unique<Unit>());
        units_.back()->kernel = std::move(kernel);
        units_.back()->symbol = symbol_of(place->first);
        if (options_.cache) units_.back()->key = disk_key(place->first);
      }
      unit_of_.push_back(place->second);
    }
    size_t threads = std::min(units_.size(), static_cast<size_t>(std::max(options_.ahead_threads, 0)));
    try {
      for (size_t i = 0; i < threads; ++i)
        ahead_.emplace_back([this] { compile_ahead(); });
    } catch (const std::system_error&) { // the system grants no more: kernels are compiled when they are needed
    }
  }

  ~JitProvider() override {
    stop_ = true;
    for (std::thread& thread : ahead_)
      thread.join();
  }

  const CompiledKernel& kernel(uint32_t id) override { return compiled(*units_.at(unit_of_.at(id))); }

private:
  struct Unit {
    kir::Kernel kernel;
    std::string symbol;
    CacheKey key{};   // on disk
    std::mutex mutex; // while it is compiled
    std::atomic<bool> ready = false;
    std::unique_ptr<LinkedObject> object;
    CompiledKernel compiled;
  };

  CacheKey disk_key(const std::string& kernel_text) const {
    const std::string build = build_id();
    return cpu_cache_key({build, codegen_->cpu(), codegen_->features(), options_.level, kernel_text});
  }

  // Not by std::call_once: exceptions do not pass through libc's functions (docs/packaging.md).
  const CompiledKernel& compiled(Unit& unit) {
    if (unit.ready.load(std::memory_order_acquire)) return unit.compiled;
    std::lock_guard lock(unit.mutex);
    if (unit.ready.load(std::memory_order_relaxed)) return unit.compiled;
    CompiledKernel result = codegen_->describe(unit.kernel);
    if (!load(unit, result)) {
      std::string object = compile(unit);
      link(unit, object, result);
      if (options_.cache) options_.cache->store(unit.key, object);
    }
    unit.compiled = std::move(result);
    unit.ready.store(true, std::memory_order_release);
    return unit.compiled;
  }

  void compile_ahead() {
    while (!stop_) {
      size_t next = next_++;
      if (next >= units_.size()) return;
      try {
        compiled(*units_[next]);
      } catch (...) {
        // Whoever asks for the kernel compiles it again and gets the exception.
      }
    }
  }

  bool load(Unit& unit, CompiledKernel& result) {
    if (!options_.cache) return false;
    std::optional<std::string> bytes = options_.cache->find(unit.key);
    if (!bytes) return false;
    try {
      link(unit, *bytes, result);
      return true;
    } catch (const std::logic_error& error) {
      options_.cache->reject(unit.key, error.what());
      return false;
    }
  }

  static void link(Unit& unit, std::string_view bytes, CompiledKernel& result) {
    unit.object = link_object(bytes);
    for (size_t i = 0; i < result.phases.size(); ++i) {
      std::string symbol = fmt::format("{}_{}", unit.symbol, i);
      void* address = unit.object->find(symbol);
      if (!address) throw std::logic_error("internal error: a kernel's object code does not define " + symbol);
      result.phases[i].function = reinterpret_cast<PhaseFunction>(address);
    }
  }

  std::string compile(const Unit& unit) {
    if (options_.on_llvm)
      options_.on_llvm(unit.kernel.name, codegen_->compile(unit.kernel, unit.symbol, CodeForm::Llvm));
    if (options_.on_asm)
      options_.on_asm(unit.kernel.name, codegen_->compile(unit.kernel, unit.symbol, CodeForm::Assembler));
    return codegen_->compile(unit.kernel, unit.symbol);
  }

  JitOptions options_;
  std::optional<Codegen> codegen_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<size_t> unit_of_; // by kernel
  std::vector<std::thread> ahead_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
};

} // namespace

CacheKey cpu_cache_key(const CpuCodeOrigin& origin) {
  return cache_key(
      {"cpu kernel", origin.build, origin.cpu, origin.features, std::to_string(origin.level), origin.kernel});
}

std::unique_ptr<KernelProvider> make_jit(std::vector<kir::Kernel> kernels, const JitOptions& options) {
  return std::make_unique<JitProvider>(std::move(kernels), options);
}

std::vector<WorkspaceFormulas> workspaces_of(const std::vector<kir::Kernel>& kernels, const JitOptions& options) {
  std::vector<WorkspaceFormulas> result;
  if (kernels.empty()) return result;
  Codegen codegen(codegen_options(options));
  for (const kir::Kernel& kernel : kernels) {
    CompiledKernel described = codegen.describe(kernel);
    result.push_back({std::move(described.shared_bytes), std::move(described.local_bytes)});
  }
  return result;
}

std::string to_llvm(const kir::Kernel& kernel, const JitOptions& options) {
  return Codegen(codegen_options(options)).compile(kernel, kernel.name, CodeForm::Llvm);
}
std::string to_asm(const kir::Kernel& kernel, const JitOptions& options) {
  return Codegen(codegen_options(options)).compile(kernel, kernel.name, CodeForm::Assembler);
}

std::string host_description() {
  Codegen host(codegen_options({}));
  return host.cpu() + " " + host.features();
}

} // namespace tl
