#!/usr/bin/env bash
# tl repl: a session from a pipe, on both engines, and at a terminal: tests/repl.sh TL [FILTER].
set -u
tl=$(realpath "$1")
# shellcheck disable=SC2034 # check.sh reads it
filter=${2:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/check.sh"
needs diff
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export tl here
export TL_HISTORY="$work/history"

# What it prints and says, and the exit code that the session's last input asks for.
session() {
  timeout 120 "$tl" repl "$@" < "$here/repl/session.txt" > out 2> err
  [[ $? == 4 ]] && diff out "$here/repl/session.out" && diff err "$here/repl/session.err"
}
export -f session
check "a session" 0 -- bash -c session
check "a session on the reference interpreter" 0 -- bash -c "session --interp"
check "a session, each operation waited for" 0 -- bash -c "session --sync"
# 20,000 inputs: the last thousand take no longer than the second, in no more memory.
check "a session of many inputs" 0 -- "$here/repl/many_inputs.sh" "$tl"
check "a session of many inputs on the reference interpreter" 0 -- "$here/repl/many_inputs.sh" "$tl" --interp
printf 'let s = "a" + "b"\nlet xs = list("x", s)\nprint(s, xs)\n' >text.txt
check "text of an earlier input" 0 "^ab \\['x', 'ab'\\]$" -- bash -c "'$tl' repl --interp < text.txt"
check "an exit of a session that keeps nothing" 4 -- bash -c "echo 'exit(4)' | '$tl' repl"
printf 'fn bad(x: i64) -> i64 { assert x > 3; x }\nconst C = bad(1)\nC\n1 + 1\n' >const.txt
check "inputs after a const that has no value" 0 "^2 : i64$" -- bash -c "'$tl' repl < const.txt"
awk 'BEGIN { for (i = 0; i < 20000; i++) print "# a comment"; print "1 + 1" }' >comments.txt
check "many comments" 0 "^2 : i64$" -- bash -c "'$tl' repl < comments.txt"
check "an empty session" 0 -- bash -c "'$tl' repl < /dev/null"
check "an open bracket at the end is an error, not a hang" 0 "UnclosedBracket" -- bash -c "echo 'f(1' | timeout 20 '$tl' repl"
check "a reader that has gone" 3 -- bash -c "set -o pipefail; yes '1 + 1' | head -100000 | timeout 60 '$tl' repl | head -1; exit \${PIPESTATUS[2]}"
check "wrong flags" 2 -- "$tl" repl --nonsense

# A program that waits for each answer: an input that is complete is computed at once, one that goes on is not.
answers() {
  coproc REPL { exec timeout 60 "$tl" repl 2>&1; }
  local in=${REPL[1]} out=${REPL[0]} pid=$REPL_PID line
  say() { printf '%b' "$1" | cat >&"$in"; } # by one write: printf itself writes line by line
  expect() {
    if ! read -r -t 20 line <&"$out" || [[ $line != "$1" ]]; then
      echo "expected '$1', got '${line:-}'"
      kill "$pid"
      exit 1
    fi
  }
  say '1 + 1\n' && expect '2 : i64'
  say 'if 1 < 2 { print("yes") }\n' && expect yes
  say 'let a = [1,\n' && sleep 0.3 && say '2, 3]\na.sum()\n' && expect '6 : i64'
  say 'for i in 0..2 {\n' && sleep 0.3 && say 'print(i)\n' && sleep 0.3 && say '}\n' && expect 0 && expect 1
  say 'if 2 < 1 { print("yes") }\n\n# or\nelse { print("no") }\n' && expect no # came as a whole
  say 'a\n  .sum()\n' && expect '6 : i64'
  say 'let line = read_line()\nelsewhere\nline\n' && expect 'elsewhere : str'
  say ':type a\n' && expect 'i64[3]'
  say 'b\n' && expect '<input 10>:1:1: error[UnknownName]: there is no name `b` here' # messages too
  exec {in}>&-
  wait "$pid"
}
export -f answers
check "a program that waits for each answer" 0 -- bash -c answers

printf 'fn triple(x) = 3 * x\nlet a = triple(5)\n' > three.tl
check "load and save" 0 "30 : i64" -- bash -c "printf ':load three.tl\na * 2\nbroken(\n)\n:save saved.tl\n' | '$tl' repl"
check "values and names of which there are two are saved as a program" 0 '^3$' -- bash -c \
  "printf 'let x = 5; let y = x + 1; y\nfn f(a) = a + 1\nf(2); fn f(a) = a + 2\nprint(f(1))\n:save again.tl\n' | '$tl' repl >shown && '$tl' run again.tl"
check "what was saved runs" 0 -- "$tl" check saved.tl
check "help of a function" 0 "Probabilities along an axis" -- bash -c "echo ':help softmax' | '$tl' repl"
check "the graph of an input" 0 "kernel" -- bash -c "printf 'let x = ones([3])\n:ir x * 2\n' | '$tl' repl"
check "the machine code of an input" 0 "ret" -- bash -c "printf 'let x = ones([3])\n:asm x * 2.0\n' | '$tl' repl"
check "an input as CUDA C++" 0 "__global__" -- bash -c "printf 'let x = ones([3])\n:cuda x * 2.0\n' | '$tl' repl"
check "an input without kernels" 0 "no kernels" -- bash -c "echo ':asm 1 + 1' | '$tl' repl"
check "the memory of a session" 0 "cpu  4.0 KiB in 1 tensor " -- bash -c "printf 'let x = ones([1024])\n:mem\n' | '$tl' repl"
check "the devices" 0 "^cpu.0.  .*core.*GB" -- bash -c "echo ':devices' | '$tl' repl"
check "reset forgets" 0 "no name .a. here" -- bash -c "printf 'let a = 1\n:reset\na\n' | '$tl' repl"
check "a broken import is read again" 0 "7 : i64" -- bash -c "
  (echo 'let z = ' > broken.tl; echo 'import \"broken.tl\"'; sleep 1; echo 'let z = 7' > broken.tl; echo 'import \"broken.tl\"'; echo 'broken.z') | '$tl' repl"

# What follows is at a terminal, which `script` makes.
if ! script -qec true /dev/null </dev/null >/dev/null 2>&1; then
  echo "SKIPPED: the terminal (there is no script, or the system has no pseudo-terminals)"
  finish
  exit
fi
export NO_COLOR=1
# A prompt, lines that go on, values, history.
check "a terminal" 0 "3 : i64" -- bash -c "(sleep 1; printf '1 +\n2\n'; sleep 1; printf ':quit\n') | TERM=xterm script -qec '$tl' /dev/null"
check "completion of a module's functions" 0 "\[\[2\.\]\]" -- bash -c "(sleep 1; printf 'import linalg\nlinalg.chol\t([[4.0]])\n'; sleep 2; printf ':quit\n') | TERM=xterm script -qec '$tl' /dev/null"
check "completion of a method" 0 "4 20" -- bash -c "(sleep 1; printf 'let x = [4, 5]\nx.cumpr\t()\n'; sleep 2; printf ':quit\n') | TERM=xterm script -qec '$tl' /dev/null"
check "the history is kept" 0 "1.*2" -- cat history
# Ctrl-C ends a native loop, and then a line; the session goes on.
check "Ctrl-C in the reference interpreter" 0 "interrupted.*6 : i64" -- bash -c "
  (sleep 1; printf 'var s = 5\n'; sleep 1; printf 'while true { s += 1 }\n'; sleep 2; printf '\003'; sleep 1
   printf 's + 1\n'; sleep 1; printf ':quit\n') |
  TERM=xterm script -qec '$tl repl --interp' /dev/null | tr -d '\r' | tr '\n' ' '"
check "Ctrl-C" 0 "interrupted.*6 : i64" -- bash -c "
  (sleep 1; printf 'var s = 5\n'; sleep 1; printf 'while true { s += 1 }\n'; sleep 2; printf '\003'; sleep 1
   printf 'junk'; sleep 1; printf '\003'; sleep 1; printf 's + 1\n'; sleep 1; printf ':quit\n') |
  TERM=xterm script -qec '$tl' /dev/null | tr -d '\r' | tr '\n' ' '"
finish
