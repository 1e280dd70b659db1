#!/usr/bin/env bash
# `tl build --lib`: libraries in programs of C, C++ and Python: tests/embed.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
step() { local filter="" && check "$@"; } # what later checks need: whatever the filter is
needs gcc g++ cmp tail head
repository=$PWD
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out" || exit 1

# What a tl with a sanitizer builds belongs into programs with the same one.
libraries=(-lm) sanitize=() preload="" flat=flat
if [[ -n ${TL_SANITIZED:-} ]]; then
  sanitize=("-fsanitize=$TL_SANITIZED")
  libraries+=(-lstdc++ -lubsan)
  # Sanitizers catch exceptions by the shared library of C++, which must be there from the start; they keep freed memory.
  preload="$(gcc -print-file-name="lib${TL_SANITIZED:0:1}san.so") $(gcc -print-file-name=libstdc++.so.6)"
  sanitize+=("-Wl,--no-as-needed" -lstdc++)
  flat=""
fi
step "build" 0 '^$' -- "$tl" build --lib --python "$repository/samples/embed/mlp.tl" -o mlp
mkdir wheel again
step "build another" 0 '^$' -- "$tl" build --lib --python "$repository/tests/embed/plain.tl" -o plain
step "a large file" 0 -- "$tl" -e 'save("big.npy", 2.0 * ones([200000]))'

# ---- what they show of themselves
symbols() { nm "$1" "$2" | grep -vE ' [Uw] | A ' | grep -oE '[A-Za-z_0-9]+$' | sort | tr '\n' ' '; }
own='^mlp_Model_close mlp_configure mlp_create mlp_error mlp_open mlp_predict mlp_save_to mlp_summary $'
if command -v nm >/dev/null; then
  check "symbols of the shared library" 0 "$own" -- echo "$(symbols -D mlp.so)"
  check "symbols of the archive" 0 "$own" -- echo "$(nm -g --defined-only mlp.a | grep -oE '[A-Za-z_0-9]+$' | grep -v '^o$' | sort | tr '\n' ' ')"
fi

# ---- on a processor without AVX2 an executable ends with a message; a library does not end the process that loads it
if command -v qemu-x86_64 >/dev/null; then
  echo '#include <dlfcn.h>
#include <stdio.h>
int main(void) { void *l = dlopen("./mlp.so", RTLD_NOW); puts(l ? "loaded" : dlerror()); return !l; }' >old.c
  step "an old processor: build" 0 -- gcc "${sanitize[@]}" old.c -o old
  check "an old processor: the process goes on" 0 "^loaded$" -- qemu-x86_64 -cpu Nehalem ./old
fi

# ---- C and C++
c=(gcc "${sanitize[@]}" -std=c99 -Wall -Wextra -Wpedantic -Werror -I.) cpp=(g++ "${sanitize[@]}" -Wall -Wextra -Wpedantic -Werror -I.)
samples=$repository/samples/embed programs=$repository/tests/embed
step "C" 0 -- "${c[@]}" "$samples/predict.c" ./mlp.so -o c_so
step "C, archive" 0 -- "${c[@]}" "$samples/predict.c" mlp.a "${libraries[@]}" -o c_a
step "C++17" 0 -- "${cpp[@]}" -std=c++17 "$samples/predict.cpp" ./mlp.so -o cpp_so
step "C++20, archive" 0 -- "${cpp[@]}" -std=c++20 "$samples/predict.cpp" mlp.a "${libraries[@]}" -o cpp_a
echo 'fn main(x: f32[n, 4]) -> f32[n, 3] = predict(create(1), x)' | cat "$samples/mlp.tl" - >run.tl
step "flowers" 0 -- "$tl" -e 'save("flowers.npy", [f32(5.1), 3.5, 1.4, 0.2, 7.0, 3.2, 4.7, 1.4, 6.3, 3.3, 6.0, 2.5].reshape([3, 4]))'
step "tl run" 0 -- "$tl" run run.tl flowers.npy -o expected.npy
# shellcheck disable=SC2016
echo 'fn main(p: f32[3, 3]) { for i in 0..3 { print("flower {i}  {p[i, 0]:.4f} {p[i, 1]:.4f} {p[i, 2]:.4f}") } }' >table.tl
check "the table" 0 "^flower 0  0\.[0-9]+" -- "$tl" run table.tl expected.npy
"$tl" run table.tl expected.npy >table.txt
for program in c_so c_a cpp_so cpp_a; do
  check "$program prints tl's table" 0 -- sh -c "./$program | cmp - table.txt"
  check "$program says what is wrong" 1 "mlp.tl:.*error" -- "./$program" nowhere.safetensors
done

# ---- the same bits
step "input" 0 -- "$tl" -e 'save("x.npy", normal(key(5), [77, 4]))'
step "tl run's bits" 0 -- "$tl" run run.tl x.npy -o p.npy
tail -c $((77 * 12)) p.npy >p.raw
for library in ./mlp.so mlp.a; do
  step "compile bits, $library" 0 -- "${c[@]}" "$programs/bits.c" $library "${libraries[@]}" -o bits
  check "bits, $library" 0 -- ./bits x.npy bits.raw
  check "tl run's and $library's bits" 0 -- cmp p.raw bits.raw
done

# ---- arguments of every kind, handles, failures, signals; two libraries in one program
posix=(gcc "${sanitize[@]}" -std=c99 -D_GNU_SOURCE -Wall -Wextra -Werror -g -I.)
step "compile boundary" 0 -- "${posix[@]}" "$programs/boundary.c" ./mlp.so ./plain.so -o boundary_so
step "compile boundary, archives" 0 -- "${posix[@]}" "$programs/boundary.c" mlp.a plain.a "${libraries[@]}" -o boundary_a
for program in boundary_so boundary_a; do check "$program" 0 "^OK$" -- "./$program"; done
check "nothing is printed" 0 "^0$" -- sh -c "./boundary_so 2>&1 | grep -v '^OK\$' | wc -c"

cat >talk.c <<'C'
#include "plain.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  char* text;
  int status;
  printf("before\n");
  status = plain_talk("you", &text);
  printf("%d %s\n", status, text);
  free(text);
  return 0;
}
C
step "compile talk" 0 -- "${c[@]}" talk.c ./plain.so -o talk
check "a program that prints does so in order" 0 "^before/hello you/0 bye you/$" -- sh -c "./talk | tr '\n' '/'"

# ---- threads
step "compile threads" 0 -- "${posix[@]}" "$programs/threads.c" ./mlp.so -lpthread -o threads_so
step "compile threads, archive" 0 -- "${posix[@]}" "$programs/threads.c" mlp.a "${libraries[@]}" -lpthread -o threads_a
for program in threads_so threads_a; do check "$program" 0 "^OK$" -- "./$program" 1000 $flat; done
step "compile steady" 0 -- "${posix[@]}" "$programs/steady.c" ./plain.so -o steady
if [[ -z ${TL_SANITIZED:-} ]]; then # which have memory of their own
  check "repeated calls on one thread take no pages" 0 "^OK$" -- ./steady 1 0
  check "repeated calls on two threads take few pages" 0 "^OK$" -- ./steady 2 5
fi
step "compile reload" 0 -- "${posix[@]}" "$programs/reload.c" -ldl -lpthread -o reload
check "loaded and closed again and again" 0 "^OK$" -- ./reload ./mlp.so ./plain.so

# ---- under the address sanitizer: the library's memory is malloc's
echo 'int main(void) { return 0; }' >empty.c
if [[ -n $preload ]]; then
  asan=""
elif gcc -fsanitize=address empty.c -o empty 2>/dev/null && ./empty; then
  export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS=
  for test in boundary threads; do
    step "compile $test with asan" 0 -- "${posix[@]}" -fsanitize=address "$programs/$test.c" ./mlp.so ./plain.so -lpthread -o "asan_$test"
    check "$test with asan" 0 "^OK$" -- "./asan_$test" 50
    step "compile $test with asan, archives" 0 -- "${posix[@]}" -fsanitize=address "$programs/$test.c" mlp.a plain.a "${libraries[@]}" -lpthread -o "asan_$test"
    check "$test with asan, archives" 0 "^OK$" -- "./asan_$test" 50
  done
  asan=$(gcc -print-file-name=libasan.so)
else
  echo "SKIPPED: the address sanitizer (gcc has none here)"
  asan=""
fi

# ---- Python
if command -v python3 >/dev/null && python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))'; then
  export PYTHONPATH=$out PYTHONDONTWRITEBYTECODE=1
  python=(python3)
  [[ -n $preload ]] && python=(env ASAN_OPTIONS=detect_leaks=0 "LD_PRELOAD=$preload" python3) # Python itself leaks
  check "predict.py" 0 -- sh -c "${python[*]} '$samples/predict.py' | head -3 | cmp - table.txt"
  check "predict.py's summary" 0 "^three: 3 flowers, weights [0-9.]+, kinds \[" -- "${python[@]}" "$samples/predict.py"
  check "check.py" 0 "^OK$" -- "${python[@]}" "$programs/check.py" 1000
  if [[ -n $asan ]]; then
    check "check.py with asan" 0 "^OK$" -- env ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc LD_PRELOAD="$asan" python3 "$programs/check.py" 20 --sanitized
  fi
  check "a wheel" 0 '^$' -- "$tl" build --lib --wheel=1.2.0 "$samples/mlp.tl" -o wheel/mlp
  check "its package" 0 "^one: 1 flowers" -- "${python[@]}" "$programs/wheel.py" wheel/mlp-1.2.0-cp39-abi3-*.whl unpacked
  check "beside the library" 0 "^5$" -- sh -c "cd wheel && PYTHONPATH= ${python[*]} -c 'import mlp; print(len(mlp.__doc__[:5]))'"
  check "the same bytes again" 0 '^$' -- sh -c "'$tl' build --lib --wheel=1.2.0 '$samples/mlp.tl' -o again/mlp && cmp wheel/*.whl again/*.whl"
  # What a package does is what the program does that the package tl loads.
  step "a program for both" 0 '^$' -- "$tl" build --lib --python "$programs/layer.tl" -o layer
  cp "$programs/layer.py" both.py # beside it, `layer` would be that file
  cp "$programs/beside.py" .
  check "layer.py, a package" 0 "^OK$" -- "${python[@]}" both.py layer ${preload:+--sanitized}
  package=$(dirname "$tl")/python
  if [[ -e $package/tl/_tl.abi3.so && -z $preload ]]; then
    check "layer.py, the package tl" 0 "^OK$" -- env PYTHONPATH="$package" "${python[@]}" both.py load "$programs/layer.tl"
    check "both in one process" 0 "^True True$" -- env PYTHONPATH="$out:$package" "${python[@]}" beside.py "$programs/layer.tl"
  else
    echo "SKIPPED: layer.py with the package tl (it is not built beside tl)"
  fi
  if command -v nm >/dev/null; then
    check "symbols of the extension module" 0 '^PyInit__tl $' -- echo "$(symbols -D layer/_tl.abi3.so)"
    check "what it needs but for Python is in libc" 1 '^$' -- sh -c "objdump -p layer/_tl.abi3.so | grep NEEDED | grep -vE 'lib(c|m)\.so|ld-linux'"
  fi
  check "help" 0 "x: f32\[n, 4\]" -- "${python[@]}" -c "import mlp; help(mlp.predict)"
else
  echo "SKIPPED: Python (there is no python3 of version 3.9 or later)"
fi

check "a wheel of no library" 2 "lib --wheel" -- "$tl" build --wheel "$samples/mlp.tl" -o x
check "a wheel of no version" 2 "no version" -- "$tl" build --lib --wheel=one "$samples/mlp.tl" -o x
check "a wheel in no folder" 2 "nowhere" -- "$tl" build --lib --wheel "$samples/mlp.tl" -o nowhere/x

# ---- what cannot cross
# refused NAME PATTERN CODE
refused() {
  printf '%s\n' "$3" >refused.tl
  check "refused: $1" 1 "^refused.tl:$2" -- "$tl" build --lib refused.tl -o refused
  check "refused: $1 leaves nothing" 0 -- test ! -e refused.so
}
refused "a list of devices" '1:16: error\[NotSupported\]: a device cannot be a parameter' 'export fn f(x: List<device>) -> f32 = 1.0'
refused "a list of nothing known" '1:11: error\[NotSupported\]: a list whose element type is unknown cannot be a result' 'export fn f(n: i64) = list()'
refused "a list of structs without fields" '2:11: error\[NotSupported\]: a struct without fields' $'struct E { }\nexport fn f(n: i64) -> List<E> = list(E())'
refused "a size that only a list has" '1:11: error\[UnboundSize\]: the size `n` of `f` cannot be inferred' 'export fn f(x: List<f32[n]>) -> i64 = n'
refused "a function" '1:16: error\[NotSupported\]: a function cannot be a parameter' 'export fn f(g: fn(f32) -> f32) -> f32 = g(1.0)'
refused "a function as a result" '1:11: error\[NotSupported\]: a function cannot be a result' 'export fn f(x: f32) -> (fn(f32) -> f32) = sin'
refused "a device" '1:16: error\[NotSupported\]: a device' 'export fn f(d: device) -> f32 = 1.0'
refused "a struct without fields" '2:16: error\[NotSupported\]: a struct without fields' $'struct E { }\nexport fn f(e: E) -> i64 = 3'
refused "a generic function" '1:11: error\[TypeMismatch\]: `f` is exported: its types' 'export fn f<T: float>(x: T) -> T = x'
refused "a parameter without a type" '1:13: error\[TypeMismatch\]: `f` is exported, so `x` needs a type' 'export fn f(x) = x'
refused "effects at the top" '2:11: error\[NotSupported\]: .* top level' $'print("hi")\nexport fn f(x: f32) -> f32 = x'
refused "an error in a function that nothing calls" '2:27: error\[UnknownName\]' $'export fn f(x: f32) -> f32 = x\nfn g(x: f32) -> f32 = x + nothing'
echo 'fn f(x: f32) -> f32 = x' >none.tl
check "nothing exported" 2 'none.tl: --lib needs a function with `export`' -- "$tl" build --lib none.tl -o none
echo 'export fn error(x: f32) -> f32 = x' >taken.tl
check "a name that is taken" 2 "would be called 'taken_error'" -- "$tl" build --lib taken.tl -o taken
check "a name that is none in C" 2 "is no name for C" -- "$tl" build --lib none.tl -o my-lib
check "--python alone" 2 "--lib --python" -- "$tl" build --python none.tl
check "tl check takes exports that a library does not" 0 -- sh -c "echo 'export fn f(d: device) -> f32 = 1.0' >device.tl && '$tl' check device.tl"
# a struct that is called like the handle of a list
printf '%s\n' 'struct List_f32 { x: i64 }' 'export fn f(x: List<f32>, y: List_f32) -> i64 = len(x) + y.x' \
  'export fn g() -> (List<f32>, List_f32) = (list(1.0), List_f32(x = 3))' >alike.tl
check "a list and a struct of its name" 0 "List_f32_\* x, const alike_List_f32\* y" -- sh -c "'$tl' build --lib alike.tl -o alike && cat alike.h"
# words of C and Python as names, comments in comments
cat >words.tl <<'TL'
## ends here */ and /* begins
export fn lambda(int: i64, linux: f32, class: str, keep: f64[n]) -> (i64, f32, str) = (int, linux * f32(keep.sum()), class)
TL
step "names that are words elsewhere" 0 -- "$tl" build --lib --python words.tl -o words
printf '#include "words.h"\nint main(void) { int64_t i; return words_lambda(1, 1, 0, 0, &i, 0, 0) != 2; }\n' >words.c
check "in C" 0 -- sh -c "gcc ${sanitize[*]} -std=gnu99 -Wall -Wextra -Werror -I. words.c ./words.so -o words_c && ./words_c"
check "in C++" 0 -- sh -c "g++ ${sanitize[*]} -x c++ -Wall -Wextra -Werror -I. words.c -x none ./words.so -o words_cpp && ./words_cpp"
if command -v python3 >/dev/null; then
  check "in Python" 0 "^\(1, 6.0, 'c'\)$" -- "${python[@]}" -c 'import array, words; print(words.lambda_(1, 2, "c", array.array("d", [1, 2])))'
fi
finish
