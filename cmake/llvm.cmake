# Only backend/cpu includes LLVM's headers: each such file takes about ten seconds to compile.
target_include_directories(tl_backend SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(tl_backend PRIVATE ${LLVM_DEFINITIONS_LIST})
# Static, and no more of it than is used: the shared library costs 20 ms at every start.
option(TL_AARCH64 "let tl build make object files and assembler for AArch64 too" OFF)
set(llvm_components passes x86codegen x86asmparser asmparser runtimedyld lto objcopy option)
set(llvm_targets X86)
if(TL_AARCH64)
  list(APPEND llvm_components aarch64codegen aarch64asmparser)
  list(APPEND llvm_targets AArch64)
  set_source_files_properties(backend/cpu/codegen.cpp backend/aot/objects.cpp PROPERTIES COMPILE_DEFINITIONS TL_AARCH64=1)
endif()
llvm_map_components_to_libnames(llvm_libraries ${llvm_components})
# LLVM's CMake files name zstd and the solver Z3 as shared libraries. Nothing here calls Z3.
find_library(TL_ZSTD libzstd.a REQUIRED)
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "dl;m;${TL_ZLIB};${TL_ZSTD};LLVMDemangle")
# lld by its archives: its CMake targets bring the shared LLVM library.
find_library(TL_LLD_ELF liblldELF.a HINTS ${LLVM_LIBRARY_DIR} REQUIRED NO_DEFAULT_PATH)
find_library(TL_LLD_COMMON liblldCommon.a HINTS ${LLVM_LIBRARY_DIR} REQUIRED NO_DEFAULT_PATH)
target_link_libraries(tl_backend PRIVATE ${TL_LLD_ELF} ${TL_LLD_COMMON} ${llvm_libraries} ${TL_ZLIB})
# lld starts every target that LLVM was built with; but for these the initialisers of the others do nothing here.
set(stubs "")
foreach(target ${LLVM_TARGETS_TO_BUILD})
  if(NOT target IN_LIST llvm_targets)
    foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
      string(APPEND stubs "extern \"C\" void LLVMInitialize${target}${part}(void) {}\n")
    endforeach()
  endif()
endforeach()
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/other_targets.cpp CONTENT "${stubs}")
target_sources(tl_backend PRIVATE ${CMAKE_BINARY_DIR}/other_targets.cpp)
set_source_files_properties(${CMAKE_BINARY_DIR}/other_targets.cpp PROPERTIES GENERATED TRUE COMPILE_OPTIONS -w)
target_link_options(tl_backend INTERFACE -Wl,--gc-sections $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>) # no-pie: nothing to relocate at the start
# The disk cache tells builds apart by their build id.
target_link_options(tl_backend INTERFACE -Wl,--build-id=sha1)
# lld links it in 2 s, the default linker in 11 s. g++ looks for lld's binary in the folders given by -B.
find_program(TL_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
if(TL_LLD)
  target_link_options(tl_backend INTERFACE -fuse-ld=lld -B${LLVM_TOOLS_BINARY_DIR})
endif()
