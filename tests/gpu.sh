#!/usr/bin/env bash
# What `tl devices` says of cards, drivers, NVRTC and cuBLASLt, right and broken: tests/gpu.sh TL [FILTER]. The libraries are made
# here, by a C compiler, and named by TL_CUDA_PATH, which alone is searched where it holds them: a card that the machine
# has makes no difference.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
unset TL_CPU_DEVICES CUDA_VISIBLE_DEVICES

check "this machine: a card, or what is missing" 0 "^gpu.0.  .* GB, compute capability [0-9]|^no GPU  .+; .+" -- "$tl" devices
check "this machine: NVRTC, or not" 0 "^NVRTC   [0-9.]+, /|^no NVRTC  " -- "$tl" devices
check "the session says the same" 0 "^gpu.0.  |^no GPU  " -- bash -c "echo ':devices' | '$tl' repl"

api=vm/gpu/cuda_api.h
if ! command -v cc >/dev/null || [[ ! -f $api ]]; then
  echo "SKIPPED: libraries made for the test (there is no cc, or no $api)"
  finish
  exit
fi

# functions PREFIX OWN: those of the table that begin so, less those that a fake has of its own.
functions() {
  grep -oE "\"$1[A-Z][A-Za-z0-9_]*\"" "$api" | tr -d '"' | grep -vxE "$2" | sed 's/.*/int &(void) { return 1; }/'
}
# fake NAME FILE: a shared library of the C in standard input, in the folder NAME.
fake() {
  mkdir -p "$out/$1"
  cc -shared -fPIC -w -x c -o "$out/$1/$2" - || echo "FAIL: $1/$2 is not made"
}
# driver NAME RESULT [COUNT]: a libcuda.so.1 whose cuInit returns RESULT, with COUNT cards.
driver() {
  {
    cat <<C
#include <stddef.h>
int cuInit(unsigned flags) { return $2; }
int cuDriverGetVersion(int* version) { return *version = 12080, 0; }
int cuDeviceGetCount(int* count) { return *count = ${3:-1}, 0; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal + 7, 0; }
int cuDeviceGetName(char* name, int length, int device) {
  if (device == 9) return 101;
  const char* text = device == 7 ? "Test card" : "Odd\\033[1m card";
  do { *name++ = *text; } while (*text++);
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return *bytes = device * 1000000000ul, 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 76 ? 0 : -1;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : error == 101 ? "CUDA_ERROR_INVALID_DEVICE" : NULL;
  return *name ? 0 : 1;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 803 ? "system has unsupported combination" : error == 101 ? "invalid device" : NULL;
  return *text ? 0 : 1;
}
C
    functions cu 'cu(Init|DriverGetVersion|DeviceGetCount|DeviceGet|DeviceGetName|DeviceTotalMem_v2|DeviceGetAttribute|GetErrorName|GetErrorString)'
  } | fake "$1" libcuda.so.1
}
# nvrtc NAME MAJOR MINOR ARCHITECTURES: a libnvrtc.so.13 which says that it is of this version and makes code for these.
nvrtc() {
  local made=($4)
  {
    cat <<C
int nvrtcVersion(int* major, int* minor) { return *major = $2, *minor = $3, 0; }
const char* nvrtcGetErrorString(int error) { return "an error"; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = ${#made[@]}, 0; }
int nvrtcGetSupportedArchs(int* made) {
  int all[] = {$(IFS=, && echo "${made[*]}")};
  for (int i = 0; i < ${#made[@]}; ++i) made[i] = all[i];
  return 0;
}
C
    functions nvrtc 'nvrtc(Version|GetNumSupportedArchs|GetSupportedArchs)'
  } | fake "$1" libnvrtc.so.13
}
# cublas NAME VERSION: a libcublasLt.so.13 which says that it is this one.
cublas() {
  {
    echo "#include <stddef.h>
size_t cublasLtGetVersion(void) { return $2; }
const char* cublasLtGetStatusString(int status) { return \"a status\"; }"
    functions cublasLt 'cublasLtGetVersion'
  } | fake "$1" libcublasLt.so.13
}
on() { echo env "TL_CUDA_PATH=$out/$1"; } # before a command: with the libraries of this folder

# ---- a card
driver good 0
nvrtc good 12 6 "80 90"
fake good libnvrtc-builtins.so.12.6 </dev/null
cublas good 120805
check "a card" 0 "^gpu.0.  Test card, 132 multiprocessors, 7.0 GB, compute capability 9.0, driver for CUDA 12.8$" -- \
  $(on good) "$tl" devices
check "its NVRTC" 0 "^NVRTC   12.6, $out/good/libnvrtc.so.13$" -- $(on good) "$tl" devices
check "its cuBLASLt" 0 "^cuBLASLt  12.8.5, $out/good/libcublasLt.so.13$" -- $(on good) "$tl" devices
check "no more than that" 0 "^4$" -- $(on good) bash -c "'$tl' devices | grep -c ^"
check "the processors stand before it" 0 "^cpu.1. .*gpu.0. " -- $(on good) bash -c "'$tl' devices --cpu-devices 2 | tr '\n' ' ' | sed 's/^[^)]*) .* GB cpu/cpu/'"
driver cards 0 3
check "several cards" 0 "^gpu.1.  Odd.x1b.1m card, 132 multiprocessors, 8.0 GB" -- $(on cards) "$tl" devices
check "a card that does not answer" 0 \
  "^gpu.2.  does not answer: cuDeviceGetName: invalid device .CUDA_ERROR_INVALID_DEVICE.$" -- $(on cards) "$tl" devices
mkdir -p "$out/home/lib64" && cp "$out/good/"*.so* "$out/home/lib64"
check "a card of CUDA_HOME" 0 "^gpu.0.  Test card" -- env -u TL_CUDA_PATH CUDA_HOME="$out/home" "$tl" devices
check "NVRTC of CUDA_PATH" 0 "^NVRTC   12.6, $out/home/lib64/" -- env -u TL_CUDA_PATH -u CUDA_HOME CUDA_PATH="$out/home" "$tl" devices
check "TL_CUDA_PATH comes first" 0 "^gpu.2. " -- $(on cards) env CUDA_HOME="$out/home" "$tl" devices
check "and is relative to where one is" 0 "^gpu.0.  Test card" -- env -C "$out" TL_CUDA_PATH=good "$tl" devices

# ---- no card
no() { # no NAME REASON HINT: one line says both
  check "$1: one line says so" 0 "^no GPU  $2; $3$" -- $(on "$1") "$tl" devices
  check "$1: no other line does" 0 "^1$" -- $(on "$1") bash -c "'$tl' devices | grep -c GPU\ "
}
own='[^ ]*/libcuda.so.1'
echo 'int unrelated;' | fake empty libcuda.so.1
no empty "$own is no driver: it has no cuInit" "remove it, or set TL_CUDA_PATH to another folder"
fake old libcuda.so.1 <<<'int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int* v) { return *v = 10020, 0; }'
no old "the driver for CUDA 10.2 .$own. is too old: it has no cuDeviceGetCount" "install a newer driver of NVIDIA"
driver nodevice 100
no nodevice "the driver .$own. finds no card" "see that .nvidia-smi. lists a card; .*--gpus all."
check "cards that are hidden" 0 "CUDA_VISIBLE_DEVICES is '-1': unset it" -- $(on nodevice) env CUDA_VISIBLE_DEVICES=-1 "$tl" devices
driver none 0 0
no none "the driver .$own. finds no card" "see that .*"
driver mismatch 803
no mismatch "the driver .$own. fails: cuInit: system has unsupported combination .CUDA_ERROR_SYSTEM_DRIVER_MISMATCH." "start the machine anew.*"
driver fabric 802
no fabric "the driver .$own. fails: cuInit: error 802" "start the service .*nvidia-fabricmanager."
driver strange 4711
no strange "the driver .$own. fails: cuInit: error 4711" "see that .nvidia-smi. works"
driver stub 34
no stub "$own is the stub of CUDA's toolkit, no driver" "install NVIDIA's driver; .*LD_LIBRARY_PATH"
mkdir "$out/text" && echo "this is no library, whatever its name is: not even of another system" >"$out/text/libcuda.so.1"
no text "$own: (invalid ELF header|file too short)" "remove it, or set TL_CUDA_PATH to another folder"
mkdir -p "$out/better/lib64" "$out/better/lib" "$out/better/targets/x86_64-linux/lib"
cp "$out/text/libcuda.so.1" "$out/better/lib64"
cp "$out/stub/libcuda.so.1" "$out/better/lib"
cp "$out/good/libcuda.so.1" "$out/better/targets/x86_64-linux/lib"
check "what is no driver is passed over for one" 0 "^gpu.0.  Test card" -- $(on better) "$tl" devices
check "without a card, NVRTC is one line" 0 "^NVRTC |^no NVRTC  without it nothing is compiled for GPUs$" -- $(on nodevice) "$tl" devices
check "a program runs all the same" 0 "^3$" -- $(on mismatch) "$tl" -e 'print(1 + 2)'

# ---- a card, and NVRTC that does not fit
cat >"$out/nvrtc12.c" <<C
int nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 6, 0; }
const char* nvrtcGetErrorString(int error) { return "an error"; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, 0; }
int nvrtcGetSupportedArchs(int* made) { return *made = 90, 0; }
$(functions nvrtc 'nvrtc(Version|GetErrorString|GetNumSupportedArchs|GetSupportedArchs)')
C
driver newer 0
nvrtc newer 13 1 "80 90"
fake newer libnvrtc-builtins.so.13.1 </dev/null
check "NVRTC is newer than the driver" 0 "^ +newer than the driver: install a driver for CUDA 13, or NVRTC 12$" -- $(on newer) "$tl" devices
fake newer libnvrtc.so.12 <"$out/nvrtc12.c"
fake newer libnvrtc-builtins.so.12.6 </dev/null
check "an NVRTC that fits it comes first" 0 "^NVRTC   12.6, $out/newer/libnvrtc.so.12$" -- $(on newer) "$tl" devices
driver later 0
nvrtc later 12 6 "100 120"
fake later libnvrtc-builtins.so.12.6 </dev/null
check "NVRTC makes no code for the card" 0 "^ +makes no code for compute capability 9.0: install an older NVRTC$" -- $(on later) "$tl" devices
driver earlier 0
nvrtc earlier 12 0 "70 80 86"
fake earlier libnvrtc-builtins.so.12.0 </dev/null
check "nor does an early one" 0 "^ +makes no code for compute capability 9.0: the driver compiles its PTX, slower than a newer NVRTC would$" -- $(on earlier) "$tl" devices
driver alone 0
nvrtc alone 77 0 "90"
check "NVRTC without its builtins" 0 "^no NVRTC  nothing can run on a GPU: [^ ]*/alone/libnvrtc.so.13 has no libnvrtc-builtins.so.77.0 beside it; install .*TL_CUDA_PATH" -- \
  $(on alone) "$tl" devices
driver broken 0
cp "$out/text/libcuda.so.1" "$out/broken/libnvrtc.so.12"
check "NVRTC that is no library" 0 "^no NVRTC  nothing can run on a GPU: [^ ]*/libnvrtc.so.12: (invalid ELF header|file too short); remove it" -- \
  $(on broken) "$tl" devices
driver slow 0
nvrtc slow 12 6 "80 90"
fake slow libnvrtc-builtins.so.12.6 </dev/null
cp "$out/text/libcuda.so.1" "$out/slow/libcublasLt.so.12"
check "cuBLASLt that is no library" 0 "^no cuBLASLt  matrix products run on a slow kernel of tl's own: [^ ]*/libcublasLt.so.12: (invalid ELF header|file too short); remove it" -- \
  $(on slow) "$tl" devices
driver ahead 0
nvrtc ahead 12 6 "80 90"
fake ahead libnvrtc-builtins.so.12.6 </dev/null
cublas ahead 130100
check "cuBLASLt is newer than the driver" 0 "^ +newer than the driver: install a driver for CUDA 13, or cuBLAS 12$" -- $(on ahead) "$tl" devices
driver lacking 0
fake lacking libcublasLt.so.13 <<<'int cublasLtCreate(void* handle) { return 0; }'
check "cuBLASLt that lacks a function" 0 "^no cuBLASLt .*/libcublasLt.so.13 is too old, or no cuBLASLt: it has no cublasLtDestroy; install" -- $(on lacking) "$tl" devices
check "without a card, nothing is said of it" 0 "^0$" -- $(on nodevice) bash -c "'$tl' devices | grep -c cuBLASLt; true"
check "what needs it says so" 2 "stage ptx needs NVRTC: .*libnvrtc.so.12: .*; remove it" -- \
  $(on broken) "$tl" dump --stage ptx samples/softmax.tl

# ---- kernels that cannot be made: a driver that does what it is asked, without a card, and NVRTC in several moods. TL_FAILING names the function of
# the driver that fails behind so many calls as TL_FAILING_BEHIND says, with the error TL_FAILING_WITH; any name makes it take whatever code there is.
{
  cat <<'C'
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
static int fails(const char* name) {
  const char* failing = getenv("TL_FAILING");
  static _Atomic int calls;
  return failing && !strcmp(failing, name) && ++calls > atoi(getenv("TL_FAILING_BEHIND")) ? atoi(getenv("TL_FAILING_WITH")) : 0;
}
static int allocate(void** p, size_t bytes, int failure) { return failure ? failure : (*p = calloc(1, bytes + 1), 0); }
int cuDriverGetVersion(int* version) { return *version = 12080, fails(__func__); }
int cuDeviceGetCount(int* count) { return *count = 1, fails(__func__); }
int cuDeviceGetName(char* name, int length, int device) { return strcpy(name, "Test card"), fails(__func__); }
int cuDeviceTotalMem_v2(size_t* bytes, int device) { return *bytes = 7000000000ul, fails(__func__); }
int cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = 3000000000ul, *total = 7000000000ul, fails(__func__); }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : attribute == 76 ? atoi(getenv("TL_MINOR") ? getenv("TL_MINOR") : "0") : attribute == 10 ? 32 : 1024;
  return fails(__func__);
}
int cuMemAlloc_v2(void** p, size_t bytes) { return allocate(p, bytes, fails(__func__)); }
int cuMemFree_v2(void* p) { return free(p), fails(__func__); }
int cuMemHostAlloc(void** p, size_t bytes, unsigned flags) { return allocate(p, bytes, fails(__func__)); }
int cuMemFreeHost(void* p) { return free(p), fails(__func__); }
int cuMemHostGetDevicePointer_v2(void** p, void* host, unsigned flags) { return *p = host, fails(__func__); }
int cuDevicePrimaryCtxRetain(void** p, int device) { return *p = &malloc, fails(__func__); }
int cuStreamCreate(void** p, unsigned flags) { return *p = &malloc, fails(__func__); }
int cuEventCreate(void** p, unsigned flags) { return *p = &malloc, fails(__func__); }
int cuMemcpyHtoDAsync_v2(void* to, void* from, size_t bytes, void* stream) { return memcpy(to, from, bytes), fails(__func__); }
int cuMemcpyDtoHAsync_v2(void* to, void* from, size_t bytes, void* stream) { return memcpy(to, from, bytes), fails(__func__); }
int cuModuleLoadData(void** p, void* image) { return *p = &malloc, getenv("TL_FAILING") ? fails(__func__) : 209; }
int cuGetErrorName(int error, const char** name) { return *name = error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR_X", 0; }
int cuGetErrorString(int error, const char** text) { return *text = error == 209 ? "no kernel image is available" : "an error", 0; }
C
  functions cu 'cu(DriverGetVersion|DeviceGetCount|DeviceGetName|DeviceTotalMem_v2|MemGetInfo_v2|DeviceGetAttribute|MemAlloc_v2|MemFree_v2|MemHostAlloc|MemFreeHost'\
'|MemHostGetDevicePointer_v2|DevicePrimaryCtxRetain|StreamCreate|EventCreate|MemcpyHtoDAsync_v2|MemcpyDtoHAsync_v2|ModuleLoadData|GetErrorName|GetErrorString)' |
    sed 's/return 1;/return fails(__func__);/'
} | fake willing libcuda.so.1
# compiler NAME RESULT LOG CODE ARCHITECTURES: NVRTC that compiles to this code, or not.
compiler() {
  local made=($5)
  mkdir -p "$out/$1"
  [[ $1 == willing ]] || cp "$out/willing/libcuda.so.1" "$out/$1"
  {
    cat <<C
#include <stddef.h>
#include <string.h>
int nvrtcVersion(int* major, int* minor) { return *major = 12, *minor = 6, 0; }
const char* nvrtcGetErrorString(int error) { return error == 6 ? "NVRTC_ERROR_COMPILATION" : error == 5 ? "NVRTC_ERROR_INVALID_OPTION" : "another error"; }
int nvrtcGetNumSupportedArchs(int* count) { return *count = ${#made[@]}, 0; }
int nvrtcGetSupportedArchs(int* made) {
  int all[] = {$(IFS=, && echo "${made[*]}")};
  for (int i = 0; i < ${#made[@]}; ++i) made[i] = all[i];
  return 0;
}
int nvrtcCreateProgram(void** p) { return *p = &strlen, 0; }
static char asked[100];
static const char* said(void) { return strcmp("$3", "asked") ? "$3" : asked; }
int nvrtcCompileProgram(void* p, int count, char** options) { return strncpy(asked, *options, sizeof asked - 1), $2; }
int nvrtcGetProgramLogSize(void* p, size_t* bytes) { return *bytes = strlen(said()) + 1, 0; }
int nvrtcGetProgramLog(void* p, char* text) { return strcpy(text, said()), 0; }
int nvrtcGetCUBINSize(void* p, size_t* bytes) { return *bytes = sizeof "$4", 0; }
int nvrtcGetCUBIN(void* p, char* code) { return memcpy(code, "$4", sizeof "$4"), 0; }
C
    functions nvrtc 'nvrtc(Version|GetNumSupportedArchs|GetSupportedArchs|CreateProgram|CompileProgram|GetProgramLogSize|GetProgramLog|GetCUBINSize|GetCUBIN)' |
      sed 's/return 1;/return 0;/'
  } | fake "$1" libnvrtc.so.13
  fake "$1" libnvrtc-builtins.so.12.6 </dev/null
}
export TL_CACHE_DIR=$out/kernels
cat >"$out/card.tl" <<'TL'
let x = normal(key(0), [10, 10])
print(sum(softmax(x)))
TL
on_card=("$tl" run --device gpu "$out/card.tl")
compiler willing 6 'kernels_0.cu(1): error: identifier x is undefined' '' '80 90'
check "a kernel that NVRTC does not compile" 3 "DeviceError.*identifier x is undefined" -- $(on willing) "${on_card[@]}"
compiler option 5 'nvrtc: error: invalid value for --gpu-architecture' '' '100 120'
check "an architecture that NVRTC does not know" 3 "DeviceError.*gpu-architecture" -- $(on option) "${on_card[@]}"
compiler code 0 '' 'no code of any card' '80 90'
check "code that the driver does not load" 3 "DeviceError.*(no kernel image|NO_BINARY_FOR_GPU)" -- $(on code) "${on_card[@]}"
check "nor the second time, from the cache" 3 "DeviceError.*(no kernel image|NO_BINARY_FOR_GPU)" -- $(on code) "${on_card[@]}"
check "nor in a message of one line" 0 "^1$" -- $(on code) bash -c '"$@" 2>&1 | grep -c error' _ "${on_card[@]}"

# ---- a driver whose functions fail, one at a time: said with the function's name, whatever it was needed for
cat >"$out/copies.tl" <<'TL'
let c = arange(300000).to(cpu(0))
let x = c.to(gpu(0)) + 1
print(x.to(cpu(0)).shape, sum(x))
TL
copies=(timeout -k 5 60 "$tl" run --device gpu "$out/copies.tl")
compiler works 0 '' 'code' '80 90'
check "a driver that does nothing at all" 0 "^.300000,. 0$" -- $(on works) TL_FAILING=none "${copies[@]}"
check "nor does one whose program may use no files" 0 "^.300000,. 0$" -- $(on works) TL_FAILING=none "${copies[@]:0:8}" --no-files "$out/copies.tl"
cp -r "$out/works" "$out/halfway"
cublas halfway 120805 # all of whose functions fail
echo 'let x = uniform(key(0), [8, 8])
print(sum(x @ x))' >"$out/product.tl"
check "cuBLASLt that does not start: tl's own kernel" 0 "^  products there  1 .0 by cuBLASLt.$" -- \
  $(on halfway) TL_FAILING=none "$tl" run --device gpu --stats "$out/product.tl"
cp -r "$out/works" "$out/near"
compiler near 6 asked '' '80 90 100' # whose log is what it was asked for
check "a card that NVRTC knows" 3 "DeviceError.*-arch=sm_90$" -- $(on near) "${on_card[@]}"
check "what others have of a card is not counted on" 3 "OutOfMemory.*f32.1000000000. .4.0 GB. under the memory limit of 2.7 GB" -- \
  $(on works) TL_FAILING=none "$tl" run --device gpu -e 'wait(ones([1000000000]))'
check "a later card of the same kind" 3 "DeviceError.*-arch=sm_90$" -- $(on near) TL_MINOR=3 "${on_card[@]}"
compiler before 6 asked '' '75 80'
check "a card later than all that NVRTC knows: PTX" 3 "DeviceError.*-arch=compute_80$" -- $(on before) TL_MINOR=3 "${on_card[@]}"
for function in cuDevicePrimaryCtxRetain cuCtxSetCurrent cuStreamCreate; do # without them there is no card
  check "$function fails" 2 "^tl: --device gpu: Test card: $function: an error .CUDA_ERROR_X.$" -- \
    $(on works) TL_FAILING=$function TL_FAILING_WITH=999 TL_FAILING_BEHIND=0 "${copies[@]}"
done
check "nor the second time that it is asked" 3 "error.(DeviceError|OutOfMemory)." -- \
  $(on works) TL_FAILING=cuCtxSetCurrent TL_FAILING_WITH=999 TL_FAILING_BEHIND=1 "${copies[@]}"
check "a card whose memory others use" 3 "no room for .*under the memory limit of 2.7 GB, and gpu.0. gives no more" -- \
  $(on works) TL_FAILING=cuMemAlloc_v2 TL_FAILING_WITH=2 TL_FAILING_BEHIND=0 "${copies[@]}"
for function in cuMemAlloc_v2 cuMemHostAlloc cuMemHostGetDevicePointer_v2 cuEventCreate cuEventRecord cuEventSynchronize cuMemcpyHtoDAsync_v2 \
  cuMemcpyDtoHAsync_v2 cuModuleLoadData cuModuleGetFunction cuLaunchKernel; do
  check "$function has no memory" 3 "error.OutOfMemory." -- $(on works) TL_FAILING=$function TL_FAILING_WITH=2 TL_FAILING_BEHIND=0 "${copies[@]}"
  check "$function fails" 3 "error.(DeviceError|OutOfMemory).*(Test card: ${function%_v2}|no room for)" -- \
    $(on works) TL_FAILING=$function TL_FAILING_WITH=999 TL_FAILING_BEHIND=0 "${copies[@]}"
done
finish
