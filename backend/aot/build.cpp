#include "backend/aot/build.h"
#include "backend/aot/elf_object.h"
#include "backend/aot/link.h"
#include "backend/aot/objects.h"
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

extern "C" {
extern const char tl_runtime_object[], tl_runtime_object_end[];
}

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

// Puts a finished file where it was wanted; the place may be on another file system.
void deliver(const std::string& from, const std::string& to, bool executable) {
  const std::string beside = fmt::format("{}.{}.tmp", to, ::getpid());
  std::error_code error;
  std::filesystem::copy_file(from, beside, std::filesystem::copy_options::overwrite_existing, error);
  if (!error && executable) {
    mode_t mask = ::umask(0);
    ::umask(mask);
    if (::chmod(beside.c_str(), 0777 & ~mask) != 0) error = {errno, std::generic_category()};
  }
  if (!error) std::filesystem::rename(beside, to, error);
  if (error) {
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    throw BuildError(fmt::format("cannot write '{}': {}", to, error.message()));
  }
}

// The object files of a program: data, the table of its kernels' functions, the kernels.
std::vector<std::string> objects_of(const Workshop& workshop, BuildProgram&& input,
                                    std::vector<ProgramSource>&& sources, const std::string& target) {
  KernelObjects kernels = compile_objects(input.kernels, target);
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
  LinkJob job;
  job.output = workshop.path("program");
  job.keep_symbols = options.symbols;
  job.inputs = objects_of(workshop, std::move(program), std::move(sources), options.target);
  job.inputs.push_back(
      workshop.put("runtime.o", {tl_runtime_object, static_cast<size_t>(tl_runtime_object_end - tl_runtime_object)}));
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
  job.inputs = objects_of(workshop, std::move(program), std::move(sources), options.target);
  link_elf(job);
  deliver(job.output, options.output, false);
}

} // namespace tl
