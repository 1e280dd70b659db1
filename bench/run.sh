#!/usr/bin/env bash
# Compares tl with its peers: bench/run.sh [NAME…]. Each case runs tl and the peer in turn, five pairs by default
# (PAIRS=n), THREADS threads on both sides (default 1), and prints the median of each row and the ratio peer / tl
# (above 1: tl is faster). Times are the programs' own, of their best repeat.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pairs=${PAIRS:-5} threads=${THREADS:-1}
out=build/bench
mkdir -p "$out"

median() { sort -g | awk '{v[NR] = $1} END {print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

four_ways() {
  local n=${N:-256}
  g++ -O3 -march=native -ffp-contract=off -std=c++20 bench/peers/four_ways.cpp -o "$out/four_ways" -lopenblas
  rm -f "$out"/four_ways.*.txt
  for ((pair = 0; pair < pairs; ++pair)); do
    build/tl run --threads "$threads" samples/four_ways.tl --n "$n" --repeats 20 >>"$out/four_ways.tl.txt"
    OPENBLAS_NUM_THREADS=$threads "$out/four_ways" "$n" 20 >>"$out/four_ways.peer.txt" 2>/dev/null
  done
  printf '%-28s %12s %12s %8s\n' "four_ways n=$n, $threads thread(s)" "tl ms" "peer ms" "peer/tl"
  for row in "element by element" "column by column" "whole" "in blocks of 64"; do
    local ours theirs
    ours=$(grep "^$row" "$out/four_ways.tl.txt" | awk '{print $(NF-1)}' | median)
    theirs=$(grep "^$row" "$out/four_ways.peer.txt" | awk '{print $(NF-1)}' | median)
    awk -v r="$row" -v a="$ours" -v b="$theirs" 'BEGIN {printf "%-28s %12.3f %12.3f %8.2f\n", r, a, b, b / a}'
  done
}

loops() {
  g++ -O3 -march=native -ffp-contract=off -std=c++20 bench/peers/loops.cpp -o "$out/loops"
  rm -f "$out"/loops.*.txt
  for ((pair = 0; pair < pairs; ++pair)); do
    build/tl run --threads "$threads" bench/loops.tl >>"$out/loops.tl.txt"
    "$out/loops" 5 >>"$out/loops.peer.txt"
  done
  printf '%-28s %12s %12s %8s\n' "loops, $threads thread(s)" "tl ms" "peer ms" "peer/tl"
  for row in recurrence mandelbrot gauss-seidel "insertion sort" common sieve; do
    local ours theirs results
    ours=$(grep "^$row" "$out/loops.tl.txt" | awk '{print $(NF-2)}' | median)
    theirs=$(grep "^$row" "$out/loops.peer.txt" | awk '{print $(NF-2)}' | median)
    results=$(cat "$out"/loops.*.txt | grep "^$row" | awk '{print $NF}' | sort -u | wc -l)
    awk -v r="$row" -v a="$ours" -v b="$theirs" -v n="$results" \
      'BEGIN {printf "%-28s %12.3f %12.3f %8.2f%s\n", r, a, b, b / a, n == 1 ? "" : "  the results differ"}'
  done
}

# tl alone: what a gradient costs beside its function.
gradients() {
  printf '%-16s%12s%12s%9s\n' "gradients, $threads thread(s)" "forward ms" "gradient ms" "ratio"
  build/tl run --threads "$threads" bench/gradients.tl
}

cases=("$@")
((${#cases[@]})) || cases=(four_ways loops gradients)
for name in "${cases[@]}"; do
  case $name in
    four_ways | loops | gradients) "$name" ;;
    *) echo "bench: no case '$name' (four_ways, loops, gradients)" >&2; exit 2 ;;
  esac
done
