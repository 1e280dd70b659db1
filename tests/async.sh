#!/usr/bin/env bash
# What the asynchronous engine promises, from the outside: tests/async.sh TL [FILTER]. Memory, schedules, processes, and
# the programs of samples/async.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# ---- memory
cat >"$out/hello.tl" <<'TL'
for line in lines(read_text("/proc/self/status")) { if find(line, "VmHWM") == 0 { print(line) } }
TL
# within KB COMMAND…: what was resident at most, beyond an empty program, is at most that.
cat >"$out/within" <<'SH'
#!/usr/bin/env bash
most=$1 tl=$2
resident() { "$@" | awk '/^VmHWM/ {print $2}'; }
base=$(resident "$tl" run "$(dirname "$0")/hello.tl") found=$(resident "${@:2}")
((base > 200000)) && exit 0 # a sanitizer, which keeps much more than the program
[[ -n $found ]] && ((found - base <= most)) && exit 0
echo "resident: $found KB, of an empty program $base KB, allowed $most KB more"
exit 1
SH
chmod +x "$out/within"
cat >"$out/sizes.tl" <<'TL'
## Many sizes, small and large, come and go.
fn main(rounds: i64 = 30) {
  var total = 0.0
  for r in 0..rounds {
    var xs = list(ones([1]))
    for i in 0..2000 { xs = xs + [ones([8 + (i * 37 + r * 101) % 8000])] }
    total += xs[r].sum()
    xs = list(ones([1]))
    let big = normal(key(r), [3000 + r * 17, 3000])
    total += (big * big).sum()
    wait(total)
  }
  for line in lines(read_text("/proc/self/status")) { if find(line, "VmHWM") == 0 { print(line) } }
}
TL
cat >"$out/million.tl" <<'TL'
fn main(turns: i64) {
  var x = ones([1000])
  var y = zeros([1000])
  for i in 0..turns {
    x = x.sort() * 0.5 + 1.0
    y[i % 1000] += x[3]
  }
  print("{x.sum():.1f}")
  for line in lines(read_text("/proc/self/status")) { if find(line, "VmHWM") == 0 { print(line) } }
}
TL
check "resident memory keeps to the limit" 0 -- "$out/within" $((120000 + 96000)) "$tl" run --memory-limit 120M "$out/sizes.tl"
echo 'fn fib(n: i64) -> i64 = if n < 2 { n } else { fib(n - 1) + fib(n - 2) }; print(fib(25)) # 250,000 calls
for line in lines(read_text("/proc/self/status")) { if find(line, "VmHWM") == 0 { print(line) } }' >"$out/calls.tl"
check "calls that have ended keep nothing" 0 -- "$out/within" 40000 "$tl" run "$out/calls.tl"
check "a long loop keeps memory flat" 0 -- "$out/within" 40000 "$tl" run --memory-limit 1M "$out/million.tl" --turns 50000
check "too little memory names the line and the sizes" 3 'OutOfMemory.*there is no room for f32\[1000\]' -- "$tl" run --memory-limit 2K "$out/million.tl" --turns 10

# ---- several processes
# an MPI that is none: mpirun is played by its environment variable
mkdir "$out/mpi"
: >"$out/mpi/libmpi.so.40"
cp "$out/mpi/libmpi.so.40" "$out/mpi/libmpi.so"
check "processes: MPI cannot be loaded" 3 "MpiNotFound.*cannot be loaded" -- env OMPI_COMM_WORLD_SIZE=1 LD_LIBRARY_PATH="$out/mpi" "$tl" -e 'print(rank())'
cp -L "$(ldd "$tl" | awk '$1 == "libm.so.6" {print $3}')" "$out/mpi/libmpi.so.40"
cp "$out/mpi/libmpi.so.40" "$out/mpi/libmpi.so"
check "processes: another MPI" 3 "MpiNotFound.*not Open MPI" -- env OMPI_COMM_WORLD_SIZE=1 LD_LIBRARY_PATH="$out/mpi" "$tl" -e 'print(rank())'
check "processes: not with the interpreter" 2 "leave out --interp, or mpirun" -- env OMPI_COMM_WORLD_SIZE=2 "$tl" run --interp -e 'print(1)'
if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  processes() { printf '%s\n' mpirun -n "$1" "$tl" run --threads 1; }
  mapfile -t three < <(processes 3)
  mapfile -t two < <(processes 2)
  cat >"$out/sum.tl" <<'TL'
let r = rank()
let x = all_reduce(full([5], f32(r + 1)))
let b = broadcast([f32(r), 7.0], root = 1)
let big = all_reduce(arange(3000000) + r)
assert all(x == 6.0) and b[0] == 1.0 and big[2999999] == 9000000 and all_reduce(f64(r)) == 3.0
assert all_reduce(full([3], bf16(1.0)))[0] == bf16(3.0)
print("rank {r} of {world_size()}")
TL
  for r in 0 1 2; do check "processes: rank $r adds and is told" 0 "^rank $r of 3$" -- "${three[@]}" "$out/sum.tl"; done
  cat >"$out/train.tl" <<'TL'
## Least squares by all processes, each with its rows: the losses are those of one process.
fn loss(w: f32[4], x: f32[n, 4], y: f32[n]) -> f32 = mean((x @ w - y) ** 2)
let x = normal(key(0), [103, 4])
let y = x @ [1.0, -2.0, 3.0, 0.5]
var w = zeros([4])
let step = data_parallel(value_and_grad(loss))
for i in 0..20 {
  let (l, g) = step(w, x, y)
  w -= 0.1 * g
  if rank() == 0 { print("{l:.4f}") }
}
TL
  cat >"$out/same" <<'SH'
#!/usr/bin/env bash
# The same output from one process and from three.
one=$("$1" run "$2") && all=$("${@:3}" "$2") && [[ $(wc -l <<<"$one") == 20 && $one == "$all" ]]
SH
  chmod +x "$out/same"
  check "processes: training with data_parallel" 0 -- "$out/same" "$tl" "$out/train.tl" "${three[@]}"
  echo 'let x = all_reduce(ones([3]))
if rank() == 1 { assert x[0] == 2.0, "rank 1 is unhappy" }
print(all_reduce(ones([4]))[0])' >"$out/fails.tl"
  check "processes: one that fails ends the others" 3 "fails.tl:2:.*rank 1 is unhappy" -- "${three[@]}" "$out/fails.tl"
  echo 'if rank() == 0 { print(all_reduce(ones([3]))) } else { print(all_reduce(ones([4]))) }' >"$out/differ.tl"
  check "processes: they do different things" 3 "RanksDisagree.*rank 0 adds 3 elements of f32.*rank 1 adds 4 elements" -- "${two[@]}" "$out/differ.tl"
  echo 'if rank() == 0 { print(all_reduce(ones([3]))) }' >"$out/ended.tl"
  check "processes: one has ended" 3 "rank 1 has ended its program" -- "${two[@]}" "$out/ended.tl"
  echo 'print(rank()); exit(4)' >"$out/exit.tl"
  check "processes: exit" 4 -- "${two[@]}" "$out/exit.tl"
else
  echo "SKIPPED: 8 checks of several processes (there is no mpirun)"
fi
check "one process is its own world" 0 "^0 1 \[1. 2.\] \[1. 2.\]$" -- "$tl" -e 'print(rank(), world_size(), all_reduce([1.0, 2.0]), broadcast([1.0, 2.0]))'
check "there is no such rank" 3 "NoSuchRank.*there is no rank 2" -- "$tl" -e 'print(broadcast([1.0, 2.0], root = 2))'

# ---- samples/async: each prints its table
number() { printf '%s' '[0-9]+(\.[0-9]+)?'; }
check "issue" 0 "run 2 +$(number) us +$(number) ms" -- "$tl" run samples/async/issue.tl --n 300 --repeats 2
check "two devices" 0 "^ratio to the longer one +$(number)" -- "$tl" run --cpu-devices 2 samples/async/two_devices.tl --n 200 --repeats 2
check "two devices are needed" 3 "NoSuchDevice" -- "$tl" run samples/async/two_devices.tl --n 200
check "copies" 0 "^ratio to the longer one +$(number)" -- "$tl" run --cpu-devices 2 samples/async/copies.tl --n 200 --repeats 2
# Two devices, or a device and a lane of copies, are at work together for nine tenths of the shorter time, and nothing waits for
# memory: by the timeline, since no clock is to be trusted on a busy machine, and in one of three runs.
cat >"$out/overlaps" <<'SH'
#!/usr/bin/env bash
out=$1 tl=$2
shift 2
for _ in 1 2 3; do
  "$tl" run --cpu-devices 2 --threads 2 --stats --trace "$out/trace.json" "$@" >"$out/stats" 2>&1 || break
  grep -E '^  for memory' "$out/stats"
  tests/async/overlap.py "$out/trace.json" 0.9 && grep -qE '^  for memory +0 ' "$out/stats" && exit 0
done
exit 1
SH
chmod +x "$out/overlaps"
if command -v python3 >/dev/null; then
  for program in samples/async/two_devices.tl samples/async/copies.tl tests/async/{pipeline,small,training,growing}.tl; do
    check "overlap of $program" 0 -- "$out/overlaps" "$out" "$tl" "$program"
  done
else
  echo "SKIPPED: 6 checks of overlap (there is no python3)"
fi
# Running ahead adds at most 1.2 times the memory that waiting after each step does.
cat >"$out/added" <<'SH'
#!/usr/bin/env bash
"$1" run samples/async/run_ahead.tl --steps 12 --batch 512 |
  awk '/^waiting/ {w = $NF} /^not waiting/ {n = $NF} END {print w, n; exit !(w > 0 && n <= 1.2 * w)}'
SH
chmod +x "$out/added"
check "running ahead keeps to its memory" 0 -- "$out/added" "$tl"
# One, two and four devices: the same losses to 1e-5.
cat >"$out/lenet" <<'SH'
#!/usr/bin/env bash
"$1" run --cpu-devices 4 samples/async/lenet.tl --rows 128 --batch 32 --steps 8 |
  awk '/^ +[124] / {print; rows += $4 < 1e-5} END {exit rows != 3}'
SH
chmod +x "$out/lenet"
check "LeNet on 1, 2 and 4 devices" 0 -- "$out/lenet" "$tl"

# On an emulated card: CPU work beside GPU work, copies to the host beside products, the same losses as on the CPU.
if command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null; then
  emulated=("$tl" run --device gpu-emu)
  small=(--n 48 --count 3 --repeats 2)
  check "issue on a card" 0 "^on gpu.0., Emulated GPU$" -- "${emulated[@]}" samples/async/issue.tl --n 64 --repeats 2
  check "the CPU beside a card" 0 "^both +$(number) ms$" -- "${emulated[@]}" samples/async/two_devices.tl "${small[@]}"
  check "no second CPU is asked for then" 0 "^3 products of 48 x 48 on gpu.0. +$(number) ms$" -- "${emulated[@]}" samples/async/two_devices.tl "${small[@]}"
  check "two CPUs, and the CPU beside a card" 0 "^2$" -- bash -c '"$@" | grep -c "^ratio"' _ "${emulated[@]}" --cpu-devices 2 samples/async/two_devices.tl "${small[@]}"
  check "products on a card beside copies to the host" 0 "^3 copies to cpu.0. +$(number) ms$" -- "${emulated[@]}" samples/async/copies.tl "${small[@]}"
  check "running ahead on a card" 0 "^not waiting +$(number) +$(number) +[0-9.]*[1-9][0-9.]*$" -- "${emulated[@]}" samples/async/run_ahead.tl --steps 2 --batch 4
  lenet=(--cpu-devices 4 samples/async/lenet.tl --rows 4 --batch 2 --steps 2)
  check "LeNet on a card" 0 "^  1 GPU +$(number) +$(number)   0.00e.00$" -- "${emulated[@]}" --exact-products "${lenet[@]}"
  check "and with its library's products" 0 "^  1 GPU +$(number) +$(number)   [0-9].[0-9]*e-0[6-9]$" -- "${emulated[@]}" "${lenet[@]}"
else
  echo "SKIPPED: 8 checks of samples on an emulated card (there is no C++ compiler)"
fi

finish
