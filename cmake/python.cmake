# The Python package tl (python/): the extension module build/python/tl/_tl.abi3.so, beside copies of the package's Python
# files and of libtl, so that PYTHONPATH=build/python imports it. `cmake --install build --component python` puts the
# package into a folder: that is the wheel, which pyproject.toml describes.
if(TL_PYTHON)
  set(TL_PACKAGE ${CMAKE_BINARY_DIR}/python/tl)
  add_library(tl_python MODULE $<TARGET_OBJECTS:tl_python_module>)
  set_target_properties(tl_python PROPERTIES PREFIX "" OUTPUT_NAME _tl SUFFIX .abi3.so LIBRARY_OUTPUT_DIRECTORY ${TL_PACKAGE}
    BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN" BUILD_WITH_INSTALL_RPATH ON LINKER_LANGUAGE CXX)
  target_link_libraries(tl_python PRIVATE libtl)
  target_link_options(tl_python PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/python/module/exports.map)
  set_target_properties(tl_python PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/python/module/exports.map)
  # The command of the package: an executable that has everything from libtl.
  add_executable(tl_python_command ${CMAKE_SOURCE_DIR}/python/command/main.cpp)
  set_target_properties(tl_python_command PROPERTIES OUTPUT_NAME tl RUNTIME_OUTPUT_DIRECTORY ${TL_PACKAGE}/bin
    INSTALL_RPATH "\$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
  target_compile_options(tl_python_command PRIVATE ${TL_FLAGS})
  target_include_directories(tl_python_command PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(tl_python_command PRIVATE libtl)
  # Links to the Python files, and to libtl, in the build tree.
  file(GLOB python_files RELATIVE ${CMAKE_SOURCE_DIR}/python/tl CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/tl/*.py
    ${CMAKE_SOURCE_DIR}/python/tl/*.pyi ${CMAKE_SOURCE_DIR}/python/tl/py.typed)
  file(MAKE_DIRECTORY ${TL_PACKAGE})
  foreach(name ${python_files})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/tl/${name} ${TL_PACKAGE}/${name} SYMBOLIC)
    install(FILES ${CMAKE_SOURCE_DIR}/python/tl/${name} DESTINATION tl COMPONENT python EXCLUDE_FROM_ALL)
  endforeach()
  add_custom_command(TARGET tl_python POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:libtl> ${TL_PACKAGE}/libtl.so)
  install(TARGETS tl_python libtl LIBRARY DESTINATION tl COMPONENT python EXCLUDE_FROM_ALL)
  install(TARGETS tl_python_command RUNTIME DESTINATION tl/bin COMPONENT python EXCLUDE_FROM_ALL)
  foreach(package ${TL_LINKED_PACKAGES})
    install(FILES /usr/share/doc/${package}/copyright DESTINATION tl/licenses RENAME ${package} OPTIONAL COMPONENT python EXCLUDE_FROM_ALL)
  endforeach()
endif()
