// From LLVM IR to machine code: target, passes, object files.
#include "backend/cpu/codegen.h"
#include "abi/processor.h"
#include "backend/cpu/bounded.h"
#include "backend/cpu/emit.h"
#include "backend/cpu/gemm_plan.h"
#include "backend/cpu/llvm_guard.h"
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

namespace tl::cpu {
namespace {

struct Processor {
  std::string cpu, features;
};

Processor processor(const CodegenOptions& options) {
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

// Whether code is for x86-64, as that of this process is.
bool is_x86(const CodegenOptions& options) { return options.triple == llvm::sys::getProcessTriple(); }

LlvmTarget make_target(const CodegenOptions& options) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
#ifdef TL_AARCH64
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
#endif
  });
  LlvmTarget result;
  result.processor = processor(options);
  const std::string& triple = options.triple;
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw std::logic_error("internal error: LLVM knows no target " + triple + ": " + error);
  std::unique_ptr<llvm::MCSubtargetInfo> known(target->createMCSubtargetInfo(triple, "", ""));
  if (!known->isCPUStringValid(result.processor.cpu))
    throw UnknownProcessor(fmt::format("LLVM knows no processor '{}' among those of this kind", result.processor.cpu));
  llvm::TargetOptions how;
  how.AllowFPOpFusion = llvm::FPOpFusion::Strict; // a product and a sum stay two operations
  result.target.reset(target->createTargetMachine(triple, result.processor.cpu, result.processor.features, how,
                                                  llvm::Reloc::PIC_, llvm::CodeModel::Small));
  if (!is_x86(options)) return result;
  auto has = [&](const char* feature) { return result.target->getMCSubtargetInfo()->checkFeatures(feature); };
  result.machine.x86 = true;
  result.machine.avx512 = has("+avx512f,+avx512vl,+avx512bw,+avx512dq");
  result.machine.vnni = result.machine.avx512 && has("+avx512vnni");
  if (!has("+avx2,+fma,+f16c"))
    throw UnknownProcessor(
        fmt::format("the processor '{}' is older than x86-64-v3: AVX2, FMA and F16C are needed", result.processor.cpu));
  return result;
}

// What kernels are compiled for. The features alone say it where they are given; only a bare name needs LLVM's tables.
Machine machine_of(const Processor& processor, const CodegenOptions& options) {
  if (!is_x86(options)) return {};
  if (processor.features.empty()) return make_target(options).machine;
  if (!has_features(processor.features, {"avx2", "fma", "f16c"})) return make_target(options).machine; // or its error
  return {has_features(processor.features, {"avx512f", "avx512vl", "avx512bw", "avx512dq"})};
}

bool has_lanes(const llvm::Type* type, unsigned bits) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && vector->getNumElements() >= 32 && vector->getScalarSizeInBits() == bits;
}

// Whether masks of 32 lanes and more are rather no values of their own. With AVX512BW they are, beside lanes of 64 bits
// that need several registers, and LLVM 19's instruction selection then may not end: DAGCombiner and the legalisation
// of types turn extensions of i1 into each other (tests/golden/run/bits_counted.tl). Without it masks are split like
// what they are for. Masked accesses to bytes and words are worth keeping it: without it each lane would be a branch.
bool splits_masks(const llvm::Function& function) {
  bool masks = false, wide = false;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block) {
      masks = masks || has_lanes(instruction.getType(), 1);
      wide = wide || has_lanes(instruction.getType(), 64);
      const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || (call->getIntrinsicID() != llvm::Intrinsic::masked_load &&
                    call->getIntrinsicID() != llvm::Intrinsic::masked_store))
        continue;
      const llvm::Type* accessed = call->getType()->isVoidTy() ? call->getArgOperand(0)->getType() : call->getType();
      if (has_lanes(accessed, 8) || has_lanes(accessed, 16)) return false;
    }
  return masks && wide;
}

std::unique_ptr<llvm::Module> build_module(llvm::LLVMContext& context, const kir::Kernel& kernel,
                                           const std::string& symbol, const LlvmTarget& target,
                                           const CodegenOptions& options) {
  if (options.check_input)
    if (std::string wrong = kir::verify(kernel); !wrong.empty()) fault(kernel, wrong);
  auto module = std::make_unique<llvm::Module>(symbol, context);
  module->setTargetTriple(target.target->getTargetTriple().str());
  module->setDataLayout(target.target->createDataLayout());
  std::optional<DebugLines> lines;
  if (options.lines) lines.emplace(*module, kernel, *options.lines);
  Emitter emitter(*module, kernel, target.machine, lines ? &*lines : nullptr);
  if (kernel.is_gemm)
    emitter.emit_gemm(symbol);
  else
    for (size_t i = 0; i < kernel.phases.size(); ++i)
      emitter.emit_phase(kernel.phases[i], fmt::format("{}_{}", symbol, i));
  for (llvm::Function& function : *module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", target.processor.cpu);
    const bool split = target.machine.avx512 && !kernel.is_gemm && splits_masks(function);
    function.addFnAttr("target-features", target.processor.features + (split ? ",-avx512bw" : ""));
    if (target.machine.avx512) function.addFnAttr("prefer-vector-width", "512");
  }
  if (lines) lines->finish();
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream)) fault(kernel, "LLVM refuses its IR: " + message);
  return module;
}

bool is_scalar(const kir::Kernel& kernel) {
  return !kernel.is_gemm && std::none_of(kernel.phases.begin(), kernel.phases.end(),
                                         [](const kir::Phase& phase) { return has_vector_code(phase.body); });
}

// Kernels that already are vectors get a few cheap passes; plain scalar loops get what a C compiler would do.
void optimise(llvm::Module& module, bool scalar, llvm::TargetMachine& target, int level) {
  target.setOptLevel(level <= 0 ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
  if (level == 0) return;
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
  if (level == kNoVectors) {
    llvm::ScalarizerPassOptions how;
    how.ScalarizeLoadStore = true;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::ScalarizerPass(how)));
  } else if (scalar) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  } else {
    constexpr const char* kCheap = "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
                                   "loop-mssa(licm<allowspeculation>),early-cse<memssa>,adce)";
    if (auto error = builder.parsePassPipeline(passes, kCheap))
      throw std::logic_error("internal error: pass pipeline: " + llvm::toString(std::move(error)));
  }
  passes.run(module, modules);
}

std::string generate(llvm::Module& module, llvm::TargetMachine& target, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, stream, nullptr, kind, true))
    throw std::logic_error("internal error: LLVM cannot write this kind of file");
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// What the engine needs besides the functions.
CompiledKernel describe_for(const kir::Kernel& kernel, const Machine& machine) {
  CompiledKernel result;
  result.name = kernel.name;
  if (kernel.is_gemm) {
    GemmPlan plan = plan_gemm(kernel, machine.avx512);
    if (plan.has_pack_phase) result.phases.push_back({nullptr, plan.pack_tiles, plan.pack_grain});
    result.phases.push_back({nullptr, plan.tiles, plan.grain});
    if (plan.has_combine_phase) result.phases.push_back({nullptr, plan.combine_tiles, plan.combine_grain});
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

} // namespace

std::string kernel_key(const kir::Kernel& kernel) {
  std::string text = kir::to_text(kernel);
  return text.substr(text.find('\n') + 1); // the names are in the first line
}

std::string symbol_of(const std::string& key) {
  auto hash = llvm::xxh3_128bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(key.data()), key.size()));
  return fmt::format("tl_{:016x}{:016x}", hash.high64, hash.low64);
}

struct Codegen::State {
  CodegenOptions options;
  Processor processor;
  Machine machine;
  std::mutex mutex;
  std::vector<LlvmTarget> idle; // targets are not thread-safe: each compilation borrows one

  LlvmTarget borrow() {
    {
      std::lock_guard lock(mutex);
      if (!idle.empty()) {
        LlvmTarget target = std::move(idle.back());
        idle.pop_back();
        return target;
      }
    }
    return make_target(options);
  }
  void give_back(LlvmTarget target) {
    std::lock_guard lock(mutex);
    idle.push_back(std::move(target));
  }
};

Codegen::Codegen(CodegenOptions options) : state_(std::make_shared<State>()) {
  LlvmGuard guard;
  if (options.triple.empty()) options.triple = llvm::sys::getProcessTriple();
  state_->processor = processor(options);
  state_->machine = machine_of(state_->processor, options);
  state_->options = std::move(options);
}

Codegen::~Codegen() = default;

const std::string& Codegen::cpu() const { return state_->processor.cpu; }
const std::string& Codegen::features() const { return state_->processor.features; }
const std::string& Codegen::triple() const { return state_->options.triple; }
bool Codegen::has_avx512() const { return state_->machine.avx512; }

uint32_t Codegen::needed_features() const {
  if (!is_x86(state_->options)) return 0;
  LlvmGuard guard;
  LlvmTarget target = state_->borrow();
  uint32_t bits = 0;
  for (size_t i = 0; i < std::size(kProcessorFeatures); ++i)
    if (target.target->getMCSubtargetInfo()->checkFeatures("+" + std::string(kProcessorFeatures[i])))
      bits |= uint32_t{1} << i;
  state_->give_back(std::move(target));
  return bits;
}

CompiledKernel Codegen::describe(const kir::Kernel& kernel) const { return describe_for(kernel, state_->machine); }

namespace {

constexpr double kSeconds = 15;    // for a kernel, where TL_COMPILE_SECONDS does not say
constexpr int kMostLeftBehind = 8; // threads that go on in vain; from then on nothing is tried that may take long
std::atomic<int> given_up_kernels{0};

double compile_seconds() {
  const char* text = std::getenv("TL_COMPILE_SECONDS");
  char* end = nullptr;
  const double seconds = text ? std::strtod(text, &end) : 0;
  return text && end != text && *end == 0 && seconds >= 0 ? seconds : kSeconds;
}

// All that LLVM touches for a kernel.
struct Work {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  LlvmTarget target;
  bool scalar = false;

  std::string run(int level, CodeForm form) {
    LlvmGuard guard;
    optimise(*module, scalar, *target.target, level);
    if (form == CodeForm::Llvm) return text_of(*module);
    return generate(*module, *target.target,
                    form == CodeForm::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile);
  }
};

} // namespace

std::string Codegen::compile(const kir::Kernel& kernel, const std::string& symbol, CodeForm form) {
  double seconds = compile_seconds();
  bool lowered = false;
  for (int level : {2, 0, kNoVectors}) {
    if (level > state_->options.level) continue;
    if (level != kNoVectors && left_behind() >= kMostLeftBehind) {
      lowered = true;
      continue;
    }
    auto work = std::make_shared<Work>();
    {
      LlvmGuard guard;
      work->target = state_->borrow();
      work->module = build_module(work->context, kernel, symbol, work->target, state_->options);
      work->scalar = is_scalar(kernel);
    }
    auto run = [state = state_, work, level, form] {
      std::string code = work->run(level, form);
      state->give_back(std::move(work->target));
      return code;
    };
    work.reset(); // it is the thread's
    std::optional<std::string> code = run_bounded(std::move(run), seconds);
    if (code) {
      given_up_kernels += lowered;
      return *std::move(code);
    }
    lowered = true;
    seconds = std::max(seconds, kSeconds);
  }
  fault(kernel, "LLVM takes too long for it, even without vectors");
}

int given_up() { return given_up_kernels; }

std::string Codegen::assemble(const std::string& text) {
  LlvmGuard guard;
  LlvmTarget target = state_->borrow();
  llvm::LLVMContext context;
  llvm::SMDiagnostic wrong;
  auto module = llvm::parseAssemblyString(text, wrong, context);
  if (!module) throw std::logic_error("internal error: LLVM IR: " + wrong.getMessage().str());
  module->setTargetTriple(target.target->getTargetTriple().str());
  module->setDataLayout(target.target->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  target.target->setOptLevel(llvm::CodeGenOptLevel::Default);
  std::string code = generate(*module, *target.target, llvm::CodeGenFileType::ObjectFile);
  state_->give_back(std::move(target));
  return code;
}

} // namespace tl::cpu
