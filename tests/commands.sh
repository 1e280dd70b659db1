#!/usr/bin/env bash
# The commands as a user types them, with right and wrong input: tests/commands.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk gzip find
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# ---- command line
check "version" 0 "^tl [0-9]" -- "$tl" version
check "the devices" 0 "^cpu.1.  .*core.*GB" -- "$tl" devices --cpu-devices 2
check "no devices" 2 "" -- "$tl" devices --cpu-devices 0
check "devices by the environment" 0 "^3$" -- env TL_CPU_DEVICES=3 "$tl" -e 'print(len(devices()))'
check "a device as an argument" 0 "^cpu.1. cpu.0.$" -- \
  "$tl" run --cpu-devices 2 -e 'fn main(a: device, b: device = cpu) { print(a, b) }' --a cpu:1
check "a device that is not there" 3 "NoSuchDevice.*there is no device cpu.5." -- \
  "$tl" -e 'fn main(a: device) { print(a) }' --a 'cpu(5)'
check "no name of a device" 2 "'moon' is not a device" -- "$tl" -e 'fn main(a: device) { print(a) }' --a moon
check "no command" 2 -- "$tl"
check "unknown flag" 2 -- "$tl" run --nonsense x.tl
check "missing file" 2 "nowhere.tl" -- "$tl" run nowhere.tl
check "directory" 2 "directory" -- "$tl" run tests/
check "run without file" 2 -- "$tl" run
check "the calls on the way to a failed stack" 3 "called here: f" -- "$tl" -e 'fn f(xs: List<f32[_]>) -> f32[_, _] = stack(xs)
fn g(k: i64) -> f32[_, _] = f(list(ones([k]), ones([k + 1])))
print(g(len([1, 2])))'
check "bad size" 2 "is not a size" -- "$tl" run --memory-limit lots -e 'print(1)'
check "unknown pass" 2 "no such pass" -- "$tl" run --disable nonsense -e 'print(1)'
check "linalg: a failure is at the caller's line" 3 "<command line>:2:.*SingularMatrix.*the matrix is singular" -- "$tl" -e 'import linalg
print(linalg.inv([[1.0, 2.0], [2.0, 4.0]]))'
check "data: a wrong share" 3 "a share is from 0 to 1, not 1.5" -- "$tl" -e 'import data
print(data.train_test_split(key(0), [1, 2], 1.5))'
check "documentation of a module's function" 0 "linalg.solve<T: float>\(a: T" -- "$tl" doc linalg.solve
check "topics" 0 "random numbers  .*linalg  +[0-9]+  .*solve" -- sh -c "'$tl' doc | tr '\n' ' '"
check "a module as a topic: a line for each function" 0 "^import plot .*  plot.hist  +[A-Z].*  plot.figure" -- sh -c "'$tl' doc plot | tr '\n' ' '"
check "a topic without what its functions are made of" 1 "^$" -- sh -c "'$tl' doc linalg | grep det_"
check "which has documentation of its own" 0 "Inner. det\(a\) with the derivative" -- "$tl" doc linalg.det_by_factors
check "and is nothing that one means" 0 "did you mean .linalg.det." -- sh -c "'$tl' run -e 'import linalg
print(linalg.det_by_factor([[1.0]]))' 2>&1 | tail -1"
check "a topic of the prelude" 0 "^fourier transforms .*  fft  +The discrete Fourier transform along an axis" -- sh -c "'$tl' doc fourier | tr '\n' ' '"
check "several topics" 0 "  normal .*  gamma" -- sh -c "'$tl' doc random | tr '\n' ' '"
check "words: by name first" 0 "^  quantile " -- sh -c "'$tl' doc --search quantile | head -1"
check "words: in texts" 0 "  linalg.svd " -- "$tl" doc --search "singular values"
check "words of another library" 0 "tl has no concatenate: write .concat" -- "$tl" doc --search concatenate
check "a name of pandas" 0 "read_csv.path: str" -- "$tl" doc pd.read_csv
check "a name of a module that both have" 0 "tl has no nn.LSTM: .nn.lstm_init" -- "$tl" doc nn.LSTM
check "an object of NumPy" 0 "tl has no np.r_: write .concat" -- "$tl" doc np.r_
check "several words: what has all of them" 0 "table.sort_by " -- "$tl" doc --search "descending column order"
printf 'PAR1\x15\x04\x00\x00' >"$out/y.parquet"
check "a format that tl does not read, by its name" 1 "in the format Parquet, which tl does not read; write it as CSV" -- "$tl" run -e "print(read_table(\"$out/y.parquet\"))"
check "words that are nowhere" 2 "no documentation has 'xyzzy'" -- "$tl" doc --search xyzzy
check "no words" 2 "give the words" -- "$tl" doc --search " "
printf '## Of curves.\n\n## A point. On a curve.\nstruct Point { x: f32 }\n\n## The length\n## of a curve. `length([1.0])` is `1.0`.\nfn length(größe: f32[n]) = sum(größe)\n' >"$out/own.tl"
check "a program's documentation" 0 "own.tl     Of curves..*  Point +A point   length +The length of a curve" -- sh -c "'$tl' doc '$out/own.tl' | tr '\n' ' '"
check "one of a program's functions" 0 "^length\(größe: f32\[n\]\)" -- "$tl" doc "$out/own.tl" length
check "a struct of a program" 0 "^struct Point" -- "$tl" doc "$out/own.tl" Point
check "words in a program" 0 "^  Point " -- "$tl" doc "$out/own.tl" --search curve
check "what a program does not have" 2 "no documentation of 'width' in .*own.tl" -- "$tl" doc "$out/own.tl" width
check "documentation of a program that is not there" 2 "no.tl" -- "$tl" doc "$out/no.tl"
printf 'fn f( = 3\n' >"$out/wrong.tl"
check "documentation of a program that does not parse" 1 "UnclosedBracket" -- "$tl" doc "$out/wrong.tl"
check "two names of the library" 2 "a second name is looked for in a program" -- "$tl" doc sum mean
check "all of the reference" 0 "^linalg.inv<T: float>" -- "$tl" doc --all
check "documentation of a module says what it is for" 0 "Pictures of data" -- "$tl" doc plot
check "documentation by the function's own name" 0 "linalg.inv<T: float>" -- "$tl" doc inv
check "documentation of a struct" 0 "^ *Not trained.*mean, variance" -- "$tl" doc nn.BatchNorm
check "documentation of a struct: the order of gates" 0 "gates of an LSTM.*input, forget, candidate, output" -- "$tl" doc nn.Lstm

check "documentation of what another library calls so" 0 "tl has no np.concatenate: write .concat" -- "$tl" doc np.concatenate
check "documentation by the name with a prefix" 0 "^cov\(x, y = none" -- "$tl" doc np.cov
check "documentation of nothing" 2 "there is no documentation of 'np.nonsense'" -- "$tl" doc np.nonsense

# ---- the path of a file that a const is read from is relative to the file of the program, in a folder or imported
mkdir -p "$out/sub/data"
printf '1,2\n3,4\n' >"$out/sub/data/w.csv"
printf 'const w = load("data/w.csv")\nfn first() -> f64 = w[0, 0]\nprint(w.shape)\n' >"$out/sub/p.tl"
printf 'import "sub/p.tl"\nprint(p.first())\n' >"$out/main.tl"
check "the file of a const: beside the program" 0 "^\(2, 2\)$" -- sh -c "cd '$out' && '$tl' run sub/p.tl"
check "the file of a const: beside an imported one" 0 "^1.0$" -- sh -c "cd '$out' && '$tl' run main.tl"
check "the file of a const: in the program's folder" 0 "^\(2, 2\)$" -- sh -c "cd '$out/sub' && '$tl' run p.tl"
check "the file of a const: in a program that is no file" 0 "^\(2, 2\)$" -- sh -c "cd '$out/sub' && '$tl' run -e 'const w = load(\"data/w.csv\"); print(w.shape)'"
check "inline code" 0 "^3$" -- "$tl" -e 'print(1 + 2)'
check "file without run" 0 "usage: tl run" -- "$tl" samples/softmax.tl --help
check "help names parameters" 0 "--temperature f32 +.*default 1.0" -- "$tl" run samples/softmax.tl --help
check "standard input" 0 "^hello$" -- sh -c "echo 'print(\"hello\")' | '$tl' run -"
check "a reader that has gone is told nothing" 0 -- sh -c "[ -z \"\$({ '$tl' run -e 'for i in 0..100000 { print(i) }' | head -n 1 >/dev/null; } 2>&1)\" ]"
check "closed output" 3 "standard output" -- sh -c "'$tl' run -e 'print(1)' >/dev/full"
check "command line that is not a file" 2 "did you mean 'tl run'" -- "$tl" rnu samples/softmax.tl
check "neither command nor file" 2 "no command or file 'nonsense'" -- "$tl" nonsense
check "unknown flag before the file" 2 "unknown option --nonsense" -- "$tl" run --nonsense samples/softmax.tl
check "flags before code" 0 "^1$" -- "$tl" --threads 1 -e 'print(1)'
check "flag from the environment" 2 "threads" -- env TL_THREADS=0 "$tl" -e 'print(1)'
check "a processor that there is not" 2 "TL_CPU: LLVM knows no processor 'foo'" -- env TL_CPU=foo "$tl" -e 'print(sum(ones([100])))'
check "a processor that is too old" 2 "TL_CPU: .* is older than x86-64-v3" -- env TL_CPU=x86-64 "$tl" -e 'print(sum(ones([100])))'
check "code without text" 2 -- "$tl" -e

# ---- Ctrl-C
printf 'print("begun")\nvar i = 0\nwhile true { i += 1 }\n' >"$out/endless.tl"
interrupted="timeout --foreground --preserve-status -s INT 1 '$tl' run"
check "Ctrl-C: what was printed, and the line" 130 "^begun$" -- sh -c "$interrupted '$out/endless.tl' | cat; exit 130"
check "Ctrl-C: where it was" 130 "endless.tl:3:1: error\[Interrupted\]" -- sh -c "$interrupted '$out/endless.tl'"
check "Ctrl-C: in a question" 130 "error\[Interrupted\]" -- sh -c "sleep 3 | $interrupted -e 'print(read_line())'"
check "what is printed is seen at once" 0 "^begun$" -- sh -c "timeout -s KILL 2 '$tl' run '$out/endless.tl' | cat"
# For programs that ask:
echo 'var steps = 0
while not interrupted() { steps += 1 }
print("saved", steps > 0)' >"$out/asks.tl"
check "a program that asks ends by itself on Ctrl-C" 0 "^saved true$" -- sh -c "timeout --foreground -s INT 1 '$tl' run '$out/asks.tl'; true"
check "so it does in the reference interpreter" 0 "^saved true$" -- sh -c "timeout --foreground -s INT 1 '$tl' run --interp '$out/asks.tl'; true"

# ---- messages for tools
printf 'fn f(a: f32[n, 3], b: f32[n, 4]) -> f32[n, 3] = a + b\nprint(y)\n' >"$out/bad.tl"
check "json of an error" 1 '^\{"file":".*bad.tl","line":1,"column":49,.*"kind":"ShapeMismatch".*"labels":\[\{' -- "$tl" check --message-format=json "$out/bad.tl"
check "json: an object a line" 0 -- sh -c "[ \$('$tl' check --message-format json '$out/bad.tl' 2>&1 | grep -c '^{.*}\$') = 2 ]"
check "json of a failure" 3 '"line":1,"column":24,.*"kind":"IndexOutOfRange".*"line":2,"column":7' -- "$tl" run --message-format=json -e 'fn at(i: i64) = [1, 2][i]
print(at(2))'
check "json of a failing test" 1 '"kind":"AssertionFailed"' -- sh -c "echo 'test \"a\" { assert [1].sum() == 2 }' >'$out/t.tl'; '$tl' test --message-format=json '$out/t.tl'"
check "json of a wrong command line" 2 '^\{"file":null,.*"kind":"UsageError","message":"nowhere.tl' -- "$tl" run --message-format=json nowhere.tl
check "json from the environment" 2 '^\{"file":null' -- env TL_MESSAGE_FORMAT=json "$tl" run nowhere.tl
check "unknown message format" 2 "xml" -- "$tl" run --message-format xml -e 'print(1)'

# ---- formatting
printf 'let a=[1,2];print( a )# end\n' >"$out/ugly.tl"
check "fmt --check lists" 1 "^$out/ugly.tl$" -- "$tl" fmt --check "$out/ugly.tl"
check "fmt" 0 -- "$tl" fmt "$out/ugly.tl"
check "fmt has written" 0 -- test "$(cat "$out/ugly.tl")" = "let a = [1, 2]
print(a)  # end"
check "fmt again" 0 -- "$tl" fmt --check "$out/ugly.tl"
check "fmt of standard input" 0 "^let a = 1$" -- sh -c "echo 'let a=1' | '$tl' fmt -"
cp "$out/bad.tl" "$out/broken.tl" && echo 'let a=(1' >>"$out/broken.tl"
check "fmt of what does not parse" 1 "UnclosedBracket" -- "$tl" fmt "$out/broken.tl"
check "and leaves it alone" 0 -- test "$(tail -n 1 "$out/broken.tl")" = 'let a=(1'
mkdir -p "$out/folder/inner" && echo 'let a=1' >"$out/folder/inner/x.tl"
check "fmt of a folder" 1 "inner/x.tl" -- "$tl" fmt --check "$out/folder"
# A carriage return is part of the end of a line or an error: laid out anew it would end one, or be lost.
check "fmt of lines that end in carriage returns too" 0 "^2$" -- sh -c "printf '# a\\r\\nprint(1)\\r\\r\\n' | '$tl' fmt - | grep -c ^"
for text in 'print("a\rb")' '# a\r# b\n' 'print(1)\rprint(2)\n' 'let s = """a\rb"""\n'; do
  check "fmt of a carriage return alone: $text" 1 "BadCharacter.*carriage return" -- sh -c "printf '$text' | '$tl' fmt -"
done
check "fmt of nothing" 2 -- "$tl" fmt
check "fmt of a missing file" 2 "nowhere.tl" -- "$tl" fmt nowhere.tl
check "fmt keeps what a program does" 0 -- sh -c "cp -r samples '$out/formatted' && cd '$out/formatted' && for f in *.tl; do '$tl' fmt \$f && '$tl' check \$f || exit 1; done"

# ---- the program's own arguments
add='fn main(a: f32[n], b: i64 = 2, name: str = "x", loud: bool = false) { print("{a.sum()} {b} {name} {loud}") }'
"$tl" run -e 'fn main() -> f32[3] = [1.0, 2.0, 3.0]' -o "$out/a.npy"
"$tl" run -e 'fn main() -> f64[3] = [1.0, 2.0, 3.0]' -o "$out/double.npy"
check "arguments" 0 "^6.0 -4 y true$" -- "$tl" run -e "$add" "$out/a.npy" --b -4 --name=y --loud
check "defaults" 0 "^6.0 2 x false$" -- "$tl" run -e "$add" "$out/a.npy" --loud false
check "missing argument" 2 "missing a file for 'a'" -- "$tl" run -e "$add"
check "not a number" 2 "'three' is not an i64" -- "$tl" run -e "$add" "$out/a.npy" --b three
check "unknown option" 2 "unknown option --c" -- "$tl" run -e "$add" "$out/a.npy" --c 3
check "too many files" 2 "unexpected argument" -- "$tl" run -e "$add" "$out/a.npy" "$out/a.npy"
check "wrong element type" 2 "f32.*f64" -- "$tl" run -e "$add" "$out/double.npy"
two='fn main(left: f32[n], right_side: f32[_]) { print("{left} {right_side}") }'
"$tl" run -e 'fn main() -> f32[1] = [9.0]' -o "$out/nine.npy"
check "a file by name" 0 "^\[1. 2. 3.\] \[9.\]$" -- "$tl" run -e "$two" --left "$out/a.npy" --right-side="$out/nine.npy"
check "files by name in any order" 0 "^\[1. 2. 3.\] \[9.\]$" -- "$tl" run -e "$two" --right_side "$out/nine.npy" --left "$out/a.npy"
check "a file by name, the other by its place" 0 "^\[9.\] \[1. 2. 3.\]$" -- "$tl" run -e "$two" "$out/nine.npy" --right-side "$out/a.npy"
check "a file by its place where the first has a name" 0 "^\[9.\] \[1. 2. 3.\]$" -- "$tl" run -e "$two" --left "$out/nine.npy" "$out/a.npy"
check "a file by name: twice" 2 "^tl: --left is given twice$" -- "$tl" run -e "$two" --left "$out/a.npy" --left "$out/a.npy"
check "a file by name: another is missing" 2 "missing a file for 'right_side' \(f32\[_\]\)" -- "$tl" run -e "$two" --left "$out/a.npy"
check "a file by name: none follows" 2 "^tl: --left needs a file$" -- "$tl" run -e "$two" --left
check "a file by name: no such name" 2 "unknown option --middle" -- "$tl" run -e "$two" --middle "$out/a.npy"
check "a file by name: too many by their places" 2 "unexpected argument '.*a.npy': this program reads 2 files" -- "$tl" run -e "$two" --left "$out/a.npy" \
  "$out/nine.npy" "$out/a.npy"
check "a file by name: of another type" 2 "'left' \(f32\[n\]\): .*f64" -- "$tl" run -e "$two" --left "$out/double.npy" "$out/a.npy"
check "a file by name: no such file" 2 "'left' \(f32\[n\]\): cannot open '.*none.npy'" -- "$tl" run -e "$two" --left "$out/none.npy" "$out/a.npy"
printf '%s\n' "$two" >"$out/two.tl"
check "help says that files have names" 0 "in this order or each as --NAME FILE" -- "$tl" run "$out/two.tl" --help

# ---- imported files
mkdir -p "$out/lib"
printf '## Picks.\nfn pick(x: f32[n], i: i64) -> f32 = x[i]\n' >"$out/lib/faulty.tl"
printf 'import "lib/faulty.tl"\nprint(faulty.pick([1.0, 2.0], 5))\n' >"$out/uses.tl"
check "a failure in an imported file names that file" 3 "lib/faulty.tl:2:39: error.IndexOutOfRange" -- "$tl" run "$out/uses.tl"
check "and the call in the importing file" 3 "^ +2 \| print.faulty.pick" -- "$tl" run "$out/uses.tl"
printf 'fn wrong(x: f32) -> i64 = x\n' >"$out/lib/wrong.tl"
printf 'import "lib/wrong.tl"\n' >"$out/imports_wrong.tl"
check "an error in an imported file" 1 "lib/wrong.tl:1:27: error.TypeMismatch" -- "$tl" check "$out/imports_wrong.tl"
printf 'fn f( = 1\n' >"$out/lib/syntax.tl"
printf 'import "lib/syntax.tl"\n' >"$out/imports_syntax.tl"
check "a syntax error in an imported file" 1 "lib/syntax.tl:1:.*error.UnclosedBracket" -- "$tl" check "$out/imports_syntax.tl"
printf 'import "b.tl"\n' >"$out/lib/a.tl"
printf 'import "a.tl"\n' >"$out/lib/b.tl"
check "a circle of imports shows the way" 1 "lib/a.tl → .*lib/b.tl → .*lib/a.tl" -- "$tl" check "$out/lib/a.tl"
check "a module that is not there" 1 "no module .nosuch" -- sh -c "echo 'import nosuch' | '$tl' check -"
printf 'import "lib/faulty.tl"\ntest "picks" { assert faulty.pick([1.0, 2.0], 1) == 2.0 }\n' >"$out/tested.tl"
check "tests use imported files" 0 "1 passed" -- "$tl" test "$out/tested.tl"
check "dump with imports" 0 "pick" -- "$tl" dump "$out/uses.tl" --stage typed
check "standard input by lines" 0 "^5$" -- sh -c "printf '2\n3\n' | '$tl' run -e 'print(parse(i64, read_line()) + parse(i64, read_line()))'"
check "what is left of standard input" 0 "^a 2 true$" -- sh -c "printf 'a\n\nb' | '$tl' run -e 'let first = read_line(); print(first, len(lines(read_text(\"-\"))), read_text(\"-\") == \"\")'"
check "no more lines" 3 "EndOfInput" -- "$tl" run -e 'print(read_line())' </dev/null

# ---- files that are wrong
check "missing tensor file" 2 "no such file" -- "$tl" run -e "$add" "$out/none.npy"
head -c 100 samples/data/points.npy >"$out/short-header.npy"
head -c 1000 samples/data/points.npy >"$out/short.npy"
head -c 5000 samples/data/house.png >"$out/short.png"
printf 'no tensor at all' >"$out/text.npy"
check "truncated header" 2 -- "$tl" run samples/kmeans.tl "$out/short-header.npy"
check "truncated npy" 2 "truncated|ends|short" -- "$tl" run samples/kmeans.tl "$out/short.npy"
check "truncated png" 2 "PNG|png" -- "$tl" run samples/blur.tl "$out/short.png"
check "not a tensor" 2 -- "$tl" run samples/kmeans.tl "$out/text.npy"
check "load of a truncated file" 3 "1 \|" -- "$tl" run -e "let x: f32[n, m] = load(\"$out/short.npy\"); print(x.sum())"
check "save to no folder" 3 -- "$tl" run -e "save(\"$out/none/x.npy\", [1.0])"
check "save of a strange kind" 3 "ending" -- "$tl" run -e "save(\"$out/x.xyz\", [1.0])"
table='fn main(x: f64[n, m]) { print(n, m, x.sum()) }'
printf 'a,b\n1,2\n3,4.5\n' >"$out/t.csv"
printf '1,2\n3\n' >"$out/ragged.csv"
printf '1 2\n3 four\n' >"$out/word.txt"
gzip -kc "$out/t.csv" >"$out/t.csv.gz"
head -c 20 "$out/t.csv.gz" >"$out/cut.csv.gz"
check "a table of text" 0 "^2 2 10.5$" -- "$tl" run -e "$table" "$out/t.csv"
check "a gzipped table" 0 "^2 2 10.5$" -- "$tl" run -e "$table" "$out/t.csv.gz"
check "a table as another type" 0 "^2 3.0$" -- "$tl" run -e 'fn main(x: f32[n, 2]) { print(n, x[0].sum()) }' "$out/t.csv"
check "ragged table" 2 "line 2 has 1 field, not 2" -- "$tl" run -e "$table" "$out/ragged.csv"
check "no number in a table" 2 "line 2 field 2 is 'four'" -- "$tl" run -e "$table" "$out/word.txt"
check "truncated gzip" 2 "truncated" -- "$tl" run -e "$table" "$out/cut.csv.gz"
check "an archive of several" 2 "holds 2 tensors: say which" -- sh -c \
  "'$tl' run -e 'save(\"$out/t.npz\", ([1.0], [2.0]))' && '$tl' run -e '$table' '$out/t.npz'"
check "no tensor of that name" 3 "holds no tensor 'w'; there are 'arr_0', 'arr_1'" -- "$tl" run -e \
  "let x: f32[n] = load(\"$out/t.npz\", \"w\"); print(x)"
check "load when compiled says what is wrong" 1 "say which" -- "$tl" run -e "print(load(\"$out/t.npz\"))"
check "load by name when compiled" 0 "^\[2.\]$" -- "$tl" run -e "print(load(\"$out/t.npz\", \"arr_1\"))"
check "check of a const of a file to come" 0 "warning.IoError.*no such file" -- "$tl" check <(printf 'const t = load("not-yet.npy")\nprint(t)\n')
check "check of a file to come" 0 "warning.IoError.*no such file" -- "$tl" check <(echo 'let x = load("not-yet.npy")')
truncate -s 1G "$out/hole.idx"
printf '\000\000\010\003\377\377\377\377\377\377\377\377\377\377\377\377' | dd of="$out/hole.idx" conv=notrunc status=none
check "absurd sizes" 2 "truncated" -- "$tl" run -e 'fn main(x: u8[a, b, c]) { print(a) }' "$out/hole.idx"
printf '\000\000\010\003\000\020\000\000\000\000\003\377\000\000\000\001' | dd of="$out/hole.idx" conv=notrunc status=none
check "slices of a file larger than the limit" 0 "^1048576 0$" -- "$tl" run --memory-limit 1M -e \
  'fn main(x: u8[a, b, c]) { print(a, i64(x[1000:1100]).sum()) }' "$out/hole.idx"
check "nothing left behind" 0 "^0$" -- sh -c "ls '$out' | grep -c tmp; true"
(ulimit -f 8; "$tl" run -e "save(\"$out/limited.npy\", zeros([1000000]))" >/dev/null 2>"$out/limited.err"; echo "code $?" >>"$out/limited.err")
check "a file that grows too large" 0 "code 3" -- cat "$out/limited.err"
check "nothing left behind by a failed save" 0 "^0$" -- sh -c "ls '$out' | grep -c 'limited.npy'; true"

# ---- failures while running
cat >"$out/sizes.tl" <<'T'
fn main(a: f32[n], b: f32[n]) { print((a + b).sum()) }
T
# The inner loop is native code for its checks alone: a node more stands for its result, and moves all others.
cat >"$out/nothing.tl" <<'T'
struct P { a: i64, xs: List<i64>, t: (i64, str) }
fn f(x: str) -> (i64, str) {
  print((list((2, x)) + list((6, x)))[:6][-1:3])
  (3, ("a")[0][0])
}
print(1 - 1 != 1 - 1)
if not (not ("" < "a")) {
  for x in [-3 * j % 11 for j in 0..5] {
    var p: P = P(a = 0, xs = list(x)[:1], t = (1, "xyz"))
    if x != x { break }
    p.xs = list(1)
  }
  var last: (i64, str) = f("a")
  for y in (list((1, "bc")) + list((1, ""), (6, "é")))[:6][:] {
    if 8 < (7, "bc")[0] * sum([0]) {
      if not (1 < 2 or 1 < 2) { break }
      print(y)
    }
  }
}
T
check "a loop that only its checks need" 0 "^\[\(6, 'a'\)\]$" -- "$tl" run "$out/nothing.tl"
cat >"$out/calls.tl" <<'T'
fn f(n: i64, xs: i64[k]) -> i64 = if n < 0 { xs[7] } else { f(n - 1, xs) + 1 }
fn g(n: i64, xs: i64[k]) -> i64 = if n < 0 { f(30, xs) } else { g(n - 1, xs) + g(n - 2, xs) }
fn main(n: i64 = 20, m: i64 = 3) { print(g(n, ones([m], i64))) }
T
check "of a recursion the last calls of each place are shown" 0 "^10$" -- sh -c "'$tl' run '$out/calls.tl' 2>&1 | grep -c 'called from here'"
"$tl" run -e 'fn main() -> f32[5] = zeros([5])' -o "$out/five.npy"
check "sizes at run time" 3 "ShapeMismatch" -- "$tl" run "$out/sizes.tl" "$out/a.npy" "$out/five.npy"
check "both sizes are named" 3 "3.*5|5.*3" -- "$tl" run "$out/sizes.tl" "$out/a.npy" "$out/five.npy"
cat >"$out/index.tl" <<'T'
fn pick(x: f32[n], i: i64[m]) -> f32[m] = x[i]
fn main(x: f32[n]) {
  let far = pick(x, [0, 7])
  print("before")
  print(far)
  print("never")
}
T
check "index in asynchronous work" 3 "index.tl:1:.*index 7 is out of range" -- "$tl" run "$out/index.tl" "$out/a.npy"
check "what came before is printed" 3 "^before$" -- "$tl" run "$out/index.tl" "$out/a.npy"
check "nothing after it is" 1 -- sh -c "'$tl' run '$out/index.tl' '$out/a.npy' 2>/dev/null | grep never"
check "memory limit" 3 "OutOfMemory" -- "$tl" run --memory-limit 10M -e 'let x = wait(zeros([100, 1000, 1000])); print(x.sum())'
# Tables of 300 × 300 are 0.7 MB each: one for each turn of the outer loop would be 200 MB.
cat >"$out/nests.tl" <<'END'
fn triangle(x: f64[n, m]) -> f64 {
  var t = x
  for i in 1..n { for j in 1..i { t[i, j] = sin(t[i-1, j]) * 0.5 + t[i, j-1] * t[i, j] } }
  sum(t)
}
fn broken(x: f64[n, m]) -> f64 {
  var t = x
  for i in 1..n { for j in 1..m { if t[i, j] > 1e6 { break }
  t[i, j] = sin(t[i-1, j]) * 0.5 + t[i, j-1] * t[i, j] } }
  sum(t)
}
fn rows(x: f64[n, m]) -> f64 {
  var t = x
  for i in 1..n { for j in 1..4 { t[i] = sin(t[i-1]) * 0.5 + t[i] } }
  sum(t)
}
fn two(x: f64[n, m]) -> f64 {
  var t = x
  var u = x
  for i in 1..n { for j in 1..m { t[i, j] = sin(u[i-1, j]) * 0.5 + t[i, j-1] * t[i, j]
    if t[i, j] > 0.0 { u[i, j] = cos(t[i - 1, j] * u[i, j - 1]) } } }
  sum(t) + sum(u)
}
fn seidel(x: f64[n, m]) -> f64 {
  var t = x[0]
  for i in 1..n { for j in 1..m-1 { t[j] = sin(t[j-1]) * 0.5 + t[j+1] * t[j] * 0.2 } }
  sum(t)
}
fn main(n: i64, which: i64) {
  let x = [0.0001 * f64(i) + 0.0002 * f64(j) for i in 0..n, j in 0..n]
  let g = if which == 0 { grad(triangle)(x) } else if which == 1 { grad(broken)(x) } else if which == 2 { grad(rows)(x) } else if which == 3 { grad(two)(x) } else { grad(seidel)(x) }
  print(sum(g), g[n//2, n//3])
}
END
for which in 0 1 2 3 4; do
  check "a gradient keeps elements, not tables: $which" 0 "^[0-9.]+ [0-9.e-]+$" -- \
    "$tl" run --memory-limit 16M "$out/nests.tl" --n 300 --which $which
done
check "endless recursion" 3 "StackOverflow" -- "$tl" run -e 'fn f(n: i64) -> i64 { if n == 0 { 0 } else { 1 + f(n + 1) } }
print(f(1))'
check "exit code of the program" 7 -- "$tl" run -e 'exit(7)'

# ---- several files
echo 'import "./b.tl"' >"$out/a.tl"
echo 'import "./c.tl"' >"$out/b.tl"
echo 'import "./a.tl"' >"$out/c.tl"
echo 'import "./self.tl"' >"$out/self.tl"
check "an import cycle is shown" 1 "c.tl:1:8: error.ImportCycle.: these files import each other: .*a.tl → .*b.tl → .*c.tl → .*a.tl" -- "$tl" run "$out/a.tl"
check "a file that imports itself" 1 "ImportCycle.*self.tl → .*self.tl" -- "$tl" run "$out/self.tl"
check "a module that is not there" 1 "ImportNotFound.*no module .nosuch." -- "$tl" run -e 'import nosuch'
echo 'fn scale(x: f32[n]) -> f32[n] = x' >"$out/u1.tl"
echo 'fn scale(x: f32[n]) -> f32[n] = x * 2.0' >"$out/u2.tl"
printf 'import "./u1.tl"\nimport "./u2.tl"\nprint([1.0].scale())\n' >"$out/two.tl"
printf 'import "./u2.tl"\nfn scale(x: f32[n]) -> f32[n] = x * 3.0\nprint([1.0].scale())\n' >"$out/own.tl"
check "a method of two modules" 1 "two.tl:3:13: error.AmbiguousName.: .scale. is a function of .u1. and of .u2." -- "$tl" run "$out/two.tl"
check "a method of this file comes first" 0 "^\[3\.\]$" -- "$tl" run "$out/own.tl"

# ---- rejected programs
cat >"$out/three.tl" <<'T'
fn f(a: f32[n, 3], b: f32[n, 4]) -> f32[n, 3] = a + b
fn g(x: f32[n]) -> f32 = sum(y)
fn main() { let i: i64 = 1; print(i * 2.5) }
T
check "three mistakes" 1 "three.tl:1:.*error" -- "$tl" run "$out/three.tl"
check "three mistakes: second" 1 "three.tl:2:.*error\[UnknownName\]" -- "$tl" check "$out/three.tl"
check "three mistakes: third" 1 "three.tl:3:.*error" -- "$tl" check "$out/three.tl"
check "what the graph cannot express yet" 1 "error\[NotSupported\]" -- "$tl" run -e 'fn f(x: f32[n, m, 2]) = argmin(x[i, j] for i in 0..n, j in 0..i + 1)
print(f(ones([2, 2, 2])))'
check "check of a good file" 0 -- "$tl" check samples/blur.tl samples/kmeans.tl

# ---- one compilation for all sizes
sizes='fn f(x: f32[n, 64]) -> f32 = softmax(x * 2.0).sum()
fn main(step: i64 = 1) { var total = 0.0
  for i in 0..20 { total += f(ones([step * (i + 1), 64])) }
  print(total) }'
compiled() { "$tl" run --stats -e "$sizes" "$@" 2>&1 | grep -oE 'kernels compiled:? *[0-9]+|[0-9]+ kernels compiled|compiled [0-9]+' | grep -oE '[0-9]+'; }
check "twenty batch sizes, few kernels" 0 -- test "$(compiled)" -le 3

# ---- the disk cache: whatever the folder is or does, the program prints the same
cached=(env TL_CACHE_DIR="$out/cache" "$tl" run --stats -e "$sizes")
check "cold cache" 0 "from disk 0 of [1-9]" -- "${cached[@]}"
check "warm cache" 0 "from disk ([1-9]) of \\1, 0 stored" -- "${cached[@]}"
check "no cache" 0 "no cache" -- env TL_CACHE_DIR="$out/cache" "$tl" run --no-cache --stats -e "$sizes"
# ---- a kernel that takes LLVM too long is compiled plainly; so are all where LLVM has no time
check "no time for LLVM" 0 "compiled plainly +[1-9]" -- env TL_COMPILE_SECONDS=0 "$tl" run --no-cache --stats -e "$sizes"
check "the result is the same" 0 "^210.0$" -- env TL_COMPILE_SECONDS=0 "$tl" run --no-cache -e "$sizes"
# Long divisions go lane by lane: written out for each of 64 elements, they took LLVM half a minute.
echo 'print(max([sum(i64(u8(i)) + k % bit_or(i64(i8(i)), 1) for k in 0..64) for i in 0..77]))' >"$out/divisions.tl"
check "a short sum of long divisions is a loop" 0 "^([1-9]|[1-9][0-9])$" -- \
  bash -c 'TL_CPU=x86-64-v3 "$1" dump --stage llvm "$2" | grep -c " sdiv "' _ "$tl" "$out/divisions.tl"
check "time enough" 0 "^0$" -- bash -c '"$1" run --no-cache --stats -e "$2" 2>&1 | grep -c plainly; true' _ "$tl" "$sizes"
echo "$sizes" >"$out/plain.tl"
check "no time while building" 0 "^210.0$" -- bash -c 'TL_COMPILE_SECONDS=0 "$1" build --no-cache "$2/plain.tl" -o "$2/plain" && "$2/plain"' _ "$tl" "$out"
check "code for an older processor" 0 "^210.0$" -- env TL_CPU=x86-64-v3 "$tl" run --no-cache -e "$sizes"
find "$out/cache" -name '*.tlc' -exec sh -c 'head -c 100 "$1" >"$1.new"; mv "$1.new" "$1"' _ {} \;
check "truncated cache" 0 "from disk 0 of" -- "${cached[@]}"
check "cache that healed" 0 "from disk ([1-9]) of \\1, 0 stored" -- "${cached[@]}"
touch "$out/file"
check "a file for a cache" 0 "disk cache +.*file" -- env TL_CACHE_DIR="$out/file" "$tl" run --stats -e "$sizes"
check "no folder for a cache" 0 "^210.0$" -- env -u HOME -u XDG_CACHE_HOME -u TL_CACHE_DIR "$tl" run -e "$sizes"
# ---- a const that is not computed in time
endless='fn spin(n: i64) -> i64 { var i = n; while i > 0 { i = i % 7 + 1 }; i }; const S = spin(3); print(S)'
check "endless const" 1 "NotConstant.*the const .S. is not computed after 0.2 seconds" -- "$tl" run --const-seconds 0.2 -e "$endless"
check "endless const, interpreted" 1 "the const .S. is not computed after 0.2 seconds" -- "$tl" run --interp --const-seconds 0.2 -e "$endless"
echo "$endless" >"$out/endless.tl"
check "endless const, checked" 1 "the const .S. is not computed after 0.2 seconds" -- "$tl" check --const-seconds 0.2 "$out/endless.tl"
tensors='fn grow(k: i64) -> f32[3] { var x = ones([3]); while k > 0 { x = x * 2.0 }; x }; const S = grow(3); print(S)'
check "endless const of tensors" 1 "the const .S. is not computed after 0.2 seconds" -- "$tl" run --const-seconds 0.2 -e "$tensors"
check "no time for a const" 2 "0 is not a positive number" -- "$tl" run --const-seconds 0 -e 'print(1)'
check "endless time for a const" 2 "inf is not a positive number" -- "$tl" run --const-seconds inf -e 'print(1)'
check "bad cache limit" 2 "is not a size" -- "$tl" run --cache-limit lots -e 'print(1)'
cat >"$out/race.sh" <<'T' # 40 processes on one folder that is empty at first and too small for all
for i in $(seq 40); do TL_CACHE_LIMIT=$((1 + i % 2))MB "$1" run -e "$2" & done | sort | uniq -c
T
check "forty processes, one cache" 0 "^ +40 210.0$" -- env TL_CACHE_DIR="$out/race" bash "$out/race.sh" "$tl" "$sizes"

# ---- where the time goes, where a NaN comes from
cat >"$out/work.tl" <<'T'
fn main(n: i64 = 300) {
  let x = normal(key(1), [n, n])
  var y = x
  for i in 0..3 {
    y = y @ x
  }
  print(y.sum() * 0.0)
}
T
check "profile names the slowest line" 0 "^profile: .* threads" -- "$tl" run --profile "$out/work.tl"
check "profile counts calls by line" 0 " 3 +[0-9.]+ MB +[0-9.]+ +[0-9]+ % +.*work.tl:5  y = y @ x" -- "$tl" run --profile "$out/work.tl"
check "trace" 0 -- "$tl" run --trace "$out/trace.json" "$out/work.tl"
check "trace is JSON with places" 0 '"line": ?".*work.tl:5"' -- cat "$out/trace.json"
check "trace that cannot be written" 3 "cannot write" -- "$tl" run --trace "$out/none/trace.json" "$out/work.tl"
check "profile of the reference interpreter" 2 "interp" -- "$tl" run --interp --profile "$out/work.tl"
cat >"$out/nan.tl" <<'T'
fn root(x: f32[n]) -> f32[n] = sqrt(x)
fn main() {
  let x = wait(arange(6) - 3)
  let y = wait(root(f32(x)))
  print("before")
  print(y.sum())
}
T
check "NaN without --check-nan" 0 "^nan$" -- "$tl" run "$out/nan.tl"
check "NaN with --check-nan" 3 "nan.tl:1:.*NotANumber.*element \[0\] of f32\[6\] is NaN" -- "$tl" run --check-nan "$out/nan.tl"
check "--check-nan tells the calls" 3 "4 \|   let y" -- "$tl" run --check-nan "$out/nan.tl"
check "NaN that is read is not made" 0 "^nan$" -- "$tl" run --check-nan -e 'let x = wait([1.0, nan])
print(x.sum())'
check "--check-nan finds host scalars" 3 "NotANumber" -- "$tl" run --check-nan -e 'fn main(x: f64 = -1.0) { print(sqrt(x)) }'
cat >"$out/nan_fused.tl" <<'T'
fn main(n: i64 = 6) {
  let x = f32(arange(n) - 3)
  let y = sqrt(x)
  let z = y + 1.0
  var t = zeros([n])
  for i in 0..n {
    let r = log(x[i])
    t[i] = r * 2.0
  }
  print(if n > 6 { t.sum() } else { z.sum() })
}
T
check "--check-nan names the line of what would be fused" 3 "nan_fused.tl:3:11: .*element \[0\] of f32\[6\] is NaN, and no operand is" -- "$tl" run --check-nan "$out/nan_fused.tl"
echo 'fn main(a: str = "none", n: i64 = 1) { print(a, n) }' >"$out/separated.tl"
check "-- behind the file" 0 "^none 3$" -- "$tl" run "$out/separated.tl" -- --n 3
check "-- behind the file alone" 0 "^none 3$" -- "$tl" "$out/separated.tl" -- --n 3
check "-- behind the file, with tl's flags" 0 "^x 3$" -- "$tl" run --threads 1 "$out/separated.tl" -- --a x --n=3
check "-- behind standard input" 0 "^none 4$" -- sh -c "'$tl' run - -- --n 4 <'$out/separated.tl'"
check "-- and nothing behind it" 0 "^none 1$" -- "$tl" run "$out/separated.tl" --
check "--help behind --" 0 "--n" -- "$tl" run "$out/separated.tl" -- --help
check "a second -- is the program's" 2 "'--n'" -- "$tl" run "$out/separated.tl" -- -- --n 3
check "doc for a reader that leaves" 3 "^$" -- bash -c "set -o pipefail; { sleep 0.3; '$tl' doc; } | true"
check "doc to a full device" 3 "standard output: No space left" -- sh -c "'$tl' doc >/dev/full"
check "explain to a full device" 3 "standard output: No space left" -- sh -c "'$tl' explain ShapeMismatch >/dev/full"
check "hint: a total that is a float" 1 "hint: make it a float where it is declared: .var total: f32 = 0." -- "$tl" check <(echo 'var total = 0
total += 1.5')
check "hint: a float that is declared too narrow" 1 "hint: give its type where it is declared: .let b: f64 = 0.1." -- "$tl" check <(echo 'let b = 0.1
let y = f64([1.0]) * b')
check "hint: an integer from a float" 1 "hint: write .i64.x.. to convert it, which drops fractions" -- "$tl" check <(echo 'fn f(k: i64, x: f32) -> i64 { var n = k
  n += x
  n }')
check "hint: concat of two" 1 "go in one tuple: .concat..a, b.." -- "$tl" check <(echo 'let a = [1.0]
let b = [2.0]
print(concat(a, b))')
check "load of what is not there" 1 "cannot open 'not-there.npy': no such file or directory, so" -- "$tl" run -e 'print(load("not-there.npy"))'
check "--check-nan of a good program" 0 -- "$tl" run --check-nan "$out/work.tl"
check "assert_close tells where" 3 "1 of 4 values differ, most at element 2: 3.0 and 3.5" -- "$tl" run -e 'assert_close([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.5, 4.0]])'
check "assert_close and NaN" 3 "element 1: nan and 1.0" -- "$tl" run -e 'assert_close([1.0, nan], [1.0, 1.0])'
check "assert_close and infinity, and nothing" 0 "^fine$" -- "$tl" run -e 'assert_close([inf, 1.0], [inf, 1.000001]); assert_close(zeros([0]), zeros([0])); assert_close(2.0, 2.0); print("fine")'
check "debug names the leaves of a struct" 0 "command line>:1: .w f32\[2\] min 1.0 mean 1.5 max 2.0" -- "$tl" run -e 'struct P { w: f32[2], s: str }; let p = debug(P(w = [1.0, 2.0], s = "x"))'
check "progress says how far it is" 0 "progress  50% 2/4  at 1" -- "$tl" run -e 'for i in progress(0..4, show = "at 1") { print(i) }'
cat >"$out/steps.tl" <<'T'
for i in progress(0..12) {
  let start = time()
  while time() - start < 0.1 { }
}
T
pace="[0-9.]+(/s| s each), [0-9]+:[0-9]{2}"
command -v python3 >/dev/null && check "progress at a terminal says how fast it is and what is left" 0 "[0-9]/12  $pace left.*12/12  $pace *$" -- \
  bash -c "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' '$tl' run '$out/steps.tl' | tr '\r\n' '  '"
check "print to stderr" 0 "to stderr" -- "$tl" run -e 'print("to stderr", to = stderr)'
check "debug tells place and values" 0 "command line>:1: f32\[3\] min 1.0 mean 2 max 3.0" -- "$tl" run -e 'print(debug([1.0, 2.0, 3.0]).sum())'

# ---- every stage as text
for stage in tokens ast typed ir kernel bytecode llvm asm cuda; do
  check "dump $stage" 0 . -- "$tl" dump --stage "$stage" samples/softmax.tl
done
check "dump after a pass" 0 "func" -- "$tl" dump --stage ir --after cse samples/softmax.tl
check "dump after all" 0 "# after fuse" -- "$tl" dump --stage ir --after-all samples/softmax.tl
check "dump of a bad stage" 2 -- "$tl" dump --stage nonsense samples/softmax.tl
check "test command" 0 "ok .*rows sum to one" -- "$tl" test samples/softmax.tl
echo 'test "wrong" { assert 1 == 2, "no" }' >"$out/wrong.tl"
check "failing test" 1 "FAIL.*wrong" -- "$tl" test "$out/wrong.tl"
printf 'fn f(x: f32) -> f32 = x * x\nprint(grad(f)(1.0))\ntest "right" { assert grad(f)(2.0) == 4.0 }\ntest "wrong" { assert grad(f)(2.0) == 5.0 }\n' >"$out/derived.tl"
check "tests of a program with derivatives" 1 "1 passed, 1 failed" -- "$tl" test "$out/derived.tl"
# ---- main with lists and structs
cat >"$out/net.tl" <<'END'
struct Lin[i, o] { w: f32[i, o], b: f32[o], s: f32 }
struct Net[d] { a: Lin[d, 2], k: i64 }
fn main(m: Net[d], x: f32[n, d], scale: f32 = 2.0, xs: List<i64>, names: List<str>) -> (Net[d], f32[n, 2]) {
  print(xs, names)
  (m * scale, x @ m.a.w)
}
END
"$tl" run -e "
struct Lin { w: f32[3, 2], b: f32[2], s: f32 }
struct Net { a: Lin, k: i64 }
save(\"$out/net.npz\", Net(a = Lin(w = ones([3, 2]), b = zeros([2]), s = 1.5), k = 7))
save(\"$out/x.npy\", ones([1, 3]))
save(\"$out/x4.npy\", ones([1, 4]))"
check "lists from the command line" 0 "^\[1, 2\] \['a', 'b c'\]$" -- "$tl" run "$out/net.tl" "$out/net.npz" "$out/x.npy" --xs 1 --xs=2 --names a --names "b c"
check "a struct from a file" 0 "s = 3.0\), k = 7\)" -- "$tl" run "$out/net.tl" "$out/net.npz" "$out/x.npy"
check "a struct into a file" 0 -- "$tl" run "$out/net.tl" "$out/net.npz" "$out/x.npy" -o "$out/net.safetensors" -o "$out/y.npy"
check "and back" 0 "s = 6.0\), k = 7\)" -- "$tl" run --interp "$out/net.tl" "$out/net.safetensors" "$out/x.npy"
check "a struct's size against a tensor's" 3 "axis 1 of argument .x. of .main. is 4, where d is written, which is 3" -- "$tl" run "$out/net.tl" "$out/net.npz" "$out/x4.npy"
check "a file without those names" 2 "one tensor has no name" -- "$tl" run "$out/net.tl" "$out/x.npy" "$out/x.npy"
check "a list's value of another type" 2 "'1.5' is not an i64" -- "$tl" run "$out/net.tl" "$out/net.npz" "$out/x.npy" --xs 1.5
check "help on lists and structs" 0 "a file of Net\[d\]" -- "$tl" run "$out/net.tl" --help
check "a list of flags" 0 "^\[true, false\]$" -- "$tl" run -e 'fn main(flags: List<bool>) = flags' --flags --flags false
# Lists in files: what -o writes, `load` and the command line read.
cat >"$out/deep.tl" <<'END'
import nn
struct Net { layers: List<nn.Linear>, steps: List<i64>, t: (List<List<f32>>, f64) }
fn make() -> Net = Net(
  layers = list(nn.linear_init(key(i), i + 1, i + 2) for i in 0..3),
  steps = list(4, 5),
  t = (list(list(1.5), list(2.5, 3.5)), 6.5),
)
fn main(net: Net, xs: List<f32[_]>, more: List<i64>) -> (Net, List<f32[_]>, List<i64>) {
  print(net == make(), list(x.shape for x in xs), more)
  (net, list(x * 2.0 for x in xs), more + net.steps)
}
END
cat >"$out/deep_made.tl" <<'END'
import "./deep.tl" as deep
fn main() -> (deep.Net, List<f32[_]>) = (deep.make(), list([1.0], [2.0, 3.0]))
END
for ending in npz safetensors; do
  net=$out/deep.$ending xs=$out/xs.$ending
  check "lists into $ending" 0 -- "$tl" run "$out/deep_made.tl" -o "$net" -o "$xs"
  check "$ending: the names of leaves" 0 "^\['layers.0.b', 'layers.0.w', 'layers.1.b', .*'layers.2.w', 'steps.0', 'steps.1', 't.0.0.0', 't.0.1.0', 't.0.1.1', 't.1'\]$" -- "$tl" run -e "
print(sorted(tensor_names(\"$net\")))
fn sorted(xs: List<str>) -> List<str> { # by insertion
  var out: List<str> = list()
  for x in xs {
    let k = sum(i64(y < x) for y in out)
    out = out[:k] + [x] + out[k:]
  }
  out
}"
  check "lists from $ending" 0 "^true \[\(1,\), \(2,\)\] \[7\]$" -- "$tl" run "$out/deep.tl" "$net" "$xs" --more 7
  check "and back into $ending, --interp" 0 "^true" -- "$tl" run --interp "$out/deep.tl" "$net" "$xs" --more 7 -o "$out/again.$ending" -o "$out/xs2.$ending" -o "$out/ns.$ending"
  check "$ending: the same bytes" 0 -- cmp "$net" "$out/again.$ending"
  check "load reads what -o wrote: $ending" 0 "^\[\[2.\], \[4. 6.\]\] \[7, 4, 5\]$" -- "$tl" run -e "let xs: List<f32[_]> = load(\"$out/xs2.$ending\")
let ns: List<i64> = load(\"$out/ns.$ending\")
print(xs, ns)"
done
"$tl" build "$out/deep.tl" -o "$out/deep" 2>/dev/null && {
  check "an executable reads and writes lists" 0 "^true" -- "$out/deep" "$out/deep.npz" "$out/xs.npz" --more 7 -o "$out/built.npz" -o "$out/xs3.npz" -o "$out/ns3.npz"
  check "the executable's file" 0 -- cmp "$out/deep.npz" "$out/built.npz"
  check "an executable names what a file lacks" 2 "^tl: 'xs' \(List<f32\[_\]>\): .*'layers.0.b', which is no part" -- "$out/deep" "$out/deep.npz" "$out/deep.npz"
}
check "lists into a file of one tensor" 3 "cannot save .*: 2 tensors go into a .npz or .safetensors file" -- "$tl" run -e 'fn main() = list(1, 2)' -o "$out/l.npy"
check "an empty list into a file" 3 "there is no tensor to save" -- "$tl" run -e 'fn main() -> List<f32> = list()' -o "$out/l.npz"
check "a list of texts into a file" 3 "parts that are no tensors" -- "$tl" run -e 'fn main() = list("a")' -o "$out/l.npz"
check "a device into a file" 3 "parts that are no tensors" -- "$tl" run -e 'fn main() = list(cpu(0))' -o "$out/l.npz"
check "help on lists from files" 0 "xs +a file of List<f32\[_\]>" -- "$tl" run "$out/deep.tl" --help
check "a list's file is missing" 2 "missing a file for 'xs'" -- "$tl" run "$out/deep.tl" "$out/deep.npz"
wrong() { # name, what the message says, what is saved, the parameter's type
  "$tl" run -e "struct L { w: f32[_], b: f32 }
struct L1 { w: f32[_] }
struct L3 { w: f32[_], b: f32, c: f32 }
struct D { w: f64[_], b: f32 }
struct M { w: f32[_, _], b: f32 }
let (l, l1) = (L(w = [1.0], b = 2.0), L1(w = [1.0]))
let (l3, d, m) = (L3(w = [1.0], b = 2.0, c = 3.0), D(w = [1.0], b = 2.0), M(w = [[1.0]], b = 2.0))
$3" || return
  check "lists from files: $1" 2 "$2" -- "$tl" run -e "struct L { w: f32[_], b: f32 }
struct N { ls: List<L>, s: f32 }
fn main(n: $4) = print(n)" "$out/wrong.npz"
}
wrong "a leaf is missing" "^tl: 'n.ls.1.b' \(N\): '.*wrong.npz' holds no tensor 'ls.1.b'$" "struct N { ls: (L, L1), s: f32 }
save(\"$out/wrong.npz\", N(ls = (l, l1), s = 1.0))" N
wrong "a leaf too many" "^tl: 'n.ls' \(N\): .* holds 'ls.1.c', which is no part of it$" "struct N { ls: (L, L3), s: f32 }
save(\"$out/wrong.npz\", N(ls = (l, l3), s = 1.0))" N
wrong "another element type" "^tl: 'n.ls.1.w' \(N\): .* holds f64\[1\], not f32\[_\]$" "struct N { ls: (L, D), s: f32 }
save(\"$out/wrong.npz\", N(ls = (l, d), s = 1.0))" N
wrong "another rank" "^tl: 'n.ls.1.w' \(N\): .* holds f32\[1, 1\], not f32\[_\]$" "struct N { ls: (L, M), s: f32 }
save(\"$out/wrong.npz\", N(ls = (l, m), s = 1.0))" N
wrong "a tensor for a list" "^tl: 'n.ls' \(N\): .* holds 'ls' as a tensor" "struct N { ls: f32[_], s: f32 }
save(\"$out/wrong.npz\", N(ls = [1.0, 2.0], s = 1.0))" N
wrong "no list" "^tl: 'n' \(List<L>\): .* holds 's', which is no part" "struct N { s: f32 }
save(\"$out/wrong.npz\", N(s = 1.0))" "List<L>"
header='{"0":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"2":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}'
printf "\\x$(printf %x ${#header})\0\0\0\0\0\0\0%s\0\0\0\0\0\0\0\0" "$header" >"$out/gap.safetensors"
check "a gap in a list" 2 "'n' \(List<f32\[_\]>\): .*gap.safetensors' holds '2', and no element 1$" -- "$tl" run -e 'fn main(n: List<f32[_]>) = print(n)' "$out/gap.safetensors"
check "a table for a list" 2 "'n' .* is a .npy file: its one tensor has no name" -- "$tl" run -e 'fn main(n: List<f32[_]>) = print(n)' "$out/x.npy"
check "load of a list from a file of one tensor" 3 "is a .npy file: its one tensor has no name" -- "$tl" run -e "let xs: List<f32[_]> = load(\"$out/x.npy\")
print(xs)"
check "a list of other parts" 1 "structs and lists of tensors, and .List<\(str, i64\)>. has other parts" -- "$tl" run -e 'fn main(n: List<(str, i64)>) = print(n)'
check "a struct of other parts" 1 "take its file" -- "$tl" run -e 'struct N { s: str }
fn main(n: N) = n.s'

# ---- what is nested too deeply is refused, whatever it is; what a program may reach works
deep() { # times, before, repeated, middle, repeated, after
  awk 'BEGIN { printf "%s", ARGV[2]; for (i = 0; i < ARGV[1]; i++) printf "%s", ARGV[3]; printf "%s", ARGV[4]; for (i = 0; i < ARGV[1]; i++) printf "%s", ARGV[5]; print ARGV[6] }' "$@" >"$out/deep.tl"
}
nest() { # name, before, repeated, middle, repeated, after
  deep 25000 "${@:2}"
  check "deep: $1" 1 "TooDeep" -- "$tl" run "$out/deep.tl"
}
fits() { # name, times, what it prints, before, repeated, middle, repeated, after
  deep "$2" "${@:4}"
  check "deep and fine: $1" 0 "$3" -- "$tl" run "$out/deep.tl"
  check "deep and fine, interpreted: $1" 0 "$3" -- "$tl" run --interp "$out/deep.tl"
}
deep 15000 'let a = 1.5; print(' 'exp(' a ')' ')'
check "deep, but the system grants no large stack" 1 "TooDeep" -- sh -c "ulimit -v 900000; '$tl' check '$out/deep.tl'"
fits parentheses 15000 '^1$' 'print(' '(' 1 ')' ')'
fits minus 15000 '^1.0$' 'let a = 1.0; print(' '-' a '' ')'
fits lambdas 15000 '^2$' 'let f = ' '|x| ' 1 '' '; print(2)'
fits calls 15000 '^1.5$' 'let a = 1.5; print(' 'abs(' a ')' ')'
fits "calls of functions" 5000 '^5001.5$' 'fn f(x: f32) -> f32 = x + 1.0; let a = 1.5; print(' 'f(' a ')' ')'
fits methods 15000 '^1.5$' 'let a = 1.5; print(a' '' '' '.abs()' ')'
fits sums 15000 '^15001$' 'let a = 1; print(a' '' '' ' + a' ')'
fits "sums of tensors" 400 '^\[401\]$' 'let a = [1]; print(a' '' '' ' + a' ')'
fits "else if" 5000 '^3$' 'fn f(a: i64) -> i64 = if a == 0 { 1 }' ' else if a == 2 { 2 }' ' else { 3 }' '' '; print(f(1))'
fits blocks 1000 '^1$' '' 'if true { ' 'print(1)' ' }' ''
fits loops 300 '^3$' 'var s = 0; ' 'for i in 0..1 { ' 's += 3' ' }' '; print(s)'
nest parentheses 'let a = ' '(' 1 ')' ''
nest brackets 'let a = ' '[' 1 ']' ''
nest minus 'let a = ' '-' 1 '' ''
nest powers 'let a = ' '1.0 ** ' 1.0 '' ''
nest lambdas 'let f = ' '|x| ' 1 '' ''
nest conditions 'let a = ' 'if true { 1 } else { ' 1 ' }' ''
nest blocks '' 'if true { ' 'print(1)' ' }' ''
nest loops '' 'for i in 0..3 { ' 'print(1)' ' }' ''
nest subscripts 'let x = [1]; let a = ' 'x[' 0 ']' ''
nest types 'fn f(x: ' 'List<' f32 '>' ') { }'
nest calls 'let a = ' 'exp(' 1.0 ')' ''
nest methods 'let a = [1.0]' '' '' '.exp()' ''
nest sums 'let a = 1' '' '' ' + 1' ''
awk 'BEGIN { print "struct S0 { a: f32 }"; for (i = 1; i < 3000; i++) print "struct S" i " { a: S" i - 1 " }" }' >"$out/deep.tl"
check "deep: structs" 1 "TooDeep.*structs are nested" -- "$tl" check "$out/deep.tl"

finish
