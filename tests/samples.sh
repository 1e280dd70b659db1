#!/usr/bin/env bash
# Runs the samples on files that other tools wrote and compares with results computed by NumPy (tests/samples), and trains
# those that train to a quality: tests/samples.sh TL [FILTER]. In several configurations, whose outputs must be equal to the byte.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk cmp
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
expected=tests/samples/expected

# close TYPE TOLERANCE: a program that asserts that two files of this type are equal within the tolerance
close() {
  echo "fn main(got: $1, want: $1) { let off = abs(f64(got) - f64(want)).max()
    assert off <= $2, \"off by {off}\" }"
}

# sample NAME TYPE TOLERANCE ARGUMENTS…
sample() {
  local name=$1 type=$2 tolerance=$3
  shift 3
  check "$name" 0 -- "$tl" run "samples/$name.tl" "$@" -o "$out/$name.npy"
  check "$name against numpy" 0 -- "$tl" run -e "$(close "$type" "$tolerance")" "$out/$name.npy" "$expected/$name.npy"
  local config
  for config in --interp --sync "--threads 1" "--threads 2" "--schedule-seed 3" "--disable fuse" "--disable outline"; do
    # shellcheck disable=SC2086
    check "$name $config" 0 -- "$tl" run $config "samples/$name.tl" "$@" -o "$out/other.npy"
    check "$name $config: same bytes" 0 -- cmp "$out/$name.npy" "$out/other.npy"
  done
}

sample softmax "f32[n, m]" 1e-6 samples/data/scores.npy --temperature 2
sample kmeans "f32[n, m]" 1e-4 samples/data/points.npy --k 3
sample edges "u8[h, w]" 1 samples/data/house.png
sample blur "u8[h, w, c]" 1 samples/data/house.png
sample heat "f64[n, m]" 1e-12 --n 17
sample mandelbrot "u8[h, w, c]" 1 --width 60 --height 40 --limit 50
sample pagerank "f64[n]" 1e-9 samples/data/links.npy
sample life "i64[n, m]" 0 --glider --size 12 --steps 20
sample clean "f64[n, c]" 1e-9 samples/data/weather.csv
check "clean writes csv" 0 -- "$tl" run samples/clean.tl samples/data/weather.csv -o "$out/clean.csv"
check "csv is the npy" 0 -- "$tl" run -e "$(close "f64[n, c]" 0)" "$out/clean.csv" "$out/clean.npy"
check "edit distance" 0 "kitten -> sitting: 3" -- "$tl" run samples/edit_distance.tl
check "edit distance of nothing" 0 ": 8" -- "$tl" run samples/edit_distance.tl --a "" --b distance
check "text statistics" 0 "^2 lines, 7 words" -- sh -c "printf 'the cat and the dog\nsat down\n' >'$out/text'; '$tl' run samples/text_stats.tl --path '$out/text' | sed 's/^[^:]*: //'"
check "text statistics of a missing file" 3 "no such file" -- "$tl" run samples/text_stats.tl --path "$out/none"
check "regression" 0 "batches of  1503: loss 0.13[0-9]+" -- "$tl" run samples/regression.tl samples/data/sound.csv --plot "$out/loss.svg"
check "regression: four curves" 0 -- test "$(grep -c '<polyline' "$out/loss.svg")" = 4
check "option" 0 "simulated [0-9.]+ ± [0-9.]+, formula 7.1281" -- "$tl" run samples/option.tl
check "generate" 0 "60 images" -- "$tl" run samples/data/generate.tl --count 60 --to "$out/first"
for config in --interp "--threads 2" "--disable fuse"; do
  # shellcheck disable=SC2086
  check "generate $config" 0 -- "$tl" run $config samples/data/generate.tl --count 60 --to "$out/digits"
  check "generate $config: same images" 0 -- cmp "$out/first-images.idx.gz" "$out/digits-images.idx.gz"
done
check "generate shapes" 0 -- "$tl" run samples/data/generate.tl --count 20 --shape --to "$out/shapes"
check "shapes are images" 0 "^20 28 9$" -- \
  "$tl" run -e 'fn main(x: u8[n, h, h], y: u8[n]) { print(n, h, max(y)); assert max(x) > 150 and min(x) == 0 }' "$out/shapes-images.idx.gz" "$out/shapes-labels.idx.gz"
check "blur writes png" 0 -- "$tl" run samples/blur.tl samples/data/house.png -o "$out/blur.png"
check "png is the npy" 0 -- "$tl" run -e "$(close "u8[h, w, c]" 0)" "$out/blur.png" "$out/blur.npy"
cat >"$out/gpu" <<SH # FLAGS…: samples/gpu.tl, whose memory depends on how far steps are issued ahead
'$tl' run "\$@" samples/gpu.tl --to '$out/gpu.safetensors' | sed -E 's/[0-9.]+ (MB|GB)/# \1/g' | diff - $expected/gpu_cpu.txt
SH
for config in --threads=1 --schedule-seed=3 --disable=fuse; do check "gpu without a GPU, $config" 0 "^$" -- bash "$out/gpu" $config; done
check "gpu saves its model" 0 "hidden.w" -- grep -ao "hidden[.]w" "$out/gpu.safetensors"
check "four ways" 0 "in blocks of 64 +[0-9.]+ ms" -- "$tl" run samples/four_ways.tl --repeats 1

# Training programs, each with the quality that it must reach.
# quality NAME WORDS-BEFORE-THE-NUMBER LEAST GREATEST COMMAND…: the last number after these words in the output
quality() {
  local name=$1 words=$2 least=$3 greatest=$4
  shift 4
  check "$name" 0 -- sh -c '"$@" >"$0"' "$out/text" "$@"
  check "$name: $words from $least to $greatest" 0 -- awk -v least="$least" -v greatest="$greatest" -v words="$words" '
    { at = index($0, words); if (at) value = substr($0, at + length(words)) + 0 }
    END { if (value == "" || value < least || value > greatest) { print "measured: " value; exit 1 } }' "$out/text"
}

digits=("$out/train-images.idx.gz" "$out/train-labels.idx.gz")
check "digits" 0 -- "$tl" run samples/data/generate.tl --count 12000 --to "$out/train"
plot=(--plot_file "$out/curve.svg")
quality "softmax regression" ", " 90 97 "$tl" run samples/classify.tl "${digits[@]}" --epochs 4 "${plot[@]}"
quality "perceptron" ", " 92 98 "$tl" run samples/mlp.tl "${digits[@]}" --epochs 5 --to "$out/mlp.npz" "${plot[@]}"
quality "LeNet" ", " 97 100 "$tl" run samples/lenet.tl "${digits[@]}" --epochs 1 --to "$out/lenet.npz" "${plot[@]}"
quality "components" "linear classifier of the components: " 80 90 "$tl" run samples/pca.tl "${digits[@]}" --plot_file "$out/components.png"
quality "wide perceptron" "unseen " 0 0.6 "$tl" run samples/dense.tl --epochs 2 "${plot[@]}"
quality "LSTM" "unseen text: " 2 4 "$tl" run samples/lstm.tl --epochs 5 "${plot[@]}"
quality "Newton's method" "slope " 0 1e-12 "$tl" run samples/newton.tl "${plot[@]}"
quality "mixture" "at first, " -3.92 -3.91 "$tl" run samples/mixture.tl samples/data/points.npy "${plot[@]}"
quality "ODE" "off by " 0 1 "$tl" run samples/ode.tl "${plot[@]}"
quality "curves of PyTorch" "off by " 0 1e-3 "$tl" run tests/reference/curves.tl
check "a plot of the loss" 0 -- grep -q polyline "$out/curve.svg"

# Stopped and resumed: the same bits; in bf16: about the same loss.
gpt=("$tl" run samples/gpt.tl --steps 60 "${plot[@]}")
quality "GPT" "unseen text: " 4 5 "${gpt[@]}" --to "$out/whole.npz"
check "GPT stops" 0 -- "${gpt[@]}" --stop 25 --to "$out/part.npz"
check "GPT goes on" 0 -- "${gpt[@]}" --resume "$out/part.npz" --to "$out/resumed.npz"
check "GPT: the same bits" 0 -- cmp "$out/whole.npz" "$out/resumed.npz"
quality "GPT in bf16" "unseen text: " 4 5 "${gpt[@]}" --half --to "$out/half.npz"

# The same bits on every engine.
check "few digits" 0 -- "$tl" run samples/data/generate.tl --count 40 --to "$out/few"
few=("$out/few-images.idx.gz" "$out/few-labels.idx.gz")
check "perceptron trains" 0 -- "$tl" run samples/mlp.tl "${few[@]}" --epochs 1 --batch 12 --to "$out/few.npz" "${plot[@]}"
for config in --interp --sync "--threads 1" "--schedule-seed 3" "--disable fuse" "--disable outline"; do
  # shellcheck disable=SC2086
  check "perceptron trains $config" 0 -- "$tl" run $config samples/mlp.tl "${few[@]}" --epochs 1 --batch 12 --to "$out/other.npz" "${plot[@]}"
  check "perceptron trains $config: same bytes" 0 -- cmp "$out/few.npz" "$out/other.npz"
done
finish
