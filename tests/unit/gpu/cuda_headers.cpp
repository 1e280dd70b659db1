// cuda_api.h against cuda.h, nvrtc.h and cublasLt.h: compiled only where the build finds CUDA's toolkit.
#include "vm/gpu/cuda_api.h"
#include <cublasLt.h>
#include <cuda.h>
#include <doctest/doctest.h>
#include <nvrtc.h>
#include <type_traits>

namespace c = tl::cuda;

namespace {

// A type of the headers as cuda_api.h has it: enumerations are int, the structs behind handles have names of their own.
template <class T> struct Ours {
  using type = std::conditional_t<std::is_enum_v<T>, int, T>; // both of 4 bytes; NOLINT: as traits have it
};
#define TL_SAME(theirs, ours)                                                                                          \
  template <> struct Ours<theirs> {                                                                                    \
    using type = ours;                                                                                                 \
  };
TL_SAME(CUctx_st, c::OpaqueContext)
TL_SAME(CUmod_st, c::OpaqueModule)
TL_SAME(CUfunc_st, c::OpaqueFunction)
TL_SAME(CUstream_st, c::OpaqueStream)
TL_SAME(CUevent_st, c::OpaqueEvent)
TL_SAME(_nvrtcProgram, c::OpaqueNvrtcProgram)
TL_SAME(CUuuid, c::Uuid)
TL_SAME(cublasLtContext, c::OpaqueCublas)
TL_SAME(cublasLtMatmulDescOpaque_t, c::OpaqueCublasDesc)
TL_SAME(cublasLtMatrixLayoutOpaque_t, c::OpaqueCublasLayout)
TL_SAME(cublasLtMatmulPreferenceOpaque_t, c::OpaqueCublasPreference)
TL_SAME(cublasLtMatmulAlgo_t, c::CublasAlgorithm)
TL_SAME(cublasLtMatmulHeuristicResult_t, c::CublasHeuristic)
#undef TL_SAME
template <class T> struct Ours<const T> {
  using type = const typename Ours<T>::type; // NOLINT: as traits have it
};
template <class T> struct Ours<T*> {
  using type = typename Ours<T>::type*; // NOLINT: as traits have it
};
template <class R, class... P> struct Ours<R(P...)> {
  using type = typename Ours<R>::type(typename Ours<P>::type...); // NOLINT: as traits have it
};
template <class Theirs, class Member>
constexpr bool same = std::is_same_v<typename Ours<Theirs>::type, std::remove_pointer_t<Member>>;

// Of each function its member and its name as a name, which the macros of cuda.h may not change.
#define TL_DRIVER_NAMES(X)                                                                                             \
  X(init, cuInit)                                                                                                      \
  X(driver_version, cuDriverGetVersion)                                                                                \
  X(device_count, cuDeviceGetCount)                                                                                    \
  X(device, cuDeviceGet)                                                                                               \
  X(device_name, cuDeviceGetName)                                                                                      \
  X(device_attribute, cuDeviceGetAttribute)                                                                            \
  X(device_uuid, cuDeviceGetUuid_v2)                                                                                   \
  X(device_memory, cuDeviceTotalMem_v2)                                                                                \
  X(retain_context, cuDevicePrimaryCtxRetain)                                                                          \
  X(release_context, cuDevicePrimaryCtxRelease_v2)                                                                     \
  X(set_context, cuCtxSetCurrent)                                                                                      \
  X(memory_info, cuMemGetInfo_v2)                                                                                      \
  X(allocate, cuMemAlloc_v2)                                                                                           \
  X(free, cuMemFree_v2)                                                                                                \
  X(allocate_host, cuMemHostAlloc)                                                                                     \
  X(free_host, cuMemFreeHost)                                                                                          \
  X(host_pointer, cuMemHostGetDevicePointer_v2)                                                                        \
  X(copy_to_device, cuMemcpyHtoDAsync_v2)                                                                              \
  X(copy_to_host, cuMemcpyDtoHAsync_v2)                                                                                \
  X(copy_on_device, cuMemcpyDtoDAsync_v2)                                                                              \
  X(copy_to_peer, cuMemcpyPeerAsync)                                                                                   \
  X(fill_bytes, cuMemsetD8Async)                                                                                       \
  X(load_module, cuModuleLoadData)                                                                                     \
  X(unload_module, cuModuleUnload)                                                                                     \
  X(function, cuModuleGetFunction)                                                                                     \
  X(launch, cuLaunchKernel)                                                                                            \
  X(create_stream, cuStreamCreate)                                                                                     \
  X(destroy_stream, cuStreamDestroy_v2)                                                                                \
  X(query_stream, cuStreamQuery)                                                                                       \
  X(synchronize_stream, cuStreamSynchronize)                                                                           \
  X(wait_event, cuStreamWaitEvent)                                                                                     \
  X(create_event, cuEventCreate)                                                                                       \
  X(destroy_event, cuEventDestroy_v2)                                                                                  \
  X(record_event, cuEventRecord)                                                                                       \
  X(query_event, cuEventQuery)                                                                                         \
  X(synchronize_event, cuEventSynchronize)                                                                             \
  X(elapsed, cuEventElapsedTime)                                                                                       \
  X(can_access_peer, cuDeviceCanAccessPeer)                                                                            \
  X(enable_peer_access, cuCtxEnablePeerAccess)                                                                         \
  X(error_name, cuGetErrorName)                                                                                        \
  X(error_text, cuGetErrorString)
#define TL_NVRTC_NAMES(X)                                                                                              \
  X(version, nvrtcVersion)                                                                                             \
  X(architecture_count, nvrtcGetNumSupportedArchs)                                                                     \
  X(architectures, nvrtcGetSupportedArchs)                                                                             \
  X(create, nvrtcCreateProgram)                                                                                        \
  X(compile, nvrtcCompileProgram)                                                                                      \
  X(destroy, nvrtcDestroyProgram)                                                                                      \
  X(log_size, nvrtcGetProgramLogSize)                                                                                  \
  X(log, nvrtcGetProgramLog)                                                                                           \
  X(cubin_size, nvrtcGetCUBINSize)                                                                                     \
  X(cubin, nvrtcGetCUBIN)                                                                                              \
  X(ptx_size, nvrtcGetPTXSize)                                                                                         \
  X(ptx, nvrtcGetPTX)                                                                                                  \
  X(error_text, nvrtcGetErrorString)

#define TL_CUBLAS_NAMES(X)                                                                                             \
  X(create, cublasLtCreate)                                                                                            \
  X(destroy, cublasLtDestroy)                                                                                          \
  X(create_desc, cublasLtMatmulDescCreate)                                                                             \
  X(destroy_desc, cublasLtMatmulDescDestroy)                                                                           \
  X(set_desc, cublasLtMatmulDescSetAttribute)                                                                          \
  X(create_layout, cublasLtMatrixLayoutCreate)                                                                         \
  X(destroy_layout, cublasLtMatrixLayoutDestroy)                                                                       \
  X(set_layout, cublasLtMatrixLayoutSetAttribute)                                                                      \
  X(create_preference, cublasLtMatmulPreferenceCreate)                                                                 \
  X(destroy_preference, cublasLtMatmulPreferenceDestroy)                                                               \
  X(set_preference, cublasLtMatmulPreferenceSetAttribute)                                                              \
  X(heuristic, cublasLtMatmulAlgoGetHeuristic)                                                                         \
  X(multiply, cublasLtMatmul)                                                                                          \
  X(version, cublasLtGetVersion)                                                                                       \
  X(error_text, cublasLtGetStatusString)

#define TL_CHECK_DRIVER(member, name) static_assert(same<decltype(::name), decltype(c::Driver::member)>, #name);
TL_DRIVER_NAMES(TL_CHECK_DRIVER)
#define TL_CHECK_NVRTC(member, name) static_assert(same<decltype(::name), decltype(c::Nvrtc::member)>, #name);
TL_NVRTC_NAMES(TL_CHECK_NVRTC)
#define TL_CHECK_CUBLAS(member, name) static_assert(same<decltype(::name), decltype(c::Cublas::member)>, #name);
TL_CUBLAS_NAMES(TL_CHECK_CUBLAS)

static_assert(std::is_same_v<c::Pointer, CUdeviceptr>);
static_assert(std::is_same_v<c::Device, CUdevice>);
static_assert(sizeof(c::Uuid) == sizeof(CUuuid));
static_assert(sizeof(c::Result) == sizeof(CUresult));
static_assert(sizeof(c::CublasAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(c::CublasHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(c::CublasHeuristic, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(c::CublasHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

#define TL_SAME_NUMBER(ours, theirs) static_assert(static_cast<int>(c::ours) == static_cast<int>(theirs), #ours);
TL_SAME_NUMBER(kSuccess, CUDA_SUCCESS)
TL_SAME_NUMBER(kInvalidValue, CUDA_ERROR_INVALID_VALUE)
TL_SAME_NUMBER(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY)
TL_SAME_NUMBER(kNotInitialized, CUDA_ERROR_NOT_INITIALIZED)
TL_SAME_NUMBER(kStubLibrary, CUDA_ERROR_STUB_LIBRARY)
TL_SAME_NUMBER(kDeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE)
TL_SAME_NUMBER(kNoDevice, CUDA_ERROR_NO_DEVICE)
TL_SAME_NUMBER(kInvalidDevice, CUDA_ERROR_INVALID_DEVICE)
TL_SAME_NUMBER(kInvalidImage, CUDA_ERROR_INVALID_IMAGE)
TL_SAME_NUMBER(kInvalidContext, CUDA_ERROR_INVALID_CONTEXT)
TL_SAME_NUMBER(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU)
TL_SAME_NUMBER(kOperatingSystem, CUDA_ERROR_OPERATING_SYSTEM)
TL_SAME_NUMBER(kInvalidHandle, CUDA_ERROR_INVALID_HANDLE)
TL_SAME_NUMBER(kNotFound, CUDA_ERROR_NOT_FOUND)
TL_SAME_NUMBER(kNotReady, CUDA_ERROR_NOT_READY)
TL_SAME_NUMBER(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS)
TL_SAME_NUMBER(kLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)
TL_SAME_NUMBER(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED)
TL_SAME_NUMBER(kSystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY)
TL_SAME_NUMBER(kDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)
TL_SAME_NUMBER(kCompatNotSupported, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)
TL_SAME_NUMBER(kUnknown, CUDA_ERROR_UNKNOWN)

TL_SAME_NUMBER(kMaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
TL_SAME_NUMBER(kMaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)
TL_SAME_NUMBER(kMaxSharedMemoryPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)
TL_SAME_NUMBER(kWarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE)
TL_SAME_NUMBER(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
TL_SAME_NUMBER(kMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
TL_SAME_NUMBER(kMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)

TL_SAME_NUMBER(kStreamNonBlocking, CU_STREAM_NON_BLOCKING)
TL_SAME_NUMBER(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC)
TL_SAME_NUMBER(kEventDisableTiming, CU_EVENT_DISABLE_TIMING)
TL_SAME_NUMBER(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE)
TL_SAME_NUMBER(kHostAllocDeviceMap, CU_MEMHOSTALLOC_DEVICEMAP)

TL_SAME_NUMBER(kCublasSuccess, CUBLAS_STATUS_SUCCESS)
TL_SAME_NUMBER(kCublasNotInitialized, CUBLAS_STATUS_NOT_INITIALIZED)
TL_SAME_NUMBER(kCublasAllocFailed, CUBLAS_STATUS_ALLOC_FAILED)
TL_SAME_NUMBER(kCublasInvalidValue, CUBLAS_STATUS_INVALID_VALUE)
TL_SAME_NUMBER(kCublasArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH)
TL_SAME_NUMBER(kCublasExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED)
TL_SAME_NUMBER(kCublasInternalError, CUBLAS_STATUS_INTERNAL_ERROR)
TL_SAME_NUMBER(kCublasNotSupported, CUBLAS_STATUS_NOT_SUPPORTED)
TL_SAME_NUMBER(kReal32, CUDA_R_32F)
TL_SAME_NUMBER(kReal64, CUDA_R_64F)
TL_SAME_NUMBER(kReal16, CUDA_R_16F)
TL_SAME_NUMBER(kRealB16, CUDA_R_16BF)
TL_SAME_NUMBER(kCompute32, CUBLAS_COMPUTE_32F)
TL_SAME_NUMBER(kCompute64, CUBLAS_COMPUTE_64F)
TL_SAME_NUMBER(kComputeTf32, CUBLAS_COMPUTE_32F_FAST_TF32)
TL_SAME_NUMBER(kAsItIs, CUBLAS_OP_N)
TL_SAME_NUMBER(kTransposed, CUBLAS_OP_T)
TL_SAME_NUMBER(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA)
TL_SAME_NUMBER(kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB)
TL_SAME_NUMBER(kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
TL_SAME_NUMBER(kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
TL_SAME_NUMBER(kMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
TL_SAME_NUMBER(kReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
TL_SAME_NUMBER(kMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES)
TL_SAME_NUMBER(kMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES)
TL_SAME_NUMBER(kMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES)
TL_SAME_NUMBER(kMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES)
TL_SAME_NUMBER(kReduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)

} // namespace

TEST_CASE("every function of the tables is compared with the headers, under the name that is loaded") {
  std::vector<std::string> loaded;
  auto note = [&](const char* name) { return loaded.push_back(name), reinterpret_cast<void*>(&loaded); };
  c::Driver driver;
  c::Nvrtc nvrtc;
  c::Cublas cublas;
  c::fill(driver, note);
  c::fill(nvrtc, note);
  c::fill(cublas, note);
#define TL_NAME(member, name) #name,
  CHECK(loaded == std::vector<std::string>{TL_DRIVER_NAMES(TL_NAME) TL_NVRTC_NAMES(TL_NAME) TL_CUBLAS_NAMES(TL_NAME)});
}
