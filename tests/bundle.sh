#!/usr/bin/env bash
# Packs a finished build with its tests for machines that have neither compilers nor libraries: tests/bundle.sh BUILD writes
# BUILD/tl-VERSION-x86_64-linux.tar.xz. Unpacked it looks like this repository, without sources; `./test` runs all tests.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
most=40000000 # bytes
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=tl-$version-x86_64-linux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

to=$work/$name
mkdir -p "$to/build/tests"
git ls-files -z --cached --others --exclude-standard -- README.md docs samples stdlib bench tests \
  ':!tests/**.cpp' ':!tests/**.h' ':!tests/**.py' ':!*CMakeLists.txt' | xargs -0 cp --parents -t "$to"
for program in tl "$build"/tests/tl_*; do
  program=${program#"$build"/}
  strip -o "$to/build/$program" "$build/$program"
done
cat >"$to/test" <<'SH'
#!/usr/bin/env bash
# The whole test suite: ./test [FILTER]. What needs a tool that is not installed is skipped by name.
cd "$(dirname "${BASH_SOURCE[0]}")" && exec tests/run.sh build "$@"
SH
chmod +x "$to/test"
cat >"$to/gpu-check" <<'SH'
#!/usr/bin/env bash
# What a card and tl make of each other, in less than ten minutes: ./gpu-check [--emulated] [PART…].
cd "$(dirname "${BASH_SOURCE[0]}")" && exec bench/gpu_check.sh "$@"
SH
chmod +x "$to/gpu-check"
# The three programs with LLVM inside are alike: one window over all of them halves the archive.
tar -C "$work" --sort=name --owner=0 --group=0 -c "$name" | xz --x86 --lzma2=preset=2,dict=192MiB >"$build/$name.tar.xz"
size=$(stat -c %s "$build/$name.tar.xz")
echo "$build/$name.tar.xz: $((size / 1000000)) MB of at most $((most / 1000000))"
if ((size > most)); then
  echo "bundle: too large" >&2
  exit 1
fi
