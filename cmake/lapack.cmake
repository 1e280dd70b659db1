# The reference LAPACK and BLAS, static: the same bits on every machine. By their own folders, since liblapack.a beside them may be another.
find_library(TL_LAPACK liblapack.a PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/lapack NO_DEFAULT_PATH REQUIRED)
find_library(TL_BLAS libblas.a PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/blas NO_DEFAULT_PATH REQUIRED)
target_link_libraries(tl_linalg PRIVATE ${TL_LAPACK} ${TL_BLAS} m)
# Our own of these (vm/linalg/fortran_runtime.cpp; all of fortran_blas.cpp), wherever a linker looks first.
target_link_options(tl_linalg INTERFACE -Wl,-u,xerbla_ -Wl,-u,_gfortran_concat_string -Wl,-u,dgemm_)
