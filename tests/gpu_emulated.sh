#!/bin/bash
# tests/gpu_emulated.sh TL [FILTER]: --device gpu-emu as a user types it, and --device gpu where there is none. The
# golden programs run there too (tests/golden, configurations gpu and gpu-seed5).
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source tests/check.sh
command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || {
  echo "SKIPPED: all of gpu_emulated.sh (there is no C++ compiler)"
  exit 77
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
emulated=("$tl" run --device gpu-emu)

# ---- two cards
cat >"$out/two.tl" <<'TL'
print(devices("gpu"), device_info(gpu(1)).name)
let x = arange(6.0)
let y = x.to(gpu(1))
print(x.device, y.device, (y * 2.0 + 1.0).device)
print(y * 2.0 + 1.0)
print(gather(scatter(arange(5), devices("gpu"))))
print(all_reduce(list(ones([2]).to(d) * f32(i + 1) for (i, d) in enumerate(devices("gpu")))))
on gpu(1) { print(zeros([2]).device) }
print((y.to(cpu) + arange(6.0).to(cpu)).device)
print(data_parallel(|w, v| w * mean(v), devices("gpu"))(2.0, [1.0, 3.0, 5.0, 7.0]))
TL
cat >"$out/two.expected" <<'TEXT'
[gpu(0), gpu(1)] Emulated GPU
gpu(0) gpu(1) gpu(1)
[ 1.  3.  5.  7.  9. 11.]
[0 1 2 3 4]
[[3. 3.], [3. 3.]]
gpu(1)
cpu(0)
8.0
TEXT
for seed in "" "--schedule-seed 3" "--schedule-seed 11"; do
  check "two cards${seed:+, $seed}" 0 -- bash -c "'$tl' run --device gpu-emu --gpu-emu-devices 2 $seed '$out/two.tl' | diff - '$out/two.expected'"
done
echo 'let x = ones([2]).to(gpu(0)) + ones([2]).to(gpu(1))' >"$out/mixed.tl"
check "two cards in one operation" 1 "DeviceMismatch.*gpu.0. and on gpu.1." -- "${emulated[@]}" --gpu-emu-devices 2 "$out/mixed.tl"
check "a card that is not there" 3 "NoSuchDevice.*there is no device gpu.1." -- "${emulated[@]}" -e 'print(zeros([2]).to(gpu(1)))'

# ---- nothing waits inside a chain, and nothing leaves the card without a word
cat >"$out/chain.tl" <<'TL'
fn main() {
  var x = ones([64])
  for k in 0..1000 { x = x * 1.0001 + sum(x) * 0.001 }
  print(x[0] > 1.0)
}
TL
check "a chain of kernels has no wait inside" 0 "^  for a value     0 " -- "${emulated[@]}" --stats "$out/chain.tl"
check "nor for memory" 0 "^  for memory      0 " -- "${emulated[@]}" --stats "$out/chain.tl"
check "nor does it need more than a few tensors" 0 "^  of gpu.0.       [0-9]{1,4} bytes" -- "${emulated[@]}" --stats "$out/chain.tl"
cat >"$out/steps.tl" <<'TL'
fn main(steps: i64) {
  var (m, total) = (ones([32, 32]), zeros([32, 32]))
  for i in progress(0..steps) {
    let p = permutation(fold_in(key(0), i), 20000)
    m = (m @ m) / 32.0
    total = total + m * f32(p[7] * 0)
  }
  print(total.sum())
}
TL
# steps N: what N steps copy, and what they wait for
cat >"$out/waits" <<'SH'
#!/usr/bin/env bash
"$@" 2>&1 | awk '/^copies/ {c = $2} /^waits/ {w = $2} /for memory/ {m = $3} END {print c, w, m}'
SH
chmod +x "$out/waits"
check "neither a bar of progress nor sorting copies anything, and steps wait for nothing" 0 -- bash -c '
  read -r few waits memory < <("$@" --steps 2) && read -r more more_waits more_memory < <("$@" --steps 10)
  echo "$few and $more copies, $waits and $more_waits waits, $memory and $more_memory for memory"
  ((memory == 0 && more_memory == 0 && waits == more_waits && more == few))' _ "$out/waits" "${emulated[@]}" --stats "$out/steps.tl"
"$tl" run samples/data/generate.tl --count 10 --to "$out/few" >/dev/null
for sample in mlp lenet; do
  check "training steps of $sample.tl wait for nothing on the host" 0 -- bash -c '
    read -r _ waits memory < <("$@" --epochs 1) && read -r _ more_waits more_memory < <("$@" --epochs 2)
    echo "$waits and $more_waits waits, $memory and $more_memory for memory"
    ((memory == 0 && more_memory == 0 && waits == more_waits))' _ "$out/waits" "${emulated[@]}" --stats "samples/$sample.tl" \
    "$out"/few-{images,labels}.idx.gz --batch 2 --to "$out/m.npz" --plot_file "$out/loss.svg"
done
echo 'import linalg
print(linalg.det([[2.0, 0.0], [0.0, 3.0]]))' >"$out/det.tl"
check "what a card cannot do is named" 0 "^not on a GPU" -- "${emulated[@]}" --stats "$out/det.tl"
check "and its result is right" 0 "^6.0$" -- "${emulated[@]}" "$out/det.tl"

# ---- what a run shows of a card
cat >"$out/mixed_work.tl" <<'TL'
fn main() {
  var x = ones([200000])
  for k in 0..20 { x = x * 1.0001 + sum(x) * 1e-6 }
  let y = x.to(cpu) * 2.0
  print(sum(y.to(gpu(0))) > 0.0)
}
TL
check "--stats counts its kernels" 0 "^  on GPUs         [1-9]" -- "${emulated[@]}" --stats "$out/mixed_work.tl"
check "and how busy it was" 0 "^  gpu.0.          [0-9.]+ %" -- "${emulated[@]}" --stats "$out/mixed_work.tl"
check "--explain-idle" 0 "^idle: [0-9.]+ % of gpu.0. over" -- "${emulated[@]}" --explain-idle "$out/mixed_work.tl"
check "--profile" 0 "mixed_work.tl:3 " -- "${emulated[@]}" --profile "$out/mixed_work.tl"
check "--trace" 0 "^true$" -- "${emulated[@]}" --trace "$out/trace.json" "$out/mixed_work.tl"
cat >"$out/rows.py" <<'PY'
import collections, json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
named = {}
for e in events:
    if e["ph"] == "M" and e["name"].endswith("_name"):
        named[e["pid"], e["tid"] if e["name"] == "thread_name" else None] = e["args"]["name"]
rows = collections.defaultdict(list)
for e in events:
    if e["ph"] == "X":
        rows[named[e["pid"], None] + ": " + named[e["pid"], e["tid"]]].append((e["ts"], e["ts"] + e["dur"]))
stream = sorted(rows["gpu(0): stream"])
assert len(stream) > 20, rows.keys()
for (_, end), (begin, _) in zip(stream, stream[1:]):
    assert begin >= end - 0.002, "the stream does two things at a time"
assert any("copy gpu(0) to cpu(0)" in row for row in rows), rows.keys()
assert any("copy cpu(0) to gpu(0)" in row for row in rows), rows.keys()
print("rows are right")
PY
if command -v python3 >/dev/null; then
  check "its rows in a trace" 0 "rows are right" -- python3 "$out/rows.py" "$out/trace.json"
else
  echo "skipped: rows in a trace (there is no python3)"
fi

# ---- races in kernels
cat >"$out/kernels.tl" <<'TL'
fn main() {
  let x = uniform(key(3), [300, 40])
  print(sum(x), sum(x, axis = 0)[3], cumsum(x[0])[5], sort(x[1])[:3], softmax(x)[0, 0], argsort(x[2])[0])
}
TL
check "--racecheck" 0 "^5980.613 " -- "${emulated[@]}" --racecheck "$out/kernels.tl"
check "--racecheck is about an emulated card" 2 "add --device gpu-emu" -- "$tl" run --racecheck "$out/kernels.tl"

# ---- sorts (their numbers: tests/oracles/card_sorting.py)
cat >"$out/sorts.tl" <<'TL'
fn main() {
  let x = uniform(key(3), [3, 5000])
  let y = sort(x)
  let (values, places) = topk(x, 3000)
  let whole = i64(x * 1000.0)
  let (distinct, _, counts) = unique(whole[0])
  let p = permutation(key(5), 3000)
  print(all(y[:, 1:] >= y[:, :-1]), all(gather(x, argsort(x), axis = 1) == y), all(values == gather(x, places, axis = 1)),
        len(distinct), sum(counts), sum(p), sort(whole)[2, 0], argsort(x[:, :700])[0, 0], all(y[:, ::-1][:, :3000] == values))
}
TL
sorted="^true true true 995 5000 4498500 0 219 true$"
check "sorts run on the card" 0 "$sorted" -- "${emulated[@]}" "$out/sorts.tl"
check "all of them" 0 "^0$" -- bash -c '"$@" 2>&1 | grep -c "not on a GPU"; true' _ "${emulated[@]}" --stats "$out/sorts.tl"
check "without races" 0 "$sorted" -- "${emulated[@]}" --racecheck "$out/sorts.tl"
echo 'fn main() { let x = uniform(key(3), [100000])
  print(argsort(x)[0] >= 0) }' >"$out/workspace.tl"
check "their workspaces are under the memory limit" 3 "OutOfMemory.*no room for a workspace .* under the memory limit of 1.8 MB" -- \
  "${emulated[@]}" --memory-limit 1800K "$out/workspace.tl"

# ---- products (their numbers: tests/oracles/products.py)
cat >"$out/products.tl" <<'TL'
fn main() {
  let w = [if i % 7 == j % 5 { 0.5 } else { 0.0 } for i in 0..64, j in 0..64]
  var x = ones([8, 64])
  for k in 0..100 { x = relu(x @ w + x * 0.001) }
  print(x.min() >= 0.0)
}
TL
check "products are the library's" 0 "^  products there  100 .100 by cuBLASLt." -- "${emulated[@]}" --stats "$out/products.tl"
check "a chain of them has no wait inside" 0 "^  for a value     0 " -- "${emulated[@]}" --stats "$out/products.tl"
check "or none is" 0 "^  products there  100 .0 by cuBLASLt." -- "${emulated[@]}" --stats --exact-products "$out/products.tl"
check "without products nothing is said of them" 0 "^0$" -- bash -c "'$tl' run --device gpu-emu --stats '$out/chain.tl' 2>&1 | grep -c products; true"
check "TF32 without a GPU" 2 "tf32 is about products on a GPU: give --device" -- "$tl" run --tf32 -e '1'
check "exact products without a GPU" 2 "exact-products is about products on a GPU" -- "$tl" test --exact-products "$out"
check "TF32 by the environment" 2 "tf32 is about products on a GPU: give --device" -- env TL_TF32=1 "$tl" run -e '1'
check "both" 2 "exclude each other" -- "${emulated[@]}" --tf32 --exact-products -e '1'
check "TF32 where there may be a GPU" 0 "^1$" -- env TL_CUDA_PATH="$out" "$tl" run --device auto --tf32 -e 'print(1)'

# ---- what is copied to a card and changed in place there is behind what its memory held before, on busy processors too
cat >"$out/pieces.tl" <<'TL'
fn main() {
  let x = f32(arange(3000000)).to(cpu) * 0.5
  let y = x.to(gpu(0)) + 1.0
  let z = y.to(cpu)
  print(z[0], z[1048577], z[2999999], all(z - 1.0 == x))
}
TL
for seed in "" "--schedule-seed 3"; do
  # shellcheck disable=SC2086
  check "copies of several pieces${seed:+, $seed}" 0 "^1.0 524289.5 1500000.5 true$" -- "${emulated[@]}" $seed "$out/pieces.tl"
done
cat >"$out/in_parallel" <<SH # PROGRAM: many runs beside each other, each of which prints what the CPU prints
expected=\$('$tl' run "\$1")
for j in 1 2 3 4 5 6 7 8; do
  { for k in 1 2 3 4 5; do [ "\$('$tl' run --device gpu-emu "\$1" 2>&1)" = "\$expected" ] || echo "other output"; done; } &
done
wait
SH
check "copies while processors are busy" 0 "^\$" -- bash "$out/in_parallel" tests/golden/run/leaving.tl

# ---- kernels in the disk cache that something has damaged are compiled anew
echo 'let x = normal(key(0), [40, 30])
print(softmax(x).sum(axis = 0)[:3], (x @ x.T)[0, :2], cumsum(x[0])[-1])' >"$out/kept.tl"
cat >"$out/damage" <<SH # HOW: in each file of the cache; what the program prints then must be what it printed before
export TL_CACHE_DIR='$out/kernels'
rm -rf "\$TL_CACHE_DIR"
expected=\$('$tl' run --device gpu-emu '$out/kept.tl') || exit 1
files=\$(find "\$TL_CACHE_DIR" -name '*.tlc' -type f)
[ -n "\$files" ] || { echo "nothing is kept"; exit 1; }
other=
for file in \$files; do
  size=\$(wc -c <"\$file")
  case \$1 in
    middle) printf 'XXXXXXXXXXXXXXXX' | dd of="\$file" bs=1 seek=\$((size / 2)) conv=notrunc 2>/dev/null ;;
    end) printf 'X' | dd of="\$file" bs=1 seek=\$((size - 1)) conv=notrunc 2>/dev/null ;;
    begin) printf 'XXXXXXXX' | dd of="\$file" bs=1 conv=notrunc 2>/dev/null ;;
    half) truncate -s \$((size / 2)) "\$file" ;;
    nothing) : >"\$file" ;;
    longer) printf 'XXXX' >>"\$file" ;;
    exchanged) [ -n "\$other" ] && cp "\$other" "\$file"; other=\$file ;;
  esac
done
for run in 1 2 3 4 5; do # what the CPU needs as well may be compiled too late to be kept in a short run
  again=\$('$tl' run --stats --device gpu-emu '$out/kept.tl' 2>'$out/stats') || { cat '$out/stats'; exit 1; }
  [ "\$again" = "\$expected" ] || { echo "\$again"; exit 1; }
done
grep '^kernels from disk' '$out/stats'
SH
for how in middle end begin half nothing longer exchanged; do
  check "a kept kernel is damaged: $how" 0 "^kernels from disk ([0-9]+) of \1, 0 stored$" -- bash "$out/damage" $how
done

# ---- a compiler that fails, and one that makes no library
mkdir "$out/fails" "$out/odd"
printf '#!/bin/sh\necho "kernels.cpp:1: error: it is Tuesday" >&2\nexit 1\n' >"$out/fails/clang++-19"
printf '#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = -o ] && echo text >"$2"; shift; done\n' >"$out/odd/clang++-19"
chmod +x "$out"/fails/clang++-19 "$out"/odd/clang++-19
one=("$tl" run --no-cache --device gpu-emu -e 'print(sum(arange(3.0) * 2.0))')
check "kernels that do not compile" 3 "DeviceError.*it is Tuesday" -- env PATH="$out/fails:$PATH" "${one[@]}"
check "a compiler that makes no library" 3 "DeviceError" -- env PATH="$out/odd:$PATH" "${one[@]}"

# ---- memory
echo 'fn main() { let x = zeros([1000000])
  print(sum(x)) }' >"$out/large.tl"
check "the memory limit bounds a card" 3 "OutOfMemory.*memory limit of 1.0 MB" -- "${emulated[@]}" --memory-limit 1MB --disable fuse "$out/large.tl"

check "no address space for a card" 3 "no address space for the memory of the emulated cards .*--memory-limit makes it smaller" -- \
  bash -c "ulimit -v 8000000; '$tl' run --device gpu-emu -e 'print(sum(arange(3.0)))'"
check "nor in the REPL" 3 "no address space" -- bash -c "ulimit -v 8000000; echo 1 | '$tl' repl --device gpu-emu"
check "room for a smaller one" 0 "^3.0$" -- bash -c "ulimit -v 8000000; '$tl' run --device gpu-emu --memory-limit 500M -e 'print(sum(arange(3.0)))'"

# ---- a program that may use no files: its kernels are compiled all the same
mkdir "$out/own"
for only in --no-files "--root $out/own"; do
  # shellcheck disable=SC2086
  check "${only%% *} on an emulated card" 0 "^3.0$" -- "${emulated[@]}" --no-cache $only -e 'print(sum(arange(3.0)))'
done
check "and nothing is left of the compiler's files" 0 "^0$" -- \
  bash -c "mkdir '$out/tmp'; TMPDIR='$out/tmp' '$tl' run --no-cache --no-files --device gpu-emu -e 'print(sum(arange(3.0)))' >/dev/null; ls '$out/tmp' | wc -l"

# No memory for the first kernel: what reads its result, by way of copies too, does not run.
echo 'fn main(d: i64 = 200) { let s = zeros([d]) + 3.0
  let t = cumsum(s)
  print(t[t > 2.0].sum(), sort(t)[0]) }' >"$out/short.tl"
for limit in 600 1000 1500 2000 2600; do
  check "memory runs out at $limit bytes" 3 "OutOfMemory" -- "${emulated[@]}" --memory-limit $limit "$out/short.tl"
done
# Memory that a launch gave back is taken for a copy from the host while the kernel has not run yet.
cat >"$out/again.tl" <<'TL'
fn late(a: i64[n]) -> i64[n] {
  var s = a
  for k in 0..3 { s = s * 3 + flip(s) % 7 }
  s
}
fn main(n: i64 = 40000) {
  let a = arange(n).to(cpu(0))
  var all = zeros([n], i64).to(gpu(0))
  for k in 0..6 {
    let x = (a + k).to(gpu(0))
    all = all + late(x + 1) % 1000
  }
  print(sum(all.to(cpu(0))))
}
TL
for limit in 1300K 1700K 2500K; do
  check "a copy waits for the memory that it goes to, under $limit" 0 "^119880048$" -- "${emulated[@]}" --memory-limit $limit "$out/again.tl"
done
check "workspaces for fewer blocks where memory is short" 0 "^60300" -- "${emulated[@]}" --memory-limit 40000 "$out/short.tl"

# A number that failed on the host, an update of a card's tensor by it, and what follows: it ended never.
echo 'fn main(b: i64 = 200000000000000000, n: i64 = 2) { var w = arange(n)
  w[max(b, n + 4)] = 1
  print(w.sum())
  print(sum(1.0 for i in 0..b)) }' >"$out/fails.tl"
for k in 1 2 3 4; do
  check "failures on the host and on the card, $k" 3 "IndexOutOfRange" -- "${emulated[@]}" "$out/fails.tl"
done

# ---- records of failures: on the card, whatever the number of failures; each is the least element's, and then gone
cat >"$out/million.tl" <<'TL'
let x = arange(1000.0)
let at = arange(1000000) * 7 % 1000003 + 990
print(sum(x[at]))
TL
for seed in "" "--schedule-seed 3"; do
  # shellcheck disable=SC2086
  check "a million bad indices${seed:+, $seed}" 3 "IndexOutOfRange.*index 1004 is" -- "${emulated[@]}" $seed "$out/million.tl"
done
check "kernels that record them hardly reach memory of the host" 0 "^0$" -- \
  bash -c '"$@" 2>&1 | grep -c "tl emulator"; true' _ "${emulated[@]}" "$out/million.tl"
printf 'let x = arange(10.0)\nlet at = arange(2000)\nsum(x[at + 3])\nsum(x[max(0, at - 1980)])\nsum(x[at * 0 + 4])\n' >"$out/session"
check "failures one after the other" 0 "^10 10 8000.0 " -- \
  bash -c "'$tl' repl --device gpu-emu <'$out/session' 2>&1 | sed -nE 's/.*error.IndexOutOfRange.*index ([0-9]+) is out.*/\1/p; /f32/p' | tr '\n' ' '"

# ---- the session and tests
printf 'let x = arange(4.0)\nx * 2.0\nx.to(gpu(0)).device\n' >"$out/session"
check "in the REPL" 0 "^gpu.0. : device" -- bash -c "'$tl' repl --device gpu-emu <'$out/session'"
echo 'test "sums" { assert_close(sum(arange(5.0)), 10.0) }' >"$out/test.tl"
check "tl test" 0 "1 passed, 0 failed" -- "$tl" test --device gpu-emu "$out/test.tl"

# ---- what cannot be
check "no C++ compiler" 3 "DeviceError.*C\+\+ compiler" -- env PATH= "$tl" run --no-cache --device gpu-emu -e 'print(sum(arange(3.0)))'
check "the interpreter" 2 "the reference interpreter runs on the CPU" -- "$tl" run --interp --device gpu-emu -e '1'
check "no such name" 2 "not cpu, gpu, gpu:N, gpu-emu or auto" -- "$tl" run --device tpu -e '1'
check "too many cards" 2 "gpu-emu-devices 99" -- "$tl" run --device gpu-emu --gpu-emu-devices 99 -e '1'
mkdir "$out/none"
check "auto where there is none" 0 "^3$" -- env TL_CUDA_PATH="$out/none" "$tl" run --device auto -e 'print(1 + 2)'
echo 'print(1 + 2)' >"$out/three.tl"
"$tl" build "$out/three.tl" -o "$out/three" >/dev/null
check "an executable has no products on GPUs" 2 "tf32 is about products on a GPU" -- "$out/three" --tf32
check "an executable for the CPU" 2 "this program runs on the CPU alone" -- "$out/three" --device gpu

# ---- the check for machines with a card
mkdir "$out/text" && echo text >"$out/text/libcuda.so.1"
check "gpu-check without a card" 2 "nothing can run on a card here" -- env TL_CUDA_PATH="$out/text" bench/gpu_check.sh --tl "$tl" --out "$out/report"
check "gpu-check leaves nothing then" 1 -- test -e "$out/report"
check "gpu-check on the emulated card" 0 "^nothing failed in" -- env ROUNDS=1 bench/gpu_check.sh --emulated --tl "$tl" --out "$out/report" devices profiler table
check "gpu-check: its table" 0 "^layer_norm +16x64 " -- cat "$out/report/report.txt"
command -v python3 >/dev/null && check "gpu-check: its report" 0 '"seconds"' -- python3 -m json.tool "$out/report/report.json"
finish
