// In shared libraries (cmake/libtl.cmake, backend/aot/link.cpp) this takes the place of the function that registers the
// destructors of static objects: they are not called. A process may end while calls run and kernels are compiled, in
// threads that nobody can wait for, and these use such objects, LLVM's too. An order in which threads end before what
// they use does not exist: objects that are made at the first use are destroyed before those made earlier.
extern "C" int __wrap___cxa_atexit(void (*)(void*), void*, void*); // NOLINT: the linker's name (--wrap)
extern "C" int __wrap___cxa_atexit(void (* /*destroy*/)(void*), void* /*object*/, void* /*library*/) { return 0; }
