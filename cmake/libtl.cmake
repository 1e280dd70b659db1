# libtl: the compiler and the VM for other programs (api/tl.h). It shows the functions of its header alone, so that a
# process may hold other LLVMs beside it.
tl_library(tl_api api SEES ${TL_COMPILER} tl_plot tl_compiler tl_editor tl_cli)
target_compile_definitions(tl_api PRIVATE TL_VERSION="${PROJECT_VERSION}")
set(exports ${CMAKE_SOURCE_DIR}/api/exports.map)
add_library(libtl SHARED $<TARGET_OBJECTS:tl_api>)
set_target_properties(libtl PROPERTIES PREFIX "" LINK_DEPENDS ${exports})
# Debian's archives are for executables: they take the addresses of the standard streams, which a shared library cannot
# know. Copies that take ours go before them.
set(fitting "")
foreach(archive ${TL_PNG} ${TL_JPEG})
  get_filename_component(name ${archive} NAME)
  set(own ${CMAKE_BINARY_DIR}/libtl_${name})
  add_custom_command(OUTPUT ${own} COMMAND ${CMAKE_OBJCOPY} --redefine-sym stdin=tl_stdin --redefine-sym stdout=tl_stdout
    --redefine-sym stderr=tl_stderr ${archive} ${own} DEPENDS ${archive} VERBATIM)
  list(APPEND fitting ${own})
endforeach()
add_custom_target(libtl_archives DEPENDS ${fitting})
add_dependencies(libtl libtl_archives)
target_link_libraries(libtl PRIVATE ${fitting} tl_api)
target_link_options(libtl PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${exports} -Wl,-z,defs
  -Wl,-z,nodelete -Wl,--wrap=__cxa_atexit) # threads may use it as long as there is a process: vm/lasting.cpp
