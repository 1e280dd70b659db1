#!/usr/bin/env bash
# tl on a machine with a card, in less than ten minutes: bench/gpu_check.sh [--emulated] [--tl TL] [--out FOLDER] [PART…]. Parts: devices, goldens,
# sanitizers, profiler, table; all of them unless told. Needs a built or unpacked tl (build/tl, build/tests/tl_golden), bash, coreutils, sed and awk; what
# else it finds it uses: compute-sanitizer, ncu, python3 with PyTorch and JAX. Writes report.txt and report.json into FOLDER
# (build/gpu-check). Exit code 0, 1 where something failed, 2 where there is no card. --emulated tries all of it on the emulated card, small.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
device=gpu golden=card patience=200 out=build/gpu-check tl=build/tl rounds=${ROUNDS:-5} emulated=() parts=()
while (($#)); do
  case $1 in
    --emulated) device=gpu-emu golden=gpu patience=540 emulated=(--small --calls 2) ;;
    --tl | --out)
      (($# > 1)) || { echo "gpu-check: $1 needs a value" >&2; exit 2; }
      if [[ $1 == --tl ]]; then tl=$2; else out=$2; fi
      shift
      ;;
    devices | goldens | sanitizers | profiler | table) parts+=("$1") ;;
    *)
      echo "usage: gpu-check [--emulated] [--tl TL] [--out FOLDER] [devices|goldens|sanitizers|profiler|table …]" >&2
      exit 2
      ;;
  esac
  shift
done
((${#parts[@]})) || parts=(devices goldens sanitizers profiler table)
[[ -x $tl ]] || { echo "gpu-check: there is no $tl" >&2; exit 2; }

# within SECONDS COMMAND…: 124 if it took longer.
within() { timeout -k 5 "$@"; }

# ---- is there a card?
found=$(within 30 "$tl" devices 2>&1)
if ! text=$(within 60 "$tl" run --device $device -e 'print(sum(arange(1000.0)))' 2>&1) || [[ $text != 499500.0 ]]; then
  echo "gpu-check: nothing can run on $([[ $device == gpu ]] && echo a card here || echo the emulated card). tl devices says:"
  sed 's/^/  /' <<<"$found"
  echo "and a program:"
  sed 's/^/  /' <<<"$text"
  [[ $device == gpu ]] && echo "\`gpu-check --emulated\` tries this script on a card made of the CPU."
  exit 2
fi
mkdir -p "$out" || exit 2
out=$(realpath "$out")
rm -f "$out"/*.txt "$out"/*.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
exec > >(tee "$out/report.txt") 2>&1
failed=0 # parts
json=()  # lines of the report
quoted() { awk 'BEGIN {printf "\""} {gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); gsub(/\t/, " "); if (NR > 1) printf "\\n"; printf "%s", $0} END {printf "\""}' <<<"$1"; }
note() { json+=("$(quoted "$1"): $(quoted "$2")"); } # note KEY TEXT
part() { # part NAME: is it wanted? Says so, and when.
  [[ " ${parts[*]} " == *" $1 "* ]] && printf '\n── %s (after %d s)\n' "$1" $SECONDS
}

if part devices; then
  echo "$("$tl" --version), $(date -u +%FT%TZ)$([[ $device == gpu ]] || echo ', on the emulated card: its times mean nothing')"
  echo "$found"
  if command -v nvidia-smi >/dev/null; then within 20 nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader; fi
  note devices "$found"
fi

if part goldens; then
  if [[ -x build/tests/tl_golden ]]; then
    # A process for each program, eight beside each other: starting on a card takes half a second.
    within $patience build/tests/tl_golden --tl "$tl" --no-builds --config $golden --seconds 60 --jobs "$(($(nproc) < 8 ? $(nproc) : 8))" \
      ${GOLDENS:+--filter "$GOLDENS"} tests/golden/run tests/golden/error >"$work/goldens"
    status=$?
    tail -n 60 "$work/goldens"
    ((status == 124)) && echo "stopped after $patience s"
    ((status == 0)) || failed=$((failed + 1))
    note goldens "$( ((status == 124)) && echo "stopped after $patience s" || tail -n 1 "$work/goldens")"
  else
    echo "left out: there is no build/tests/tl_golden"
    note goldens "left out"
  fi
fi

# Programs whose kernels share memory, wait for each other or write where others read.
heavy=(sorting updates language_indexing details_comprehensions subscripts_masks_axes nn_lists einsum linalg_squares random halves programs_matrices programs_filters)
some_goldens() {
  local name file
  for name in "${heavy[@]}"; do
    for file in tests/golden/run/"$name"*.tl; do
      [[ -f $file ]] && ! grep -q '^#[%:?]' "$file" && echo "$file" && break
    done
  done
}

if part sanitizers; then
  if ! command -v compute-sanitizer >/dev/null; then
    echo "left out: there is no compute-sanitizer (it comes with CUDA's toolkit)"
    note sanitizers "left out: no compute-sanitizer"
  elif ! within 40 compute-sanitizer --tool memcheck --error-exitcode 99 "$tl" run --device $device -e 'print(sum(arange(1000.0)))' >"$work/first" 2>&1; then
    echo "left out: compute-sanitizer does not work on this host (some virtual machines do not allow it); it says:"
    grep '=====' "$work/first" | head -n 8
    note sanitizers "left out: compute-sanitizer does not work here"
  else
    mapfile -t programs < <(some_goldens)
    for tool in memcheck racecheck synccheck initcheck; do
      good=0 bad=0 late=0 until=$((SECONDS + 35))
      for program in "${programs[@]}"; do
        if ((SECONDS >= until)); then
          late=$((late + 1))
          continue
        fi
        within $((until - SECONDS)) compute-sanitizer --tool $tool --error-exitcode 99 "$tl" run --device $device "$program" >"$work/tool" 2>&1
        status=$?
        if ((status == 0)); then good=$((good + 1))
        elif ((status == 124)); then late=$((late + 1))
        else
          bad=$((bad + 1))
          echo "$tool: $program: exit code $status"
          grep '=====' "$work/tool" | head -n 12
        fi
      done
      echo "$tool: $good clean, $bad with reports, $late not reached in 35 s"
      note "$tool" "$good clean, $bad with reports, $late not reached"
      ((bad == 0)) || failed=$((failed + 1))
    done
  fi
fi

if part profiler; then
  echo 'let x = normal(key(0), [4096, 4096])
print(sum(softmax(x)[0]) > 0.0)' >"$work/profiled.tl"
  if ! command -v ncu >/dev/null; then
    echo "left out: there is no ncu"
  elif within 40 ncu --launch-count 8 --metrics dram__throughput.avg.pct_of_peak_sustained_elapsed,launch__registers_per_thread,sm__warps_active.avg.pct_of_peak_sustained_active \
    "$tl" run --device $device "$work/profiled.tl" >"$work/ncu" 2>&1 && ! grep -q ERR_NVGPUCTRPERM "$work/ncu"; then
    grep -vE '^==PROF==|^ *-+ *-|^$' "$work/ncu" | head -n 60
  else
    echo "left out: ncu does not work on this host (it wants the right to read the card's counters); it says:"
    grep -E '^==|ERR_' "$work/ncu" | head -n 6
  fi
fi

if part table; then
  peers=()
  for peer in torch jax; do
    if command -v python3 >/dev/null && within 60 python3 -c "import $peer" 2>/dev/null; then
      peers+=("$peer")
      [[ $peer == torch && $device == gpu ]] && peers+=(compiled)
    else
      echo "no python3 with $peer: its column stays empty"
    fi
  done
  # In turn; one that fails in a round is not asked again.
  declare -A ends
  left() { echo $((570 - SECONDS > $1 ? $1 : 570 - SECONDS > 5 ? 570 - SECONDS : 5)); } # seconds
  for ((round = 1; round <= rounds; ++round)); do
    for who in tl "${peers[@]}"; do
      ((SECONDS < ${ends[$who]:-99999})) || continue
      if [[ $who == tl ]]; then
        within "$(left 120)" "$tl" run --device $device bench/gpu_check.tl "${emulated[@]}" >>"$work/$who" 2>"$work/error"
      else
        XLA_PYTHON_CLIENT_PREALLOCATE=false within "$(left 90)" python3 bench/peers/gpu_check.py "$who" "${emulated[@]}" >>"$work/$who" 2>"$work/error"
      fi
      status=$?
      [[ -s $work/error ]] && ((round == 1)) && head -n 6 "$work/error"
      if ((status != 0)); then
        echo "$who: exit code $status in round $round"
        ends[$who]=0
        [[ $who == tl ]] && failed=$((failed + 1))
      fi
      ((SECONDS < 550)) || ends[$who]=0
    done
  done
  cat "$work"/torch "$work"/compiled "$work"/jax 2>/dev/null | grep '^#' | sort -u | sed 's/^# //' >"$work/versions"
  echo "f32 products: tl computes in f32; bf16: sums in f32 on all sides. Medians of $rounds interleaved runs, ms of a call; compiling is not in it."
  cat "$work/versions"
  [[ -s $work/versions ]] && note peers "$(cat "$work/versions")"
  median() { sort -g | awk '{v[NR] = $1} END {if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }
  printf '%-12s %12s %9s %12s %9s %12s %12s %12s %9s\n' case size MB "tl ms" GB/s "PyTorch ms" "compiled ms" "JAX ms" "best/tl"
  rows=()
  while read -r name size bytes; do
    line=() best=
    for who in tl torch compiled jax; do
      value=$(awk -v n="$name" '$1 == n {print $4}' "$work/$who" 2>/dev/null | median)
      line+=("${value:-nan}")
      [[ $who != tl && -n $value ]] && best=$(printf '%s\n' $best "$value" | sort -g | head -n 1)
    done
    awk -v name="$name" -v size="$size" -v bytes="$bytes" -v a="${line[0]}" -v b="${line[1]}" -v c="${line[2]}" -v d="${line[3]}" -v best="${best:-nan}" '
      function ms(x) { return x == "nan" ? "-" : sprintf("%.4f", x * 1000) }
      BEGIN { printf "%-12s %12s %9.1f %12s %9.1f %12s %12s %12s %9s\n", name, size, bytes / 1e6, ms(a), bytes / a / 1e9, ms(b), ms(c), ms(d), best == "nan" ? "-" : sprintf("%.2f", best / a) }'
    rows+=("$(printf '{"case": "%s", "size": "%s", "bytes": %s, "seconds": {"tl": %s, "torch": %s, "compiled": %s, "jax": %s}}' "$name" "$size" "$bytes" "${line[@]}" | sed 's/nan/null/g')")
  done < <(awk '!seen[$1]++ {print $1, $2, $3}' "$work/tl" 2>/dev/null)
  ((${#rows[@]} == 18)) || { echo "the table has ${#rows[@]} of 18 rows"; failed=$((failed + 1)); }
  json+=("\"table\": [$(IFS=, && echo "${rows[*]}")]")
fi

note took "$SECONDS s"
note failed "$failed"
{
  echo "{"
  for ((i = 0; i < ${#json[@]}; ++i)); do echo "  ${json[i]}$( ((i + 1 < ${#json[@]})) && echo ,)"; done
  echo "}"
} >"$out/report.json"
printf '\n%s in %d s; %s/report.txt and report.json\n' "$( ((failed == 0)) && echo "nothing failed" || echo "$failed parts failed")" $SECONDS "$out"
((failed == 0))
