# What every executable that `tl build` makes carries: the VM and what runs a program, without a compiler, as one object
# file inside tl. Large parts that a program may do without are weak in it: beside it stand object files that replace
# each of them by nothing.
enable_language(ASM)

file(GLOB built_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/driver/built/*.cpp)
add_library(tl_built OBJECT ${built_sources})
set(built_targets tl_built)
set(parts linalg sort_values sort_order sort_top plot plot_text plot_layers readers image_readers tables writers png jpeg refusal)
set(without "")
foreach(part ${parts})
  add_library(tl_without_${part} OBJECT ${CMAKE_SOURCE_DIR}/driver/built/without/${part}.cpp)
  list(APPEND built_targets tl_without_${part})
  set(object ${CMAKE_BINARY_DIR}/without_${part}.o)
  list(APPEND without ${object})
  add_custom_command(OUTPUT ${object} COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_OBJECTS:tl_without_${part}> ${object}
    DEPENDS tl_without_${part} $<TARGET_OBJECTS:tl_without_${part}> VERBATIM)
endforeach()
foreach(target ${built_targets})
  target_compile_options(${target} PRIVATE ${TL_FLAGS})
  tl_sees(${target} tl_driver tl_vm tl_io tl_linalg tl_sort tl_plot tl_lang tl_program tl_abi)
endforeach()

# Debian's archives are for executables: they take the address of `stderr`, which a shared library cannot know. No exception
# passes through the C of these two (their errors are jumps): they need no tables for it.
set(archives "")
set(archive_names libpng.a libjpeg.a libz.a libstdc++.a libgcc_eh.a libgcc.a libc_nonshared.a)
if(TL_SANITIZE)
  # What a sanitizer makes needs its shared libraries, and these the shared library of C++. The sanitizer's stand first.
  list(REMOVE_ITEM archive_names libstdc++.a libgcc_eh.a)
  set(shared_names libasan.so libubsan.so)
  if(TL_SANITIZE STREQUAL "thread")
    set(shared_names libtsan.so)
  endif()
  set(shared "")
  foreach(name ${shared_names} libstdc++.so libgcc_s.so.1)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    file(REAL_PATH ${path} path)
    string(APPEND shared "\"${path}\",")
  endforeach()
  set_source_files_properties(backend/aot/build.cpp PROPERTIES COMPILE_DEFINITIONS "TL_SHARED_RUNTIME=${shared}")
endif()
foreach(name ${archive_names})
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT IS_ABSOLUTE "${path}")
    message(FATAL_ERROR "${name} is missing")
  endif()
  if(name MATCHES "png|jpeg")
    set(own ${CMAKE_BINARY_DIR}/built_${name})
    add_custom_command(OUTPUT ${own} COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=tl_stderr --remove-section=.eh_frame ${path} ${own} DEPENDS ${path} VERBATIM)
    set(path ${own})
  endif()
  list(APPEND archives ${path})
endforeach()

# What Python packages have beside it: the extension module, and the functions of api/tl.h that it calls.
set(packaged "")
set(packaged_needs "")
set(python_needs "")
if(TL_PYTHON)
  add_library(tl_packaged OBJECT ${CMAKE_SOURCE_DIR}/driver/built/python/session.cpp ${CMAKE_SOURCE_DIR}/api/call.cpp
    ${CMAKE_SOURCE_DIR}/api/error.cpp ${CMAKE_SOURCE_DIR}/api/session.cpp ${CMAKE_SOURCE_DIR}/api/tl.cpp
    ${CMAKE_SOURCE_DIR}/api/value.cpp)
  target_compile_options(tl_packaged PRIVATE ${TL_FLAGS})
  target_compile_definitions(tl_packaged PRIVATE TL_VERSION="${PROJECT_VERSION}")
  tl_sees(tl_packaged tl_driver tl_vm tl_io tl_lang tl_program tl_abi)
  target_include_directories(tl_packaged PRIVATE ${CMAKE_BINARY_DIR}/include/tl_api)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(tl_packaged PRIVATE -Os)
  endif()
  set(packaged ${CMAKE_BINARY_DIR}/packaged.o)
  # What it needs of the object file with the rest.
  set(needs ${CMAKE_BINARY_DIR}/packaged.needs)
  add_custom_command(OUTPUT ${packaged} ${needs}
    COMMAND ${CMAKE_LINKER} -r -o ${packaged} --gc-sections -e PyInit__tl -X --unique=.text* --unique=.rodata* --unique=.data* --unique=.bss* --strip-debug
            $<TARGET_OBJECTS:tl_packaged> $<TARGET_OBJECTS:tl_python_module>
    COMMAND sh -c "\"$1\" -u --format=just-symbols \"$2\" | grep -vE '^(_?Py|_GLOBAL_OFFSET)' | sed 's/^/-u /' > \"$3\"" sh ${CMAKE_NM} ${packaged} ${needs}
    DEPENDS tl_packaged tl_python_module $<TARGET_OBJECTS:tl_packaged> $<TARGET_OBJECTS:tl_python_module>
    COMMAND_EXPAND_LISTS VERBATIM)
  set(packaged_needs @${needs})
  set(python_needs ${needs})
endif()

set(runtime ${CMAKE_BINARY_DIR}/runtime.o)
set(libraries tl_driver tl_lang tl_vm tl_linalg tl_sort tl_plot tl_io tl_program tl_abi tl_fmt)
set(library_files "")
foreach(library ${libraries})
  list(APPEND library_files $<TARGET_FILE:${library}>)
endforeach()
# Of -u: three that stand in tl_linalg (cmake/lapack.cmake), and what shared libraries take for another (backend/aot/link.cpp).
add_custom_command(OUTPUT ${runtime}
  COMMAND ${CMAKE_LINKER} -r -o ${runtime} --gc-sections --unique=.text* --unique=.rodata* --unique=.data* --unique=.bss* --strip-debug -e _start -u main -u tl_library_call -u tl_library_error
          -u tl_library_configure -u tl_library_close -u xerbla_ -u _gfortran_concat_string -u dgemm_ -u __wrap___cxa_atexit ${packaged_needs}
          $<TARGET_OBJECTS:tl_built> --start-group ${library_files} ${TL_LAPACK} ${TL_BLAS} ${archives} --end-group
  COMMAND sh -c "\"$@\" > ${runtime}.parts" sh ${CMAKE_NM} --defined-only --extern-only --format=just-symbols ${without}
  COMMAND ${CMAKE_OBJCOPY} --weaken-symbols=${runtime}.parts ${runtime}
  DEPENDS ${python_needs} ${built_targets} $<TARGET_OBJECTS:tl_built> ${libraries} ${without} ${archives}
  COMMAND_EXPAND_LISTS VERBATIM)

set(embedded ${CMAKE_BINARY_DIR}/generated/runtime.S)
set(text ".section .rodata, \"a\"\n")
foreach(object ${runtime} ${without} ${packaged})
  get_filename_component(name ${object} NAME_WE)
  string(APPEND text ".balign 64\n.globl tl_${name}, tl_${name}_end\ntl_${name}: .incbin \"${object}\"\ntl_${name}_end:\n")
endforeach()
# The Python files of those packages.
set(package_files "")
if(TL_PYTHON)
  set(package_files ${CMAKE_SOURCE_DIR}/python/package/__init__.py)
  foreach(name _errors _program _support _tensor)
    list(APPEND package_files ${CMAKE_SOURCE_DIR}/python/tl/${name}.py)
  endforeach()
  set_source_files_properties(backend/aot/package.cpp PROPERTIES COMPILE_DEFINITIONS TL_PYTHON)
endif()
foreach(file ${package_files})
  get_filename_component(name ${file} NAME_WE)
  string(APPEND text ".globl tl_python${name}, tl_python${name}_end\ntl_python${name}: .incbin \"${file}\"\ntl_python${name}_end:\n")
endforeach()
file(GENERATE OUTPUT ${embedded} CONTENT "${text}.section .note.GNU-stack, \"\", @progbits\n")
target_sources(tl_backend PRIVATE ${embedded})
set_source_files_properties(${embedded} PROPERTIES GENERATED TRUE OBJECT_DEPENDS "${runtime};${without};${packaged};${package_files}")
