#!/usr/bin/env bash
# Runs every test program of a build folder: tests/run.sh BUILD [FILTER]. Prints what ran, and at the end one line
# `N passed, N failed`. Exit code 1 if anything failed. Steps whose tools are not installed are skipped by name; without any
# but bash and coreutils, the compiled test programs run.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1 filter=${2:-}
passed=0 failed=0 skipped=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Halt on the first report, and find leaks only in tl (LLVM keeps globals). Threads of tl have signal stacks of their own.
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:use_sigaltstack=0 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0

export TL_SOURCE_DIR=$PWD # for tests that read the programs of the repository

# address, thread or nothing: for tests that must know.
TL_SANITIZED=$(sed -n 's/^TL_SANITIZE:STRING=//p' "$build/CMakeCache.txt" 2>/dev/null)
export TL_SANITIZED

# Kernels that tests compile stay out of the user's cache.
export TL_CACHE_DIR=$PWD/$build/kernel-cache
[[ $build == /* ]] && TL_CACHE_DIR=$build/kernel-cache

# count NAME STATUS: adds the last `N passed, N failed` of the log (doctest writes `N passed | N failed`); a run without
# one counts as its exit status, of which 77 means skipped. Without a filter, to have run nothing is a failure.
count() {
  local line="" text counts='(^|[^0-9])([0-9]+) passed *[,|] *([0-9]+) failed'
  while read -r text; do
    [[ $text =~ $counts && $text != *assertions:* ]] || continue
    line="${BASH_REMATCH[2]} passed, ${BASH_REMATCH[3]} failed"
  done <"$log"
  if (($2 == 77)) && [[ -z $line ]]; then line=skipped; skipped+=("$1")
  elif [[ -n $line ]]; then
    passed=$((passed + ${line%% *}))
    text=${line#*, }
    failed=$((failed + ${text%% *}))
    if (($2 != 0)) && [[ $line == *", 0 failed" ]]; then failed=$((failed + 1)); fi
    if [[ -z $filter && $line == "0 passed, 0 failed" ]]; then failed=$((failed + 1)) line="nothing has run"; fi
  elif (($2 == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  printf '   %-20s %s\n' "$1" "${line:-exit code $2}"
}

# doctest NAME: a unit-test program; its summary becomes the common one. One that is not there is a failure: a part of
# the tests would be left out without a word.
doctest() {
  local program=$build/tests/tl_test_$1
  if [[ ! -x $program ]]; then
    echo "$program is missing" | tee "$log"
    count "unit $1" 1
    return
  fi
  local arguments=()
  [[ -n $filter ]] && arguments=("--test-case=*$filter*")
  "$program" "${arguments[@]}" >"$log" 2>&1
  local status=$?
  ((status == 0)) || cat "$log"
  count "unit $1" $status
}

run() { # run NAME COMMAND…: prints its output
  local name=$1
  shift
  "$@" 2>&1 | tee "$log"
  count "$name" "${PIPESTATUS[0]}"
}

echo "── unit tests"
units=(abi io lang parser ir passes backend vm gpu card emulator golden)
for lib in "${units[@]}"; do doctest "$lib"; done
for program in "$build"/tests/tl_test_*; do # one that the list above forgets
  [[ " ${units[*]} " == *" ${program##*/tl_test_} "* ]] || doctest "${program##*/tl_test_}"
done
echo "── golden programs"
run golden "$build/tests/tl_golden" --tl "$build/tl" --seconds 100 ${filter:+--filter "$filter"} tests/golden
echo "── tests generated from the op table"
run generated "$build/tests/tl_generated" ${filter:+--only "$filter"}
echo "── samples and commands"
run samples tests/samples.sh "$build/tl" "$filter"
run memory tests/memory.sh "$build/tl" "$filter"
run figures tests/figures.sh "$build/tl" "$filter"
run profiling tests/profiling.sh "$build/tl" "$filter"
run "debug lines" tests/debug_lines.sh "$build/tl" "$filter"
run commands tests/commands.sh "$build/tl" "$filter"
run gpu tests/gpu.sh "$build/tl" "$filter"
run "emulated GPU" tests/gpu_emulated.sh "$build/tl" "$filter"
run "samples on a GPU" tests/gpu_samples.sh "$build/tl" "$filter"
run executables tests/build.sh "$build/tl" "$filter"
command -v python3 >/dev/null && run "faults apply" python3 tests/mutants/run.py --check
run differential tests/differential.sh "$build/tl" "$filter"
[[ -z $filter || integers == *"$filter"* ]] && command -v python3 >/dev/null &&
  run integers python3 tests/fuzz/integers.py --tl "$build/tl" --seed 1 --count 200 --out "$build/fuzz"
if command -v python3 >/dev/null && [[ -f tests/oracles/run.py ]]; then # which the bundle does not have
  run oracles python3 tests/oracles/run.py --tl "$build/tl" --keep "$build/oracles" ${filter:+--filter "$filter"}
else skipped+=(oracles); fi
run harm tests/harm.sh "$build/tl" "$filter"
run fuzz tests/fuzz.sh "$build/tl" "$filter"
run embed tests/embed.sh "$build/tl" "$filter"
run async tests/async.sh "$build/tl" "$filter"
run repl tests/repl.sh "$build/tl" "$filter"
[[ -f tests/gate_test.py ]] && command -v python3 >/dev/null && command -v git >/dev/null && run gate python3 tests/gate_test.py "$filter"
run docs tests/docs.sh "$build/tl" "$filter"
run explain tests/explain.sh "$build/tl" "$filter"
run scaling tests/scaling.sh "$build/tl" "$filter"
run "doc site" tests/doc_site.sh "$build/tl" "$filter"
run packaging tests/packaging.sh "$build" "$filter"
run "tl test" "$build/tl" test samples ${filter:+--filter "$filter"}

((${#skipped[@]} == 0)) || (IFS=, && echo "skipped: ${skipped[*]}")
if ((passed + failed == 0)); then
  echo "no test has \`$filter\` in its name"
  failed=1
fi
echo "$passed passed, $failed failed"
((failed == 0))
