#!/usr/bin/env bash
# The Python package, as a user has it: tests/python.sh BUILD [FILTER]. Makes the wheel (python/wheel.sh), installs it into fresh virtual
# environments of python3 and of the oldest and newest other CPython here, and runs tests/python in each; then once more without NumPy.
# (tests/python_frameworks.sh has the rest of that folder.) Where PyPI cannot be reached, the package of the build tree is tested with a Python that has NumPy. Under a sanitizer: that alone.
set -uo pipefail
build=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source tests/check.sh
export PYTHONDONTWRITEBYTECODE=1 TL_CACHE_DIR=$build/kernel-cache
[[ -e $build/python/tl/_tl.abi3.so ]] || { echo "SKIPPED: all of python.sh (the Python package is not built: TL_PYTHON)"; exit 77; }

passed_there=0 failed_there=0
# tests PYTHON LABEL: tests/python/run.py, whose counts are added.
run_tests() {
  local log=$build/python-tests.log counts
  echo "── $2: $("$1" -VV | head -n 1)"
  timeout 900 "$1" tests/python/run.py "$filter" >"$log" 2>&1
  counts=$(tail -n 1 "$log")
  if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed_there=$((passed_there + BASH_REMATCH[1])) failed_there=$((failed_there + BASH_REMATCH[2]))
    ((BASH_REMATCH[2] == 0)) && { grep -E ' us$|^SKIPPED' "$log"; return; }
  else
    failed_there=$((failed_there + 1))
  fi
  cat "$log"
}
finish_all() {
  passed=$((passed + passed_there)) failed=$((failed + failed_there))
  finish
  exit
}

if [[ -n ${TL_SANITIZED:-} ]]; then
  # The sanitizer must be there before Python is; Python itself leaks.
  needs_numpy
  export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 PYTHONMALLOC=malloc PYTHONPATH=$build/python
  LD_PRELOAD="$(gcc -print-file-name="lib${TL_SANITIZED:0:1}san.so") $(gcc -print-file-name=libstdc++.so.6)"
  export LD_PRELOAD
  # All but Memory, which measures it.
  for part in Functions Arrays Tensors Tuples Keys Structs Derivatives Errors Processes Threads; do
    [[ -z $filter || $part == *"$filter"* ]] && filter=$part run_tests "$python" "the build tree, $part, with a sanitizer"
  done
  finish_all
fi

# ---- the wheel
source python/wheel.sh
status=0
tests/environment.sh wheel >/dev/null || status=$?
if ((status != 0)); then
  ((status == 77)) || exit 1
  needs_numpy
  PYTHONPATH=$build/python run_tests "$python" "the build tree"
  finish_all
fi
wheel=$(echo build/dist/tl_lang-*-cp39-abi3-manylinux_*.whl)
if [[ ! -f $wheel || -n $(find python pyproject.toml "$build/libtl.so" "$build/python/tl/_tl.abi3.so" -newer "$wheel" -print -quit) ]]; then
  wheel >&2 || { echo "FAIL: the wheel cannot be made"; failed=1; finish; exit; }
  wheel=$(echo build/dist/tl_lang-*-cp39-abi3-manylinux_*.whl)
fi
check "the wheel is for Python 3.9 and later, and glibc 2.36" 0 -- test -f "$wheel"
check "it is at most 60 MB" 0 -- test "$(stat -c %s "$wheel")" -le $((60 * 1024 * 1024))
check "it needs nothing but libc" 0 'consistent with the following platform tag: *"?manylinux_2_36|manylinux_2_36_x86_64' -- \
  env PATH="$PWD/build/wheel-venv/bin:$PATH" build/wheel-venv/bin/python -m auditwheel show "$wheel"
for file in __init__.py __init__.pyi __main__.py _tl.pyi py.typed _tl.abi3.so libtl.so bin/tl; do
  check "it carries $file" 0 "^tl/$file " -- build/wheel-venv/bin/python -m zipfile -l "$wheel"
done
check "the licenses of what is linked into it" 0 'tl/licenses/llvm-19-dev' -- build/wheel-venv/bin/python -m zipfile -l "$wheel"
check "the sdist has the sources, and nothing that was built" 1 '^0$' -- sh -c "tar tf build/dist/tl_lang-*.tar.gz | grep -cE '\\.(o|so|a)$'"

# ---- the Pythons: python3, and the oldest and the newest other one
pythons=(python3)
others=()
for candidate in /usr/bin/python3 "$HOME"/.pyenv/versions/3.*/bin/python3 /usr/bin/python3.[0-9]*; do
  [[ -x $candidate && $candidate != *config ]] || continue
  version=$("$candidate" -c 'import sys; v = sys.version_info; print("%d.%02d" % v[:2] if v >= (3, 9) and v.releaselevel == "final" else "")' 2>/dev/null)
  [[ -n $version ]] && others+=("$version $candidate")
done
mapfile -t others < <(printf '%s\n' "${others[@]}" | sort -u -k 1,1)
((${#others[@]} > 0)) && pythons+=("${others[0]#* }")
((${#others[@]} > 1)) && pythons+=("${others[-1]#* }")

# fresh PYTHON FOLDER [PACKAGE…]: a virtual environment with the wheel.
fresh() {
  local folder=$2
  rm -rf "$folder"
  "$1" -m venv "$folder" >"$build/python-venv.log" 2>&1 &&
    "$folder/bin/python" -m pip install -q --retries 1 --timeout 30 "$wheel" "${@:3}" >>"$build/python-venv.log" 2>&1
}
seen=""
for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  [[ " $seen " == *" $version "* ]] && continue
  seen+=" $version"
  venv=build/python-venv-$version
  if ! fresh "$python" "$venv" numpy ml_dtypes; then
    cat "$build/python-venv.log"
    failed=$((failed + 1))
    continue
  fi
  run_tests "$venv/bin/python" "the wheel"
done
venv=build/python-venv-plain
if fresh python3 "$venv"; then
  check "without NumPy" 0 '^OK$' -- "$venv/bin/python" tests/python/plain.py
  check "the command" 0 '^3$' -- "$venv/bin/tl" -e 'print(1 + 2)'
  check "it goes as it came" 0 '^gone$' -- sh -c "$venv/bin/python -m pip uninstall -qy tl_lang && test ! -e $venv/bin/tl && ! ls -d $venv/lib/python3*/site-packages/tl 2>/dev/null && echo gone"
else
  cat "$build/python-venv.log"
  failed=$((failed + 1))
fi
finish_all
