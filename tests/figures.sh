#!/usr/bin/env bash
# What one step of the training samples costs besides time: kernels launched, bytes they read and write, blocks allocated,
# and the peak of memory, beside tests/figures.txt: tests/figures.sh TL [--update]. A cliff that comes back shows here
# without a clock. Of two runs, one of which takes a step more; on one thread, each operation finished before the next,
# for a processor that every machine can stand for: with longer vectors products want larger panels.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
[[ -z $filter || $filter == --update || figures == *"$filter"* ]] || { echo "0 passed, 0 failed"; exit 0; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
golden=tests/figures.txt
"$tl" run samples/data/generate.tl --count 64 --to "$out/digits" >/dev/null
for _ in {1..400}; do echo "A row of letters, read again and again: abcdefghijklmnopqrstuvwxyz."; done >"$out/text"
files=(--plot_file "$out/curve.svg" --to "$out/model.npz")

# stats COMMAND…: kernels, bytes, allocations, peak
stats() {
  TL_CPU=x86-64-v3 "$tl" run --sync --threads 1 --stats "$@" 2>&1 >/dev/null |
    awk '/^kernels launched/ { k = $3 } /^bytes moved/ { b = $3 } /^allocations/ { a = $2 } /^peak memory/ { p = $3 }
      END { print k, b, a, p }'
}
# step NAME FLAG LESS MORE COMMAND…: one step is what FLAG MORE costs beyond FLAG LESS
step() {
  local name=$1 flag=$2 less=$3 more=$4
  shift 4
  echo "$(stats "$@" "$flag" "$less") $(stats "$@" "$flag" "$more")" | awk -v name="$name" \
    '{ printf "%s: %d kernels, %d bytes moved, %d allocations, peak %.1f MB\n", name, $5 - $1, $6 - $2, $7 - $3, $8 / 1e6 }'
}
digits=("$out"/digits-images.idx.gz "$out"/digits-labels.idx.gz)
{
  step perceptron --epochs 1 2 samples/mlp.tl "${digits[@]}" "${files[@]}"
  step LeNet --epochs 1 2 samples/lenet.tl "${digits[@]}" "${files[@]}"
  step GPT --steps 2 3 samples/gpt.tl --text "$out/text" --count 1 "${files[@]}"
} >"$out/figures"
[[ $filter == --update ]] && cp "$out/figures" "$golden"
filter=
check "a step costs what it did (if it should not: $0 TL --update)" 0 -- diff "$golden" "$out/figures"
finish
