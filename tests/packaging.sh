#!/usr/bin/env bash
# What was built runs on every x86-64 Linux with glibc 2.36 or newer, and is installed whole: tests/packaging.sh BUILD [FILTER].
set -uo pipefail
build=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk readelf
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

needed() { readelf -dW "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]$/\1/p'; }
if needed "$build/tl" | grep -qE 'lib(a|t)san'; then
  echo "SKIPPED: all of packaging.sh (sanitizers need libraries of their own)"
  exit 77
fi
# portable NAME PROGRAM: it needs libc and libm alone, as glibc 2.36 has them.
portable() {
  check "$1 is an executable" 0 -- test -x "$2"
  check "$1 needs libc and libm alone" 0 '^$' -- echo "$(needed "$2" | grep -vxE 'libc\.so\.6|libm\.so\.6|ld-linux-x86-64\.so\.2')"
  check "$1 needs nothing newer than glibc 2.36" 0 '^$' -- echo "$(readelf -VW "$2" | grep -oE 'GLIBC_[0-9.]+' | awk -F '[_.]' '$2 != 2 || $3 > 36' | sort -u)"
}
portable tl "$build/tl"
for program in "$build"/tests/tl_*; do portable "$(basename "$program")" "$program"; done
echo 'let x = ones([3, 3]); print((x @ x).sum())' >"$out/program.tl"
filter="" check "tl build" 0 -- "$build/tl" build "$out/program.tl" -o "$out/program"
portable "what tl build made" "$out/program"
check "it runs without an environment" 0 "^27.0$" -- env -i "$out/program"

if command -v qemu-x86_64 >/dev/null; then
  for program in "$build/tl" "$out/program"; do
    check "$(basename "$program") refuses a processor without AVX2" 2 "older than x86-64-v3" -- qemu-x86_64 -cpu Nehalem "$program"
  done
else
  echo "SKIPPED: an old processor (there is no qemu-x86_64)"
fi
if command -v cmake >/dev/null && [[ -f $build/cmake_install.cmake ]]; then
  filter="" check "cmake --install" 0 -- cmake --install "$build" --prefix "$out/prefix"
  check "the installed tl runs an installed sample" 0 "most likely" -- \
    env -i "$out/prefix/bin/tl" run --no-cache "$out/prefix/share/tl/samples/softmax.tl" "$out/prefix/share/tl/samples/data/scores.npy"
  for file in README.md docs/tutorial.md docs/packaging.md; do check "$file is installed" 0 -- test -s "$out/prefix/share/doc/tl/$file"; done
  for file in man/man1/tl.1 bash-completion/completions/tl zsh/vendor-completions/_tl fish/vendor_completions.d/tl.fish; do
    check "$file is installed" 0 -- test -s "$out/prefix/share/$file"
  done
  check "nothing else is installed" 0 "^bin share share/bash-completion share/doc share/fish share/man share/tl share/zsh $" -- sh -c "cd '$out/prefix' && ls -d * share/* | tr '\n' ' '"
else
  echo "SKIPPED: the installation (there is no cmake)"
fi
finish
