#!/usr/bin/env bash
# The compiler's time grows with the size of a program as the program does: each case is compiled at a size, at twice
# and at four times that size, and the last may take nine times the first or 3.2 times the second (a quadratic one takes
# sixteen and four times: a single lucky run of the first does not decide, nor what just fits a cache). Ratios of
# processor time, the least of several runs, so that other work on the machine does not count.
# tests/scaling.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# each N TEXT [SEPARATOR]: TEXT N times, with @ for the number of the copy
each() {
  awk -v n="$1" -v text="$2" -v between="${3:-}" 'BEGIN {
    parts = split(text, part, "@")
    for (i = 0; i < n; i++) {
      line = (i ? between : "") part[1]
      for (k = 2; k <= parts; k++) line = line i part[k]
      printf "%s", line
    }
  }'
}

# growth NAME COMMAND SIZE TEXT, where TEXT is evaluated with n set to a size
growth() {
  local name=$1 command=$2 size=$3 text=$4 n milliseconds code="" grows=""
  [[ -n $filter && $name != *"$filter"* ]] && return
  local -A least=()
  for n in "$size" $((2 * size)) $((4 * size)); do eval "printf '%s\n' $text" | sed 's/\\n/\n/g' >"$out/$n.tl"; done
  for _ in 1 2 3 4 5 6 7 8; do
    for n in "$size" $((2 * size)) $((4 * size)); do
      milliseconds=$( { TIMEFORMAT='%3U'; time timeout 60 "$tl" $command "$out/$n.tl" >"$out/said" 2>&1; echo $? >"$out/code"; } 2>&1 | tr -d . | sed 's/^0*//')
      milliseconds=${milliseconds:-0}
      code=${code:-$(cat "$out/code")}
      if ((code > 1 || $(cat "$out/code") != code)); then # a limit met by the larger ones would be fast
        check "$name, $n: $(head -n 3 "$out/said")" 0 -- test "exit code $(cat "$out/code")" = fine
        return
      fi
      [[ -n ${least[$n]:-} ]] && ((least[$n] <= milliseconds)) || least[$n]=$milliseconds
    done
    grows=$(awk -v a="${least[$size]}" -v b="${least[$((2 * size))]}" -v c="${least[$((4 * size))]}" 'BEGIN {
      # Below 20 ms it is the start of the program that is measured.
      if (a < 20) a = 20
      if (b < 20) b = 20
      print (c <= 9 * a || c <= 3.2 * b) ? "as it does" : "faster"
    }')
    [[ $grows == "as it does" ]] && break
  done
  [[ -n ${SHOW:-} ]] && echo "$name: ${least[$size]} ${least[$((2 * size))]} ${least[$((4 * size))]} ms"
  check "$name: ${least[$size]} ms, twice ${least[$((2 * size))]} ms, four times as large ${least[$((4 * size))]} ms" 0 -- test "$grows" = "as it does"
}

# ---- whole programs
growth "functions, structs, loops" check 300 '"$(each $n "struct P@[d] { w: f32[d], b: f32 }\nfn step@(p: P@[d], x: f32[n, d]) -> f32[n] {\n  let y = x @ p.w + p.b\n'\
'  if len(y) > 3 { return relu(y) }\n  y * 2.0\n}\n'\
'fn use@(k: i64) -> f32 {\n  var total = 0.0\n'\
'  for i in 0..k {\n    if i % 2 == 0 { total += f32(i) } else { total -= 1.0 }\n  }\n  total + sum([f32(i) for i in 0..k])\n}\n'\
'let p@ = P@(w = [1.0, 2.0], b = 0.5)\nprint(\"{step@(p@, ones([4, 2]))} {use@(5):.3f}\")\n")"'
growth "statements of a script" check 3000 '"let v0 = 1.5\n$(each $n "let w@ = v0 * 2.0 + @.0\nprint(w@)\n")"'
growth "values from values" check 3000 '"let v0 = 1.5\nlet v_ = v0\n$(each $n "let v@ = f32(@) + v0\nvar u@ = v@\nu@ += 1.0\n")"'
growth "errors" check 2000 '"$(each $n "let v@: i64 = 1.5\n")"'
growth "misspelt names" check 800 '"$(each $n "let variable_@ = @\n")$(each $n "print(varable_@)\n")"'
growth "tests of sizes" check 1500 '"let a = 5\n$(each $n "assert a > -@\n")"'
growth "functions that call each other" check 1500 '"fn f_(x: f32[n]) -> f32[n] = x\n$(each $n "fn f@(x: f32[n]) -> f32[n] = g@(x) + 1.0\nfn g@(x: f32[n]) -> f32[n] = f_(x)\n")print(f0([1.0]))"'
growth "instances of a generic function" check 1500 '"fn g(x) = x.v\n$(each $n "struct S@ { v: f32 }\nprint(g(S@(v = 1.0)))\n")"'
# ---- long rows
growth "an operator chain" check 4500 '"let a = 1.5\nprint($(each $n "a" " + "))"'
growth "a chain of and" check 1500 '"let a = 1\nprint($(each $n "a > -@" " and "))"'
growth "else if" check 2000 '"fn f(a: i64) -> i64 = $(each $n "if a == @ { @ }" " else ") else { 0 }\nprint(f(7))"'
growth "numbers in a literal" run 100000 '"let a = [$(each $n "@" ", ")]\nprint(a.sum())"'
growth "values in a literal" check 5000 '"let x = 1.5\nlet a = [$(each $n "x + @.0" ", ")]\nprint(a.sum())"'
growth "a long text" run 500000 '"let s = \"$(each $n "xy")\"\nprint(len(s))"'
growth "an interpolation" check 10000 '"print(\"$(each $n "{@} ")\")"'
growth "parameters" check 1000 '"fn f($(each $n "p@: f32 = @.0" ", ")) -> f32 = $(each $n "p@" " + ")\nprint(f(1.0))"'
growth "fields" check 1000 '"struct S { $(each $n "f@: f32" ", ") }\nlet s = S($(each $n "f@ = @.0" ", "))\nprint(s.f0)"'
growth "comments" check 100000 '"$(each $n "# a comment\n\n")print(1)"'
# ---- deep nests
growth "parentheses" check 4500 '"print($(each $n "(")1$(each $n ")"))"'
growth "calls in calls" check 4500 '"let a = 1.5\nprint($(each $n "abs(")a$(each $n ")"))"'
growth "methods" check 4500 '"let a = 1.5\nprint(a$(each $n ".abs()"))"'
growth "lambdas" check 4500 '"let f = $(each $n "|x| ")1\nprint(2)"'
growth "blocks" check 200 '"$(each $n "if true { ")print(1)$(each $n " }")"'
growth "branches as values" check 200 '"let a = 1.5\nlet b = $(each $n "if a > 0.0 { ")a$(each $n " } else { 2.0 }")\nprint(b)"'
growth "texts in texts" check 3000 '"print($(each $n "\"{")1$(each $n "}\""))"'
# ---- sizes
growth "a size with many terms" check 400 '"fn f($(each $n "a@: f32[n@]" ", ")) -> f32 = concat(($(each $n "a@" ", "))).sum()\nprint(f($(each $n "[1.0]" ", ")))"'
growth "a size with many factors" check 20 '"fn f($(each $n "a@: f32[n@]" ", ")) -> i64 = len(zeros([$(each $n "(n@ + 1)" " * ")]))\nprint(1)"'
# ---- what a program does: texts and lists grow, and shrink, at the cost of what comes and goes
growth "a text that grows" run 500000 '"var s = \"\"\nfor i in 0..$n { s += \"word \" }\nprint(len(s))"'
growth "a text that grows, and is measured" run 250000 '"var s = \"\"\nvar c = 0\nfor i in 0..$n {\n  s = s + \"é\"\n  c += len(s)\n}\nprint(c)"'
growth "a text in a list" run 250000 '"var a = list(\"\", \"\")\nfor i in 0..$n { a[i % 2] += \"word \" }\nprint(len(a[0]))"'
growth "a list in a list" run 250000 '"var a: List<List<i64>> = list(list(0), list(0))\nfor i in 0..$n { a[i % 2] += [i] }\nprint(len(a[0]))"'
growth "a list of a struct in a list" run 250000 '"struct B { q: List<i64>, k: i64 }\nvar a = list(B(list(0), 0), B(list(0), 1))\nfor i in 0..$n { a[i % 2].q += [i] }\nprint(len(a[0].q))"'
growth "a list in a function" run 1000000 '"fn f(q: List<i64>, i: i64) -> List<i64> {\n  var r = q\n  r += [i]\n  r\n}\nvar a = list(0)\nfor i in 0..$n { a = f(a, i) }\nprint(len(a))"'
growth "both ends of a list" run 250000 '"var a = list(0)\nfor i in 0..$n { a = [i] + a }\nwhile len(a) > 1 { a = a[1:] }\nprint(len(a))"'
growth "words" run 250000 '"var s = \"\"\nfor i in 0..$n { s += \"{i} \" }\nvar c = 0\nfor w in split(replace(s, \"1\", \"22\")) { c += parse(i64, w) }\nprint(c)"'
# ---- the later stages
growth "bytecode of a script" "dump --stage bytecode" 2000 '"var x = zeros([10])\n$(each $n "x = x * 0.5 + 1.0\n")print(x)"'
growth "bytecode of many kernels" "dump --stage bytecode" 700 '"fn g(x, y) = x * y\n$(each $n "print(g(@.0, [1.0, @.0]))\n")"'
growth "bytecode of scalars" "dump --stage bytecode" 3000 '"var x = 0.5\n$(each $n "x = x * 0.5 + 1.0\n")print(x)"'
growth "formatting" fmt 1500 '"$(each $n "fn f@(x: f32[n], y: f32) -> f32[n] { let z = x * y + @.0; z }\n")"'
finish
