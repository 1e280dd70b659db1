#!/usr/bin/env bash
# Prints the Python of a virtual environment, which it makes where it is not there or is another list's: tests/environment.sh NAME.
# Exit code 77, and why, where that cannot be done: no module venv (Debian: python3-venv), or PyPI cannot be reached.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pip=(install)
case ${1:-} in
  onnx) list=tests/onnx/packages.txt what="the published ONNX models and cases" pip+=(--no-deps) ;;
  wheel) list=python/packages.txt what="the wheel" ;;
  notebook) list=tests/notebook/packages.txt what="tl in Jupyter" ;;
  editors) list=tests/editors/packages.txt what="the grammar of tree-sitter" ;;
  frameworks) list=tests/python/packages.txt what="tl inside JAX and IPython" ;;
  *) echo "usage: tests/environment.sh onnx|wheel|notebook|editors|frameworks" >&2; exit 2 ;;
esac
venv=build/$1-venv
skip() {
  printf 'SKIPPED, %s: %s\n' "$what" "$*" >&2
  exit 77
}

[[ -f $list ]] || skip "there is no $list (bundles do without)"
mkdir -p build
exec 9>"$venv.lock"
flock 9 # two steps may come here at once
if ! cmp -s "$list" "$venv/packages.txt"; then
  rm -rf "$venv"
  made=""
  for python in python3 /usr/bin/python3; do
    rm -rf "$venv.new"
    if command -v "$python" >/dev/null && "$python" -m venv "$venv.new" >/dev/null 2>&1; then
      made=yes
      break
    fi
  done
  [[ -n $made ]] || skip "python3 -m venv does not work here (Debian: apt-get install python3-venv)"
  log=$venv.log
  if ! "$venv.new/bin/python" -m pip "${pip[@]}" --retries 1 --timeout 30 -r "$list" >"$log" 2>&1; then
    # A version that PyPI does not have is a fault of the list; without PyPI there are no versions at all.
    if grep -q 'from versions: [^n)]' "$log"; then
      cat "$log" >&2
      exit 1
    fi
    skip "PyPI cannot be reached: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log")"
  fi
  mv "$venv.new" "$venv"
  cp "$list" "$venv/packages.txt"
fi
echo "$venv/bin/python"
