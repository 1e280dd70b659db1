# What `cmake --install` puts in place, and from it the Debian package (`./dev package`): tl, the manual, the samples, the
# licenses of what is linked into tl. The standard library is inside tl. See docs/packaging.md.
include(GNUInstallDirs)
install(TARGETS tl)
# What man and the shells know of the command line, written by tl.
set(shell ${CMAKE_BINARY_DIR}/shell)
if(NOT TL_SANITIZE) # whose reports may fail a build
  add_custom_command(OUTPUT ${shell}/tl.1 ${shell}/tl ${shell}/_tl ${shell}/tl.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${shell}
    COMMAND tl help --man >${shell}/tl.1
    COMMAND tl completions bash >${shell}/tl
    COMMAND tl completions zsh >${shell}/_tl
    COMMAND tl completions fish >${shell}/tl.fish DEPENDS tl)
  add_custom_target(shell_files ALL DEPENDS ${shell}/tl.1)
  install(FILES ${shell}/tl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${shell}/tl DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${shell}/_tl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  install(FILES ${shell}/tl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES README.md CHANGELOG.md LICENSE SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN site EXCLUDE)
install(DIRECTORY samples DESTINATION ${CMAKE_INSTALL_DATADIR}/tl REGEX "/data/[^/]*[.]py$" EXCLUDE)
# Whose licenses go with what is linked from them, here and in the Python package.
set(TL_LINKED_PACKAGES llvm-19-dev liblld-19-dev libstdc++-12-dev libpng-dev libjpeg62-turbo-dev zlib1g-dev libzstd-dev
  libfmt-dev libcli11-dev nlohmann-json3-dev liblapack-dev libblas-dev
  libcmark-gfm-dev)
foreach(package ${TL_LINKED_PACKAGES})
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses RENAME ${package} OPTIONAL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_NAME tl)
set(CPACK_PACKAGE_VENDOR "the tl project")
set(CPACK_PACKAGE_CONTACT "the tl project <tl@localhost>") # until it has an address
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "language for tensor programs, compiled to native kernels")
set(CPACK_PACKAGE_DESCRIPTION "tl is a small language for tensor programs: shapes are checked before anything runs, the program is compiled to
fused native kernels and runs asynchronously on all cores. `tl build` makes executables that need neither tl nor a compiler.
The processor must have AVX2 and FMA (x86-64-v3).")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION interpreters)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36)") # tests/packaging.sh checks that this is all
include(CPack)
