#!/usr/bin/env bash
# Programs, files and folders that others have made, against the machine they are used on: tests/harm.sh TL [FILTER].
# What is too large is refused in bounded memory, by a message that says what it is.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs gzip head yes mkfifo ln
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out" || exit 1

# repeated N TEXT: it N times, @ being 0 to N - 1 and ^ the next number, each on a line of its own where TEXT ends in one.
repeated() {
  local i text
  for ((i = 0; i < $1; i++)); do
    text=${2//@/$i}
    printf '%s' "${text//^/$((i + 1))}"
  done
}
line=$'\n'

# ---- files that unpack or go on to more than there may be
echo 'fn main(x: f64[_]) { print(len(x)) }' >vector.tl
head -c 300M /dev/zero | tr '\0' a | gzip -1 >bomb.gz
check "text that unpacks to too much" 3 "OutOfMemory.*bomb.gz.*more than the memory limit of 50000000" -- "$tl" run --memory-limit 50M -e 'print(len(read_text("bomb.gz")))'
check "the same in the reference interpreter" 3 "OutOfMemory.*bomb.gz.*memory limit" -- "$tl" run --interp --memory-limit 50M -e 'print(len(read_text("bomb.gz")))'
printf 'abc\n' | gzip >small.gz
check "text within the limit" 0 "^4$" -- "$tl" run --memory-limit 50M -e 'print(len(read_text("small.gz")))'
head -c 1000 /dev/zero | tr '\0' a >kilo.txt
check "text that just fits" 0 "^1000$" -- "$tl" run --memory-limit 1000 -e 'print(len(read_text("kilo.txt")))'
check "text that just does not" 3 "kilo.txt.*memory limit of 999 " -- "$tl" run --memory-limit 999 -e 'print(len(read_text("kilo.txt")))'
check "a device without an end" 3 "'x'.*/dev/zero.*memory limit of 50000000" -- "$tl" run --memory-limit 50M vector.tl /dev/zero
check "a device without an end, as text" 3 "OutOfMemory.*/dev/zero" -- "$tl" run --memory-limit 50M -e 'print(len(read_text("/dev/zero")))'
mkfifo pipe
check "a pipe without an end" 3 "'x'.*pipe.*memory limit" -- sh -c "(yes 1 >pipe) & '$tl' run --memory-limit 50M vector.tl pipe"
{ printf '\x93NUMPY\x01\x00\x76\x00'; printf "%-117s\n" "{'descr': '<f8', 'fortran_order': False, 'shape': (30000000,), }"; head -c 240M /dev/zero; } | gzip -1 >bomb.npy.gz
check "a tensor that unpacks to too much" 3 "'x'.*bomb.npy.gz.*memory limit of 50000000" -- "$tl" run --memory-limit 50M vector.tl bomb.npy.gz
"$tl" -e 'save("kilo.npy", f64(arange(1000)))'
check "arguments that are too much together" 3 "'b'.*kilo.npy.*memory limit of 12000 " -- "$tl" run --memory-limit 12K -e 'fn main(a: f64[_], b: f64[_]) { print(len(a)) }' kilo.npy kilo.npy
check "a limit behind the file, of an executable" 3 "'x'.*/dev/zero.*memory limit of 1000000 " -- sh -c "'$tl' build vector.tl -o vector && ./vector /dev/zero --memory-limit 1M"

# ---- axes without end
safetensors() { # NAME AXES
  local header n
  header="{\"x\":{\"dtype\":\"F32\",\"shape\":[$(repeated "$2" '1,' | sed 's/,$//')],\"data_offsets\":[0,4]}}"
  n=${#header}
  { printf "\\x$(printf %x $((n & 255)))\\x$(printf %x $((n >> 8)))\0\0\0\0\0\0%s\0\0\0\0" "$header"; } >"$1"
}
safetensors deep.safetensors 20001
safetensors most.safetensors 64
check "a header of 20,001 axes" 2 "'x' has more than 64 axes" -- "$tl" vector.tl deep.safetensors
check "one of 64 is read" 2 "f32.1, 1.*not f64._." -- "$tl" vector.tl most.safetensors
check "a program's tensor of 65 axes" 1 "TooLarge.*this tensor has 65 axes, more than 64" -- "$tl" check <(echo "print(zeros([$(repeated 64 '1, ')1]))")
check "one of 64" 0 -- "$tl" check <(echo "print(zeros([$(repeated 63 '1, ')1]))")

# ---- programs that are short and grow
{ echo 'let b0 = (1.0, 2.0)'; repeated 60 "let b^ = (b@, b@)$line"; } >double.tl
check "types that double with every line" 1 "double.tl:12:.*TooLarge.*this value has more than 4096 parts" -- "$tl" check double.tl
{ echo 'struct S0 { a: f32, b: f32 }'; repeated 60 "struct S^ { a: S@, b: S@ }$line"; echo 'fn f(s: S60) = s.a'; } >structs.tl
check "structs that double" 1 "TooLarge.*the fields of this struct have more than 4096 parts" -- "$tl" check structs.tl
{ echo 'fn f(x) = (x, x)'; echo "print($(repeated 60 'f(')1$(repeated 60 ')'))"; } >calls.tl
check "calls that double" 1 "TooLarge.*this value has more than 4096 parts" -- "$tl" check calls.tl
{ echo 'struct S {'; repeated 3000 "  f@: f32,$line"; echo '}'; echo "let s = S($(repeated 3000 '@.0, '))"; echo 'print(s.f2999)'; } >fields.tl
check "a struct of 3,000 fields" 0 "^2999" -- "$tl" run fields.tl
{ echo 'struct S[n] {'; repeated 3000 "  f@: f32[n],$line"; echo '}'; echo 'fn main(s: S[n]) = s.f1'; } >sized.tl
check "3,000 fields whose sizes must agree" 0 -- "$tl" check sized.tl
{ echo 'fn main(k: i64) {'; echo '  var y = 0.5'; echo '  for i in 0..k {'; repeated 3000 "    y = sin(y)$line"; echo '  }'; echo '  print(y)'; echo '}'; } >sines.tl
check "3,000 sines in a loop are compiled in time" 0 "^0\.0" -- timeout 20 "$tl" run --no-cache sines.tl --k 3

# ---- the system refuses memory
with_memory() { (ulimit -v "$1" && shift && "$@"); } # KB COMMAND…
echo 'fn main(n: i64) = sort(normal(key(1), [n]))[0]' >sorted.tl
check "the system has no memory for a tensor" 3 "OutOfMemory.*sorted.tl|sorted.tl.*OutOfMemory" -- sh -c "ulimit -v 300000; '$tl' run --memory-limit 10G sorted.tl --n 100000000"
check "nor for a list that grows" 3 "OutOfMemory.*no memory is left for a list" -- bash -c "ulimit -v 2000000; '$tl' run -e 'var l: List<i64> = [1]; for i in 0..70 { l = l + l }; print(len(l))'"
{ echo 'fn main(x: f64[n]) -> f64[n] {'; echo '  var y = x'; repeated 1000 "  y = sin(y)$line"; echo '  y'; echo '}'; } >chain.tl
echo '1,2,3' >x.csv
# ends FEWEST MOST STEP COMMAND…: under each of these limits (in KB) the command is done or says why not.
ends() {
  local fewest=$1 most=$2 step=$3 limit text status
  shift 3
  for ((limit = fewest; limit <= most; limit += step)); do
    text=$(with_memory "$limit" "$@" 2>&1)
    status=$?
    [[ $text == *"error while loading shared libraries"* || ($status == 139 && -z $text && $limit -lt 80000) ]] && continue # no program yet
    case $status in
    0 | 3) ;;
    *) echo "$limit KB: exit code $status, $text"; return 1 ;;
    esac
  done
}
check "the system has no memory for the compiler" 0 '^$' -- echo "$(ends 80000 130000 1000 "$tl" run --no-cache chain.tl x.csv)"

# ---- names that do things to a terminal: an escape sequence, a bell, the end of a line, C1, a turn of direction
bad=$'a\e[31mb\ac\nd\xc2\x9be\xe2\x80\xaef'
shown='a\\x1b\[31mb\\x07c\\nd\\u\{9b\}e\\u\{202e\}f'
raw=$'\e|\a|\xc2\x9b|\xe2\x80\xae'
# quiet NAME EXIT_CODE PATTERN -- COMMAND…: as check; and nothing that its output holds disturbs a terminal.
quiet() {
  local name=$1
  check "$@"
  shift 4
  check "$name: nothing raw" 1 -- sh -c 'timeout 60 "$@" 2>&1 </dev/null | LC_ALL=C grep -qE "$0"' "$raw" "$@"
}
named_tensor() { # FILE NAME_IN_JSON
  local header="{\"$2\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},\"z\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[4,8]}}"
  { printf "\\x$(printf %x ${#header})\0\0\0\0\0\0\0%s\0\0\0\0\0\0\0\0" "$header"; } >"$1"
}
named_tensor names.safetensors 'a\u001b[31mb\u0007c\nd\u009be\u202ef'
quiet "names of tensors in a file" 2 "there are '$shown', 'z'" -- "$tl" vector.tl names.safetensors
quiet "names of tensors in a file, loaded" 3 "there are '$shown', 'z'" -- "$tl" -e 'let x: f32 = load("names.safetensors")
print(x)'
quiet "the same in the reference interpreter" 3 "there are '$shown', 'z'" -- "$tl" --interp -e 'let x: f32 = load("names.safetensors")
print(x)'
quiet "a file that is not there" 2 "'$shown.npy'" -- "$tl" vector.tl "$bad.npy"
quiet "a program that is not there" 2 "$shown" -- "$tl" run "$bad.tl"
quiet "neither a command nor a file" 2 "$shown" -- "$tl" "$bad"
quiet "an unknown option" 2 "$shown" -- "$tl" run "--$bad" vector.tl
quiet "an unknown option of a program" 2 "$shown" -- "$tl" vector.tl "--$bad"
quiet "a value of another kind" 2 "$shown" -- "$tl" -e 'fn main(k: i64) { print(k) }' --k "$bad"
printf '1\nx\xe2\x80\xaeb\n' >bad.csv
quiet "a field of a table" 2 "'x.u.202e.b'" -- "$tl" vector.tl bad.csv
echo 'print(1' >"$bad.tl"
quiet "the name of a program that is wrong" 1 "^$shown.tl:1:.*UnclosedBracket" -- "$tl" check "$bad.tl"
printf 'let i = 7\nprint([1, 2][i + len(args_of())])\nfn args_of() = "x"\n' >"$bad.tl"
quiet "the name of a program that fails" 3 "^$shown.tl:2:.*IndexOutOfRange" -- "$tl" run "$bad.tl"
quiet "its table of times" 3 "$shown.tl:2" -- "$tl" run --profile --explain-idle "$bad.tl"
printf 'test "a\\u{1b}" { assert true }\n' >"$bad.tl"
quiet "tests of a program" 0 "$shown.tl" -- "$tl" test "$bad.tl"
quiet "what a program needs" 0 "$shown.tl" -- "$tl" check --memory "$bad.tl"
printf 'let x = debug(1)\nprint(x)\n' >"$bad.tl"
quiet "the place of debug" 0 "$shown.tl:1" -- "$tl" run "$bad.tl"
quiet "the place of debug, in the reference interpreter" 0 "$shown.tl:1" -- "$tl" run --interp "$bad.tl"
printf '# \xe2\x80\xae turned\nlet x = = 1 # \e[31m \xc2\x9b\n' >lines.tl
quiet "the line of a program" 1 'let x = = 1 # \?\[31m \?' -- "$tl" check lines.tl
quiet "as JSON" 1 '"message":"expected' -- "$tl" check --message-format=json lines.tl
quiet "a name as JSON" 2 '"message":".*u001b.*u009b' -- "$tl" run --message-format=json "$bad.txt"
printf '## Help \e[31mme\nfn main(k: i64) { print(k) }\n' >help.tl
quiet "help of a program" 0 'Help .x1b' -- "$tl" help.tl --help

# ---- programs of strangers: --no-files and --root
mkdir -p inside/sub outside
echo secret >outside/secret.txt
echo 'fn hidden() = 42' >outside/module.tl
echo 'fn helper() = 7' >inside/module.tl
"$tl" -e 'save("outside/x.npy", [1.0])
save("inside/x.npy", [2.0, 3.0])
write_text("inside/a.txt", "fine")
write_text("inside/sub/b.txt", "below")'
ln -s ../outside/secret.txt inside/link.txt
ln -s "$out/outside" inside/folder
ln -s a.txt inside/good.txt
ln -s ../outside/made.txt inside/dangling.txt
before=$(cd outside && ls -l --time-style=full-iso)

# Each way to a file, with and without the interpreter's twin; the program tells what came of it by its exit code.
forbidden() { # NAME PATTERN FLAGS… -- CODE: refused by either engine
  local name=$1 pattern=$2 flags=()
  shift 2
  while [[ $1 != -- ]]; do flags+=("$1"); shift; done
  check "$name" 3 "$pattern" -- "$tl" run "${flags[@]}" -e "$2"
  check "$name, --interp" 3 "$pattern" -- "$tl" run "${flags[@]}" --interp -e "$2"
}
below="IoError.*it is not below 'inside' .--root"
for path in outside/secret.txt ../outside/secret.txt inside/../outside/secret.txt inside/link.txt inside/folder/secret.txt "$out/outside/secret.txt" /etc/passwd \
  /proc/self/environ /dev/stdin inside/sub/../../outside/secret.txt; do
  forbidden "--root: read_text $path" "$below" --root inside -- "print(read_text(\"$path\"))"
  forbidden "--root: exists $path" "$below" --root inside -- "print(exists(\"$path\"))"
done
for path in outside/made.txt inside/dangling.txt inside/folder/made.txt inside/../made.txt "$out/made.txt" inside/link.txt; do
  forbidden "--root: write_text $path" "$below" --root inside -- "write_text(\"$path\", \"x\")"
done
forbidden "--root: load" "$below" --root inside -- 'let x: f32[_] = load("outside/x.npy")
print(x)'
forbidden "--root: a tensor among several" "$below" --root inside -- 'let x: f32[_] = load("outside/x.npz", "a")
print(x)'
forbidden "--root: save" "$below" --root inside -- 'save("outside/y.npy", [1.0])'
forbidden "--root: a plot" "$below" --root inside -- 'import plot
plot.line([1.0, 2.0], file = "outside/p.svg")'
check "--root: a const" 1 "it is not below 'inside'" -- "$tl" run --root inside -e 'const c: f32[_] = load("outside/x.npy")
print(c)'
check "--root: an import" 1 "module.tl.*it is not below 'inside'" -- "$tl" run --root inside -e 'import "outside/module.tl"
print(module.hidden())'
check "--root: an import of what no program is" 1 "passwd.*it is not below 'inside'" -- "$tl" run --root inside -e 'import "/etc/passwd" as p'
check "nothing outside was touched" 0 "" -- test "$before" = "$(cd outside && ls -l --time-style=full-iso)"

allowed='import "inside/module.tl"
print(module.helper(), read_text("inside/a.txt"), read_text("inside/sub/../good.txt"), exists("inside/none"))
let x: f32[_] = load("inside/x.npy")
save("inside/y.npy", x + 1.0)
save("inside/y.npy", x + 2.0)
write_text("inside/sub/c.txt", "made")
print(read_text("inside/sub/c.txt"), exists("inside/y.npy"))'
check "--root: what is below is the program's" 0 "^7 fine fine false" -- "$tl" run --root inside -e "$allowed"
check "--root: as an absolute path" 0 "^7 fine fine false" -- "$tl" run --root "$out/inside" -e "$allowed"
check "--root: by the environment" 0 "^7 fine fine false" -- env TL_ROOT=inside "$tl" run -e "$allowed"
check "--root: in the reference interpreter" 0 "^made true" -- "$tl" run --interp --root inside -e "$allowed"
check "--root: the folder itself" 0 "^fine$" -- sh -c "cd inside && '$tl' run --root . -e 'print(read_text(\"a.txt\"))'"
check "--root: upwards and down again" 0 "^below$" -- sh -c "cd inside/sub && '$tl' run --root .. -e 'print(read_text(\"../sub/b.txt\"))'"
check "--root: no such folder" 2 "root nowhere.*no such file" -- "$tl" run --root nowhere -e 'print(1)'
check "--root: a file is no folder" 2 "root x.csv" -- "$tl" run --root x.csv -e 'print(1)'

echo 'fn main(x: f32[n]) -> f32[n] = x * 2.0' >twice.tl
check "--root: files of the command line are the user's" 0 "" -- "$tl" run --root inside --trace trace.json twice.tl outside/x.npy -o outside/twice.npy
check "--root: and are written" 0 "^2.0 true$" -- "$tl" -e 'let x: f32[_] = load("outside/twice.npy")
print(x[0], exists("trace.json"))'
check "--root: kernels go to the cache, and come from it" 0 "from disk 1 of 1" -- \
  sh -c "export TL_CACHE_DIR='$out/cache/new'; for i in 1 2; do '$tl' run --root inside --stats twice.tl outside/x.npy; done"

none="IoError.*the program may use no files"
forbidden "--no-files: read_text" "$none" --no-files -- 'print(read_text("inside/a.txt"))'
forbidden "--no-files: exists" "$none" --no-files -- 'print(exists("inside/a.txt"))'
forbidden "--no-files: write_text" "$none" --no-files -- 'write_text("none.txt", "x")'
forbidden "--no-files: save" "$none" --no-files -- 'save("none.npy", [1.0])'
forbidden "--no-files: load" "$none" --no-files -- 'let x: f32[_] = load("inside/x.npy")
print(x)'
forbidden "--no-files: a plot" "$none" --no-files -- 'import plot
plot.line([1.0, 2.0], file = "none.svg")'
forbidden "--no-files is the stricter" "$none" --root inside --no-files -- 'print(read_text("inside/a.txt"))'
forbidden "--no-files is the stricter, first" "$none" --no-files --root inside -- 'print(read_text("inside/a.txt"))'
check "--no-files: an import" 1 "the program may use no files" -- "$tl" run --no-files -e 'import "inside/module.tl"'
check "--no-files: modules of the library" 0 "^-1.99999" -- "$tl" run --no-files -e 'import linalg
print(linalg.det([[1.0, 2.0], [3.0, 4.0]]))'
check "--no-files: files of the command line are the user's" 0 "^$" -- "$tl" run --no-files twice.tl inside/x.npy -o thrice.npy
check "--no-files: and are written" 0 "^4.0" -- "$tl" -e 'let x: f32[_] = load("thrice.npy")
print(x[0])'
check "--no-files: standard input and output" 0 "^you said hello$" -- sh -c "echo hello | '$tl' run --no-files -e 'print(\"you said {read_line()}\")'"
check "--no-files: in tests" 1 "the program may use no files" -- sh -c "echo 'test \"t\" { assert exists(\"a\") }' >t.tl && '$tl' test --no-files t.tl"
echo 'fn main() { print(read_text("outside/secret.txt")) }' >reads.tl
check "of an executable" 3 "$below" -- sh -c "'$tl' build reads.tl -o reads && ./reads --root inside"
check "of an executable, none" 3 "$none" -- ./reads --no-files
check "of an executable without flags" 0 "^secret" -- ./reads
check "in the REPL" 0 "it is not below 'inside'" -- sh -c "printf 'print(read_text(\"outside/secret.txt\"))\n' | '$tl' repl --root inside"

finish
