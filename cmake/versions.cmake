# LLVM 19.1 exactly as Debian 12 packages it ("19" alone does not match its version file).
find_package(LLVM 19.1 REQUIRED CONFIG)
