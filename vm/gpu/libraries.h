// Finds and opens the libraries of CUDA when they are first needed.
//
// Searched, in this order: $TL_CUDA_PATH, $CUDA_HOME, $CUDA_PATH (lib64, lib, targets/x86_64-linux/lib, and the folder
// itself), the loader's own path, the toolkit of the nvcc on the path, /usr/local/cuda and /usr/local/cuda-* (newest
// first), and the folders that NVIDIA's wheels make beside the python3 on the path (…/site-packages/nvidia/*/lib),
// which is not started. libcuda, which comes with the driver, also in /usr/local/nvidia/lib64 and /usr/lib/wsl/lib.
// $TL_CUDA_PATH alone is searched where it is set and holds the library. A file that is no library, a driver that lacks
// a function and the toolkit's stub of libcuda are passed over where another file does better.
#pragma once
#include "vm/gpu/cuda_api.h"

namespace tl::cuda {

// A library, or why there is none: messages for users, as `tl devices` shows them.
template <class Table> struct Loaded {
  bool ok = false;
  Table functions;
  std::string path;   // of the file, as far as it is known
  std::string reason; // not ok: what is wrong, one line
  std::string hint;   // not ok: what to do about it, one line
};

// Thread-safe; found once, never closed. Functions are called from then on without a lock.
const Loaded<Driver>& driver(); // libcuda; ok: cuInit has succeeded, so there is at least one card
const Loaded<Nvrtc>& nvrtc();
const Loaded<Cublas>& cublas(); // libcublasLt, which tl does without where it is not
// From now on all come from here: before their first use, once. (The emulated card.) `name` is in place of paths;
// what compiles otherwise has another.
void replace(Symbols symbols, std::string name);

std::string version_text(int version);           // of cuDriverGetVersion: 12080 is "12.8"
std::string cublas_version_text(size_t version); // of cublasLtGetVersion: 130002 is "13.0.2", 120805 is "12.8.5"
// "cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY)"
std::string explain(const Driver& driver, const char* function, Result result);

// For tests: the file names that would be tried for a library, in order: paths of files that are there, and bare names
// for the loader. candidates("libnvrtc.so", {"13", "12", ""})
std::vector<std::string> candidates(const std::string& stem, const std::vector<std::string>& versions);

} // namespace tl::cuda
