// tl check FILE…: all errors of the files, without running them; with --memory what each would need.
#include "abi/visible.h"
#include "backend/cpu/jit.h"
#include "commands.h"
#include "compiler/compile.h"
#include "compiler/programs.h"
#include "driver/arguments.h"
#include "driver/messages.h"
#include "options.h"
#include "passes/memory/peak_memory.h"
#include "vm/devices.h"
#include "vm/vm.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tl::cli {
namespace {

struct MemoryFlags {
  ImportFlags import;
  RunFlags compile; // how `tl run` would compile it
  std::string sizes;
  bool wanted = false;
};

// "n=1000,steps=10": sizes of parameters, and scalar parameters, by name. Throws UsageError.
std::map<std::string, Scalar> parse_sizes(const std::string& text, const ProgramInterface& interface,
                                          const std::vector<std::vector<std::string>>& axes) {
  std::map<std::string, DType> known;
  std::vector<std::string> names;
  auto add = [&](const std::string& name, DType type) {
    if (known.emplace(name, type).second) names.push_back(name);
  };
  for (size_t k = 0; k < axes.size(); ++k) {
    for (const std::string& axis : axes[k])
      if (axis.find(' ') == std::string::npos) add(axis, DType::I64);
    if (interface.params[k].kind == ParamInfo::Kind::Scalar) add(interface.params[k].name, interface.params[k].dtype);
  }
  std::map<std::string, Scalar> values;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    std::string item = text.substr(at, end - at);
    at = end + 1;
    size_t equals = item.find('=');
    if (equals == std::string::npos)
      throw UsageError(fmt::format("--memory={}: write sizes as in --memory=n=1000,m=20", text));
    std::string name = item.substr(0, equals);
    auto found = known.find(name);
    if (found == known.end())
      throw UsageError(names.empty() ? fmt::format("--memory={}: this program takes no sizes", text)
                                     : fmt::format("--memory={}: there is no size '{}'; those of this program are {}",
                                                   text, name, fmt::join(names, ", ")));
    Scalar value = parse_scalar(found->second, name, item.substr(equals + 1));
    bool is_scalar = std::any_of(interface.params.begin(), interface.params.end(), [&](const ParamInfo& p) {
      return p.name == name && p.kind == ParamInfo::Kind::Scalar;
    });
    if (!is_scalar && value.as<int64_t>() < 0)
      throw UsageError(fmt::format("--memory={}: a size is not negative", text));
    values[name] = value;
  }
  return values;
}

void show_memory(Frontend& frontend, const typed::Program& typed, ir::Module module, const MemoryFlags& flags) {
  PeakQuery query;
  for (const typed::EntryParam& entry : typed.entry_params) {
    query.axis_names.emplace_back();
    for (const Size& size : typed.variables[entry.var.index].type.shape)
      query.axis_names.back().push_back(typed.atoms.to_string(size));
  }
  query.values = parse_sizes(flags.sizes, module.interface, query.axis_names);
  module = optimise(std::move(module), flags.compile);
  Scheduled scheduled = schedule(module);
  for (WorkspaceFormulas& formulas : workspaces_of(kernels_of(module, scheduled)))
    query.workspaces.push_back({std::move(formulas.shared_bytes), std::move(formulas.local_bytes)});
  query.block_bytes = Pool::class_bytes;
  const Devices devices(flags.compile.run.cpu_devices, 0, false);
  for (int d = 0; d < devices.count(); ++d)
    query.threads.push_back(devices.cores(d, flags.compile.run.threads > 0 ? flags.compile.run.threads : cores()));
  PeakMemory peak = peak_memory(scheduled.program, query);
  const std::string text = to_text(peak, [&](LocId loc) -> std::string {
    Span span = place_of(loc, scheduled.program.locations, frontend.sources, frontend.file);
    if (!span.valid()) return "";
    return fmt::format("{}:{}", frontend.sources.name(span.file), frontend.sources.line_column(span).line);
  });
  fmt::print("{}: {}", visible(frontend.name), visible_lines(text));
}

Diagnostics errors_of(const Diagnostics& all) {
  Diagnostics errors;
  for (const Diagnostic& diagnostic : all.sorted())
    if (diagnostic.severity == Severity::Error) errors.report(diagnostic);
  return errors;
}

} // namespace

void add_check(Command app, int& exit_code) {
  struct State {
    std::vector<std::string> files;
    MemoryFlags memory;
    std::string warnings = "on";
  };
  auto state = std::make_shared<State>();
  Command command = app.add_command("check", "report every error of the files");
  command.add_option("FILE", state->files, "programs and folders of them; - is standard input").required();
  command.add_option("--warnings", state->warnings, "show warnings (default: on); error: they count as errors")
      .one_of({"on", "off", "error"});
  Option memory = command.add_flag("--memory", state->memory.sizes,
                                   "show how much memory each program needs, as formulas in its sizes; "
                                   "--memory=n=1000,m=20 with these sizes put in");
  for (const char* name : {"threads", "cpu-devices"}) // of the run that --memory is about
    add_run_flag(command, *find_run_flag(name), state->memory.compile);
  add_model_options(command, state->memory.import);
  add_const_seconds(command, state->memory.compile);
  add_message_format(command);
  command.on_chosen([state, memory, &exit_code] {
    state->memory.wanted = memory.given();
    if (state->memory.sizes == "true") state->memory.sizes.clear(); // as CLI11 says that no value was given
    for (const std::string& path : programs_under(state->files)) {
      Frontend frontend;
      if (!read_source_or_model(frontend, path, state->memory.import, state->memory.compile)) {
        exit_code = kRejected;
        continue;
      }
      typed::Program program = check_source(frontend, true);
      std::optional<ir::Module> module;
      if (state->warnings != "off" && !is_model(path)) add_warnings(frontend, program);
      if (program.ok) module = lower_source(frontend, program, state->memory.compile);
      if (module && state->warnings != "off" && !is_model(path))
        add_warnings_of_loops(*module, frontend.sources, frontend.file, state->memory.compile.pass_options(),
                              frontend.diagnostics);
      const Diagnostics shown = state->warnings == "off" ? errors_of(frontend.diagnostics) : frontend.diagnostics;
      show(shown, frontend.sources);
      if (frontend.diagnostics.has_errors() || (state->warnings == "error" && !shown.empty()))
        exit_code = kRejected;
      else if (state->memory.wanted && module)
        show_memory(frontend, program, std::move(*module), state->memory);
    }
  });
}

} // namespace tl::cli
