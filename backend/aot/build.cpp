#include "backend/aot/build.h"
#include "backend/aot/elf_object.h"
#include "backend/aot/link.h"
#include "backend/aot/objects.h"
#include "vm/io/formats.h"
#include "vm/io/io.h"
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

// Object files inside tl (cmake/built.cmake).
#ifndef TL_NO_BUILT_RUNTIME
#define TL_EMBEDDED(X) X(runtime) X(without_linalg) X(without_plot) X(without_readers) X(without_writers)
extern "C" {
#define X(name) extern const char tl_##name[], tl_##name##_end[];
TL_EMBEDDED(X)
#undef X
}
#endif

namespace tl {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw BuildError(fmt::format("{} '{}': {}", what, path, std::strerror(errno)));
}

// A folder for what is linked, gone with this object.
class Workshop {
public:
  Workshop() {
    path_ = (std::filesystem::temp_directory_path() / "tl-build-XXXXXX").string();
    if (!::mkdtemp(path_.data())) fail("cannot make the folder", path_);
  }
  ~Workshop() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Workshop(const Workshop&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }
  std::string put(const std::string& name, std::string_view bytes) const {
    std::string path = this->path(name);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    bool fine = file && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    if (file && std::fclose(file) != 0) fine = false;
    if (!fine) fail("cannot write", path);
    return path;
  }

private:
  std::string path_;
};

// The shared library that this process uses itself: there is one wherever a program can run.
std::string library_of(const void* function) {
  Dl_info info{};
  if (!::dladdr(function, &info) || !info.dli_fname) throw BuildError("cannot find the C library");
  return info.dli_fname;
}

// Puts a finished file where it was wanted.
void deliver(const std::string& from, const std::string& to, bool executable) {
  const int source = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) fail("cannot read", from);
  try {
    write_file_atomically(to, [&](int file) {
      std::vector<char> buffer(1 << 20);
      for (ssize_t count; (count = ::read(source, buffer.data(), buffer.size())) != 0;) {
        if (count < 0) throw std::system_error(errno, std::generic_category());
        write_bytes(file, buffer.data(), static_cast<size_t>(count));
      }
      struct stat info {};
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
  bool linalg = false, plot = false, readers = false, writers = false;
};

Used used_by(const Program& program) {
  Used used;
  used.writers = !program.interface.results.empty(); // -o
  for (const ParamInfo& param : program.interface.params)
    if (param.kind == ParamInfo::Kind::Tensor || !param.leaf.empty()) used.readers = true;
  for (const BcFunction& function : program.functions)
    for (const Instruction& i : function.code) {
      if (i.op == BcOp::Linalg) used.linalg = true;
      if (i.op != BcOp::Host) continue;
      switch (i.host_op) {
      case HostOp::Plot: used.plot = true; break;
      case HostOp::Save: used.writers = true; break;
      case HostOp::Load:
      case HostOp::Exists:
      case HostOp::ReadText: used.readers = true; break;
      default: break;
      }
    }
  return used;
}

std::vector<std::pair<std::string, std::string_view>> runtime_for([[maybe_unused]] const Used& used) {
#ifdef TL_NO_BUILT_RUNTIME
  throw BuildError("this tl was built with a sanitizer, and makes no executables");
#else
  std::vector<std::pair<std::string, std::string_view>> parts;
  auto add = [&](const char* name, const char* begin, const char* end) {
    parts.emplace_back(std::string(name) + ".o", std::string_view(begin, static_cast<size_t>(end - begin)));
  };
  add("runtime", tl_runtime, tl_runtime_end);
  if (!used.linalg) add("without_linalg", tl_without_linalg, tl_without_linalg_end);
  if (!used.plot) add("without_plot", tl_without_plot, tl_without_plot_end);
  if (!used.readers) add("without_readers", tl_without_readers, tl_without_readers_end);
  if (!used.writers) add("without_writers", tl_without_writers, tl_without_writers_end);
  return parts;
#endif
}

// The object files of a program: data, the table of its kernels' functions, the kernels.
std::vector<std::string> objects_of(const Workshop& workshop, BuildProgram&& input,
                                    std::vector<ProgramSource>&& sources, const BuildOptions& options) {
  KernelObjects kernels = compile_objects(input.kernels, options.target, options.cache.get());
  std::vector<std::string> paths;
  for (size_t i = 0; i < kernels.objects.size(); ++i)
    paths.push_back(workshop.put(fmt::format("kernel{}.o", i), kernels.objects[i]));
  paths.push_back(workshop.put("table.o", elf_table("tl_kernels", kernels.functions)));
  ProgramFile file;
  file.program = std::move(input.program);
  file.sources = std::move(sources);
  file.variants = std::move(kernels.variants);
  const std::string bytes = write_program(file);
  paths.push_back(workshop.put("program.o", elf_object(bytes, {{"tl_program", 0}, {"tl_program_end", bytes.size()}})));
  return paths;
}

} // namespace

void build_executable(BuildProgram program, std::vector<ProgramSource> sources, const BuildOptions& options) {
  Workshop workshop;
  const Used used = used_by(program.program);
  LinkJob job;
  job.output = workshop.path("program");
  job.keep_symbols = options.symbols;
  job.inputs = objects_of(workshop, std::move(program), std::move(sources), options);
  for (const auto& [name, bytes] : runtime_for(used))
    job.inputs.push_back(workshop.put(name, bytes));
  job.inputs.push_back(library_of(reinterpret_cast<const void*>(&::getpid)));
  job.inputs.push_back(library_of(reinterpret_cast<const void*>(static_cast<double (*)(double)>(&std::exp))));
  link_elf(job);
  deliver(job.output, options.output, true);
}

void build_object(BuildProgram program, std::vector<ProgramSource> sources, const BuildOptions& options) {
  Workshop workshop;
  LinkJob job;
  job.kind = LinkJob::Kind::Relocatable;
  job.output = workshop.path("program.o.out");
  job.inputs = objects_of(workshop, std::move(program), std::move(sources), options);
  link_elf(job);
  deliver(job.output, options.output, false);
}

} // namespace tl
