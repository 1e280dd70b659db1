#!/usr/bin/env bash
# What the asynchronous engine promises, from the outside: tests/async.sh TL [FILTER]. Memory, schedules, processes, and
# the programs of samples/async.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
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
check "a long loop keeps memory flat" 0 -- "$out/within" 40000 "$tl" run --memory-limit 1M "$out/million.tl" --turns 50000
check "too little memory names the line and the sizes" 3 'OutOfMemory.*there is no room for f32\[1000\]' -- "$tl" run --memory-limit 2K "$out/million.tl" --turns 10

finish
