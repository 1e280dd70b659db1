# The standard library's .tl files and the catalogue of errors are embedded in the binary as one generated source of string literals.
file(GLOB stdlib_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stdlib/*.tl)
list(APPEND stdlib_files ${CMAKE_SOURCE_DIR}/docs/errors.md)
set(embedded ${CMAKE_BINARY_DIR}/generated/stdlib.cpp)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -DOUT=${embedded} "-DFILES=${stdlib_files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${stdlib_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
target_sources(tl_lang PRIVATE ${embedded})
