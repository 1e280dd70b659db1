# The standard library's .tl files and the pages of the manual are embedded in the binary as one generated source of string literals.
file(GLOB stdlib_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stdlib/*.tl)
file(GLOB stdlib_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/stdlib/*/*.tl)
foreach(page tutorial.md language.md training.md commands.md errors.md files.md random.md accuracy.md formatting.md site/style.css site/search.js)
  list(APPEND stdlib_files ${CMAKE_SOURCE_DIR}/docs/${page})
endforeach()
set(embedded ${CMAKE_BINARY_DIR}/generated/stdlib.cpp)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${CMAKE_COMMAND} -DOUT=${embedded} "-DFILES=${stdlib_files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${stdlib_files} ${stdlib_parts} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
target_sources(tl_lang PRIVATE ${embedded})
