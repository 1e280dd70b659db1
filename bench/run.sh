#!/usr/bin/env bash
# Compares tl with its peers: bench/run.sh [--json FOLDER] [--write] [NAME…]. Each case runs tl and the peer in turn, five pairs by default
# (PAIRS=n), THREADS threads on both sides (default 1), and prints the median of each row and the ratio peer / tl
# (above 1: tl is faster). Times are the programs' own, of their best repeat. With --json each case is written to
# FOLDER/NAME.json (`layouts` and `operations` also have --seed S --cases N --threads 1,2 --only WORD --worst N);
# --write rewrites the tables of the documentation from bench/results, and measures nothing without names.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pairs=${PAIRS:-5} threads=${THREADS:-1}
out=build/bench
mkdir -p "$out"

# record ROW COLUMN VALUE: what the case that runs has measured, for bench/tables.py.
record() { printf '%s\t%s\t%s\n' "$@" >>"$out/$measuring.values"; }

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
    record "$row" tl "$ours"
    record "$row" peer "$theirs"
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
    record "$row" tl "$ours"
    record "$row" peer "$theirs"
    record "$row" ratio "$(awk -v a="$ours" -v b="$theirs" 'BEGIN {print b / a}')"
    awk -v r="$row" -v a="$ours" -v b="$theirs" -v n="$results" \
      'BEGIN {printf "%-28s %12.3f %12.3f %8.2f%s\n", r, a, b, b / a, n == 1 ? "" : "  the results differ"}'
  done
}

# What tensor programs do all day, beside NumPy and PyTorch (PYTHON=…; without PyTorch, NumPy alone): the ratio is that of
# the best peer.
rows() {
  local peers=() peer name
  for peer in numpy torch; do ${PYTHON:-python3} -c "import $peer" 2>/dev/null && peers+=("$peer"); done
  rm -f "$out"/rows.*
  for ((pair = 0; pair < pairs; ++pair)); do
    build/tl run --threads "$threads" bench/rows.tl >>"$out/rows.tl.txt"
    for peer in "${peers[@]}"; do
      OPENBLAS_NUM_THREADS=$threads ${PYTHON:-python3} bench/peers/rows.py "$peer" "$threads" >>"$out/rows.$peer.txt"
    done
  done
  printf '%-28s %12s %12s %12s %8s\n' "rows, $threads thread(s)" "tl ms" "NumPy ms" "PyTorch ms" "best/tl"
  while IFS= read -r name; do
    local values=()
    for peer in tl numpy torch; do
      values+=("$({ grep -h "^$name |" "$out/rows.$peer.txt" 2>/dev/null || echo '| nan |'; } | awk -F'|' '{print $2}' | median)")
    done
    local far
    far=$(cat "$out"/rows.*.txt | grep "^$name |" | awk -F'|' 'NR == 1 {a = $3} {d = $3 - a; if (d < 0) d = -d; if (d > 1e-3 * (a < 0 ? -a : a)) n++} END {print n + 0}')
    record "$name" tl "${values[0]}"
    record "$name" NumPy "${values[1]}"
    record "$name" PyTorch "${values[2]}"
    awk -v name="$name" -v a="${values[0]}" -v b="${values[1]}" -v c="${values[2]}" -v far="$far" 'BEGIN {
      best = c == "nan" || b + 0 < c + 0 ? b : c
      printf "%-28s %12.3f %12.3f %12.3f %8.2f%s\n", name, a, b, c, best / a, far ? "  the results differ" : "" }'
  done < <(awk -F' [|] ' '!seen[$1]++ {print $1}' "$out/rows.tl.txt")
}

# Tiny operations, one after the other and eight chains at once, beside PyTorch (PYTHON=…, without it tl alone).
dispatch() {
  rm -f "$out"/dispatch.*.txt
  local peer=0
  ${PYTHON:-python3} -c 'import torch' 2>/dev/null && peer=1
  for ((pair = 0; pair < pairs; ++pair)); do
    build/tl run --disable turns --threads "$threads" bench/dispatch.tl >>"$out/dispatch.tl.txt"
    ((peer)) && ${PYTHON:-python3} bench/peers/dispatch.py 100000 "$threads" >>"$out/dispatch.peer.txt"
  done
  printf '%-28s %12s %12s %8s\n' "dispatch, $threads thread(s)" "tl ns" "PyTorch ns" "ratio"
  for row in dependent independent; do
    local ours theirs=nan
    ours=$(awk -v r=$row '$1 == r {print $2}' "$out/dispatch.tl.txt" | median)
    ((peer)) && theirs=$(awk -v r=$row '$1 == r {print $2}' "$out/dispatch.peer.txt" | median)
    record "$row" tl "$ours"
    record "$row" PyTorch "$theirs"
    awk -v r="$row" -v a="$ours" -v b="$theirs" 'BEGIN {printf "%-28s %12.0f %12.0f %8.1f\n", r, a, b, b / a}'
  done
}

# What running ahead promises, in one table whose bounds are asserted, with every run: two devices at work, and copies beside
# products, take no longer than the longer lane (on a machine that does nothing else: samples/async, medians of the pairs), and
# the peak of memory is at most 1.25 times that of `--sync` and 1 MB for each device.
promises() {
  local program value bound word busy failed=0
  busy=$(awk '{print ($1 > 0.5)}' /proc/loadavg) # without parentheses awk would write a file `0.5`
  printf '%-36s %10s %10s\n' promise measured "at most"
  row() { # NAME MEASURED BOUND [IF-BUSY]
    record "$1" measured "$2"
    record "$1" "at most" "$3"
    word=$(awk -v m="$2" -v b="$3" 'BEGIN {print m <= b ? "" : "broken"}')
    [[ -n $word && -n ${4:-} && $busy == 1 ]] && word="(the machine is busy)"
    [[ $word == broken ]] && failed=1
    printf '%-36s %10.3f %10.3f %s\n' "$1" "$2" "$3" "$word"
  }
  for program in two_devices copies; do
    rm -f "$out/$program.txt"
    for ((pair = 0; pair < pairs; ++pair)); do
      build/tl run --cpu-devices 2 --threads 2 "samples/async/$program.tl" >>"$out/$program.txt"
    done
    row "overlap: $program" "$(awk '/^ratio/ {print $NF}' "$out/$program.txt" | median)" 1.05 busy
  done
  peak() { build/tl run --threads 2 --stats "$@" 2>&1 >/dev/null </dev/null | awk '/^peak memory/ {print $3}'; }
  ahead() { # NAME PROGRAM…: the peak beside that of --sync
    local name=$1 serial devices=1
    shift
    [[ $1 == --cpu-devices ]] && devices=$2
    serial=$(peak --sync "$@")
    value=$(awk -v a="$(peak "$@")" -v s="$serial" 'BEGIN {print a / s}')
    bound=$(awk -v s="$serial" -v d="$devices" 'BEGIN {print 1.25 + d * 1048576 / s}')
    row "memory ahead / --sync: $name" "$value" "$bound"
  }
  build/tl run samples/data/generate.tl --count 256 --to "$out/digits" >/dev/null
  local files=(--plot_file "$out/curve.svg" --to "$out/model.npz")
  ahead heat samples/heat.tl --n 513 --time 0.0005
  ahead LSTM samples/lstm.tl --epochs 1 --plot_file "$out/curve.svg"
  ahead LeNet samples/lenet.tl "$out"/digits-{images,labels}.idx.gz --epochs 2 "${files[@]}"
  ahead GPT samples/gpt.tl --steps 4 "${files[@]}"
  ahead run_ahead samples/async/run_ahead.tl --steps 10
  ahead "two devices" --cpu-devices 2 samples/async/two_devices.tl --repeats 1
  return $failed
}

# The training loop that never waits: freely, and under 1.2 times the memory of a serial run.
run_ahead() {
  local peak limit
  peak=$(build/tl run --threads 2 --sync --stats samples/async/run_ahead.tl --steps 10 2>&1 >/dev/null | awk '/^peak memory/ {print $3}')
  limit=$((peak * 12 / 10))
  rm -f "$out"/run_ahead.*.txt
  for ((pair = 0; pair < pairs; ++pair)); do
    build/tl run --threads 2 --stats samples/async/run_ahead.tl --steps "${STEPS:-100}" >>"$out/run_ahead.free.txt" 2>&1
    build/tl run --threads 2 --stats --memory-limit $limit samples/async/run_ahead.tl --steps "${STEPS:-100}" >>"$out/run_ahead.limit.txt" 2>&1
  done
  local free bound reached
  free=$(awk '/^not waiting/ {print $4}' "$out/run_ahead.free.txt" | median)
  bound=$(awk '/^not waiting/ {print $4}' "$out/run_ahead.limit.txt" | median)
  reached=$(awk '/^peak memory/ {print $3}' "$out/run_ahead.limit.txt" | sort -g | tail -n 1)
  record steps count "${STEPS:-100}"
  record freely seconds "$free"
  record limited seconds "$bound"
  record limited bytes "$reached"
  record limit bytes "$limit"
  printf 'run_ahead: %s s freely, %s s under %s bytes (1.2 of the serial peak), at most %s used\n' "$free" "$bound" "$limit" "$reached"
}

# tl alone: what a gradient costs beside its function.
gradients() {
  printf '%-16s%12s%12s%9s\n' "gradients, $threads thread(s)" "forward ms" "gradient ms" "ratio"
  build/tl run --threads "$threads" bench/gradients.tl | tee "$out/gradients.txt"
  while read -r row forward gradient _; do
    record "$row" forward "$forward"
    record "$row" gradient "$gradient"
  done <"$out/gradients.txt"
}

# ONNX models beside ONNX Runtime, with one thread and two: those whose names contain a word of MODELS, or all.
models() {
  local python
  python=$(tests/environment.sh onnx)
  g++ -O2 -std=c++20 bench/spawned.cpp -o "$out/spawned"
  # shellcheck disable=SC2086 # words
  "$python" bench/models.py build/tl --pairs "$pairs" --spawned "$out/spawned" --values "$out/models.values" ${MODELS:-}
}

# Operations on random shapes and axes; what stands behind the name goes to the script.
layouts() {
  ${PYTHON:-python3} bench/layouts.py --tl build/tl --set "$measuring" --rounds "$pairs" --values "$out/$measuring.values" "${layouts[@]}"
}
operations() { layouts; }

source bench/starting.sh

# measure NAME: one case. A broken promise is written like one that is kept; any other failure ends the script.
measure() {
  local status setting settings=(PAIRS) command="" arguments=""
  [[ $1 == layouts || $1 == operations ]] && arguments=${layouts[*]}
  measuring=$1
  rm -f "$out/$measuring.values"
  set +e
  (set -e && "$1")
  status=$?
  set -e
  if ((status)) && [[ $1 != promises ]]; then exit $status; fi
  if [[ -n $json ]]; then
    case $1 in
      four_ways) settings+=(THREADS N) ;;
      loops | gradients) settings+=(THREADS) ;;
      rows | dispatch) settings+=(THREADS PYTHON) ;;
      run_ahead) settings+=(STEPS) ;;
      start) settings+=(PYTHON) ;;
      models) settings+=(MODELS) ;;
      layouts | operations) settings+=(PYTHON) ;;
    esac
    for setting in "${settings[@]}"; do
      if [[ $setting == PYTHON ]]; then command+=${PYTHON:+PYTHON=… }; else command+=${!setting:+$setting=${!setting} }; fi
    done
    python3 bench/tables.py --record "$measuring" "$json" "$command./dev bench $measuring${arguments:+ $arguments}" <"$out/$measuring.values"
  fi
  return $status
}

json="" write="" cases=() layouts=()
while (($#)); do
  case $1 in
    --json)
      json=${2:?"--json: which folder?"}
      shift
      ;;
    --write) write=1 ;;
    four_ways | loops | rows | gradients | dispatch | run_ahead | start | size | models | layouts | operations | promises) cases+=("$1") ;;
    --seed | --cases | --threads | --only | --worst)
      layouts+=("$1" "${2:?"$1: a value is missing"}")
      shift
      ;;
    *) echo "bench: no case '$1' (four_ways, loops, rows, gradients, dispatch, run_ahead, start, size, models, layouts, operations, promises)" >&2; exit 2 ;;
  esac
  shift
done
if ((${#cases[@]} == 0)) && [[ -z $write ]]; then cases=(four_ways loops rows gradients dispatch run_ahead start size); fi
status=0
for name in "${cases[@]}"; do
  [[ $name == promises ]] || measure "$name"
done
if ((${#cases[@]})); then measure promises || status=$?; fi
if [[ -n $write ]]; then python3 bench/tables.py --write; fi
exit $status
