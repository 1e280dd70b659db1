#!/usr/bin/env bash
# Runs one step of tests/steps.txt: tests/step.sh BUILD NAME. TL_TEST_FILTER: only tests whose names contain it. Writes what it
# counted to BUILD/steps: `NAME|passed|failed|seconds|MB`, MB at the peak of its largest process. Exit code 77: skipped.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "$1") name=$2
filter=${TL_TEST_FILTER:-}
tl=$build/tl

# Halt on the first report, and find leaks only in tl (LLVM keeps globals). Threads of tl have signal stacks of their own.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:use_sigaltstack=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
export TL_SOURCE_DIR=$PWD                 # for tests that read the programs of the repository
export TL_CACHE_DIR=$build/kernel-cache   # kernels that tests compile stay out of the user's cache
TL_SANITIZED=$(sed -n 's/^TL_SANITIZE:STRING=//p' "$build/CMakeCache.txt" 2>/dev/null) # address, thread or nothing: for tests that must know
export TL_SANITIZED

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }
while IFS='|' read -r step _ _ memory _ command; do
  [[ $step != \#* && $(trim "$step") == "$name" ]] && break
  command=""
done <tests/steps.txt
[[ -n $command ]] || { echo "step.sh: tests/steps.txt has no step '$name'" >&2; exit 2; }
memory=$(trim "$memory")

mkdir -p "$build/steps"
result=$build/steps/${name// /_}
log=$(mktemp)
trap 'rm -f "$log" "$log.peak"' EXIT

# What commands of the table use.
doctest() { # a program of unit tests
  "$build/tests/tl_test_$1" ${filter:+"--test-case=*$filter*"}
}
named() { # whether the filter asks for a step that has no names of tests inside
  [[ -z $filter || $1 == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
}
python_step() { # a script that bundles do without
  [[ -f $1 ]] && command -v python3 >/dev/null || { echo "SKIPPED: $1"; exit 77; }
  python3 "$@"
}
numpy_step() { # the same, with NumPy
  local python
  for python in python3 /usr/bin/python3; do
    [[ -f $1 ]] && "$python" -c 'import numpy' 2>/dev/null && { "$python" "$@"; return; }
  done
  echo "SKIPPED: $1 (it needs python3 with NumPy)"
  exit 77
}
onnx_step() { # the same, with published models and ONNX Runtime
  local python
  [[ -f $1 ]] || { echo "SKIPPED: $1"; exit 77; }
  python=$(tests/environment.sh onnx) || exit
  "$python" "$@"
}
generated() { # sections of tests/generated
  "$build/tests/tl_generated" "$@" ${filter:+--only "$filter"}
}
oracles() { # subjects of tests/oracles
  python_step tests/oracles/run.py --tl "$tl" --keep "$build/oracles" ${filter:+--filter "$filter"} "$@"
}
differential() {
  numpy_step tests/differential/run.py --tl "$tl" --out "$build/differential" --jobs 2 "$@"
}
export build tl filter
export -f doctest named python_step numpy_step onnx_step generated oracles differential

limit=""
[[ $memory == - || -n $TL_SANITIZED ]] || limit="ulimit -d $((memory * 1024 * 1024)); "
run=(bash -c "$limit$command")
# The most that a process of the step held, which Python can tell.
command -v python3 >/dev/null && run=(python3 -c 'import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024))
sys.exit(status if status >= 0 else 128 - status)' "$log.peak" "${run[@]}")
begin=${EPOCHREALTIME/./}
"${run[@]}" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
seconds=$(((${EPOCHREALTIME/./} - begin) / 1000000))
peak=$(cat "$log.peak" 2>/dev/null || echo 0)

# The last `N passed, N failed` counts (doctest writes `N passed | N failed`); without one, the exit code does.
passed=0 failed=0 counted=""
counts='(^|[^0-9])([0-9]+) passed *[,|] *([0-9]+) failed'
while read -r line; do
  [[ $line =~ $counts && $line != *assertions:* ]] || continue
  passed=${BASH_REMATCH[2]} failed=${BASH_REMATCH[3]} counted=yes
done <"$log"
if ((status == 77)) && [[ -z $counted ]]; then
  printf '%s|skipped|0|%s|%s\n' "$name" "$seconds" "$peak" >"$result"
  exit 77
fi
if [[ -z $counted ]]; then ((status == 0)) && passed=1 || failed=1; fi
((status == 0 || failed > 0)) || failed=1
if [[ -z $filter ]] && ((passed + failed == 0)); then
  echo "step.sh: nothing has run"
  failed=1
fi
printf '%s|%s|%s|%s|%s\n' "$name" "$passed" "$failed" "$seconds" "$peak" >"$result"
((failed == 0))
