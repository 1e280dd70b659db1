# shellcheck shell=bash
# Sourced by `dev`, in the repository's folder: the Python package.

# build/dist/tl_lang-VERSION-cp39-abi3-manylinux_*.whl, for Python 3.9 and all later ones, and the sdist beside it.
wheel() {
  local python dist=build/dist raw=build/dist/raw most=$((60 * 1024 * 1024)) file
  python=$(tests/environment.sh wheel) || return
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
