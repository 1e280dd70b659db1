// The functions of libcuda, libnvrtc and libcublasLt that tl calls, as tables that are filled at run time: nothing is
// linked, so one binary runs with and without a card. Types and numbers are those of cuda.h, nvrtc.h and cublasLt.h,
// which no build needs (a unit test compares them where the toolkit is). The emulated card (vm/gpu/emulator) fills the
// same tables.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tl::cuda {

using Result = int; // CUresult; 0: success
using Device = int;
using Pointer = unsigned long long; // CUdeviceptr
using Context = struct OpaqueContext*;
using Module = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Stream = struct OpaqueStream*; // null: the legacy default stream, which tl never uses
using Event = struct OpaqueEvent*;
struct Uuid {
  char bytes[16];
};

// Of CUresult, those that tl tells apart.
enum : Result {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kInvalidImage = 200,
  kInvalidContext = 201,
  kNoBinaryForGpu = 209,
  kOperatingSystem = 304,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchFailed = 719,
  kSystemNotReady = 802,
  kDriverMismatch = 803,
  kCompatNotSupported = 804,
  kUnknown = 999,
};

// CUdevice_attribute
enum Attribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxGridDimX = 5,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kMajor = 75,
  kMinor = 76,
};

enum : unsigned { kStreamNonBlocking = 1 };
enum : unsigned { kEventBlockingSync = 1, kEventDisableTiming = 2 };
enum : unsigned { kHostAllocPortable = 1, kHostAllocDeviceMap = 2 };

// X(member, symbol, parameters)
#define TL_CUDA_FUNCTIONS(X)                                                                                           \
  X(init, "cuInit", (unsigned flags))                                                                                  \
  X(driver_version, "cuDriverGetVersion", (int* version))                                                              \
  X(device_count, "cuDeviceGetCount", (int* count))                                                                    \
  X(device, "cuDeviceGet", (Device * device, int ordinal))                                                             \
  X(device_name, "cuDeviceGetName", (char* name, int length, Device device))                                           \
  X(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, Device device))                              \
  X(device_uuid, "cuDeviceGetUuid_v2", (Uuid * uuid, Device device))                                                   \
  X(device_memory, "cuDeviceTotalMem_v2", (size_t* bytes, Device device))                                              \
  X(retain_context, "cuDevicePrimaryCtxRetain", (Context * context, Device device))                                    \
  X(release_context, "cuDevicePrimaryCtxRelease_v2", (Device device))                                                  \
  X(set_context, "cuCtxSetCurrent", (Context context))                                                                 \
  X(memory_info, "cuMemGetInfo_v2", (size_t* free, size_t* total))                                                     \
  X(allocate, "cuMemAlloc_v2", (Pointer * address, size_t bytes))                                                      \
  X(free, "cuMemFree_v2", (Pointer address))                                                                           \
  X(allocate_host, "cuMemHostAlloc", (void** address, size_t bytes, unsigned flags))                                   \
  X(free_host, "cuMemFreeHost", (void* address))                                                                       \
  X(host_pointer, "cuMemHostGetDevicePointer_v2", (Pointer * address, void* host, unsigned flags))                     \
  X(copy_to_device, "cuMemcpyHtoDAsync_v2", (Pointer to, const void* from, size_t bytes, Stream stream))               \
  X(copy_to_host, "cuMemcpyDtoHAsync_v2", (void* to, Pointer from, size_t bytes, Stream stream))                       \
  X(copy_on_device, "cuMemcpyDtoDAsync_v2", (Pointer to, Pointer from, size_t bytes, Stream stream))                   \
  X(copy_to_peer, "cuMemcpyPeerAsync",                                                                                 \
    (Pointer to, Context to_context, Pointer from, Context from_context, size_t bytes, Stream stream))                 \
  X(fill_bytes, "cuMemsetD8Async", (Pointer to, unsigned char value, size_t count, Stream stream))                     \
  X(load_module, "cuModuleLoadData", (Module * module, const void* image))                                             \
  X(unload_module, "cuModuleUnload", (Module module))                                                                  \
  X(function, "cuModuleGetFunction", (Function * function, Module module, const char* name))                           \
  X(launch, "cuLaunchKernel",                                                                                          \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,         \
     unsigned block_z, unsigned shared_bytes, Stream stream, void** parameters, void** extra))                         \
  X(create_stream, "cuStreamCreate", (Stream * stream, unsigned flags))                                                \
  X(destroy_stream, "cuStreamDestroy_v2", (Stream stream))                                                             \
  X(query_stream, "cuStreamQuery", (Stream stream))                                                                    \
  X(synchronize_stream, "cuStreamSynchronize", (Stream stream))                                                        \
  X(wait_event, "cuStreamWaitEvent", (Stream stream, Event event, unsigned flags))                                     \
  X(create_event, "cuEventCreate", (Event * event, unsigned flags))                                                    \
  X(destroy_event, "cuEventDestroy_v2", (Event event))                                                                 \
  X(record_event, "cuEventRecord", (Event event, Stream stream))                                                       \
  X(query_event, "cuEventQuery", (Event event))                                                                        \
  X(synchronize_event, "cuEventSynchronize", (Event event))                                                            \
  X(elapsed, "cuEventElapsedTime", (float* milliseconds, Event from, Event to))                                        \
  X(can_access_peer, "cuDeviceCanAccessPeer", (int* can, Device device, Device peer))                                  \
  X(enable_peer_access, "cuCtxEnablePeerAccess", (Context peer, unsigned flags))                                       \
  X(error_name, "cuGetErrorName", (Result error, const char** name))                                                   \
  X(error_text, "cuGetErrorString", (Result error, const char** text))

struct Driver {
#define TL_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  TL_CUDA_FUNCTIONS(TL_MEMBER)
#undef TL_MEMBER
};

using NvrtcProgram = struct OpaqueNvrtcProgram*;

#define TL_NVRTC_FUNCTIONS(X)                                                                                          \
  X(version, "nvrtcVersion", (int* major, int* minor))                                                                 \
  X(architecture_count, "nvrtcGetNumSupportedArchs", (int* count))                                                     \
  X(architectures, "nvrtcGetSupportedArchs", (int* architectures))                                                     \
  X(create, "nvrtcCreateProgram",                                                                                      \
    (NvrtcProgram * program, const char* source, const char* name, int headers, const char* const* header_texts,       \
     const char* const* header_names))                                                                                 \
  X(compile, "nvrtcCompileProgram", (NvrtcProgram program, int count, const char* const* options))                     \
  X(destroy, "nvrtcDestroyProgram", (NvrtcProgram * program))                                                          \
  X(log_size, "nvrtcGetProgramLogSize", (NvrtcProgram program, size_t* bytes))                                         \
  X(log, "nvrtcGetProgramLog", (NvrtcProgram program, char* text))                                                     \
  X(cubin_size, "nvrtcGetCUBINSize", (NvrtcProgram program, size_t* bytes))                                            \
  X(cubin, "nvrtcGetCUBIN", (NvrtcProgram program, char* code))                                                        \
  X(ptx_size, "nvrtcGetPTXSize", (NvrtcProgram program, size_t* bytes))                                                \
  X(ptx, "nvrtcGetPTX", (NvrtcProgram program, char* code))

struct Nvrtc {
#define TL_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  TL_NVRTC_FUNCTIONS(TL_MEMBER)
#undef TL_MEMBER
  const char* (*error_text)(int) = nullptr; // nvrtcGetErrorString
};

using CublasStatus = int; // cublasStatus_t
using CublasHandle = struct OpaqueCublas*;
using CublasDesc = struct OpaqueCublasDesc*;             // of a product: cublasLtMatmulDesc_t
using CublasLayout = struct OpaqueCublasLayout*;         // of a matrix
using CublasPreference = struct OpaqueCublasPreference*; // what an algorithm may need

// Of cublasStatus_t, those that tl tells apart.
enum : CublasStatus {
  kCublasSuccess = 0,
  kCublasNotInitialized = 1,
  kCublasAllocFailed = 3,
  kCublasInvalidValue = 7,
  kCublasArchMismatch = 8,
  kCublasExecutionFailed = 13,
  kCublasInternalError = 14,
  kCublasNotSupported = 15,
};

enum CublasType : int { kReal32 = 0, kReal64 = 1, kReal16 = 2, kRealB16 = 14 };   // cudaDataType_t
enum CublasCompute : int { kCompute32 = 68, kCompute64 = 70, kComputeTf32 = 77 }; // cublasComputeType_t
enum CublasTranspose : int { kAsItIs = 0, kTransposed = 1 };                      // cublasOperation_t
enum CublasDescAttribute : int { kTransposeA = 3, kTransposeB = 4 };              // int32_t each
enum CublasLayoutAttribute : int { kBatchCount = 5, kBatchStride = 6 };           // int32_t, int64_t
enum CublasPreferenceAttribute : int {
  kMaxWorkspace = 1,     // uint64_t, bytes
  kReductionSchemes = 3, // uint32_t, a mask
  kMinAlignmentA = 5,    // uint32_t, bytes
  kMinAlignmentB = 6,
  kMinAlignmentC = 7,
  kMinAlignmentD = 8,
};
// Partial sums of one element are kept apart in the type of the computation, not in that of the result.
enum : uint32_t { kReduceInComputeType = 2 };

struct CublasAlgorithm {
  uint64_t data[8];
};
struct CublasHeuristic { // cublasLtMatmulHeuristicResult_t
  CublasAlgorithm algorithm;
  size_t workspace;
  CublasStatus state;
  float waves;
  int reserved[4];
};

// Matrices are column-major. X(member, symbol, parameters)
#define TL_CUBLAS_FUNCTIONS(X)                                                                                         \
  X(create, "cublasLtCreate", (CublasHandle * handle))                                                                 \
  X(destroy, "cublasLtDestroy", (CublasHandle handle))                                                                 \
  X(create_desc, "cublasLtMatmulDescCreate", (CublasDesc * desc, int compute, int scale_type))                         \
  X(destroy_desc, "cublasLtMatmulDescDestroy", (CublasDesc desc))                                                      \
  X(set_desc, "cublasLtMatmulDescSetAttribute", (CublasDesc desc, int attribute, const void* value, size_t bytes))     \
  X(create_layout, "cublasLtMatrixLayoutCreate",                                                                       \
    (CublasLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                               \
  X(destroy_layout, "cublasLtMatrixLayoutDestroy", (CublasLayout layout))                                              \
  X(set_layout, "cublasLtMatrixLayoutSetAttribute",                                                                    \
    (CublasLayout layout, int attribute, const void* value, size_t bytes))                                             \
  X(create_preference, "cublasLtMatmulPreferenceCreate", (CublasPreference * preference))                              \
  X(destroy_preference, "cublasLtMatmulPreferenceDestroy", (CublasPreference preference))                              \
  X(set_preference, "cublasLtMatmulPreferenceSetAttribute",                                                            \
    (CublasPreference preference, int attribute, const void* value, size_t bytes))                                     \
  X(heuristic, "cublasLtMatmulAlgoGetHeuristic",                                                                       \
    (CublasHandle handle, CublasDesc desc, CublasLayout a, CublasLayout b, CublasLayout c, CublasLayout d,             \
     CublasPreference preference, int wanted, CublasHeuristic* found, int* count))                                     \
  X(multiply, "cublasLtMatmul",                                                                                        \
    (CublasHandle handle, CublasDesc desc, const void* alpha, const void* a, CublasLayout a_layout, const void* b,     \
     CublasLayout b_layout, const void* beta, const void* c, CublasLayout c_layout, void* d, CublasLayout d_layout,    \
     const CublasAlgorithm* algorithm, void* workspace, size_t workspace_bytes, Stream stream))

struct Cublas {
#define TL_MEMBER(member, symbol, parameters) CublasStatus(*member) parameters = nullptr;
  TL_CUBLAS_FUNCTIONS(TL_MEMBER)
#undef TL_MEMBER
  size_t (*version)() = nullptr;                     // cublasLtGetVersion: 130002 is 13.0.2
  const char* (*error_text)(CublasStatus) = nullptr; // cublasLtGetStatusString
};

// Where functions come from: an opened library, or the emulated card. Null: it has no such function.
using Symbols = std::function<void*(const char* name)>;

// Empty, or the name of a function that is not there.
std::string fill(Driver& driver, const Symbols& symbols);
std::string fill(Nvrtc& nvrtc, const Symbols& symbols);
std::string fill(Cublas& cublas, const Symbols& symbols);

} // namespace tl::cuda
