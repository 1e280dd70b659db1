# Only backend/cpu includes LLVM's headers: each such file takes about ten seconds to compile.
target_include_directories(tl_backend SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(tl_backend PRIVATE ${LLVM_DEFINITIONS_LIST})
# Static, and no more of it than is used: the shared library costs 20 ms at every start.
llvm_map_components_to_libnames(llvm_libraries passes x86codegen runtimedyld)
target_link_libraries(tl_backend PRIVATE ${llvm_libraries})
target_link_options(tl_backend INTERFACE -Wl,--gc-sections -no-pie) # no-pie: nothing to relocate at the start
# The disk cache tells builds apart by their build id.
target_link_options(tl_backend INTERFACE -Wl,--build-id=sha1)
# lld links it in 2 s, the default linker in 11 s. g++ looks for lld's binary in the folders given by -B.
find_program(TL_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
if(TL_LLD)
  target_link_options(tl_backend INTERFACE -fuse-ld=lld -B${LLVM_TOOLS_BINARY_DIR})
endif()
find_package(CUDAToolkit QUIET)
if(CUDAToolkit_FOUND)
  # Headers for the types alone: NVRTC is loaded at run time, never linked.
  target_include_directories(tl_backend SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(tl_backend PRIVATE TL_HAVE_CUDA_HEADERS=1)
  find_library(TL_NVRTC nvrtc HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(TL_NVRTC)
    target_compile_definitions(tl_backend PRIVATE TL_NVRTC_PATH="${TL_NVRTC}")
  endif()
endif()
