#include "backend/aot/build.h"
#include "abi/plot_op.h"
#include "abi/sort_op.h"
#include "backend/aot/archive.h"
#include "backend/aot/elf_object.h"
#include "backend/aot/link.h"
#include "backend/aot/objects.h"
#include "backend/aot/package.h"
#include "backend/aot/wheel.h"
#include "backend/aot/workshop.h"
#include "backend/kernel/kernel_ops.h"
#include "vm/io/formats.h"
#include "vm/io/io.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

// Object files inside tl (cmake/built.cmake).
// clang-format off
#define TL_EMBEDDED(X) \
  X(runtime) \
  X(without_linalg) X(without_sort_values) X(without_sort_order) X(without_sort_top) X(without_plot) X(without_plot_text) X(without_plot_layers) X(without_readers) X(without_image_readers) X(without_tables) X(without_writers) X(without_png) X(without_jpeg) X(without_refusal)
// clang-format on
extern "C" {
#define X(name) extern const char tl_##name[], tl_##name##_end[];
TL_EMBEDDED(X)
#undef X
}
// Builds with a sanitizer: the shared libraries, each "PATH," that what they make needs.
#ifndef TL_SHARED_RUNTIME
#define TL_SHARED_RUNTIME
#endif

namespace tl {
namespace {

// The shared library that this process uses itself: there is one wherever a program can run.
std::string library_of(const void* function) {
  Dl_info info{};
  if (!::dladdr(function, &info) || !info.dli_fname) throw BuildError("cannot find the C library");
  return info.dli_fname;
}

// Puts a finished file where it was wanted.
void deliver(const std::string& from, const std::string& to, bool executable) {
  const int source = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) throw BuildError(fmt::format("cannot read '{}': {}", from, std::strerror(errno)));
  Undisturbed whole(to);
  try {
    write_file_atomically(to, [&](int file) {
      std::vector<char> buffer(1 << 20);
      for (ssize_t count; (count = ::read(source, buffer.data(), buffer.size())) != 0;) {
        if (count < 0) throw std::system_error(errno, std::generic_category());
        write_bytes(file, buffer.data(), static_cast<size_t>(count));
      }
      struct stat info{};
      if (executable && ::fstat(file, &info) == 0 && S_ISREG(info.st_mode)) // for those who may read it
        (void)!::fchmod(file, (info.st_mode & 07777) | (info.st_mode & 0444) >> 2);
    });
  } catch (...) {
    ::close(source);
    throw;
  }
  ::close(source);
}

// The parts of the VM that a program may do without.
struct Used {
  bool linalg = false, plot = false, readers = false, writers = false, images = false; // images: written
  bool tables = false, image_readers = false;                                          // read, with names; compressed
  bool plot_text = false, plot_layers = false;      // plots without a file, plots other than lines and images
  std::array<bool, std::size(kSortOps)> sorts = {}; // by SortOp
  bool refusal = true;                              // to run on an old processor: ends the process
};

// Could a tensor of this type be a compressed image? It is u8[h, w, c] or u16[h, w, c], c up to 4.
// `text`: the type as its parameter has it, "u8[n, 28, 28]".
bool may_be_image(DType dtype, uint32_t rank, std::string_view text) {
  if ((dtype != DType::U8 && dtype != DType::U16) || rank != 3) return false;
  const size_t last = text.rfind(", ");
  if (last == text.npos || !text.ends_with(']')) return true;
  const std::string_view size = text.substr(last + 2, text.size() - last - 3);
  int64_t number = 0;
  const auto end = std::from_chars(size.data(), size.data() + size.size(), number);
  return end.ec != std::errc() || end.ptr != size.data() + size.size() || number <= 4;
}

bool may_be_image(const std::vector<FileLeaf>& leaves) {
  return std::any_of(leaves.begin(), leaves.end(), [](const FileLeaf& leaf) {
    return leaf.is_list ? may_be_image(leaf.element) : may_be_image(leaf.dtype, leaf.rank, "");
  });
}

void used_by_command_line(const ProgramInterface& interface, Used& used) {
  if (!interface.results.empty()) used.writers = used.images = true; // -o
  for (const ParamInfo& param : interface.params)
    if (param.kind == ParamInfo::Kind::Tensor || param.kind == ParamInfo::Kind::List || !param.leaf.empty()) {
      used.readers = true;
      used.tables = used.tables || !param.leaf.empty();
      const bool list = param.kind == ParamInfo::Kind::List;
      if (list ? may_be_image(param.element) : may_be_image(param.dtype, param.rank, param.type_text))
        used.image_readers = true;
    }
}

void used_by(const Program& program, Used& used) {
  for (const BcFunction& function : program.functions)
    for (const Instruction& i : function.code) {
      if (i.op == BcOp::Linalg) used.linalg = true;
      if (i.op == BcOp::Sort) used.sorts[i.index] = true;
      if (i.op != BcOp::Host) continue;
      switch (i.host_op) {
      case HostOp::Plot:
        used.plot = true;
        if (i.ints[0] == 0) used.plot_text = true;
        if (static_cast<PlotKind>(i.index) == PlotKind::Described) used.plot_layers = true;
        break;
      case HostOp::Save:
        used.writers = true;
        if (i.in.size() <= 3) used.images = true; // a path, names, one tensor or a list; several are no image
        break;
      case HostOp::Load:
        if (may_be_image(i.dtype, static_cast<uint32_t>(i.outputs[0].dims.size()), "")) used.image_readers = true;
        [[fallthrough]];
      case HostOp::Exists:
      case HostOp::ReadText:
        used.readers = true;
        if (i.in.size() > 1 || (i.host_op == HostOp::ReadText && i.index == 1)) used.tables = true;
        break;
      default: break;
      }
    }
}

std::vector<std::pair<std::string, std::string_view>> runtime_for(const Used& used) {
  std::vector<std::pair<std::string, std::string_view>> parts;
  auto add = [&](const char* name, const char* begin, const char* end) {
    parts.emplace_back(std::string(name) + ".o", std::string_view(begin, static_cast<size_t>(end - begin)));
  };
  add("runtime", tl_runtime, tl_runtime_end);
  if (!used.linalg) add("without_linalg", tl_without_linalg, tl_without_linalg_end);
  auto sorts = [&](SortOp op) { return used.sorts[static_cast<size_t>(op)]; };
  if (!sorts(SortOp::Values)) add("without_sort_values", tl_without_sort_values, tl_without_sort_values_end);
  if (!sorts(SortOp::Order)) add("without_sort_order", tl_without_sort_order, tl_without_sort_order_end);
  if (!sorts(SortOp::Top)) add("without_sort_top", tl_without_sort_top, tl_without_sort_top_end);
  if (!used.plot) add("without_plot", tl_without_plot, tl_without_plot_end);
  if (used.plot && !used.plot_text) add("without_plot_text", tl_without_plot_text, tl_without_plot_text_end);
  if (used.plot && !used.plot_layers) add("without_plot_layers", tl_without_plot_layers, tl_without_plot_layers_end);
  if (!used.readers) add("without_readers", tl_without_readers, tl_without_readers_end);
  if (!used.image_readers) add("without_image_readers", tl_without_image_readers, tl_without_image_readers_end);
  if (!used.tables) add("without_tables", tl_without_tables, tl_without_tables_end);
  if (!used.writers) add("without_writers", tl_without_writers, tl_without_writers_end);
  if (!used.images && !used.plot) add("without_png", tl_without_png, tl_without_png_end);
  if (!used.refusal) add("without_refusal", tl_without_refusal, tl_without_refusal_end);
  if (!used.images) add("without_jpeg", tl_without_jpeg, tl_without_jpeg_end);
  return parts;
}

// Adds a program's places to those of others, and lets its kernels' instructions name them there.
void append_lines(BuildProgram& input, std::vector<Location>& lines) {
  const auto first = static_cast<uint32_t>(lines.size());
  auto move = [&](LocId& loc) {
    if (loc.index != 0) loc.index += first;
  };
  for (Location place : input.program.locations) {
    move(place.caller);
    lines.push_back(std::move(place));
  }
  for (kir::Kernel& kernel : input.kernels) {
    move(kernel.loc);
    kir::for_each_instr(kernel, [&](kir::Instr& instr) { move(instr.loc); });
  }
}

// The object files of programs: data, the table of their kernels' functions, the kernels. `file`: all that is known of
// the data beside these.
std::vector<std::string> objects_of(const Workshop& workshop, std::vector<BuildProgram>&& inputs, ProgramFile file,
                                    const BuildOptions& options) {
  std::vector<kir::Kernel> all;
  std::vector<Location> lines; // of all programs
  for (BuildProgram& input : inputs) {
    if (options.symbols) append_lines(input, lines);
    for (BcFunction& function : input.program.functions)
      for (Instruction& i : function.code)
        if (i.op == BcOp::Launch) i.index += static_cast<uint32_t>(all.size());
    std::move(input.kernels.begin(), input.kernels.end(), std::back_inserter(all));
    file.programs.push_back(std::move(input.program));
  }
  for (Program& program : file.programs)
    program.kernel_count = static_cast<uint32_t>(all.size());
  KernelObjects kernels = compile_objects(all, options.target, options.cache.get(), options.symbols ? &lines : nullptr);
  const ElfMachine machine = options.target == "aarch64" ? ElfMachine::AArch64 : ElfMachine::X86_64;
  std::vector<std::string> paths;
  for (size_t i = 0; i < kernels.objects.size(); ++i)
    paths.push_back(workshop.put(fmt::format("kernel{}.o", i), kernels.objects[i]));
  paths.push_back(workshop.put("table.o", elf_table(machine, "tl_kernels", kernels.functions)));
  file.variants = std::move(kernels.variants);
  const std::string bytes = write_program(file);
  paths.push_back(
      workshop.put("program.o", elf_object(machine, bytes, {{"tl_program", 0}, {"tl_program_end", bytes.size()}})));
  return paths;
}

std::vector<BuildProgram> one(BuildProgram program) {
  std::vector<BuildProgram> result;
  result.push_back(std::move(program));
  return result;
}

ProgramFile with(std::vector<ProgramSource> sources) {
  ProgramFile file;
  file.sources = std::move(sources);
  return file;
}

void add_runtime(const Workshop& workshop, const Used& used, LinkJob& job) {
  for (const auto& [name, bytes] : runtime_for(used))
    job.inputs.push_back(workshop.put(name, bytes));
}

void add_system(LinkJob& job) {
  const std::initializer_list<const char*> shared = {TL_SHARED_RUNTIME};
  job.inputs.insert(job.inputs.end(), shared.begin(), shared.end());
  job.inputs.push_back(library_of(reinterpret_cast<const void*>(&::getpid)));
  job.inputs.push_back(library_of(reinterpret_cast<const void*>(static_cast<double (*)(double)>(&std::exp))));
}

void add_dynamic_linker(LinkJob& job) {
  job.inputs.push_back(library_of(::dlsym(RTLD_DEFAULT, "__tls_get_addr"))); // which is there
}

// The extension module of a package; its path.
std::string build_extension(const Workshop& workshop, PackagePrograms&& package, std::vector<ProgramSource>&& sources,
                            const BuildOptions& options) {
  Used used;
  used.refusal = false;
  for (const BuildProgram& program : package.programs)
    used_by(program.program, used);
  LinkJob job;
  job.kind = LinkJob::Kind::SharedLibrary;
  job.is_extension = true;
  job.keep_symbols = options.symbols;
  job.output = workshop.path(kExtensionModule);
  job.exports = {"PyInit__tl"};
  ProgramFile file = with(std::move(sources));
  file.declarations = std::move(package.declarations);
  file.calls = std::move(package.calls);
  job.inputs = objects_of(workshop, std::move(package.programs), std::move(file), options);
  job.inputs.push_back(workshop.put("packaged.o", extension_object()));
  add_runtime(workshop, used, job);
  add_system(job);
  add_dynamic_linker(job);
  link_elf(job);
  return job.output;
}

} // namespace

void build_executable(BuildProgram program, std::vector<ProgramSource> sources, const BuildOptions& options) {
  Workshop workshop;
  LinkJob job;
  job.output = workshop.path("program");
  job.keep_symbols = options.symbols;
  Used used;
  used_by(program.program, used);
  used_by_command_line(program.program.interface, used);
  job.inputs = objects_of(workshop, one(std::move(program)), with(std::move(sources)), options);
  add_runtime(workshop, used, job);
  add_system(job);
  link_elf(job);
  deliver(job.output, options.output, true);
}

void build_object(BuildProgram program, std::vector<ProgramSource> sources, const BuildOptions& options) {
  Workshop workshop;
  LinkJob job;
  job.kind = LinkJob::Kind::Relocatable;
  job.output = workshop.path("program.o.out");
  job.inputs = objects_of(workshop, one(std::move(program)), with(std::move(sources)), options);
  link_elf(job);
  deliver(job.output, options.output, false);
}

void build_library(const Library& library, std::vector<BuildProgram> programs, std::optional<PackagePrograms> package,
                   std::vector<ProgramSource> sources, const BuildOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  if (package) files = package_files(library);
  const std::vector<std::string> exports = exported_symbols(library);
  for (const std::string& symbol : exports)
    if (std::count(exports.begin(), exports.end(), symbol) > 1)
      throw BuildError(fmt::format("two things in C would be called '{}': one must have another name here", symbol));
  Workshop workshop;
  Used used;
  used.refusal = false;
  for (const BuildProgram& program : programs)
    used_by(program.program, used);
  LinkJob job;
  job.keep_symbols = options.symbols;
  job.inputs = objects_of(workshop, std::move(programs), with(sources), options);
  cpu::Codegen codegen(processor_of("baseline"));
  job.inputs.push_back(workshop.put("functions.o", codegen.assemble(c_functions(library))));
  add_runtime(workshop, used, job);

  LinkJob whole = job;
  whole.kind = LinkJob::Kind::Relocatable;
  whole.output = workshop.path("library.o.out");
  link_elf(whole);
  const std::string archive = workshop.path("library.a");
  write_archive(whole.output, archive, library.name + ".o", exports);

  job.kind = LinkJob::Kind::SharedLibrary;
  job.output = workshop.path("library.so");
  job.exports = exports;
  add_system(job);
  add_dynamic_linker(job);
  link_elf(job);

  std::string module;
  if (package) {
    module = build_extension(workshop, std::move(*package), std::move(sources), options);
    if (!options.wheel_version.empty()) {
      const std::filesystem::path folder = std::filesystem::path(options.output).parent_path();
      write_wheel((folder / wheel_name(library, options.wheel_version)).string(), library, options.wheel_version,
                  module);
    }
  }
  deliver(job.output, options.output + ".so", true);
  deliver(archive, options.output + ".a", false);
  write_text(options.output + ".h", c_header(library));
  if (!package) return;
  // A folder, with a wheel too: Python would take OUTPUT.so for OUTPUT.py, but a package goes before both.
  std::error_code error;
  std::filesystem::create_directory(options.output, error);
  if (error)
    throw BuildError(
        fmt::format("cannot make the folder '{}' for the Python package: {}", options.output, error.message()));
  for (const auto& [name, text] : files)
    write_text(options.output + "/" + name, text);
  deliver(module, options.output + "/" + kExtensionModule, true);
}

} // namespace tl
