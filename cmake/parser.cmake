# lexer.re (re2c) and grammar.yy (Bison, C++ skeleton, no conflicts allowed) become sources in the build tree.
find_program(RE2C re2c REQUIRED)
find_package(BISON 3.8 REQUIRED)
set(generated ${CMAKE_BINARY_DIR}/generated/parser)
file(MAKE_DIRECTORY ${generated})
add_custom_command(OUTPUT ${generated}/lexer.cpp
  COMMAND ${RE2C} -W -Werror --no-debug-info -o ${generated}/lexer.cpp ${CMAKE_SOURCE_DIR}/parser/syntax/lexer.re
  DEPENDS ${CMAKE_SOURCE_DIR}/parser/syntax/lexer.re VERBATIM)
add_custom_command(OUTPUT ${generated}/grammar.cpp ${generated}/grammar.hpp
  COMMAND ${BISON_EXECUTABLE} -Werror -o ${generated}/grammar.cpp --header=${generated}/grammar.hpp
          ${CMAKE_SOURCE_DIR}/parser/syntax/grammar.yy
  DEPENDS ${CMAKE_SOURCE_DIR}/parser/syntax/grammar.yy VERBATIM)
target_sources(tl_parser PRIVATE ${generated}/lexer.cpp ${generated}/grammar.cpp)
target_include_directories(tl_parser PRIVATE ${generated})
set_source_files_properties(${generated}/grammar.cpp PROPERTIES COMPILE_OPTIONS "-Wno-unused-but-set-variable")
