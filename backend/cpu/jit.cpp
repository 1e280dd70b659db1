// From LLVM IR to machine code: target, passes, object files, and the provider that links them into this process.
#include "backend/cpu/jit.h"
#include "backend/cpu/emit.h"
#include "backend/cpu/gemm_plan.h"
#include "backend/cpu/link.h"
#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>

namespace tl {
namespace {
using namespace cpu;

struct Processor {
  std::string cpu, features;
};

Processor processor(const JitOptions& options) {
  // The name alone may be wrong; the features are what the processor itself reports.
  Processor result{options.cpu, options.features};
  if (result.cpu.empty()) result.cpu = options.features.empty() ? llvm::sys::getHostCPUName().str() : "x86-64-v3";
  if (result.features.empty() && options.cpu.empty())
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      result.features += fmt::format("{}{}{}", result.features.empty() ? "" : ",", feature.second ? '+' : '-',
                                     std::string(feature.first()));
  return result;
}

struct LlvmTarget {
  std::unique_ptr<llvm::TargetMachine> target;
  Machine machine;
  Processor processor;
};

// Whether a list such as "+avx2,-avx512f" has all of `wanted`.
bool has_features(const std::string& list, std::initializer_list<const char*> wanted) {
  std::string bounded = "," + list + ",";
  return std::all_of(wanted.begin(), wanted.end(), [&](const char* feature) {
    return bounded.find(fmt::format(",+{},", feature)) != std::string::npos;
  });
}

LlvmTarget make_target(const JitOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  LlvmTarget result;
  result.processor = processor(options);
  std::string triple = llvm::sys::getProcessTriple(), error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw std::logic_error("internal error: LLVM knows no target " + triple + ": " + error);
  llvm::TargetOptions how;
  how.AllowFPOpFusion = llvm::FPOpFusion::Strict; // a product and a sum stay two operations
  result.target.reset(target->createTargetMachine(
      triple, result.processor.cpu, result.processor.features, how, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      options.level == 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
  auto has = [&](const char* feature) { return result.target->getMCSubtargetInfo()->checkFeatures(feature); };
  result.machine.avx512 = has("+avx512f,+avx512vl,+avx512bw,+avx512dq");
  if (!has("+avx2,+fma,+f16c"))
    throw std::runtime_error("this processor is older than x86-64-v3: AVX2, FMA and F16C are needed");
  return result;
}

// What kernels are compiled for. The features alone say it where they are given; only a bare name needs LLVM's tables.
Machine machine_of(const Processor& processor, const JitOptions& options) {
  if (processor.features.empty()) return make_target(options).machine;
  if (!has_features(processor.features, {"avx2", "fma", "f16c"})) return make_target(options).machine; // or its error
  return {has_features(processor.features, {"avx512f", "avx512vl", "avx512bw", "avx512dq"})};
}

std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, const kir::Kernel& kernel,
                                           const std::string& symbol, const LlvmTarget& target,
                                           const JitOptions& options) {
  if (options.check_input)
    if (std::string wrong = kir::verify(kernel); !wrong.empty()) fault(kernel, wrong);
  auto module = std::make_unique<llvm::Module>(kernel.name, context);
  module->setTargetTriple(target.target->getTargetTriple().str());
  module->setDataLayout(target.target->createDataLayout());
  Emitter emitter(*module, kernel, target.machine);
  if (kernel.is_gemm)
    emitter.emit_gemm(symbol);
  else
    for (size_t i = 0; i < kernel.phases.size(); ++i)
      emitter.emit_phase(kernel.phases[i], fmt::format("{}_{}", symbol, i));
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.processor.cpu);
    function.addFnAttr("target-features", target.processor.features);
    if (target.machine.avx512) function.addFnAttr("prefer-vector-width", "512");
  }
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream)) fault(kernel, "LLVM refuses its IR: " + message);
  return module;
}

// Kernels that already are vectors get a few cheap passes; plain scalar loops get what a C compiler would do.
void optimise(llvm::Module& module, const kir::Kernel& kernel, llvm::TargetMachine& target, int level) {
  if (level == 0) return;
  bool scalar = !kernel.is_gemm;
  for (const kir::Phase& phase : kernel.phases)
    scalar = scalar && !has_vector_code(phase.body);
  llvm::PipelineTuningOptions tuning;
  tuning.SLPVectorization = true;
  llvm::PassBuilder builder(&target, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (scalar) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  } else {
    constexpr const char* kCheap = "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
                                   "loop-mssa(licm<allowspeculation>),early-cse<memssa>,adce)";
    if (auto error = builder.parsePassPipeline(passes, kCheap))
      throw std::logic_error("internal error: pass pipeline: " + llvm::toString(std::move(error)));
  }
  passes.run(module, modules);
}

llvm::SmallVector<char, 0> generate(llvm::Module& module, llvm::TargetMachine& target, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, kind, true))
    throw std::logic_error("internal error: LLVM cannot write this kind of file");
  passes.run(module);
  return bytes;
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// Equal kernels have equal keys, whatever they are called.
std::string key_of(const kir::Kernel& kernel) {
  kir::Kernel anonymous = kernel;
  anonymous.name = "kernel";
  anonymous.loc = {};
  return kir::to_text(anonymous);
}

std::string symbol_of(const std::string& key) {
  auto hash = llvm::xxh3_128bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(key.data()), key.size()));
  return fmt::format("tl_{:016x}{:016x}", hash.high64, hash.low64);
}

// What the engine needs besides the functions.
CompiledKernel describe(const kir::Kernel& kernel, const Machine& machine) {
  CompiledKernel result;
  result.name = kernel.name;
  if (kernel.is_gemm) {
    GemmPlan plan = plan_gemm(kernel, machine.avx512);
    if (plan.has_pack_phase) result.phases.push_back({nullptr, plan.pack_tiles, plan.pack_grain});
    result.phases.push_back({nullptr, plan.tiles, plan.grain});
    result.shared_bytes = plan.shared_bytes;
    result.local_bytes = plan.local_bytes;
    return result;
  }
  for (const kir::Phase& phase : kernel.phases)
    result.phases.push_back({nullptr, phase.tiles, phase.grain});
  result.shared_bytes = workspace_offset(kernel, kir::ParamKind::Shared, kernel.params.size());
  result.local_bytes = workspace_offset(kernel, kir::ParamKind::Local, kernel.params.size());
  return result;
}

class JitProvider : public KernelProvider {
public:
  JitProvider(std::vector<kir::Kernel> kernels, const JitOptions& options) : options_(options) {
    if (kernels.empty()) return;
    processor_ = processor(options_);
    machine_ = machine_of(processor_, options_);
    if (options_.on_llvm || options_.on_asm || build_id().empty()) options_.cache = nullptr;
    std::unordered_map<std::string, size_t> by_key;
    for (kir::Kernel& kernel : kernels) {
      auto [place, added] = by_key.emplace(key_of(kernel), units_.size());
      if (added) {
        units_.push_back(std::make_unique<Unit>());
        units_.back()->kernel = std::move(kernel);
        units_.back()->symbol = symbol_of(place->first);
        if (options_.cache) units_.back()->key = disk_key(place->first);
      }
      unit_of_.push_back(place->second);
    }
    size_t threads = std::min(units_.size(), static_cast<size_t>(std::max(options_.ahead_threads, 0)));
    for (size_t i = 0; i < threads; ++i)
      ahead_.emplace_back([this] { compile_ahead(); });
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
    CacheKey key{}; // on disk
    std::once_flag once;
    std::unique_ptr<LinkedObject> object;
    CompiledKernel compiled;
  };

  // Everything that the machine code depends on.
  CacheKey disk_key(const std::string& kernel_text) const {
    return cache_key(
        {"cpu kernel", build_id(), processor_.cpu, processor_.features, std::to_string(options_.level), kernel_text});
  }

  const CompiledKernel& compiled(Unit& unit) {
    std::call_once(unit.once, [&] {
      CompiledKernel result = describe(unit.kernel, machine_);
      if (!load(unit, result)) {
        llvm::SmallVector<char, 0> object = compile(unit);
        std::string_view bytes(object.data(), object.size());
        link(unit, bytes, result);
        if (options_.cache) options_.cache->store(unit.key, bytes);
      }
      unit.compiled = std::move(result);
    });
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

  // Targets are not thread-safe: each compilation borrows one.
  LlvmTarget borrow_target() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        LlvmTarget target = std::move(idle_.back());
        idle_.pop_back();
        return target;
      }
    }
    return make_target(options_);
  }

  llvm::SmallVector<char, 0> compile(const Unit& unit) {
    LlvmTarget target = borrow_target();
    llvm::LLVMContext context;
    auto module = build_module(context, unit.kernel, unit.symbol, target, options_);
    optimise(*module, unit.kernel, *target.target, options_.level);
    if (options_.on_llvm) options_.on_llvm(unit.kernel.name, text_of(*module));
    if (options_.on_asm) {
      auto copy = llvm::SmallVector<char, 0>(generate(*module, *target.target, llvm::CodeGenFileType::AssemblyFile));
      options_.on_asm(unit.kernel.name, std::string(copy.begin(), copy.end()));
    }
    auto object = generate(*module, *target.target, llvm::CodeGenFileType::ObjectFile);
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(target));
    return object;
  }

  JitOptions options_;
  Processor processor_;
  Machine machine_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<size_t> unit_of_; // by kernel
  std::vector<std::thread> ahead_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<LlvmTarget> idle_;
};

std::string compile_text(const kir::Kernel& kernel, const JitOptions& options, bool assembler) {
  LlvmTarget target = make_target(options);
  llvm::LLVMContext context;
  auto module = build_module(context, kernel, kernel.name, target, options);
  optimise(*module, kernel, *target.target, options.level);
  if (!assembler) return text_of(*module);
  auto bytes = generate(*module, *target.target, llvm::CodeGenFileType::AssemblyFile);
  return std::string(bytes.begin(), bytes.end());
}

} // namespace

std::unique_ptr<KernelProvider> make_jit(std::vector<kir::Kernel> kernels, const JitOptions& options) {
  return std::make_unique<JitProvider>(std::move(kernels), options);
}

std::vector<WorkspaceFormulas> workspaces_of(const std::vector<kir::Kernel>& kernels, const JitOptions& options) {
  std::vector<WorkspaceFormulas> result;
  if (kernels.empty()) return result;
  Machine machine = machine_of(processor(options), options);
  for (const kir::Kernel& kernel : kernels) {
    CompiledKernel described = describe(kernel, machine);
    result.push_back({std::move(described.shared_bytes), std::move(described.local_bytes)});
  }
  return result;
}

std::string to_llvm(const kir::Kernel& kernel, const JitOptions& options) {
  return compile_text(kernel, options, false);
}
std::string to_asm(const kir::Kernel& kernel, const JitOptions& options) { return compile_text(kernel, options, true); }

std::string host_description() {
  Processor host = processor({});
  return host.cpu + " " + host.features;
}

} // namespace tl
