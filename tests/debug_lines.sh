#!/usr/bin/env bash
# The lines that debuggers and profilers see in what `tl build -g` makes: tests/debug_lines.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tests=$PWD/tests
source tests/check.sh
needs awk sort xargs cmp objdump objcopy readelf nm addr2line
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out" || exit

cat >lines.tl <<'TL'
fn scale(x: f32[n], k: f32) -> f32[n] {
  let y = sin(x * k)
  exp(y) + 1.0
}

fn main(n: i64 = 1000) {
  let a = scale(f32(arange(n)), 0.001)
  let s = softmax(a)
  print(sum(s * a))
  let m = reshape(a, [100, 10])
  print((m @ transpose(m))[1, 2])
  var fib = arange(50)
  for i in 2..50 {
    let before = fib[i - 1]
    fib[i] = before + fib[i - 2]
  }
  print(fib[49])
}
TL

# lines FILE SOURCE: the lines of the source that have machine code, ascending
lines() { objdump --dwarf=decodedline "$1" | awk -v file="$2" '$1 == file && $2 ~ /^[0-9]+$/ && $2 > 0 { print $2 }' | sort -nu | xargs; }
# shows NAME LINES FILE SOURCE
shows() { check "$1" 0 "^$2\$" -- echo "$(lines "$3" "$4")"; }

check "an object file with lines" 0 -- "$tl" build -g --emit obj lines.tl -o lines.o
shows "all lines that compute, and no other" "2 3 7 8 9 11 12 13 14 15" lines.o lines.tl
check "no line of the standard library" 1 -- sh -c "objdump --dwarf=decodedline lines.o | grep prelude"
check "a function is inlined where it is called" 0 "DW_AT_call_line *: 7" -- objdump --dwarf=info lines.o
check "kernels are called after their functions and lines" 0 "DW_AT_name .*: scale_3" -- objdump --dwarf=info lines.o
check "so are their symbols" 0 " tl_v3_scale_3_0" -- nm lines.o
check "without -g there are no lines" 0 "^0$" -- sh -c "'$tl' build --emit obj lines.tl -o plain.o && readelf -SW plain.o | grep -c debug; true"
check "lines do not change the code" 0 -- sh -c "
  for file in lines plain; do objcopy -O binary --only-section=.text \$file.o \$file.text; done
  cmp lines.text plain.text && test -s plain.text"
check "the same input gives the same bytes" 0 -- sh -c "'$tl' build -g --emit obj lines.tl -o again.o && cmp lines.o again.o"
check "LLVM IR with lines" 0 "!DILocation.line: 3, column: 3, scope: .*inlinedAt" -- "$tl" build -g --emit llvm lines.tl
check "the text of kernels without lines" 1 -- sh -c "'$tl' build --emit llvm lines.tl | grep DILocation"

cat >equal.tl <<'TL'
let x = sin(f32(arange(1000)))
print(x)
let y = exp(x)
print(y)
let z = exp(y)
print(z)
TL
"$tl" build --emit obj equal.tl -o equal.o
check "equal kernels share their code" 0 "^2$" -- sh -c "nm equal.o | grep -c ' v3_tl_'"
"$tl" build -g --emit obj equal.tl -o equal.o
shows "equal kernels of two lines are at both" "1 3 5" equal.o equal.tl

mkdir part
printf 'fn half(x: f32[n]) -> f32[n] =\n  x / 2.0\n' >part/halves.tl
printf 'import "./part/halves.tl" as halves\nlet x = f32(arange(1000))\nprint(x)\nprint(halves.half(x))\n' >parts.tl
check "two files" 0 -- "$tl" build -g --emit obj parts.tl -o parts.o
shows "lines of the program's own file" "2" parts.o parts.tl
shows "lines of a file that it imports" "2" parts.o halves.tl

# ---- executables
check "an executable with lines" 0 -- "$tl" build -g lines.tl -o lines
check "an executable with lines runs" 0 "^7778742049$" -- ./lines
shows "it has the same lines" "$(lines lines.o lines.tl)" lines lines.tl
check "an address to a line and its call" 0 "^scale [^ ]*lines.tl:3 scale_3 [^ ]*lines.tl:7 $" -- sh -c "
  address=\$(objdump --dwarf=decodedline lines | awk '\$2 == 3 { print \$3; exit }')
  addr2line -i -f -e lines \$address | tr '\n' ' '"
cat >library.tl <<'TL'
export fn wave(x: f32[n]) -> f32[n] {
  sin(x) * 2.0
}

export fn steps(x: f32[n]) -> f32[n] {
  var sums = cumsum(x)
  for i in 1..n {
    sums[i] = sums[i - 1] * 0.5 + sums[i]
  }
  sums
}
TL
check "a library with lines" 0 -- "$tl" build -g --lib library.tl -o library
shows "lines of all its functions" "2 6 7 8" library.so library.tl
"$tl" build lines.tl -o plain
check "without -g no symbols either" 0 "^0$" -- sh -c "readelf -SW plain | grep -cE 'debug|symtab'; true"

cd "$tests/.." && finish
