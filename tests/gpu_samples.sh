#!/usr/bin/env bash
# Every sample, with small arguments, and every example of the library's documentation print on an emulated card what they print on the CPU, and write
# the same files, to the byte: tests/gpu_samples.sh TL [FILTER]. Each under TL_TEST_SEEDS seeds (2), which permute streams, blocks and warps and poison
# free memory. Products are tl's own there (--exact-products); once more a card's library makes them, whose last bits differ: numbers count for nothing
# then, and files only by name. TL_TEST_FLAGS are flags for the card, such as --racecheck. TL_TEST_TIMES=1 prints how long each took.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk diff cmp
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || {
  echo "SKIPPED: all of gpu_samples.sh (there is no C++ compiler)"
  exit 77
}
seeds=${TL_TEST_SEEDS:-2}
patience=300 # a cold cache: a C++ compiler makes every kernel, on a slow machine beside other cases
[[ -n ${TL_TEST_FLAGS:-} ]] && patience=900
here=$PWD out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

skipped=0
skip() { # skip NAME REASON
  seen+="${1#sample } "
  [[ -n $filter && $1 != *"$filter"* ]] && return
  skipped=$((skipped + 1))
  echo "SKIPPED: $1 ($2)"
}

# What may differ is replaced: the name of the device that works where a program names none; with `timed` also times, rates and memory, and the
# lines that a program has for cards alone.
plain='s/gpu\(0\)/cpu(0)/g'
timed='s/gpu\(0\)/cpu(0)/g; /^on cpu.0., Emulated GPU$/d; /^  [124] GPU /d; s/[0-9.]+ (us|ms|examples a second)/# \1/g; s/[0-9.]+%/#/g; s/^((not )?waiting) .*/\1/; s/#  +/# /g; s/  +#/ #/g'

# run_case PLACE MASK ARGUMENTS…: a program on the CPU, then on the card under each seed; says what differs.
run_case() {
  local place=$1 mask=$2 seed
  shift 2
  once() { # once FOLDER FLAGS…
    local folder=$place/$1
    shift
    mkdir -p "$folder/files"
    (cd "$folder/files" && timeout -k 5 "$patience" "$tl" run "$@" >"$folder/raw" 2>&1 <<<"a line"; echo "exit code $?" >>"$folder/raw")
    sed -E "$mask" "$folder/raw" >"$folder/text"
  }
  once cpu "$@"
  if [[ $(tail -n 1 "$place/cpu/text") != "exit code 0" ]]; then
    echo "on the CPU:"
    head -n 4 "$place/cpu/text"
    echo "…"
    tail -n 12 "$place/cpu/text"
    return 1
  fi
  for ((seed = 1; seed <= seeds; ++seed)); do
    once gpu --device gpu-emu --exact-products --schedule-seed $seed ${TL_TEST_FLAGS:-} "$@"
    if ! { diff "$place/cpu/text" "$place/gpu/text" && diff -r "$place/cpu/files" "$place/gpu/files"; } >"$place/diff" 2>&1; then
      echo "< the CPU, > the card, seed $seed:"
      head -n 12 "$place/diff"
      return 1
    fi
    rm -rf "$place/gpu"
  done
  once library --device gpu-emu --schedule-seed 1 "$@"
  if ! diff <(without_numbers "$place/cpu") <(without_numbers "$place/library") >"$place/diff" 2>&1; then
    echo "< the CPU, > the card with its library:"
    head -n 12 "$place/diff"
    return 1
  fi
}
# What is left of what a run printed, and the names of the files it wrote.
without_numbers() {
  sed -E 's/-?[0-9]+(\.[0-9]*)?(e[-+]?[0-9]+)?/#/g; s/ +//g' "$1/text"
  ls "$1/files"
}

names=() running=0
# start NAME MASK ARGUMENTS…: runs a case beside others, as many as there are processors.
start() {
  local name=$1 place=$out/cases/${#names[@]}
  shift
  [[ -n $filter && $name != *"$filter"* ]] && return
  names+=("$name")
  mkdir -p "$place"
  if ((running >= $(nproc))); then
    wait -n
    running=$((running - 1))
  fi
  running=$((running + 1))
  {
    begin=$EPOCHREALTIME
    run_case "$place" "$@" >"$place/log" 2>&1
    echo $? >"$place/status"
    [[ -n ${TL_TEST_TIMES:-} ]] && awk -v a="$begin" -v b="$EPOCHREALTIME" -v n="$name" 'BEGIN {printf "%7.2f s  %s\n", b - a, n}'
  } &
}
# Waits for all cases and counts them.
conclude() {
  local i
  wait
  for ((i = 0; i < ${#names[@]}; ++i)); do
    if [[ $(cat "$out/cases/$i/status") == 0 ]]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "FAIL ${names[i]}"
      sed 's/^/  | /' "$out/cases/$i/log"
    fi
  done
}

# ---- inputs of samples
data=$here/samples/data made=$out/made
mkdir "$made"
{
  "$tl" run samples/data/generate.tl --count 20 --to "$made/ten"
  "$tl" run samples/data/generate.tl --count 12 --to "$made/few"
  "$tl" run samples/data/generate.tl --count 3 --to "$made/fewer"
  tr -cd '\n -~' <docs/commands.md | head -c 1500 >"$made/text"
  head -c 400 "$made/text" >"$made/short"
  head -n 61 "$data/sound.csv" >"$made/sound.csv"
  "$tl" run -e 'fn main(x: u8[h, w, c]) -> u8[_, _, c] = x[40:64, 40:64]' "$data/house.png" -o "$made/house.png"
  few=("$made/few-images.idx.gz" "$made/few-labels.idx.gz")
  "$tl" run -e 'fn main(x: u8[n, 28, 28]) -> u8[28, 28, 1] = expand_dims(x[0], axis = 2)' "${few[0]}" -o "$made/digit.png"
  "$tl" run samples/lenet.tl "${few[@]}" --epochs 1 --to "$made/lenet.safetensors" --plot_file "$made/loss.svg"
  gpt=(--text "$made/text" --batch 1 --steps 1 --unseen 1 --count 1 --span 8)
  "$tl" run samples/gpt.tl "${gpt[@]}" --to "$made/gpt.safetensors" --plot_file "$made/loss.svg"
} >"$out/making" 2>&1 || cat "$out/making"

# ---- samples: the long ones first
seen=" "
sample() { # sample FILE ARGUMENTS…
  seen+="$1 "
  start "sample $1${note:+, $note}" "$plain" "$here/samples/$1" "${@:2}"
}
sample_timed() { # one that prints times
  seen+="$1 "
  start "sample $1" "$timed" ${flags:-} "$here/samples/$1" "${@:2}"
}
sample gpt.tl "${gpt[@]}"
note="in bf16" sample gpt.tl "${gpt[@]}" --half
sample lstm.tl --text "$made/short" --epochs 1 --streams 8 --span 8 --count 2
flags="--cpu-devices 4" sample_timed async/lenet.tl --rows 1 --batch 1 --steps 1
sample lenet.tl "$made/fewer-images.idx.gz" "$made/fewer-labels.idx.gz" --epochs 1 --batch 2
sample writer.tl --model "$made/gpt.safetensors" --prompt "The " --count 1
sample_timed dense.tl --rows 2 --epochs 1 --batch 2 --unseen 2
sample_timed async/run_ahead.tl --steps 1 --batch 1
sample softmax.tl "$data/scores.npy" --temperature 2 -o out.npy
sample kmeans.tl "$data/points.npy" --k 3 --steps 3 -o out.npy
sample edges.tl "$made/house.png" -o out.png
sample blur.tl "$made/house.png" -o out.png
sample heat.tl --n 9 -o out.npy
sample mandelbrot.tl --width 12 --height 8 --limit 20 -o out.npy
sample pagerank.tl "$data/links.npy" -o out.npy
sample life.tl --glider --size 8 --steps 6 -o out.npy
sample clean.tl "$data/weather.csv" -o out.npy
sample edit_distance.tl
sample text_stats.tl --path "$made/text"
sample_timed regression.tl "$made/sound.csv" --epochs 1 --plot /dev/null
sample option.tl --paths 3000
sample data/generate.tl --count 3
note=shapes sample data/generate.tl --count 3 --shape
sample_timed four_ways.tl --n 8 --repeats 1
sample classify.tl "${few[@]}" --epochs 1 --batch 5
sample mlp.tl "${few[@]}" --epochs 1 --batch 5
sample pca.tl "$made/ten-images.idx.gz" "$made/ten-labels.idx.gz" --k 10
sample digit.tl "$made/lenet.safetensors" "$made/digit.png"
sample newton.tl --n 100
sample mixture.tl "$data/points.npy" --steps 2
sample ode.tl --steps 20 --rounds 2
sample_timed async/issue.tl --n 32 --repeats 2
seen+="embed/mlp.tl "
cat >"$made/embed.tl" <<TL
import "$here/samples/embed/mlp.tl"
let m = mlp.create(3)
let x = normal(key(5), [6, 4])
print(mlp.predict(m, x), mlp.summary(m, x, "flowers"))
mlp.save_to(m, "m.safetensors")
print(mlp.predict(mlp.open("m.safetensors"), x))
TL
start "sample embed/mlp.tl" "$plain" "$made/embed.tl"
seen+="python/rbf.tl "
cat >"$made/rbf.tl" <<TL
import "$here/samples/python/rbf.tl"

let x = normal(key(1), [50, 3])
print(rbf.rbf(x, x[:7], zeros([7])))
TL
start "sample python/rbf.tl" "$plain" "$made/rbf.tl"
seen+="gpu.tl "
cat >"$made/gpu" <<SH # FLAGS…: samples/gpu.tl; its memory depends on how far steps are issued ahead
'$tl' run --device gpu-emu "\$@" samples/gpu.tl --to '$made/gpu.safetensors' | sed -E 's/[0-9.]+ (MB|GB)/# \1/g' | diff - tests/samples/expected/gpu_emulated.txt
SH
for ((seed = 1; seed <= seeds; ++seed)); do check "sample gpu.tl, seed $seed" 0 "^$" -- bash "$made/gpu" --schedule-seed $seed; done
skip "sample async/two_devices.tl" "it names the devices; tests/async.sh has it on a card"
skip "sample async/copies.tl" "it names the devices; tests/async.sh has it on a card"
for file in samples/*.tl samples/*/*.tl; do
  check "${file#samples/} is here" 0 -- test "${seen/" ${file#samples/} "/}" != "$seen"
done

# ---- the library: `E` is `V`, `E` is about V and `E` passes in comments, and what stands below an operation, twenty in a program. Each stands in a
# function, since their names may be the same.
mkdir "$out/library"
imports="$(printf 'import %s\n' bench data linalg nn onnx optim plot table)"
"$tl" doc --all | awk -v imports="$imports" -v folder="$out/library" '
  function take(code, value,   last, before) { # the statements and the expression of an example
    if (code ~ /^devices\("gpu"\)/ || code ~ /^exit/) { print code; return }
    count++
    file = sprintf("%s/%02d.tl", folder, int((count - 1) / 20) + 1)
    if (count % 20 == 1) print imports >file
    last = 0
    while (match(substr(code, last + 1), /; /)) last += RSTART + 1
    before = substr(code, 1, last)
    gsub(/; /, "\n", before)
    code = substr(code, last + 1)
    if (value == "") printf "fn e%d() {\n%s%s\n}\n", count, before, code >file
    else printf "fn e%d() {\n%sprint(%d, %s)\n}\n", count, before, count, code >file
    printf "e%d()\n", count >file
  }
  function entry(   fields, n, i) { # the examples of one entry, whose comment is in text
    n = split(text, fields, "`")
    for (i = 2; i <= n; i += 2) {
      if (fields[i + 1] ~ /^ passes/) take(fields[i], "")
      else if (fields[i + 1] ~ /^ is about /) take(fields[i], "x")
      else if (fields[i + 1] ~ /^ is *$/ && i + 2 <= n) { take(fields[i], fields[i + 2]); i += 2 }
      else if (fields[i + 1] ~ /^ is [-0-9]/) take(fields[i], "x")
    }
    text = ""
  }
  /^ *$/ { entry(); next }
  /^    # / { take(previous, "x"); next }
  /^    / { previous = substr($0, 5); text = text " " previous }
  END { entry() }' >"$out/library/skipped"
while read -r code; do
  case $code in
  exit*) skip "example $code" "it ends the program" ;;
  *) skip "example $code" "it says whether there are GPUs" ;;
  esac
done <"$out/library/skipped"
for program in "$out"/library/*.tl; do
  start "examples, part $(basename "$program" .tl)" "$plain" "$program"
done

conclude
echo "skipped: $skipped"
finish
