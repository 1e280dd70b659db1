// tl build FILE: an executable, or what is on the way to it.
#include "backend/aot/build.h"
#include "abi/program/bytecode.h"
#include "backend/aot/objects.h"
#include "backend/cpu/codegen.h"
#include "backend/cuda/print.h"
#include "commands.h"
#include "compiler/compile.h"
#include "ir/graph/text.h"
#include "options.h"
#include "package.h"
#include "parser/syntax/names.h"
#include "vm/io/io.h"
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

namespace tl::cli {
namespace {

struct BuildFlags {
  RunFlags compile;
  ImportFlags import;
  BuildOptions build;
  std::string file, emit;
  bool library = false, python = false;
  std::string wheel; // its version, "true": kWheelVersion; empty: none
};

// What `tl build` does now, as a line on stderr that goes again, where that is a terminal.
class StageLine {
public:
  void say(std::string_view stage) {
    if (is_terminal_) write(fmt::format("\r{}\x1b[K", stage));
    shown_ = is_terminal_;
  }
  void clear() {
    if (shown_) write("\r\x1b[K");
    shown_ = false;
  }
  ~StageLine() { clear(); }

private:
  static void write(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }
  const bool is_terminal_ = ::isatty(STDERR_FILENO) != 0;
  bool shown_ = false;
};

// For messages of the program. Those about library code point at the user's own files.
std::vector<ProgramSource> sources_of(const Frontend& frontend) {
  std::vector<ProgramSource> result;
  result.push_back({frontend.name, frontend.text});
  for (uint32_t i = 0; i < frontend.sources.file_count(); ++i) {
    FileId file{i};
    if (file != frontend.file && !is_library_file(frontend.sources.name(file)))
      result.push_back({frontend.sources.name(file), std::string(frontend.sources.text(file))});
  }
  return result;
}

void write_or_print(const std::string& path, const std::string& text) {
  if (!path.empty() && path != "-") return write_text(path, text);
  StandardOutput out;
  out.sink()(text);
  out.flush();
}

std::string kernels_text(const std::vector<kir::Kernel>& kernels, const std::vector<Location>& lines,
                         const BuildFlags& flags) {
  std::string text;
  if (flags.emit == "cuda") {
    for (const kir::Kernel& kernel : kernels)
      text += to_cuda(kernel) + "\n";
    return text;
  }
  cpu::CodegenOptions options = processor_of(flags.build.target);
  if (flags.build.symbols) options.lines = &lines;
  cpu::Codegen codegen(options);
  for (const kir::Kernel& kernel : kernels)
    text +=
        codegen.compile(kernel, kernel.name, flags.emit == "llvm" ? cpu::CodeForm::Llvm : cpu::CodeForm::Assembler) +
        "\n";
  return text;
}

bool is_c_identifier(const std::string& name) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), fits);
}

// The exported functions of a file, in its order.
std::vector<const ast::Function*> exported_functions(const ast::File& file) {
  std::vector<const ast::Function*> result;
  for (const ast::Stmt* statement : file.statements)
    if (const auto* function = ast::as<ast::Function>(statement); function && function->is_export)
      result.push_back(function);
  return result;
}

// Headers in C have names of ASCII: those of an exported function, its parameters, and the structs that cross.
void check_c_names(const ast::Function& function, const ProgramInterface& interface, Diagnostics& diagnostics) {
  auto check = [&](const char* what, const std::string& name, Span where) {
    if (!is_ascii(name))
      diagnostics.error(
          "NotSupported", where,
          fmt::format("{} `{}` would stand in the header of the library, and C has only ASCII there", what, name),
          "give it a name of ASCII's letters, digits and `_`");
  };
  check("the function", function.name.text, function.name.span);
  for (const ast::Param& param : function.params)
    check("the parameter", param.name.text, param.name.span);
  std::set<std::string> records;
  for (const auto& param : interface.params)
    records.insert(param.record);
  for (const auto& result : interface.results)
    records.insert(result.record);
  for (const std::string& record : records)
    check("the struct", record, function.name.span);
}

constexpr const char* kWheelVersion = "0.1.0";

// As Python's versions begin: 1, 1.2.0, 1.2rc1, 1.0.dev3, 1.0+local.
bool is_version(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '+' || c == '!'; });
}

int build_library(BuildFlags& flags) {
  if (!flags.emit.empty()) throw UsageError("--lib makes a library, and --emit something else: choose one of them");
  std::string name = std::filesystem::path(flags.build.output).filename().string();
  if (name.ends_with(".so") || name.ends_with(".a") || name.ends_with(".h"))
    throw UsageError(
        fmt::format("-o {}: give the name without its ending, for all the files of the library", flags.build.output));
  if (flags.wheel == "true") flags.wheel = kWheelVersion;
  if (!flags.wheel.empty() && !is_version(flags.wheel))
    throw UsageError(fmt::format("--wheel {}: that is no version for Python; write one as 1.2.0", flags.wheel));
  flags.build.wheel_version = flags.wheel;
  if (!is_c_identifier(name))
    throw UsageError(fmt::format("-o {}: '{}' is no name for C: letters, digits and _", flags.build.output, name));
  Frontend whole; // as a program: all that is wrong with it, and what it exports
  if (!read_source_or_model(whole, flags.file, flags.import, flags.compile)) return kRejected;
  check_source(whole);
  show(whole.diagnostics, whole.sources);
  if (whole.diagnostics.has_errors()) return kRejected;
  const std::vector<const ast::Function*> exported = exported_functions(whole.tree);
  if (exported.empty())
    throw UsageError(fmt::format("{}: --lib needs a function with `export` before its `fn`", flags.file));
  Library library{name, whole.tree.doc, {}};
  std::vector<BuildProgram> programs;
  for (const ast::Function* function : exported) {
    Frontend frontend;
    frontend.name = whole.name;
    frontend.text = whole.text;
    std::optional<BuildProgram> program = exported_program(frontend, function->name.text, flags.compile);
    if (!program) {
      show(frontend.diagnostics, frontend.sources);
      return kRejected;
    }
    const ProgramInterface& interface = program->program.interface;
    check_c_names(*function, interface, whole.diagnostics);
    if (whole.diagnostics.has_errors()) {
      show(whole.diagnostics, whole.sources);
      return kRejected;
    }
    library.functions.push_back({function->name.text, interface.doc, interface});
    programs.push_back(std::move(*program));
  }
  std::optional<PackagePrograms> package;
  if (flags.python || !flags.wheel.empty()) {
    package = package_of(whole, exported, flags.compile);
    if (!package) return kRejected;
  }
  StageLine stage;
  stage.say(fmt::format("compiling {} function{}, and linking", programs.size(), programs.size() == 1 ? "" : "s"));
  build_library(library, std::move(programs), std::move(package), sources_of(whole), flags.build);
  return kFine;
}

int build(BuildFlags& flags) {
  if (!processor_of(flags.build.target).triple.empty() && (flags.library || flags.emit.empty()))
    throw UsageError(fmt::format("--target {}: executables and libraries are for x86-64 alone; an object file "
                                 "(--emit obj) or a text (--emit asm, --emit llvm) can be made",
                                 flags.build.target));
  if (!flags.emit.empty() && flags.emit != "obj" && flags.build.output.empty()) flags.build.output = "-";
  if (flags.build.output.empty()) {
    if (flags.file == "-") throw UsageError("build needs -o OUT for a program from standard input");
    flags.build.output = std::filesystem::path(flags.file).stem().string() + (flags.emit == "obj" ? ".o" : "");
  }
  if (flags.library) return build_library(flags);
  if (!flags.wheel.empty()) throw UsageError("--wheel writes the Python package of a library: --lib --wheel");
  if (flags.python) throw UsageError("--python writes a module beside a library: --lib --python");
  if (flags.build.output == "-" && (flags.emit.empty() || flags.emit == "obj"))
    throw UsageError(
        "-o -: that is for texts; -o /dev/stdout writes an executable or an object file to standard output");
  std::error_code ignored;
  if (std::filesystem::is_directory(flags.build.output, ignored))
    throw UsageError(fmt::format("-o {}: that is a folder", flags.build.output));
  if (std::filesystem::equivalent(flags.build.output, flags.file, ignored))
    throw UsageError(fmt::format("-o {}: that is the program itself; choose another name", flags.build.output));

  StageLine stage;
  stage.say("checking");
  Frontend frontend;
  if (!read_source_or_model(frontend, flags.file, flags.import, flags.compile)) return kRejected;
  typed::Program typed = check_source(frontend);
  std::optional<ir::Module> module;
  if (!frontend.diagnostics.has_errors()) module = lower_source(frontend, typed, flags.compile);
  stage.clear();
  show(frontend.diagnostics, frontend.sources);
  if (!module) return kRejected;
  stage.say("optimizing");
  module = optimise(std::move(*module), flags.compile);
  if (flags.emit == "ir" || flags.emit == "bytecode") stage.clear();
  if (flags.emit == "ir") {
    write_or_print(flags.build.output, to_text(*module));
    return kFine;
  }
  Scheduled scheduled = schedule(*module);
  if (flags.emit == "bytecode") {
    write_or_print(flags.build.output, to_text(scheduled.program));
    return kFine;
  }
  BuildProgram program{std::move(scheduled.program),
                       kernels_of(*module, scheduled, flags.emit == "cuda" ? Target::Gpu : Target::Cpu)};
  if (flags.emit == "obj" || flags.emit.empty())
    stage.say(fmt::format("compiling {} kernel{}, and linking", program.kernels.size(),
                          program.kernels.size() == 1 ? "" : "s"));
  else
    stage.clear();
  if (flags.emit == "obj")
    build_object(std::move(program), sources_of(frontend), flags.build);
  else if (flags.emit.empty())
    build_executable(std::move(program), sources_of(frontend), flags.build);
  else
    write_or_print(flags.build.output, kernels_text(program.kernels, program.program.locations, flags));
  return kFine;
}

} // namespace

void add_build(Command app, int& exit_code) {
  auto flags = std::make_shared<BuildFlags>();
  Command command = app.add_command("build", "compile a program to an executable that needs neither tl nor LLVM");
  command.add_option("FILE", flags->file, "the program; - is standard input").required();
  command.add_option("-o", flags->build.output, "what to write (default: the program's name without .tl)");
  command.add_option("--emit", flags->emit, "instead of an executable: an object file, or a text")
      .one_of({"obj", "llvm", "asm", "cuda", "ir", "bytecode"});
  command.add_option(
      "--target", flags->build.target,
      "the processor: baseline (default: x86-64-v3, and AVX-512 where there is), native, or LLVM's name");
  command.add_flag("--lib", flags->library,
                   "a library of the `export fn`s instead: OUT.so, OUT.a and OUT.h, with a C function for each");
  command.add_flag("--python", flags->python,
                   "with --lib: the folder OUT beside it, a Python package of the same functions");
  command.add_flag("--wheel", flags->wheel,
                   "with --lib: that folder, and the package as a file for pip beside it, OUT-VERSION-cp39-abi3-….whl; "
                   "--wheel=VERSION (default: 0.1.0)");
  command.add_flag("-g", flags->build.symbols, "keep symbols and lines for debuggers and profilers");
  add_model_options(command, flags->import);
  add_compiling_options(command, flags->compile);
  command.on_chosen([flags, &exit_code] {
    flags->compile.finish();
    flags->build.cache = flags->compile.disk_cache();
    try {
      exit_code = build(*flags);
    } catch (const IoError& error) {
      show(error.kind, error.what());
      exit_code = kUsage;
    } catch (const cpu::UnknownProcessor& error) {
      throw UsageError(fmt::format("--target {}: {}", flags->build.target, error.what()));
    } catch (const BuildError& error) {
      show("BuildError", error.what());
      exit_code = kUsage;
    }
  });
}

} // namespace tl::cli
