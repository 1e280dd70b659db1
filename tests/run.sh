#!/usr/bin/env bash
# Runs the tests of a build folder, the steps of tests/steps.txt: tests/run.sh BUILD [FILTER]. By CTest, several at a time, or,
# where there is no CTest, one after the other. Prints the output of those that fail, the longest ten, what was skipped, and at
# the end one line `N passed, N failed`. Exit code 1 if anything failed. Without any tool but bash and coreutils, the
# compiled test programs run. TL_TEST_LABELS=gpu: only steps with this label (a regular expression).
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "$1")
export TL_TEST_FILTER=${2:-}
rm -rf "$build/steps"
mkdir -p "$build/steps"

names=()
while IFS='|' read -r name labels _; do
  name=$(sed 's/^ *//; s/ *$//' <<<"$name")
  [[ -z $name || $name == \#* || ! $labels =~ ${TL_TEST_LABELS:-} ]] || names+=("$name")
done <tests/steps.txt
if [[ -f $build/CTestTestfile.cmake ]] && command -v ctest >/dev/null; then
  ctest --test-dir "$build" -j "$(nproc)" --output-on-failure --no-tests=error ${TL_TEST_LABELS:+-L "$TL_TEST_LABELS"}
else
  for name in "${names[@]}"; do
    echo "── $name"
    tests/step.sh "$build" "$name"
  done
fi

passed=0 failed=0 skipped=()
for name in "${names[@]}"; do
  if ! IFS='|' read -r _ good bad _ 2>/dev/null <"$build/steps/${name// /_}"; then
    echo "$name: it was ended, or ran longer than tests/steps.txt allows"
    failed=$((failed + 1))
  elif [[ $good == skipped ]]; then skipped+=("$name")
  else passed=$((passed + good)) failed=$((failed + bad)); fi
done
echo "the longest steps:"
sort -t '|' -k 4 -n -r "$build"/steps/* | head -n 10 |
  while IFS='|' read -r name good bad seconds peak; do printf '%6d s %6d MB  %s\n' "$seconds" "$peak" "$name ($good passed, $bad failed)"; done
((${#skipped[@]} == 0)) || (IFS=, && echo "skipped: ${skipped[*]}")
if ((passed + failed == 0)); then
  echo "no test has \`$TL_TEST_FILTER\` in its name"
  failed=1
fi
echo "$passed passed, $failed failed"
((failed == 0))
