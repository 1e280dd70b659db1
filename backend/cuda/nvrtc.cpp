#include "backend/cuda/nvrtc.h"
#include "vm/gpu/libraries.h"
#include <filesystem>
#include <iterator>
#include <sys/stat.h>

namespace tl {

static constexpr const char* kOptions[] = {"-fmad=false", "-std=c++17", "-default-device"};

bool nvrtc_available(std::string* why) {
  const cuda::Loaded<cuda::Nvrtc>& library = cuda::nvrtc();
  if (!library.ok && why) *why = library.reason + "; " + library.hint;
  return library.ok;
}

NvrtcIdentity nvrtc_identity() {
  NvrtcIdentity identity;
  if (!nvrtc_available()) return identity;
  cuda::nvrtc().functions.version(&identity.major, &identity.minor);
  identity.path = cuda::nvrtc().path;
  identity.options.assign(std::begin(kOptions), std::end(kOptions));
  return identity;
}

std::string description_of(const NvrtcIdentity& nvrtc) {
  std::string text = std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor) + " " + nvrtc.path;
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(nvrtc.path, error);
  struct stat about{};
  if (!error && stat(file.c_str(), &about) == 0)
    text += " " + file.string() + " " + std::to_string(about.st_size) + " " + std::to_string(about.st_mtim.tv_sec) +
            "." + std::to_string(about.st_mtim.tv_nsec);
  for (const std::string& option : nvrtc.options)
    text += " " + option;
  return text;
}

NvrtcResult nvrtc_compile(const std::string& source, const std::string& name, const std::string& architecture) {
  NvrtcResult result;
  if (!nvrtc_available(&result.log)) return result;
  const cuda::Nvrtc& api = cuda::nvrtc().functions;
  cuda::NvrtcProgram program = nullptr;
  int status = api.create(&program, source.c_str(), name.c_str(), 0, nullptr, nullptr);
  if (status != 0) {
    result.log = api.error_text(status);
    return result;
  }
  std::string target = "-arch=" + architecture;
  std::vector<const char*> options{target.c_str()};
  options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
  status = api.compile(program, static_cast<int>(options.size()), options.data());
  size_t size = 0;
  if (api.log_size(program, &size) == 0 && size > 1) {
    result.log.resize(size);
    api.log(program, result.log.data());
    result.log.resize(size - 1); // without the final zero
  }
  if (status != 0) {
    if (result.log.empty()) result.log = api.error_text(status);
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
  if (status != 0) result.log += api.error_text(status);
  api.destroy(&program);
  return result;
}

} // namespace tl
