# What every executable that `tl build` makes carries: the VM and what runs a program, without a compiler, as one object
# file inside tl. Sanitizers need a run-time part of their own, so those builds of tl make no executables.
enable_language(ASM)
if(TL_SANITIZE)
  target_compile_definitions(tl_backend PRIVATE TL_NO_BUILT_RUNTIME=1)
  return()
endif()

file(GLOB built_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/driver/built/*.cpp)
add_library(tl_built OBJECT ${built_sources})
target_compile_options(tl_built PRIVATE ${TL_FLAGS})
target_link_libraries(tl_built PRIVATE tl_driver)

function(tl_system_archive variable name)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${path}")
    message(FATAL_ERROR "${name} is missing")
  endif()
  set(${variable} ${path} PARENT_SCOPE)
endfunction()
set(archives "")
foreach(name libpng.a libjpeg.a libz.a libstdc++.a libgcc_eh.a libgcc.a libc_nonshared.a)
  tl_system_archive(path ${name})
  list(APPEND archives ${path})
endforeach()

set(runtime ${CMAKE_BINARY_DIR}/runtime.o)
add_custom_command(OUTPUT ${runtime}
  COMMAND ${CMAKE_LINKER} -r -o ${runtime} -e _start -u main -u xerbla_ -u _gfortran_concat_string --gc-sections --strip-debug
          $<TARGET_OBJECTS:tl_built> --start-group $<TARGET_FILE:tl_driver> $<TARGET_FILE:tl_lang> $<TARGET_FILE:tl_vm>
          $<TARGET_FILE:tl_linalg> $<TARGET_FILE:tl_plot> $<TARGET_FILE:tl_io> $<TARGET_FILE:tl_abi> $<TARGET_FILE:tl_fmt>
          ${TL_LAPACK} ${TL_BLAS} ${archives} --end-group
  DEPENDS tl_built tl_driver tl_lang tl_vm tl_linalg tl_plot tl_io tl_abi tl_fmt
  COMMAND_EXPAND_LISTS VERBATIM)
set(embedded ${CMAKE_BINARY_DIR}/generated/runtime.S)
file(GENERATE OUTPUT ${embedded} CONTENT
".section .rodata, \"a\"
.balign 64
.globl tl_runtime_object
.globl tl_runtime_object_end
tl_runtime_object: .incbin \"${runtime}\"
tl_runtime_object_end:
.section .note.GNU-stack, \"\", @progbits
")
target_sources(tl_backend PRIVATE ${embedded})
set_source_files_properties(${embedded} PROPERTIES GENERATED TRUE OBJECT_DEPENDS ${runtime})
