# shellcheck shell=bash
# Sourced by the shell tests: counts checks, and prints `N passed, N failed` at the end by finish.
passed=0 failed=0
patience=60 # seconds for a command
[[ -n ${TL_SANITIZED:-} ]] && patience=900

# needs TOOL…: a machine without one of them skips the whole script, by name.
needs() {
  local tool
  for tool in "$@"; do
    if ! command -v "$tool" >/dev/null; then
      echo "SKIPPED: all of $(basename "$0") (there is no $tool)"
      exit 77
    fi
  done
}
needs grep sed

# Sets `python` to one that has NumPy; without any the whole script is skipped.
needs_numpy() {
  for python in python3 /usr/bin/python3; do
    "$python" -c 'import numpy' 2>/dev/null && return
  done
  echo "SKIPPED: all of $(basename "$0") (there is no python3 with NumPy)"
  exit 77
}

# check NAME EXIT_CODE [PATTERN] -- COMMAND…: runs it; its exit code must be EXIT_CODE and its output (both streams) hold
# PATTERN (an extended regular expression).
check() {
  local name=$1 code=$2 pattern=""
  shift 2
  if [[ $1 != -- ]]; then pattern=$1; shift; fi
  shift
  [[ -n ${filter:-} && $name != *"$filter"* ]] && return
  local text status
  text=$(timeout "$patience" "$@" 2>&1 </dev/null)
  status=$?
  if ((status == code)) && { [[ -z $pattern ]] || grep -qE -- "$pattern" <<<"$text"; }; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name: exit code $status, expected $code${pattern:+ and /$pattern/}"
    echo "  command: $*"
    sed 's/^/  | /' <<<"$text" | head -n 20
  fi
}

finish() {
  echo "$passed passed, $failed failed"
  ((failed == 0))
}
