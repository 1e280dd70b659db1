#!/usr/bin/env bash
# What --stats, --trace and --explain-idle say of runs whose course is known: tests/profiling.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# A function that takes its time on one thread: a native loop.
slow='fn slow(x: f64[n], turns: i64) -> f64[n] {
  var y = x
  for i in 0..turns { y[0] = y[0] * 0.5 + f64(i) }
  y
}'

# idle NAME PATTERN FLAGS PROGRAM: the first cause of idleness, in its line below the heading; or another row with `row`
row=3p
idle() {
  printf '%s\n%s\n' "$slow" "$4" >"$out/idle.tl"
  # shellcheck disable=SC2086
  check "idle: $1" 0 "$2" -- sh -c "'$tl' run --no-cache >/dev/null '$out/idle.tl'; '$tl' run --explain-idle $3 '$out/idle.tl' 2>&1 >/dev/null | sed -n $row"
}
idle "a serial chain" "dependency: what was issued waited for .* at .*idle.tl:[347], which kept 1.0 of 2 threads busy" "--threads 2" 'var x = zeros([4], f64)
for k in 0..3 { x = slow(x, 20000000) }
print(x)'
idle "one task at the end" "parallelism: only .* at .*idle.tl:[34] was left to do, which kept 1.0 of 2 threads busy" "--threads 2" 'fn main() -> f64[4] = slow(zeros([4], f64), 50000000)'
idle "a wait after each step" "wait: the program waited at .*idle.tl:9 for .* at .*idle.tl:[34], with nothing else issued" "--threads 2" 'var x = zeros([4], f64)
for k in 0..3 {
  x = slow(x, 20000000)
  wait(x)
}'
row=3,4p # on a busy machine the last ones, which have room, may take longer than the others
idle "a memory limit" "memory: issuing at .*idle.tl:[378] waited for room in memory" "--threads 2 --memory-limit 44K" 'for k in 0..10 { # too small for one to be made of what several others leave
  let x = slow(zeros([2000 + 300 * k], f64), 10000000)
  print(x[0])
}'
row=3p
idle "host code" "(host|issue|dependency|hand-over): " "--threads 2" 'print(1)'

# ---- the summary
cat >"$out/work.tl" <<'TL'
var x = ones([300, 300], f32)
for k in 0..5 { x = x @ x * 0.001 }
print(x.sum() > 0.0)
TL
check "stats: operations" 0 "^operations +[1-9]" -- "$tl" run --stats "$out/work.tl"
check "stats: waits by reason" 0 "^  for a value +[0-9]+ \([0-9.]+ s\)$" -- "$tl" run --stats "$out/work.tl"
check "stats: issue" 0 "^issue +[0-9.]+ us per operation" -- "$tl" run --stats "$out/work.tl"
check "stats: busy" 0 "^busy +[0-9.]+ % of 2 threads" -- "$tl" run --stats --threads 2 "$out/work.tl"
check "stats from the environment" 0 "^copies +0 \(0 bytes\)$" -- env TL_STATS=1 "$tl" run "$out/work.tl"
check "stats of a failure" 3 "^operations +" -- "$tl" run --stats -e 'print([1, 2][sum(ones([2], i64))])'
check "a busy thread is seen" 0 -- sh -c "printf '%s\n%s\n' '$slow' 'print(slow(zeros([4], f64), 100000000)[1])' >'$out/busy.tl'; \
  '$tl' run --threads 1 '$out/busy.tl'; '$tl' run --stats --threads 1 '$out/busy.tl' 2>&1 | grep -E '^busy +(9[0-9]|100)'"

# ---- the timeline, read back by tl's own JSON tool where there is one, else by its shape
reads="python3 -c 'import json,sys; json.load(open(sys.argv[1]))'"
command -v python3 >/dev/null || reads="grep -q 'traceEvents'"
trace() { # NAME EXIT_CODE FLAGS…: runs, and the file must be whole JSON
  local name=$1 code=$2
  shift 2
  rm -f "$out/t.json"
  check "trace: $name" "$code" -- "$tl" run --trace "$out/t.json" "$@"
  check "trace: $name is JSON" 0 -- sh -c "$reads '$out/t.json' && tail -c 4 '$out/t.json' | grep -q ']}'"
}
has() { check "trace: $1" 0 -- grep -qE "$2" "$out/t.json"; }
trace "a run" 0 --threads 2 "$out/work.tl"
has "a row for the issuing thread" '"name":"thread_name","pid":1,"tid":0,"args":\{"name":"issuing thread"\}'
has "a row per worker" '"name":"thread_name","pid":2,"tid":1,"args":\{"name":"worker 1"\}'
has "a process per device" '"name":"process_name","pid":2,"tid":0,"args":\{"name":"cpu\(0\)"\}'
has "slices with line, shapes and bytes" '"ph":"X","cat":"work".*"line":".*work.tl:2".*"reads":"f32\[300, 300\].*"makes":"f32\[300, 300\]".*"bytes":[1-9]'
has "issuing" '"ph":"X","cat":"issuing","name":"issue '
has "arrows begin" '"ph":"s"'
has "arrows end" '"ph":"f","bp":"e"'
has "memory in use" '"ph":"C","name":"memory in use","pid":2,.*"bytes":[1-9]'
has "operations in flight" '"ph":"C","name":"operations in flight"'
check "trace: as many ends of arrows as begins" 0 -- sh -c "[ \$(grep -c '\"ph\":\"s\"' '$out/t.json') = \$(grep -c '\"ph\":\"f\"' '$out/t.json') ]"
trace "a failure" 3 -e 'print([1, 2][sum(ones([2], i64))])'
trace "a name with quotes" 0 -e 'print("\"", 1)'
trace "nothing to do" 0 -e 'let x = 1'
trace "files" 0 -e "save(\"$out/x.npy\", wait(ones([100])))"
has "a row of files" '"cat":"lane","name":"save","pid":1,"tid":1'
trace "a random schedule" 0 --schedule-seed 3 --threads 3 "$out/work.tl"
trace "serial" 0 --sync "$out/work.tl"
check "trace that cannot be written" 3 "cannot write" -- "$tl" run --trace "$out/none/t.json" "$out/work.tl"
check "trace with the interpreter" 2 "leave out --interp" -- "$tl" run --interp --explain-idle "$out/work.tl"
check "audit" 0 "^audit: [1-9][0-9]* operations, [1-9][0-9]* blocks: no order of theirs" -- sh -c "'$tl' run --audit '$out/work.tl' 2>&1 >/dev/null"
check "audit with the interpreter" 2 "leave out --interp" -- "$tl" run --interp --audit "$out/work.tl"
check "trace from the environment" 0 -- sh -c "TL_TRACE='$out/e.json' '$tl' run '$out/work.tl' && test -s '$out/e.json'"
printf '%s\n%s\n' "$slow" 'print(slow(zeros([4], f64), 100000000000)[0])' >"$out/long.tl"
check "Ctrl-C: the timeline is there" 130 -- sh -c "timeout --foreground --preserve-status -s INT 2 '$tl' run --trace '$out/i.json' --stats '$out/long.tl'"
check "Ctrl-C: and is JSON" 0 -- sh -c "$reads '$out/i.json'"
check "Ctrl-C of a program that asks" 0 "^saved$" -- sh -c "echo 'while not interrupted() { }
print(\"saved\")' >'$out/asks.tl'; timeout --foreground -s INT 1 '$tl' run --trace '$out/a.json' '$out/asks.tl'; true"
finish
