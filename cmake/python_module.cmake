# The extension module _tl (python/module), for the Python package tl and for the packages that `tl build --lib --python`
# makes: the limited API needs Python's headers here, and nothing of Python where tl runs.
find_package(Python3 3.9 COMPONENTS Interpreter Development.Module)
option(TL_PYTHON "the Python package, and those that tl builds" ${Python3_Development.Module_FOUND})
if(TL_PYTHON)
  file(GLOB python_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/module/*.cpp)
  add_library(tl_python_module OBJECT ${python_sources})
  set_target_properties(tl_python_module PROPERTIES CXX_VISIBILITY_PRESET hidden)
  target_compile_options(tl_python_module PRIVATE ${TL_FLAGS})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(tl_python_module PRIVATE -O2) # every package carries it
  endif()
  # PyObject_HEAD and the tables of methods are as Python's headers ask for.
  target_compile_options(tl_python_module PRIVATE -Wno-missing-field-initializers)
  target_include_directories(tl_python_module PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/python/module)
  target_include_directories(tl_python_module SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
endif()
