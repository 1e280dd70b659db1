// tl dump FILE --stage STAGE: what a stage of the compiler made of the program, as text.
#include "abi/program/bytecode.h"
#include "backend/cuda/nvrtc.h"
#include "backend/cuda/print.h"
#include "commands.h"
#include "compiler/compile.h"
#include "driver/messages.h"
#include "ir/graph/text.h"
#include "ir/lower/lower.h"
#include "options.h"
#include <charconv>
#include <fmt/format.h>

namespace tl::cli {
namespace {

struct DumpFlags {
  RunFlags run;
  std::string file, stage = "ir", after, architecture = "sm_90";
  bool after_all = false, list_passes = false;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Prints the graph as lowered, after one run of a pass (`cse`, or `cse:3` for its third run), after every pass, or at
// the end.
class GraphDump {
public:
  explicit GraphDump(const DumpFlags& flags) : flags_(flags), name_(flags.after) {
    const size_t colon = name_.find(':');
    if (colon == std::string::npos) return;
    const std::string_view number = std::string_view(flags_.after).substr(colon + 1);
    const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), left_);
    if (problem != std::errc() || end != number.data() + number.size() || left_ < 1)
      throw UsageError(
          fmt::format("--after {}: the number after the colon says which of its runs is meant", flags_.after));
    name_.resize(colon);
  }

  void after(std::string_view name, const ir::Module& now) {
    if (flags_.after_all) fmt::print("# after {}\n{}\n", name, to_text(now));
    if (name != name_ || --left_ != 0) return;
    print(to_text(now));
    found_ = true;
  }
  PassHook hook() {
    return [&](std::string_view name, const ir::Module& now) { after(name, now); };
  }
  bool done() const { return found_ && !flags_.after_all; }

  void finish(ir::Module module) {
    if (done()) return;
    PassOptions options = flags_.run.pass_options();
    options.hook = hook();
    module = run_passes(std::move(module), options);
    if (!found_ && !name_.empty() && !flags_.after_all)
      throw UsageError(fmt::format("--after {}: no such pass ran so often; tl dump --passes lists them", flags_.after));
    if (name_.empty() && !flags_.after_all) print(to_text(module));
  }

private:
  const DumpFlags& flags_;
  std::string name_;
  int left_ = 1; // runs of the pass up to the one that is shown
  bool found_ = false;
};

void dump_kernels(const std::vector<kir::Kernel>& kernels, const DumpFlags& flags) {
  for (const kir::Kernel& kernel : kernels) {
    if (flags.stage == "kernel")
      print(kir::to_text(kernel) + "\n");
    else if (flags.stage == "llvm")
      print(to_llvm(kernel) + "\n");
    else if (flags.stage == "asm")
      print(to_asm(kernel) + "\n");
    else if (flags.stage == "cuda")
      print(to_cuda(kernel) + "\n");
    else {
      std::string why;
      if (!nvrtc_available(&why)) throw UsageError("--stage ptx needs NVRTC: " + why);
      NvrtcResult result = nvrtc_compile(to_cuda(kernel), kernel.name, "compute_90");
      if (!result.ok) throw std::runtime_error("NVRTC refused " + kernel.name + ":\n" + result.log);
      print(std::string(result.code.begin(), result.code.end()) + "\n");
    }
  }
}

int dump(const DumpFlags& flags) {
  if (flags.list_passes) {
    for (const PassInfo& pass : passes())
      fmt::print("{:<12} {}\n", pass.name, pass.doc);
    return kFine;
  }
  if (flags.file.empty()) throw UsageError("dump needs a file");
  Frontend frontend;
  read_source(frontend, flags.file);
  auto finish = [&] {
    show(frontend.diagnostics, frontend.sources);
    return frontend.diagnostics.has_errors() ? kRejected : kFine;
  };
  if (flags.stage == "tokens") {
    print(dump_tokens(frontend.sources, frontend.file, frontend.diagnostics));
    return finish();
  }
  if (flags.stage == "ast") {
    frontend.tree = parse(frontend.sources, frontend.file, frontend.diagnostics);
    print(ast::to_text(frontend.tree));
    return finish();
  }
  typed::Program typed = check_source(frontend);
  if (frontend.diagnostics.has_errors()) return finish();
  if (flags.stage == "typed") {
    print(typed::to_text(typed));
    return finish();
  }
  if (flags.stage == "ir") {
    GraphDump graph(flags);
    std::optional<ir::Module> lowered = lower_source(frontend, typed, flags.run, graph.hook());
    if (lowered) graph.finish(std::move(*lowered));
    return finish();
  }
  std::optional<ir::Module> lowered = lower_source(frontend, typed, flags.run);
  if (!lowered) return finish();
  ir::Module module = std::move(*lowered);
  module = optimise(std::move(module), flags.run);
  Scheduled scheduled = schedule(module);
  if (flags.stage == "bytecode")
    print(to_text(scheduled.program));
  else
    dump_kernels(
        kernels_of(module, scheduled, flags.stage == "cuda" || flags.stage == "ptx" ? Target::Gpu : Target::Cpu),
        flags);
  return finish();
}

} // namespace

void add_dump(Command app, int& exit_code) {
  auto flags = std::make_shared<DumpFlags>();
  Command command = app.add_command("dump", "show what a stage of the compiler made of a program");
  command.add_option("FILE", flags->file, "the program; - is standard input");
  command.add_option("--stage", flags->stage, "which stage (default ir)")
      .one_of({"tokens", "ast", "typed", "ir", "kernel", "bytecode", "llvm", "asm", "cuda", "ptx"});
  command.add_option("--after", flags->after,
                     "with --stage ir: the graph after this pass (lower: before all; cse:2: after its second run)");
  command.add_flag("--after-all", flags->after_all, "with --stage ir: the graph after every pass");
  command.add_flag("--passes", flags->list_passes, "list the passes");
  add_run_options(command, flags->run);
  command.on_chosen([flags, &exit_code] {
    flags->run.finish();
    exit_code = dump(*flags);
  });
}

} // namespace tl::cli
