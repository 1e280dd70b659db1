// Libraries do not end the process that loads them: in their case the first call says what the processor lacks
// (driver/built/kernels.cpp), not a constructor (abi/processor.cpp).
extern "C" void tl_refuse_old_processors() {}
