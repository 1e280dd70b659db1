#!/usr/bin/env bash
# tl in Jupyter: tests/notebook.sh BUILD [FILTER]. The kernel of the package in the build tree, installed under a folder of its own, by
# questions of jupyter_client, by Jupyter's tests of kernels, and as nbconvert executes samples/notebook.ipynb.
set -uo pipefail
build=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source tests/check.sh
patience=300
[[ -e $build/python/tl/_tl.abi3.so ]] || { echo "SKIPPED: all of notebook.sh (the Python package is not built: TL_PYTHON)"; exit 77; }
[[ -z ${TL_SANITIZED:-} ]] || { echo "SKIPPED: all of notebook.sh (Python lacks the sanitizer)"; exit 77; }
python=$(tests/environment.sh notebook) || exit
python=$(realpath -s "$python")
here=$PWD
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export PYTHONPATH=$build/python JUPYTER_PATH=$out/share/jupyter TL_CACHE_DIR=$build/kernel-cache PYTHONDONTWRITEBYTECODE=1
export JUPYTER_CONFIG_DIR=$out/config JUPYTER_RUNTIME_DIR=$out/run IPYTHONDIR=$out/ipython HOME=$out
kernel=("$python" -m tl.kernel)

# ---- the command
"${kernel[@]}" --install --prefix "$out" --flag threads=2 >/dev/null || { echo "FAIL: the kernel cannot be installed"; exit 1; }
check "where it is installed" 0 '"tl.kernel"' -- cat "$out/share/jupyter/kernels/tl/kernel.json"
check "another name" 0 'kernels/tl-sync' -- "${kernel[@]}" --install --prefix "$out/other" --name tl-sync --flag sync=true
check "for the user" 0 "$out/.local/share/jupyter/kernels/tl" -- "${kernel[@]}" --install --user
check "by the command of the package" 0 'kernels/tl' -- "$python" -m tl kernel --install --prefix "$out/third"
check "by the binary" 0 'kernels/tl' -- env PATH="$(dirname "$python"):$PATH" "$build/tl" kernel --install --prefix "$out/fourth"
check "the binary, without the package" 2 'has the kernel|Python package of tl, which .* lacks' -- env -u PYTHONPATH "$build/tl" kernel --install
check "the binary, without Python" 2 'python3 cannot be run' -- env PATH=/nowhere "$build/tl" kernel --install
check "without ipykernel" 2 'needs ipykernel' -- "$python" -c 'import sys
sys.modules["ipykernel.kernelapp"] = None
import tl.kernel'
check "neither to install nor to run" 2 'Jupyter, which starts it' -- "${kernel[@]}"
check "an unknown option" 2 'unrecognized arguments: --threads' -- "${kernel[@]}" --install --threads 3
check "a wrong flag" 2 "threads" -- "${kernel[@]}" --install --prefix "$out" --flag threads=many
check "a flag without a value" 2 'NAME=VALUE' -- "${kernel[@]}" --install --prefix "$out" --flag threads
check "a wrong name" 2 'make a name' -- "${kernel[@]}" --install --prefix "$out" --name a/b
check "no connection file" 2 'no connection file' -- "${kernel[@]}" -f "$out/nothing.json"
check "two places" 2 'exclude' -- "${kernel[@]}" --install --user --prefix "$out"
check "where nothing can be written" 3 'cannot be installed' -- "${kernel[@]}" --install --prefix /dev/null

# ---- the kernel
# counted NAME SCRIPT: its tests are added.
counted() {
  local text counts
  [[ -n $filter && $1 != *"$filter"* ]] && return
  text=$(timeout "$patience" "$python" "$2" 2>&1)
  counts=$(tail -n 1 <<<"$text")
  if [[ $counts =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
    ((BASH_REMATCH[2] == 0)) && return
  else
    failed=$((failed + 1))
  fi
  printf 'FAIL %s\n%s\n' "$1" "$text"
}
counted "questions" "$here/tests/notebook/kernel.py"
counted "jupyter_kernel_test" "$here/tests/notebook/standard.py"

# ---- the notebook
cd "$out" || exit 1
cp "$here/samples/notebook.ipynb" .
check "nbconvert runs the sample" 0 -- "$python" -m nbconvert --execute --to html notebook.ipynb
check "its pictures" 0 '^4$' -- sh -c "grep -o 'src=.data:image/svg+xml' notebook.html | wc -l"
check "its tables" 0 '<code>f32\[17, 17\]</code>' -- cat notebook.html
check "its error" 0 'needs equal sizes' -- cat notebook.html
check "its output" 0 'step 1500: 0\.0' -- cat notebook.html
finish
