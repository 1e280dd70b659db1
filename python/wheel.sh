# shellcheck shell=bash
# Sourced by `dev`, in the repository's folder: the Python package.

# Prints the Python of build/wheel-venv, a virtual environment with what makes wheels. Status 77, and why, where there can be none.
wheel_python() {
  local venv=build/wheel-venv log=build/wheel-venv.log
  if [[ ! -x $venv/bin/auditwheel ]]; then
    rm -rf "$venv"
    mkdir -p build
    if ! python3 -m venv "$venv" >"$log" 2>&1; then
      echo "SKIPPED, the wheel: python3 -m venv does not work here (Debian: apt-get install python3-venv)" >&2
      return 77
    fi
    if ! "$venv/bin/python" -m pip install -q --retries 1 --timeout 30 -r python/packages.txt >"$log" 2>&1; then
      rm -rf "$venv"
      if grep -q 'from versions: [^n)]' "$log"; then # a fault of the list: PyPI does not have that version
        cat "$log" >&2
        return 1
      fi
      echo "SKIPPED, the wheel: PyPI cannot be reached: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log")" >&2
      return 77
    fi
  fi
  echo "$venv/bin/python"
}

# build/dist/tl_lang-VERSION-cp39-abi3-manylinux_*.whl, for Python 3.9 and all later ones, and the sdist beside it.
wheel() {
  local python dist=build/dist raw=build/dist/raw most=$((60 * 1024 * 1024)) file
  python=$(wheel_python) || return
  rm -rf "$dist"
  mkdir -p "$raw"
  "$python" -m build --no-isolation --wheel --outdir "$raw" . >build/wheel.log 2>&1 || { cat build/wheel.log >&2; return 1; }
  # No library but those of every Linux with that glibc: it says so, and the file's name then does.
  PATH=$PWD/build/wheel-venv/bin:$PATH "$python" -m auditwheel repair --plat manylinux_2_36_x86_64 --wheel-dir "$dist" "$raw"/*.whl \
    >build/auditwheel.log 2>&1 || { cat build/auditwheel.log >&2; return 1; }
  rm -r "$raw"
  "$python" -m build --no-isolation --sdist --outdir "$dist" . >build/sdist.log 2>&1 || { cat build/sdist.log >&2; return 1; }
  file=$(echo "$dist"/*.whl)
  if (($(stat -c %s "$file") > most)); then
    echo "dev: $file is larger than 60 MB" >&2
    return 1
  fi
  ls -sh "$dist"/*
}
