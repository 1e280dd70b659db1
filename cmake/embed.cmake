# Writes the files in FILES as a table of string literals to OUT (interface: lang/stdlib.h).
# Literals are cut into pieces of 16 bytes: compilers limit the length of one.
set(text "#include \"lang/stdlib.h\"\nnamespace tl {\nconst std::vector<EmbeddedFile>& embedded_stdlib() {\n  static const std::vector<EmbeddedFile> files = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" escaped "${hex}")
  string(REPEAT "." 64 piece)
  string(REGEX REPLACE "(${piece})" "\\1\"\n\"" escaped "${escaped}")
  string(APPEND text "    {\"${name}\", std::string(\"${escaped}\")},\n")
endforeach()
string(APPEND text "  };\n  return files;\n}\n} // namespace tl\n")
file(WRITE ${OUT} "${text}")
