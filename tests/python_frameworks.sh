#!/usr/bin/env bash
# tl inside PyTorch, JAX and IPython: tests/python_frameworks.sh BUILD [FILTER], with the Python that $TL_FRAMEWORKS_PYTHON names, else the
# virtual environment build/frameworks-venv (tests/README.md says how to make it), else python3. What it lacks is skipped by name.
set -uo pipefail
build=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source tests/check.sh
patience=600
[[ -e $build/python/tl/_tl.abi3.so ]] || { echo "SKIPPED: all of python_frameworks.sh (the Python package is not built: TL_PYTHON)"; exit 77; }
python=${TL_FRAMEWORKS_PYTHON:-}
[[ -n $python || ! -x build/frameworks-venv/bin/python ]] || python=$PWD/build/frameworks-venv/bin/python
[[ -n $python ]] || for candidate in python3 /usr/bin/python3; do "$candidate" -c 'import numpy' 2>/dev/null && { python=$candidate; break; }; done
[[ -n $python ]] || { echo "SKIPPED: all of python_frameworks.sh (there is no python3 with NumPy)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$build/python TL_CACHE_DIR=$build/kernel-cache
tests=$PWD/tests/python tl=$build/tl

# with MODULES NAME SCRIPT ARGS…: checks it where these can be imported.
with() {
  local modules=$1 name=$2
  shift 2
  [[ -n $filter && $name != *"$filter"* ]] && return
  if "$python" -c "import $modules" 2>/dev/null; then
    check "$name" 0 '(^| )0 failed' -- "$python" "$@"
  else
    echo "SKIPPED: $name (there is no $modules for $python)"
  fi
}
torch=$("$python" -c 'import torch; print("torch" if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 4) else "torch.of.version.2.4")' 2>/dev/null)
cd "$(mktemp -d)" || exit 1
with numpy "the Python of README.md and docs/python.md" "$tests/readme.py"
with "${torch:-torch}" "PyTorch" "$tests/torch_op.py"
with "${torch:-torch}" "PyTorch's sample" "$tests/torch_sample.py"
with jax "JAX" "$tests/jax_fn.py"
with IPython "cells" "$tests/magic_cells.py" "$tl"
finish
