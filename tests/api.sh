#!/usr/bin/env bash
# libtl in programs of C and C++: tests/api.sh BUILD [FILTER].
set -uo pipefail
build=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
step() { local filter="" && check "$@"; } # what later checks need: whatever the filter is
needs gcc g++ nm
repository=$PWD library=$build/libtl.so
[[ -f $library ]] || { echo "SKIPPED: all of api.sh (there is no $library)"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out" || exit 1

sanitize=()
if [[ -n ${TL_SANITIZED:-} ]]; then
  sanitize=("-fsanitize=$TL_SANITIZED")
  [[ $TL_SANITIZED == address ]] && sanitize+=(-fsanitize=undefined)
fi
link=("$library" -pthread "-Wl,-rpath,$build")
c=(gcc "${sanitize[@]}" -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$repository/api")
cpp=(g++ "${sanitize[@]}" -std=c++17 -O1 -Wall -Wextra -Wpedantic -Werror -I"$repository/api")

# What it shows of itself is what its header declares.
sed -nE 's/^TL_API [^;(]*[ *](tl_[a-z_]+)\(.*/\1/p' "$repository/api/tl.h" | sort >declared
nm -D --defined-only "$library" | sed -E 's/.* //; s/@.*//' | sort >shown
check "symbols" 0 '^$' -- diff declared shown
check "needs libc and libm alone" 0 '^$' -- sh -c "readelf -d '$library' | grep NEEDED | grep -vE 'lib(c|m|dl|pthread|asan|ubsan|tsan|stdc\+\+|gcc_s|ld-linux-x86-64)\.so|ld-linux'; true"

step "call.c" 0 -- "${c[@]}" "$repository/samples/libtl/call.c" "${link[@]}" -o call
check "call.c: what it prints" 0 'grad\(energy\): 4 32 108' -- ./call
check "call.c: what it says of a wrong call" 0 'x: f32\[n\] is wanted, and this is f32\[_, _\]' -- ./call
step "fit.cpp" 0 -- "${cpp[@]}" "$repository/samples/libtl/fit.cpp" "${link[@]}" -o fit
check "fit.cpp: what it prints" 0 'y = 3.00 x -1.00' -- ./fit
step "boundary.cpp" 0 -- "${cpp[@]}" "$repository/tests/api/boundary.cpp" "${link[@]}" -o boundary
if [[ -z $filter || boundary == *"$filter"* ]]; then
  patience=300
  [[ -n ${TL_SANITIZED:-} ]] && patience=3000
  text=$(timeout "$patience" ./boundary 2>&1)
  status=$?
  grep -v ' passed, ' <<<"$text"
  if summary=$(grep -oE '[0-9]+ passed, [0-9]+ failed$' <<<"$text"); then
    passed=$((passed + ${summary%% *})) failed=$((failed + $(sed 's/.*, \([0-9]*\) .*/\1/' <<<"$summary")))
  fi
  # A sanitizer reports at the end, after all checks have passed.
  if ((status != 0)) && [[ -z $summary || $summary == *" 0 failed" ]]; then failed=$((failed + 1)); echo "FAIL boundary: exit code $status"; fi
fi
finish
