#!/usr/bin/env bash
# A session of many inputs: each costs what it is itself, whatever came before, in time and in memory, and what was
# entered early is there to the end. tests/repl/many_inputs.sh TL [FLAGS]: exit code 1 and what was wrong if not.
set -u
tl=$1
shift
blocks=20 each=1000 # inputs

# inputs FROM COUNT: of all sorts
inputs() {
  awk -v from="$1" -v count="$2" 'BEGIN {
    for (i = from; i < from + count; i++) {
      kind = i % 12
      if (kind == 0) print "let a = " i
      else if (kind == 1) print "let v" i % 50 " = [1.0, " i ".0, 3.0]"
      else if (kind == 2) print "a + " i
      else if (kind == 3) print "fn f" i % 20 "(x) = x * " i
      else if (kind == 4) print "f" (i - 1) % 20 "(a) + 1"
      else if (kind == 5) print "nothing_here + 1"
      else if (kind == 6) print "var w = zeros([100])"
      else if (kind == 7) print "w[3] += 1.0"
      else if (kind == 8) print "let g = |x| x + a"
      else if (kind == 9) print "g(" i ")"
      else if (kind == 10) print "let n = " i % 7 + 1 "; let z = ones([n, a % 3 + 1])"
      else print "let broken = ("  i "))"
    }
  }'
}

coproc REPL { exec "$tl" repl "$@" 2>/dev/null; }
pid=$REPL_PID
# shellcheck disable=SC1083,SC2093 # no command is run: the files of this shell change
exec {in}>&"${REPL[1]}" {out}<&"${REPL[0]}" {REPL[1]}>&- # subshells do not have the fds of a coproc
fail() {
  echo "$*"
  kill "$pid"
  exit 1
}
# block TEXT: has it all computed
block() {
  printf '%s\nprint("end of block")\n' "$1" >&"$in" &
  while read -r -t 60 line <&"$out" || fail "no answer"; do
    [[ $line == "end of block" ]] && break
  done
  wait $!
}
# Processor time in ticks: other work on the machine does not count.
ticks() { sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }'; }
memory() { awk '/^VmRSS/ { print $2 }' "/proc/$pid/status"; }

block 'import data
const C = 4
let early = 20
let table: f32[rows, C] = zeros([early, C]) + 2.0
let kept = |x| x + early
let both = (kept, grad(|x| x * x * f32(early)))
struct P[n] { w: f32[n], b: f32 }
let p = P(w = ones([early]), b = 0.5)
fn times(x) = x * early
let early = 3
let loops = list(1, 2, 3)'
taken=() kilobytes=()
for ((i = 0; i < blocks; i++)); do
  text=$(inputs $((i * each)) "$each")
  begin=$(ticks)
  block "$text"
  taken+=($(($(ticks) - begin)))
  kilobytes+=("$(memory)")
done

least() { printf '%s\n' "$@" | sort -n | head -1; }
first=$(least "${taken[@]:1:4}") last=$(least "${taken[@]:blocks-4}")
echo "ticks of processor time for $each inputs: ${taken[*]}"
echo "KiB afterwards: ${kilobytes[*]}"
((last < 3 * first)) || fail "the last inputs take longer than the first"
((kilobytes[blocks - 1] < kilobytes[1] + 8192)) || fail "the session grows"

printf '%s\n' 'print(kept(1), both[0](2), both[1](1.0), times(2), early, rows, table.sum(), p.w.sum(), p.b, loops, C)' \
  'p.w + ones([rows])' 'data.normalize([[1.0, 2.0], [3.0, 4.0]])[1]' 'print(n, z.shape, a, g(1))' >&"$in"
exec {in}>&-
want='21 22 40.0 6 3 20 160.0 20.0 0.5 [1, 2, 3] 4
[2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2. 2.] : f32[20]
[2. 3.] : f32[2]'
for ((i = 0; i < 3; i++)); do
  read -r -t 60 line <&"$out" || fail "no answer at the end"
  [[ $line == "$(sed -n $((i + 1))p <<<"$want")" ]] || fail "at the end: $line"
done
wait "$pid"
