#include "compiler/compile.h"
#include "backend/cpu/codegen.h"
#include "backend/cuda/provider.h"
#include "backend/kernel/lower.h"
#include "compiler/constants.h"
#include "compiler/library.h"
#include "driver/messages.h"
#include "ir/graph/verify.h"
#include "ir/lower/lower.h"

#include "compiler/programs.h"
#include "parser/check/check.h"
#include "parser/index/index.h"
#include "parser/lint/lint.h"
#include "passes/derive/derive.h"
#include "passes/devices.h"
#include "passes/fuse/slow_loops.h"
#include "passes/pipeline.h"
#include "passes/schedule/schedule.h"
#include "vm/gpu/card/card.h"
#include "vm/gpu/libraries.h"
#include "vm/io/access.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace tl::compiler {
namespace {

constexpr int kAheadThreads = 2; // compile kernels while the program already runs

typed::Program check_against(Frontend& frontend, bool whole_library, bool for_check, const std::string& exported) {
  typed::Program none;
  none.ok = false;
  frontend.tree = parse(frontend.sources, frontend.file, frontend.diagnostics);
  if (frontend.diagnostics.has_errors()) return none;
  Library library(frontend.sources, whole_library);
  ImportReader reader = import_reader(library);
  if (frontend.held)
    reader.file = [&, from_disk = reader.file](const std::string& path, std::string& problem) {
      if (auto it = frontend.held->find(path); it != frontend.held->end()) return std::optional(it->second);
      std::optional<std::string> text = from_disk(path, problem);
      if (text) frontend.imported[path] = *text;
      return text;
    };
  load_imports(frontend.sources, frontend.tree, frontend.diagnostics, reader, frontend.imports);
  FileId prelude = frontend.sources.add(library_file_name(kPrelude), library.module(kPrelude).value());
  frontend.prelude = parse(frontend.sources, prelude, frontend.diagnostics, {.is_library = true});
  if (frontend.diagnostics.has_errors()) return none;
  CheckOptions options = check_options(frontend.imports);
  options.missing_file_is_warning = for_check;
  options.exported = exported;
  if (for_check) options.types = &frontend.types;
  options.is_called = frontend.is_called;
  return check(frontend.tree, frontend.prelude, frontend.sources, frontend.diagnostics, options);
}

} // namespace

void Frontend::restart() {
  sources = {};
  diagnostics = {};
  tree = {};
  prelude = {};
  imports = {};
  types = {};
  file = sources.add(name, text);
}

void read_source(Frontend& frontend, const std::string& path, const std::string* code) {
  const NamedByUser by_user;
  frontend.text = code ? *code : read_program(path);
  frontend.name = path == "-" ? "<stdin>" : path;
  frontend.restart();
}

bool read_source_or_model(Frontend& frontend, const std::string& path, const ImportFlags& import,
                          const RunFlags& flags) {
  std::optional<std::string> text;
  if (is_model(path)) {
    text = program_of_model(path, import, flags);
    if (!text) return false;
  } else if (!import.dims.empty() || !import.inputs.empty()) {
    throw UsageError(fmt::format("{}: --dim and --input are for ONNX models", path));
  }
  read_source(frontend, path, text ? &*text : nullptr);
  return true;
}

typed::Program check_source(Frontend& frontend, bool for_check, const std::string& exported) {
  typed::Program program = check_against(frontend, false, for_check, exported);
  if (program.ok) return program;
  // Suggestions come from the whole library.
  frontend.restart();
  return check_against(frontend, true, for_check, exported);
}

void add_warnings(Frontend& frontend, const typed::Program& program) {
  if (!program.ok || frontend.diagnostics.has_errors()) return;
  std::map<const ast::File*, std::vector<Symbol>> outlines;
  const auto outline_of = [&](const ast::File& file) -> const std::vector<Symbol>& {
    const auto [it, is_new] = outlines.try_emplace(&file);
    if (is_new) it->second = outline(file);
    return it->second;
  };
  const Index names = index(frontend.tree, {frontend.types, program, frontend.imports, outline_of, frontend.prelude});
  lint::warn({frontend.tree, names, frontend.types, frontend.imports, frontend.prelude}, frontend.diagnostics);
}

std::optional<ir::Module> expand_lowered(const std::function<ir::Module()>& lower, const SourceManager& sources,
                                         FileId main, Diagnostics& diagnostics, const PassOptions& options) {
  auto reject = [&](const RuntimeError& error, const std::vector<Location>& locations) {
    Diagnostic d = diagnostic_of(error, locations, sources, main);
    diagnostics.error(d.kind, d.span, d.message, d.hint, d.labels);
  };
  try {
    return expand_transforms(lower(), options);
  } catch (const ir::Unsupported& reason) {
    diagnostics.error("NotSupported", reason.span, reason.what(), reason.hint);
  } catch (const NotDifferentiable& reason) {
    reject({"NotDifferentiable", reason.what(), "", reason.loc, kRejected, {}}, reason.locations);
  } catch (const MixedDevices& reason) {
    reject({"DeviceMismatch", reason.what(), reason.hint, reason.loc, kRejected, {}}, reason.locations);
  }
  return std::nullopt;
}

std::optional<ir::Module> lower_source(Frontend& frontend, const typed::Program& program, const RunFlags& flags,
                                       const PassHook& hook) {
  const auto constants = compute_constants(program, frontend.sources, frontend.file, frontend.diagnostics, flags);
  if (!constants) return std::nullopt;
  PassOptions options = flags.pass_options();
  options.hook = hook;
  return expand_lowered([&] { return ir::lower(program, frontend.sources, flags.device_number(), *constants); },
                        frontend.sources, frontend.file, frontend.diagnostics, options);
}

std::optional<std::vector<LoweredTest>> lower_tests(Frontend& frontend, const typed::Program& program,
                                                    const RunFlags& flags) {
  const auto constants = compute_constants(program, frontend.sources, frontend.file, frontend.diagnostics, flags);
  if (!constants) return std::nullopt;
  auto expand = [&](const std::function<ir::Module()>& lower) {
    return expand_lowered(lower, frontend.sources, frontend.file, frontend.diagnostics, flags.pass_options());
  };
  std::optional<ir::Module> all;
  auto lower = [&] { return all.emplace(ir::lower(program, frontend.sources, flags.device_number(), *constants)); };
  if (!expand(lower)) return std::nullopt;
  std::vector<LoweredTest> result;
  for (const ir::TestEntry& test : ir::tests(*all)) { // each by itself: expanding keeps what the entry calls
    std::optional<ir::Module> module = expand([&] { return ir::with_entry(*all, test); });
    if (!module) return std::nullopt;
    result.push_back({test.name, std::move(*module)});
  }
  return result;
}

// What keeps a loop from native code, as a user knows it, and what to do about it.
static std::pair<std::string_view, std::string_view> hindrance(ir::Op op) {
  constexpr std::string_view kOutside = "put the turns between into an inner loop, which is native code";
  constexpr std::string_view kElements = "write out its few steps by elements, or let each turn do more";
  switch (op) {
  case ir::Op::Print: return {"`print`", kOutside};
  case ir::Op::Assert:
    return {"an assertion that shows more than two integers", "let its message show at most two integers"};
  case ir::Op::Scan: return {"a running sum or the like", kElements};
  case ir::Op::Sort: return {"sorting", kElements};
  case ir::Op::Scatter: return {"a scatter", kElements};
  case ir::Op::Linalg: return {"a decomposition", kElements};
  default: return {"an effect", kOutside};
  }
}

void add_warnings_of_loops(const ir::Module& module, const SourceManager& sources, FileId main,
                           const PassOptions& options, Diagnostics& diagnostics) {
  const ir::Module tried = run_passes(module, options, "batches");
  for (const SlowLoop& loop : slow_loops(tried)) {
    const Span span = place_of(loop.loc, tried.locations, sources, main);
    if (!span.valid() || is_library_file(tried.locations[loop.loc.index].file)) continue;
    std::vector<Label> labels;
    bool is_written = true; // a check of sizes is an Assert, too
    for (const SlowLoop::Hindrance& one : loop.hindrances) {
      const Span at = place_of(one.loc, tried.locations, sources, main);
      is_written = is_written && at.valid() && (one.op != ir::Op::Assert || sources.text(at).starts_with("assert"));
      if (at.valid()) labels.push_back({at, ""});
    }
    if (!is_written) continue;
    const auto [what, hint] = hindrance(loop.hindrances.front().op);
    diagnostics.warning("SlowLoop", span,
                        fmt::format("{} keeps this loop from native code: each turn is issued step by step", what),
                        std::string(hint), std::move(labels));
  }
}

ir::Module optimise(ir::Module module, const RunFlags& flags) {
  module = run_passes(std::move(module), flags.pass_options());
  if (flags.time_passes)
    for (const auto& [name, seconds] : flags.times)
      fmt::print(stderr, "{:<12} {:8.3f} ms\n", name, seconds * 1e3);
  flags.times.clear();
  return module;
}

// Only then is a library for products worth looking for.
static bool multiplies(const ir::Module& module, const Scheduled& scheduled) {
  return std::any_of(scheduled.kernels.begin(), scheduled.kernels.end(), [&](const KernelRef& ref) {
    return module.functions[ref.function][ref.node].as<ir::KernelAttrs>().kind == ir::KernelKind::Contract;
  });
}

Executable make_executable(const ir::Module& module, const RunFlags& flags) {
  Scheduled scheduled = schedule(module);
  JitOptions options;
  options.ahead_threads = kAheadThreads;
  options.cache = flags.disk_cache();
  std::unique_ptr<KernelProvider> provider;
  try {
    provider = make_jit(kernels_of(module, scheduled), options);
  } catch (const cpu::UnknownProcessor& error) {
    throw UsageError(fmt::format("TL_CPU: {}", error.what()));
  }
  if (!flags.run.cards.empty()) {
    const bool library = multiplies(module, scheduled) && !flags.exact_products && cuda::cublas().ok;
    std::vector<std::string> architectures;
    for (const auto& card : flags.run.cards)
      architectures.push_back(card->facts().architecture);
    GpuCompileOptions on_cards{common_architecture(architectures), options.cache, cores(), library, flags.tf32};
    provider = with_gpu_kernels(
        std::move(provider), kernels_of(module, scheduled, library ? Target::GpuWithLibrary : Target::Gpu), on_cards);
  }
  return {std::move(scheduled.program), std::move(provider), options.cache};
}

std::vector<kir::Kernel> kernels_of(const ir::Module& module, const Scheduled& scheduled, Target target) {
  std::vector<kir::Kernel> kernels;
  for (const KernelRef& ref : scheduled.kernels)
    kernels.push_back(lower_kernel(module, module.functions[ref.function], ref.node, target));
  return kernels;
}

std::string cache_text(const DiskCache* cache) {
  std::string given_up;
  if (const int count = cpu::given_up())
    given_up = fmt::format("compiled plainly  {} (LLVM took too long for all optimisations)\n", count);
  if (!cache) return given_up + "kernels from disk 0 (no cache)\n";
  std::string problem = cache->problem();
  return given_up + fmt::format("kernels from disk {} of {}, {} stored\n{}", cache->hits(),
                                cache->hits() + cache->misses(), cache->stored(),
                                problem.empty() ? "" : fmt::format("disk cache        {}\n", problem));
}

} // namespace tl::compiler
