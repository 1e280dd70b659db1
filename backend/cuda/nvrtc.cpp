#include "backend/cuda/nvrtc.h"
#include <dlfcn.h>

namespace tl {
namespace {

// The few functions of nvrtc.h that are used, by the types that its C interface has had since CUDA 11.
using Program = struct OpaqueProgram*;
struct Api {
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*);
  int (*compile)(Program, int count, const char* const* options);
  int (*destroy)(Program*);
  int (*log_size)(Program, size_t*);
  int (*log)(Program, char*);
  int (*cubin_size)(Program, size_t*);
  int (*cubin)(Program, char*);
  int (*ptx_size)(Program, size_t*);
  int (*ptx)(Program, char*);
  const char* (*error)(int);
};

struct Library {
  bool ok = false;
  Api api{};
  std::string why;

  Library() {
    std::vector<std::string> names;
#ifdef TL_NVRTC_PATH
    names.push_back(TL_NVRTC_PATH);
#endif
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      names.push_back(name);
    void* handle = nullptr;
    for (const std::string& name : names) {
      handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle) break;
      const char* message = dlerror();
      why += (why.empty() ? "" : "; ") + std::string(message ? message : name);
    }
    if (!handle) return;
    ok = true;
    load(handle, api.create, "nvrtcCreateProgram");
    load(handle, api.compile, "nvrtcCompileProgram");
    load(handle, api.destroy, "nvrtcDestroyProgram");
    load(handle, api.log_size, "nvrtcGetProgramLogSize");
    load(handle, api.log, "nvrtcGetProgramLog");
    load(handle, api.cubin_size, "nvrtcGetCUBINSize");
    load(handle, api.cubin, "nvrtcGetCUBIN");
    load(handle, api.ptx_size, "nvrtcGetPTXSize");
    load(handle, api.ptx, "nvrtcGetPTX");
    load(handle, api.error, "nvrtcGetErrorString");
  }

private:
  template <class F> void load(void* handle, F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (function) return;
    ok = false;
    why = std::string("NVRTC without ") + name;
  }
};

const Library& library() {
  static const Library loaded; // never unloaded
  return loaded;
}

} // namespace

bool nvrtc_available(std::string* why) {
  if (!library().ok && why) *why = library().why;
  return library().ok;
}

NvrtcResult nvrtc_compile(const std::string& source, const std::string& name, const std::string& architecture) {
  NvrtcResult result;
  if (!nvrtc_available(&result.log)) return result;
  const Api& api = library().api;
  Program program = nullptr;
  int status = api.create(&program, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  if (status != 0) {
    result.log = api.error(status);
    return result;
  }
  std::string target = "-arch=" + architecture;
  const char* options[] = {target.c_str(), "-fmad=false", "-std=c++17", "-default-device"};
  status = api.compile(program, 4, options);
  size_t size = 0;
  if (api.log_size(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    api.log(program, result.log.data());
    result.log.resize(size - 1); // without the final zero
  }
  if (status != 0) {
    if (result.log.empty()) result.log = api.error(status);
    api.destroy(&program);
    return result;
  }
  bool cubin = architecture.rfind("sm_", 0) == 0;
  status = cubin ? api.cubin_size(program, &size) : api.ptx_size(program, &size);
  if (status == 0) {
    result.code.resize(size);
    status = cubin ? api.cubin(program, result.code.data()) : api.ptx(program, result.code.data());
  }
  result.ok = status == 0 && size > 0;
  if (status != 0) result.log += api.error(status);
  api.destroy(&program);
  return result;
}

} // namespace tl
