#!/usr/bin/env bash
# `tl check --memory` says what a run needs: its exact number is the peak that `--stats` measures with --sync (at most it, where
# the program's numbers decide), for every golden program and sample whose sizes are known; its formulas for some programs: tests/memory.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk python3
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export TL_THREADS=2

# agrees NAME FILE VALUES ARGUMENTS…: the exact peak with these sizes is that of a run; or it says that it is not known.
exact=0 unknown=0
agrees() {
  local name=$1 file=$2 values=$3
  shift 3
  [[ -n $filter && $name != *"$filter"* ]] && return
  local said predicted="" measured flags
  read -ra flags <<<"$(sed -n 's/^#% //p' "$file")" # --cpu-devices
  said=$(timeout 60 "$tl" check "--memory${values:+=$values}" "${flags[@]}" "$file" 2>&1)
  if (($(grep -c 'peak of cpu' <<<"$said") == $(grep -c ' bytes in blocks' <<<"$said"))); then # of all devices
    predicted=$(sed -En 's/^  (exactly|at most) ([0-9]*) bytes in blocks.*/\2/p' <<<"$said" | awk '{ sum += $1 } END { print sum }')
  fi
  if [[ -z $predicted ]]; then
    if grep -qE '^  (not known|k[0-9]+): ' <<<"$said" || grep -qE '^[^ ].*peak of cpu\(0\):.*[a-z_]+' <<<"${said//max(/}"; then
      unknown=$((unknown + 1)) passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "FAIL $name: neither a number nor what is not known"
      sed 's/^/  | /' <<<"$said" | head -n 10
    fi
    return
  fi
  # In a folder of its own, where programs may write.
  measured=$(file=$(realpath "$file") && cd "$out" && timeout 60 "$tl" run --sync --stats "${flags[@]}" "$file" "$@" 2>&1 >/dev/null </dev/null | sed -n 's/^peak memory *\([0-9]*\) bytes.*/\1/p')
  if [[ $predicted == "$measured" ]]; then
    exact=$((exact + 1)) passed=$((passed + 1))
  elif grep -q '^  at most .* in blocks' <<<"$said" && [[ -n $measured ]] && ((measured < predicted)); then # as the program's numbers have it
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $name: predicted $predicted, measured $measured"
  fi
}

for file in tests/golden/run/*.tl; do
  grep -q '^#: ' "$file" && continue # arguments of its own
  agrees "peak of $(basename "$file")" "$file" ""
done
agrees "peak of loops_conditions" tests/golden/run/loops_conditions.tl limit=7 --limit 7
agrees "peak of mandelbrot" samples/mandelbrot.tl width=60,height=40,limit=50 --width 60 --height 40 --limit 50
agrees "peak of heat" samples/heat.tl n=17 --n 17
agrees "peak of option" samples/option.tl paths=5000 --paths 5000
agrees "peak of life" samples/life.tl glider=true,size=12,steps=20 --glider --size 12 --steps 20
if [[ -z $filter ]] && ((exact < 50)); then
  failed=$((failed + 1))
  echo "FAIL only $exact peaks were known exactly"
fi

# Running ahead: a quarter more than with --sync, or 1 MB.
peak() { "$tl" run --stats "$@" 2>&1 >/dev/null </dev/null | sed -n 's/^peak memory *\([0-9]*\) bytes.*/\1/p'; }
ahead() {
  [[ -n $filter && "ahead of ${1##*/}" != *"$filter"* ]] && return
  local serial
  serial=$(peak --sync "$@")
  check "ahead of ${1##*/}: it has a peak" 0 -- test "$serial" -gt 1000
  for config in --threads=1 --threads=2 --schedule-seed=5; do
    check "ahead of ${1##*/}, $config" 0 -- test "$(peak $config "$@")" -le $((serial * 5 / 4 + (1 << 20)))
  done
}
ahead samples/heat.tl
ahead samples/heat.tl --n 513 --time 0.0005
ahead samples/lstm.tl --epochs 1 --plot_file "$out/c.svg"
ahead samples/gpt.tl --steps 4 --plot_file "$out/c.svg" --to "$out/gpt.npz"
ahead samples/mixture.tl samples/data/points.npy --plot_file "$out/c.svg"
ahead samples/newton.tl --plot_file "$out/c.svg"

# Programs of a few lines that would take minutes to follow: a deep recursion, and one whose formulas grow.
echo 'fn f(x: f64[n], k: i64) -> f64[n] {
  if k == 0 { x } else { f(x * 2.0, k - 1) + x }
}
print(f(zeros([100], f64), 9000))' >"$out/deep.tl"
echo 'fn f(x: f64[n], k: i64) -> f64[_] {
  if k == 0 { x } else { concat((f(x, k - 1), f(x[1:], k - 1))) }
}
fn main(x: f64[n], k: i64) { print(f(x, k).sum()) }' >"$out/wide.tl"
for name in deep wide; do
  check "peak of a recursion that is $name" 0 "at least .*not known: there are too many ways" -- \
    bash -c "ulimit -t 15; '$tl' check --memory '$out/$name.tl' | tr '\n' ' '"
done

# Devices: each has a peak of its own.
check "peaks of two devices" 0 "^peak of cpu\(1\): 4002052 bytes" -- sh -c "printf '%s\n' 'let x = wait(ones([1000, 1000]))' \
  'let y = wait(x.to(cpu(1)) * 2.0)' 'print(y.sum())' >'$out/d.tl'; '$tl' check --memory --cpu-devices 2 --threads 2 '$out/d.tl'"

# formula NAME PATTERN FLAG TEXT: what the formula of this program is
formula() {
  printf '%s\n' "$4" >"$out/p.tl"
  check "$1" 0 "$2" -- "$tl" check "$3" "$out/p.tl"
}
formula "formula of a chain" "^.*: peak of cpu\(0\): 12\*n\*m bytes$" --memory 'fn main(x: f32[n, m], y: f32[n, m]) -> f32[n, m] {
  let a = wait(exp(x))
  a + y
}'
formula "equal sizes are one name" "^.*: peak of cpu\(0\): 8\*n bytes$" --memory 'fn main(x: f32[n], y: f32[n]) { print(wait(x), wait(y)) }'
formula "the larger of two branches" "max\(8\*n \+ 8\*m, 16\*n, 24\*m\) bytes$" --memory 'fn main(x: f64[n], y: f64[m], which: bool) {
  if which { print(wait(exp(x))) } else { print(wait(exp(y)) + wait(sin(y)) * 2.0, y) }
}'
loop='fn main(x: f32[n], steps: i64) -> f32[n] {
  var w = x
  for i in 0..steps { w = wait(w * 0.5 + x) }
  w
}'
formula "a loop needs no more than a turn" ": 8\*n bytes$" --memory "$loop"
formula "a loop with its sizes" "exactly 8096 bytes" --memory=n=1000,steps=100 "$loop"
formula "a loop that ends by its data" ": max\(8\*n, 4\*n \+ 8\*\(\(n \+ 4095\) // 4096\) \+ 139\) bytes$" --memory 'fn main(x: f32[n]) {
  var w = wait(x * 2.0)
  while w.sum() > 1.0 { w = w * 0.5 }
  print(w.sum())
}'
formula "a size that the data tell has a name" "^  k1: a number that is computed from data at .*p.tl:" --memory 'fn main(x: f32[n]) { print(x[x > 0.5]) }'
lists='fn main(x: f32[n], steps: i64) {
  var xs: List<f32[n]> = []
  for i in 0..steps { xs = xs + [x * f32(i)] }
  print(len(xs))
}'
formula "a list that grows" ": 4\*n \+ 4\*n\*steps bytes$" --memory "$lists"
formula "a list that grows a known number of times" ": 2400 bytes$" --memory=n=100,steps=5 "$lists"
formula "the largest parts have their lines" "^    2000 +5 times f32\[100\] at .*p.tl:3" --memory=n=100,steps=5 "$lists"
formula "some sizes given, others not" ": 40\*m \+ 40 bytes$" --memory=n=10 'fn main(x: f32[n], y: f32[n, m]) { print(wait(x), wait(y)) }'
formula "a recursion" "exactly [0-9]+ bytes" --memory=n=10,depth=4 'fn down(x: f32[n], k: i64) -> f32[n] {
  if k == 0 { return x }
  down(wait(x * 2.0), k - 1) + x
}
fn main(x: f32[n], depth: i64) -> f32[n] = down(x, depth)'

# grows NAME VALUES TEXT: the formula of a program whose lists grow gives, with these values put in, what it needs with
# these sizes, which is what a run needs.
grows() {
  [[ -n $filter && $1 != *"$filter"* ]] && return
  local formula known values=() assign value
  printf '%s\n' "$3" >"$out/grows.tl"
  for value in ${2//,/ }; do values+=("--${value%%=*}" "${value#*=}") assign+="${value/=/ = }; "; done
  agrees "$1 (exactly)" "$out/grows.tl" "$2" "${values[@]}"
  formula=$("$tl" check --memory "$out/grows.tl" | sed -nE 's/^.*peak of cpu\(0\): (at most )?(.*) bytes$/\2/p' |
    sed -E ':a; s#\(\(([^()]*)\) // ([0-9]+)\)#int(0 + [\1] / \2)#; ta; y/[]/()/')
  known=$("$tl" check "--memory=$2" "$out/grows.tl" | sed -n 's/^.*peak of cpu(0): \(.*\) bytes$/\1/p')
  check "$1" 0 "^as it is$" -- awk "function max(a, b, c, d) { if (c > b) b = c; if (d > b) b = d; return a > b ? a : b }
    BEGIN { $assign s = $formula; print (s == $known ? \"as it is\" : s \" is not $known\") }"
}
# bounds NAME VALUES TEXT: the formula is of few lines and terms, and with these sizes put in, no less than what is needed with them.
bounds() {
  [[ -n $filter && $1 != *"$filter"* ]] && return
  local said values
  printf '%s\n' "$3" >"$out/bounds.tl"
  said=$("$tl" check --memory "$out/bounds.tl")
  check "$1: it is short" 0 "^1$" -- awk "BEGIN { n = split(ARGV[1], line, \"\\n\"); for (i in line) if (length(line[i]) > 300) n = 99; print n <= 16 }" "$said"
  for values in $2; do
    check "$1, $values" 0 "^enough$" -- python3 -c "import re, sys
formula = re.search(r'peak of cpu.0.: (?:at most )?(.*) bytes', sys.argv[1])[1]
known = int(re.search(r'peak of cpu.0.: (?:at most )?(\\d+) bytes', sys.argv[2])[1])
bound = eval(formula, {'max': max}, {name: int(value) for name, value in re.findall(r'(\\w+)=(\\d+)', '$values')})
print('enough' if known <= bound else f'{formula} is {bound}, less than {known}')" "$said" "$("$tl" check "--memory=$values" "$out/bounds.tl")"
  done
}
sizes="n=1,k=1,m=1 n=10,k=20,m=30 n=300,k=4000,m=50 n=1000,k=1000,m=1000 n=5000,k=64,m=7 n=100,k=9000,m=2000 n=1,k=5000,m=900 n=4096,k=4096,m=16"
bounds "a product of open sizes" "$sizes" 'fn main(n: i64, k: i64, m: i64) { print((ones([n, k]) @ ones([k, m])).sum()) }'
bounds "products of open sizes" "$sizes" 'fn main(n: i64, k: i64, m: i64) {
  let a = wait(ones([n, k]))
  let b = wait(ones([k, m], f64))
  let c = wait(tanh(f64(a) @ b))
  print((c.T @ c).sum(), (c @ b.T).sum())
}'
bounds "training by batches" "n=1,k=1,m=1 n=1000,k=100,m=32 n=333,k=7,m=500 n=70,k=3000,m=64" 'fn main(n: i64, k: i64, m: i64) {
  let x = ones([n, k])
  var w = zeros([k, 1])
  for b in batches(x, max(m, 1)) { w -= b.T @ (b @ w - 1.0) / f32(m) }
  print(w.sum())
}'
grows "pushes in two loops" n=1000,a=5,b=10 'fn main(n: i64, a: i64, b: i64) {
  let x = wait(ones([n]))
  var xs: List<f32[_]> = []
  for i in 0..a {
    xs = xs + [x * f32(i)]
    for j in range(0, b, 3) {
      xs = xs + [x + f32(j)]
      xs = xs + [concat((x, x)) * f32(i)]
    }
  }
  print(len(xs))
}'
grows "as many pushes as the turn has a number" n=1000,m=9 'fn main(n: i64, m: i64) {
  let x = wait(ones([n]))
  var xs: List<f32[_]> = []
  for i in 0..m { for j in 0..i { xs = xs + [x * f32(i)] } }
  print(len(xs))
}'
grows "elements that grow" m=12 'fn main(m: i64) {
  var xs: List<f32[_]> = []
  for i in 0..m { xs = xs + [ones([i * 100]) * f32(i)] }
  print(concat(xs).sum())
}'
grows "elements that variables hold too" n=1000,steps=7 'fn main(n: i64, steps: i64) {
  var w = wait(ones([n]))
  var xs: List<f32[n]> = [w, w + 1.0]
  for i in 0..steps {
    w = wait(w * 0.5)
    xs = xs + [w]
  }
  print(w, stack(xs).sum())
}'
grows "the sum over a list that grew" n=1000,steps=7 'fn main(n: i64, steps: i64) {
  let x = wait(ones([n]))
  var xs: List<f32[_]> = []
  for i in 0..steps { xs = xs + [x * f32(i)] }
  var s = zeros([n])
  for y in xs { s = wait(s + y) }
  print(s)
}'
grows "two lists with the same elements" n=500,steps=6 'struct P { w: f32[_], at: i64 }
fn main(n: i64, steps: i64) {
  let x = wait(ones([n]))
  var xs: List<f32[_]> = []
  var ps: List<P> = []
  for i in 0..steps {
    let y = x * f32(i)
    xs = xs + [y, x]
    ps = ps + [P(w = y, at = i)]
  }
  print(len(xs), len(ps))
}'
grows "a tensor that grows" n=500,steps=6 'fn main(n: i64, steps: i64) {
  let x = wait(ones([n]))
  var s = wait(x * 2.0)
  for i in 0..steps { s = concat((s, x)) }
  print(s)
}'
grows "pieces of a tensor" n=960 'fn main(n: i64) {
  let x = wait(ones([n]))
  var xs: List<f32[_]> = []
  for b in batches(x, 32) { xs = xs + [b * 2.0] }
  print(len(xs))
}'
grows "pushes in one of two branches" n=500,steps=6 'fn main(n: i64, steps: i64) {
  let x = wait(ones([n]))
  var xs: List<f32[_]> = []
  for i in 0..steps { if x[i] < 1000.0 { xs = xs + [x * f32(i)] } }
  print(len(xs))
}'
formula "a list that grows while something holds" "^  k1: how many turns this loop takes at .*p.tl:4" --memory 'fn main(x: f32[n]) {
  var xs: List<f32[n]> = []
  var s = 1.0
  while s < 100.0 { xs = xs + [x * s]; s += x.sum() }
  print(len(xs))
}'
formula "how often is its name" "\* ?k1 \+ 12\) bytes$" --memory "$(cat "$out/p.tl")"
formula "a loop that breaks" "^.*: 4\*n \+ 4\*n\*k1 " --memory 'fn main(x: f32[n], steps: i64) {
  var xs: List<f32[n]> = []
  for i in 0..steps {
    xs = xs + [x * f32(i)]
    if xs[-1].sum() > 100.0 { break }
  }
  print(len(xs))
}'
nested='fn main(x: f32[n], steps: i64) {
  var xs: List<List<f32[n]>> = []
  for i in 0..steps { xs = xs + [[x * f32(i)]] }
  print(len(xs))
}'
formula "a list of lists that grows" "peak of cpu\(0\): at least " --memory "$nested"
formula "where it grows" "not known: memory grows with the turns of this loop, by what is not known at .*p.tl:3" --memory "$nested"
printf '%s\n' "$loop" >"$out/loop.tl"
check "a size that there is not" 2 "there is no size 'q'; those of this program are n, steps" -- "$tl" check --memory=q=3 "$out/loop.tl"
check "a size without a value" 2 "write sizes as in" -- "$tl" check --memory=n "$out/loop.tl"
check "a size that is no number" 2 "n" -- "$tl" check --memory=n=many "$out/loop.tl"
check "a negative size" 2 "not negative" -- "$tl" check --memory=n=-1 "$out/loop.tl"
check "sizes of a program without any" 2 "takes no sizes" -- "$tl" check --memory=n=1 tests/golden/run/choosing.tl
printf 'let x: i64 = "a"\n' >"$out/wrong.tl"
check "a program that is wrong" 1 "TypeMismatch" -- "$tl" check --memory "$out/wrong.tl"
finish
