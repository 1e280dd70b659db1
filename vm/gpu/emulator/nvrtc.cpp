#include "vm/gpu/emulator/nvrtc.h"
#include "vm/gpu/emulator/compile.h"
#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

namespace tl::cuda {

struct OpaqueNvrtcProgram {
  std::string text;
  std::string log, image, ptx;
};

} // namespace tl::cuda

namespace tl::emulator {
namespace {

using cuda::NvrtcProgram;

enum : int { kSuccess = 0, kInvalidInput = 3, kInvalidProgram = 4, kCompilation = 6 };  // nvrtcResult
constexpr int kArchitectures[] = {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}; // of NVRTC 13

std::mutex lock;
CompileOptions compiling;

namespace table { // by the names of TL_NVRTC_FUNCTIONS

int version(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return kSuccess;
}

int architecture_count(int* count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return kSuccess;
}

int architectures(int* list) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), list);
  return kSuccess;
}

int create(NvrtcProgram* program, const char* source, const char*, int headers, const char* const*,
           const char* const*) {
  if (!program || !source || headers != 0) return kInvalidInput; // tl's texts include nothing
  *program = new cuda::OpaqueNvrtcProgram;
  (*program)->text = source;
  return kSuccess;
}

int compile(NvrtcProgram program, int count, const char* const* options) {
  if (!program) return kInvalidProgram;
  CompileOptions how;
  {
    std::lock_guard held(lock);
    how = compiling;
  }
  // For a virtual architecture, NVRTC makes PTX and no cubin; nobody can run that here.
  bool ptx = false;
  for (int i = 0; i < count; ++i)
    ptx |= std::string_view(options[i]).find("arch=compute_") != std::string_view::npos;
  Compiled made = emulator::compile(program->text, how);
  program->log = made.log;
  program->image = made.ok && !ptx ? made.image : "";
  program->ptx = made.ok && ptx ? "// tl's emulated card has no PTX\n" : "";
  return made.ok ? kSuccess : kCompilation;
}

int destroy(NvrtcProgram* program) {
  if (!program || !*program) return kInvalidProgram;
  delete *program;
  *program = nullptr;
  return kSuccess;
}

// Texts count their final zero, cubins have none.
template <std::string cuda::OpaqueNvrtcProgram::* Text, int Zero> int size_of(NvrtcProgram program, size_t* bytes) {
  if (!program) return kInvalidProgram;
  *bytes = (program->*Text).size() + Zero;
  return kSuccess;
}
template <std::string cuda::OpaqueNvrtcProgram::* Text, int Zero> int copy_of(NvrtcProgram program, char* to) {
  if (!program) return kInvalidProgram;
  std::memcpy(to, (program->*Text).c_str(), (program->*Text).size() + Zero);
  return kSuccess;
}
constexpr auto log_size = size_of<&cuda::OpaqueNvrtcProgram::log, 1>;
constexpr auto log = copy_of<&cuda::OpaqueNvrtcProgram::log, 1>;
constexpr auto cubin_size = size_of<&cuda::OpaqueNvrtcProgram::image, 0>;
constexpr auto cubin = copy_of<&cuda::OpaqueNvrtcProgram::image, 0>;
constexpr auto ptx_size = size_of<&cuda::OpaqueNvrtcProgram::ptx, 1>;
constexpr auto ptx = copy_of<&cuda::OpaqueNvrtcProgram::ptx, 1>;

} // namespace table

const char* error_text(int error) {
  switch (error) {
  case kSuccess: return "NVRTC_SUCCESS";
  case kInvalidInput: return "NVRTC_ERROR_INVALID_INPUT";
  case kInvalidProgram: return "NVRTC_ERROR_INVALID_PROGRAM";
  case kCompilation: return "NVRTC_ERROR_COMPILATION";
  default: return "NVRTC_ERROR unknown";
  }
}

} // namespace

void configure_nvrtc(const Options& options) {
  std::lock_guard held(lock);
  compiling = {options.compiler, options.cache, options.optimize, options.racecheck};
}

std::string description() {
  std::lock_guard held(lock);
  return description(compiling);
}

std::string compiler_path() {
  std::lock_guard held(lock);
  return find_compiler(compiling);
}

void* nvrtc_symbol(const char* name) {
#define TL_ENTRY(member, symbol, parameters)                                                                           \
  if (std::strcmp(name, symbol) == 0) {                                                                                \
    int(*function) parameters = table::member;                                                                         \
    return reinterpret_cast<void*>(function);                                                                          \
  }
  TL_NVRTC_FUNCTIONS(TL_ENTRY)
#undef TL_ENTRY
  if (std::strcmp(name, "nvrtcGetErrorString") == 0) return reinterpret_cast<void*>(&error_text);
  return nullptr;
}

} // namespace tl::emulator
