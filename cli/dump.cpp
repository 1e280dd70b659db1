// tl dump FILE --stage STAGE: what a stage of the compiler made of the program, as text.
#include "backend/cuda/nvrtc.h"
#include "backend/cuda/print.h"
#include "commands.h"
#include "compile.h"
#include "driver/messages.h"
#include "ir/lower.h"
#include "ir/text.h"
#include "vm/abi/bytecode.h"
#include <fmt/format.h>

namespace tl::cli {
namespace {

struct DumpFlags {
  RunFlags run;
  std::string file, stage = "ir", after, architecture = "sm_90";
  bool after_all = false, list_passes = false;
};

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The graph after lowering, after one pass, after every pass, or at the end.
void dump_graph(ir::Module module, const DumpFlags& flags) {
  if (flags.after == "lower") return print(to_text(module));
  PassOptions options = flags.run.pass_options();
  bool found = flags.after.empty() || flags.after_all;
  if (flags.after_all) fmt::print("# after lower\n{}\n", to_text(module));
  options.hook = [&](std::string_view name, const ir::Module& now) {
    if (flags.after_all) fmt::print("# after {}\n{}\n", name, to_text(now));
    if (name == flags.after) {
      print(to_text(now));
      found = true;
    }
  };
  module = run_passes(std::move(module), options);
  if (!found) throw UsageError(fmt::format("--after {}: no such pass ran; tl dump --passes lists them", flags.after));
  if (flags.after.empty() && !flags.after_all) print(to_text(module));
}

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
  std::optional<ir::Module> lowered = lower_source(frontend, typed);
  if (!lowered) return finish();
  ir::Module module = std::move(*lowered);
  if (flags.stage == "ir") {
    dump_graph(std::move(module), flags);
    return finish();
  }
  module = optimise(std::move(module), flags.run);
  Scheduled scheduled = schedule(module);
  if (flags.stage == "bytecode")
    print(to_text(scheduled.program));
  else
    dump_kernels(kernels_of(module, scheduled), flags);
  return finish();
}

} // namespace

void add_dump(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<DumpFlags>();
  CLI::App* command = app.add_subcommand("dump", "show what a stage of the compiler made of a program");
  command->add_option("FILE", flags->file, "the program; - is standard input");
  command->add_option("--stage", flags->stage, "which stage (default ir)")
      ->check(CLI::IsMember({"tokens", "ast", "typed", "ir", "kernel", "bytecode", "llvm", "asm", "cuda", "ptx"}));
  command->add_option("--after", flags->after, "with --stage ir: the graph after this pass (lower: before all)");
  command->add_flag("--after-all", flags->after_all, "with --stage ir: the graph after every pass");
  command->add_flag("--passes", flags->list_passes, "list the passes");
  flags->run.add_to(*command);
  command->callback([flags, &exit_code] {
    flags->run.finish();
    exit_code = dump(*flags);
  });
}

} // namespace tl::cli
