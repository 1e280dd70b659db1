// Devices, contexts, errors, and the table of names.
#include "vm/gpu/emulator/cublas.h"
#include "vm/gpu/emulator/fibers.h"
#include "vm/gpu/emulator/nvrtc.h"
#include "vm/gpu/emulator/world.h"
#include <cstdio>
#include <cstring>
#include <fmt/format.h>

namespace tl::emulator {
namespace driver {
namespace {

struct ErrorName {
  Result error;
  const char *name, *text;
};
constexpr Result kPeerAccessAlreadyEnabled = 704;
constexpr ErrorName kErrors[] = {
    {kSuccess, "CUDA_SUCCESS", "no error"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchOutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
    {kPeerAccessAlreadyEnabled, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is already enabled"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

Result find_error(Result error, const char** to, const char* ErrorName::* what) {
  for (const ErrorName& e : kErrors)
    if (e.error == error) {
      *to = e.*what;
      return kSuccess;
    }
  *to = nullptr;
  return kInvalidValue;
}

Result check_device(const Call& call, Device device) {
  if (Result error = call.ready()) return error;
  return device >= 0 && device < call.world.options.devices ? kSuccess : kInvalidDevice;
}

} // namespace

Result init(unsigned flags) {
  Call call("cuInit");
  if (flags != 0) return kInvalidValue;
  if (call.world.options.devices < 1) return kNoDevice;
  call.world.ready = true;
  return kSuccess;
}

Result driver_version(int* version) {
  *version = 13000;
  return kSuccess;
}

Result device_count(int* count) {
  Call call("cuDeviceGetCount");
  *count = call.world.options.devices;
  return call.ready();
}

Result device(Device* device, int ordinal) {
  Call call("cuDeviceGet");
  *device = ordinal;
  return check_device(call, ordinal);
}

Result device_name(char* name, int length, Device device) {
  Call call("cuDeviceGetName");
  if (Result error = check_device(call, device)) return error;
  std::snprintf(name, static_cast<size_t>(length), "Emulated GPU");
  return kSuccess;
}

Result device_attribute(int* value, int attribute, Device device) {
  Call call("cuDeviceGetAttribute");
  if (Result error = check_device(call, device)) return error;
  switch (attribute) {
  case kMaxThreadsPerBlock: *value = kMaxThreads; break;
  case kMaxGridDimX: *value = 0x7fffffff; break;
  case kMaxSharedMemoryPerBlock: *value = kMaxShared; break;
  case kWarpSize: *value = kWarp; break;
  case kMultiprocessorCount: *value = 4; break; // few: a grid that is made for the card is soon run
  case kMajor: *value = 9; break;
  case kMinor: *value = 0; break;
  default: return call.fail(kInvalidValue, fmt::format("attribute {} is not emulated", attribute));
  }
  return kSuccess;
}

Result device_uuid(Uuid* uuid, Device device) {
  Call call("cuDeviceGetUuid_v2");
  if (Result error = check_device(call, device)) return error;
  std::memcpy(uuid->bytes, "tl emulated gpu", 16);
  uuid->bytes[15] = static_cast<char>(device);
  return kSuccess;
}

Result device_memory(size_t* bytes, Device device) {
  Call call("cuDeviceTotalMem_v2");
  *bytes = call.world.options.memory;
  return check_device(call, device);
}

Result retain_context(Context* context, Device device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (Result error = check_device(call, device)) return error;
  *context = call.world.contexts[static_cast<size_t>(device)].get();
  ++(*context)->retained;
  return kSuccess;
}

// What a context still holds at its end stays counted (live): a card would free it in silence.
Result release_context(Device device) {
  Call call("cuDevicePrimaryCtxRelease_v2");
  if (Result error = check_device(call, device)) return error;
  Context context = call.world.contexts[static_cast<size_t>(device)].get();
  if (context->retained == 0) return call.fail(kInvalidContext, fmt::format("device {} was not retained", device));
  if (--context->retained > 0) return kSuccess;
  call.world.force_all(context);
  context->error = kSuccess;
  context->peers.clear();
  return kSuccess;
}

Result set_context(Context context) {
  Call call("cuCtxSetCurrent");
  if (Result error = call.ready()) return error;
  bool known = !context;
  for (const auto& owned : call.world.contexts)
    known |= owned.get() == context && context->retained > 0;
  if (!known) return call.fail(kInvalidContext, "no context, or one that was released");
  Call::make_current(context);
  return kSuccess;
}

Result can_access_peer(int* can, Device device, Device peer) {
  Call call("cuDeviceCanAccessPeer");
  if (Result error = check_device(call, device)) return error;
  *can = device != peer;
  return check_device(call, peer);
}

Result enable_peer_access(Context peer, unsigned flags) {
  Call call("cuCtxEnablePeerAccess");
  if (Result error = call.context()) return error;
  if (flags != 0 || !peer || peer == Call::current()) return kInvalidValue;
  return Call::current()->peers.insert(peer->device).second ? kSuccess : kPeerAccessAlreadyEnabled;
}

Result error_name(Result error, const char** name) { return find_error(error, name, &ErrorName::name); }
Result error_text(Result error, const char** text) { return find_error(error, text, &ErrorName::text); }

} // namespace driver

void* symbol(const char* name) {
#define TL_ENTRY(member, symbol, parameters)                                                                           \
  if (std::strcmp(name, symbol) == 0) {                                                                                \
    cuda::Result(*function) parameters = driver::member;                                                               \
    return reinterpret_cast<void*>(function);                                                                          \
  }
  using namespace cuda;
  TL_CUDA_FUNCTIONS(TL_ENTRY)
#undef TL_ENTRY
  void* function = nvrtc_symbol(name);
  return function ? function : cublas_symbol(name);
}

} // namespace tl::emulator
