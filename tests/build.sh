#!/usr/bin/env bash
# Executables that `tl build` makes: tests/build.sh TL [FILTER]. They do what `tl run` does, to the byte, and need nothing.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

echo 'print("hello")' >"$out/hello.tl"

# ---- what is made
check "build" 0 -- "$tl" build "$out/hello.tl" -o "$out/hello"
check "hello" 0 "^hello$" -- "$out/hello"
[[ -n ${TL_SANITIZED:-} ]] || check "hello is at most 1 MB" 0 -- test "$(stat -c %s "$out/hello")" -le 1000000
check "the name without .tl" 0 -- sh -c "cd '$out' && mkdir -p here && cd here && '$tl' build ../hello.tl && ./hello"
check "from standard input" 0 "^3$" -- sh -c "echo 'print(1 + 2)' | '$tl' build - -o '$out/three' && '$out/three'"
for sample in lenet gpt; do
  patience=$((3 * patience)) check "the same bytes twice: $sample" 0 -- \
    sh -c "'$tl' build samples/$sample.tl -o '$out/$sample' && '$tl' build --no-cache samples/$sample.tl -o '$out/again' && cmp '$out/$sample' '$out/again'"
done
[[ -n ${TL_SANITIZED:-} ]] || check "LeNet is at most 2 MB" 0 -- test "$(stat -c %s "$out/lenet")" -le 2000000
for form in "llvm:define .*@" "asm:vmovups|vmulss|ret" "cuda:__global__" "ir:kernel" "bytecode:launch"; do
  check "--emit ${form%%:*}" 0 "${form#*:}" -- "$tl" build samples/softmax.tl --emit "${form%%:*}"
done
check "--emit obj" 0 -- sh -c "'$tl' build samples/softmax.tl --emit obj -o '$out/softmax.o' && test -s '$out/softmax.o'"
check "--emit to a file" 0 -- sh -c "'$tl' build samples/softmax.tl --emit asm -o '$out/softmax.s' && test -s '$out/softmax.s'"
for target in native x86-64-v3; do
  check "--target $target" 0 "^hello$" -- sh -c "'$tl' build '$out/hello.tl' --target $target -o '$out/t' && '$out/t'"
done

# ---- what is wrong
check "no such file" 2 "No such file" -- "$tl" build "$out/none.tl"
check "no file" 2 "FILE is required" -- "$tl" build
check "an unknown processor" 2 "LLVM knows no processor 'm68k'" -- "$tl" build "$out/hello.tl" --target m68k -o "$out/t"
check "an old processor" 2 "older than x86-64-v3" -- "$tl" build "$out/hello.tl" --target nehalem -o "$out/t"
if grep -q "no such target" <("$tl" build samples/softmax.tl --target aarch64 --emit obj -o "$out/arm.o" 2>&1); then
  check "AArch64 in builds without it" 2 "no such target .*TL_AARCH64" -- "$tl" build samples/softmax.tl --target aarch64 --emit obj -o "$out/arm.o"
else
  check "AArch64: an object file" 0 -- "$tl" build samples/lenet.tl --target aarch64 --emit obj -o "$out/arm.o"
  check "AArch64: its machine" 0 "^ *183$" -- od -An -tu2 -j18 -N2 "$out/arm.o"
  check "AArch64: assembler" 0 "fmul.*v[0-9]+\.4s" -- "$tl" build samples/softmax.tl --target aarch64 --emit asm
  check "AArch64: no executable" 2 "for x86-64 alone" -- "$tl" build "$out/hello.tl" --target aarch64 -o "$out/t"
  check "AArch64: no library" 2 "for x86-64 alone" -- "$tl" build --lib "$out/hello.tl" --target aarch64 -o "$out/t"
fi
check "no such folder" 2 "cannot write '$out/no/t'" -- "$tl" build "$out/hello.tl" -o "$out/no/t"
check "a folder" 2 "that is a folder" -- "$tl" build "$out/hello.tl" -o "$out"
check "the program itself" 2 "that is the program itself" -- "$tl" build "$out/hello.tl" -o "$out/hello.tl"
check "the program is still there" 0 "print" -- cat "$out/hello.tl"
[[ -c /dev/full ]] && check "a full disk" 2 "no space left" -- "$tl" build "$out/hello.tl" -o /dev/full
echo 'print(x)' >"$out/wrong.tl"
check "a wrong program" 1 "UnknownName" -- "$tl" build "$out/wrong.tl" -o "$out/wrong"
check "nothing is left of it" 0 -- test ! -e "$out/wrong"
check "nothing is left in the folder for temporary files" 0 -- sh -c "mkdir -p '$out/tmp' && TMPDIR='$out/tmp' '$tl' build '$out/hello.tl' -o '$out/t' && test -z \"\$(ls '$out/tmp')\""
check "no folder for temporary files" 2 "temporary files '$out/none'" -- env TMPDIR="$out/none" "$tl" build "$out/hello.tl" -o "$out/t"
check "nothing is left when it is interrupted" 0 -- sh -c "TMPDIR='$out/tmp' timeout -s INT 0.4 '$tl' build --no-cache samples/gpt.tl -o '$out/cut'; test -z \"\$(ls '$out/tmp')\""
check "a result that is none to a file" 2 "this program has no result" -- "$out/hello" -o "$out/r.npy"
check "nobody listens" 3 -- sh -c "'$out/hello' >&- 2>&-"

# ---- the command line of an executable
cat >"$out/args.tl" <<'E'
## What it is for.
fn main(
  ## how often
  count: i64,
  name: str = "you",
  threads: i64 = 1,
  sync: bool = false,
) -> i64 {
  for i in 0..count { print("{name} {threads} {sync}") }
  count
}
E
command -v python3 >/dev/null && check "a build says its stage at a terminal, and takes it away" 0 "compiling [0-9]+ kernels?, and linking.*K\$" -- \
  bash -c "python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' '$tl' build '$out/args.tl' -o '$out/args' | tr '\r\n' '  ' | sed 's/ *$//'"
check "build with arguments" 0 -- "$tl" build "$out/args.tl" -o "$out/args"
check "help" 0 "--count i64 +how often" -- "$out/args" --help
check "help: of every program" 0 "--memory-limit SIZE" -- "$out/args" --help
check "arguments" 0 "^me 1 false" -- "$out/args" --count 1 --name me
check "a parameter goes before a flag of its name" 0 "^you 7 true" -- "$out/args" --count 1 --threads 7 --sync
check "flags have a name that is theirs" 0 "^threads +2$" -- "$out/args" --count 1 --tl-threads 2 --tl-stats
check "flags from the environment" 0 "^threads +1$" -- env TL_THREADS=1 TL_STATS=1 "$out/args" --count 1
check "a wrong flag in the environment" 2 "not a number from 1 to 1024" -- env TL_THREADS=no "$out/args" --count 1
check "a missing argument" 2 "missing --count" -- "$out/args"
check "a wrong argument" 2 "'x' is not an i64" -- "$out/args" --count x
check "an unknown flag" 2 "unknown option --nope" -- "$out/args" --count 1 --nope
check "a flag without its value" 2 "--tl-threads needs a value" -- "$out/args" --count 1 --tl-threads
check "a result to a file" 0 "^3$" -- sh -c "'$out/args' --count 3 -o '$out/r.npy' >'$out/text' && '$tl' run -e 'let x: i64 = load(\"$out/r.npy\")
print(x)'"
check "a timeline" 0 -- sh -c "'$out/args' --count 1 --trace '$out/trace.json' && grep -q traceEvents '$out/trace.json'"

# ---- messages and exit codes are those of `tl run`
cat >"$out/fails.tl" <<'E'
fn at(x: f32[n], i: i64) -> f32 = x[i]
fn main(i: i64 = 0, code: i64 = 0) {
  print("before")
  if code > 0 { exit(code) }
  print(at([1.0, 2.0], i))
}
E
"$tl" build "$out/fails.tl" -o "$out/fails"
# as_run FLAGS ARGUMENTS…
as_run() {
  local flags=$1
  shift
  # shellcheck disable=SC2086
  "$tl" run $flags "$out/fails.tl" "$@" >"$out/1" 2>"$out/2"
  local first=$?
  # shellcheck disable=SC2086
  "$out/fails" "$@" $flags >"$out/3" 2>"$out/4"
  local second=$?
  cmp "$out/1" "$out/3" && cmp "$out/2" "$out/4" && ((first == second))
}
export -f as_run
export tl out
check "as tl run: fine" 0 -- bash -c 'as_run "" --i 1'
check "as tl run: a failure" 0 -- bash -c 'as_run "" --i 5'
check "as tl run: a failure is there" 3 "fails.tl:1:37: error.IndexOutOfRange" -- "$out/fails" --i 5
check "as tl run: exit" 0 -- bash -c 'as_run "" --code 4'
check "as tl run: a wrong argument" 0 -- bash -c 'as_run "" --i x'
check "as tl run: JSON" 0 -- bash -c 'as_run "--message-format json" --i 5'
check "a closed pipe" 3 "standard output" -- sh -c "'$out/fails' --i 0 >&-"

# ---- samples
# sample NAME ARGUMENTS…: prints and saves what `tl run` does.
sample() {
  local name=$1 first
  shift
  local program=$out/${name##*/}
  check "sample $name: build" 0 -- "$tl" build "samples/$name.tl" -o "$program"
  check "sample $name: run" 0 -- sh -c '"$@" >"$0"' "$out/1" "$tl" run "samples/$name.tl" "${@//RESULT/$out/first}"
  check "sample $name: executable" 0 -- sh -c '"$@" >"$0"' "$out/2" "$program" "${@//RESULT/$out/second}"
  check "sample $name: the same text" 0 -- sh -c "sed 's|$out/first|$out/second|g' '$out/1' | cmp - '$out/2'"
  for first in "$out"/first*; do
    [[ -e $first ]] && check "sample $name: the same ${first##*/}" 0 -- cmp "$first" "$out/second${first#"$out/first"}"
  done
  rm -f "$out"/first* "$out"/second*
}
sample softmax samples/data/scores.npy --temperature 2 -o RESULT.npy
sample kmeans samples/data/points.npy --k 3 -o RESULT.npy
sample edges samples/data/house.png -o RESULT.png
sample blur samples/data/house.png -o RESULT.jpg
sample heat --n 17 -o RESULT.npz
sample mandelbrot --width 60 --height 40 --limit 50 -o RESULT.png
sample pagerank samples/data/links.npy -o RESULT.csv
sample life --glider --size 12 --steps 20 -o RESULT.txt
sample clean samples/data/weather.csv -o RESULT.csv.gz
sample edit_distance --a kitten --b sitting
sample text_stats --path README.md
sample newton --plot_file RESULT.svg
sample mixture samples/data/points.npy --plot_file RESULT.svg
sample ode --plot_file RESULT.svg
sample option
sample data/generate --count 300 --to RESULT
digits=("$out/digits-images.idx.gz" "$out/digits-labels.idx.gz")
check "digits" 0 -- "$tl" run samples/data/generate.tl --count 1500 --to "$out/digits"
sample classify "${digits[@]}" --epochs 1 --plot_file RESULT.svg
sample pca "${digits[@]}" --plot_file RESULT.png
sample mlp "${digits[@]}" --epochs 1 --to RESULT.npz --plot_file RESULT.svg
sample lenet "${digits[@]}" --epochs 1 --to RESULT.safetensors --plot_file RESULT.svg
sample gpt --steps 4 --to RESULT.safetensors --plot_file RESULT.svg

# ---- constants from files stand in the executable
check "weights" 0 -- sh -c "cd '$out' && '$tl' run -e 'save(\"w.npy\", uniform(key(1), [1000, 2000])); save(\"b.npz\", ([1.0, 2.0], 3))'"
cat >"$out/embeds.tl" <<'E'
const w = load("w.npy")
const pair: (f32[n], i64) = load("b.npz")
fn main(i: i64 = 3) { print(w.shape, w[i, i], pair[0], pair[1]) }
E
check "constants" 0 "^\(1000, 2000\) 0\.[0-9]+ \[1\. 2\.\] 3" -- sh -c "cd '$out' && '$tl' run embeds.tl | tee expected"
check "constants: build" 0 -- sh -c "cd '$out' && '$tl' build embeds.tl -o embeds && mkdir -p away && mv w.npy b.npz away"
check "constants: not needed any more" 0 -- sh -c "cd '$out' && ./embeds | cmp - expected"
check "constants take no memory of tensors" 0 "^peak memory +[0-9]{1,5} bytes" -- "$out/embeds" --stats
check "constants: a missing file" 1 "embeds.tl:1:11: error.IoError.*cannot open 'w.npy'" -- sh -c "cd '$out' && '$tl' build embeds.tl -o t"
echo 'const w: f64[_, _] = load("w.npy"); print(w[0, 0])' >"$out/away/type.tl"
check "constants: another type" 1 "a const is read when the program is compiled: .* holds f32\[1000, 2000\], not f64" -- sh -c "cd '$out/away' && '$tl' build type.tl -o t"
echo 'const w: f32[n, 3] = load("w.npy"); print(w[0, 0])' >"$out/away/size.tl"
check "constants: another size" 1 "axis 1 is 2000, not 3" -- sh -c "cd '$out/away' && '$tl' check size.tl"
cat >"$out/away/within.tl" <<'E'
fn within(x: f32[n]) { const w: f32[n, _] = load("w.npy"); print(w[0, 0] + x[0]) }
fn rows(x: f32[2000]) { const w: f32[m, 2000] = load("w.npy"); w @ x }
print(vmap(rows)(zeros([2, 2000])).shape)
within([1.0, 2.0])
E
check "constants: a size that only the run tells" 3 "axis 0 of const .w. is 1000, where n is written, which is 2" -- sh -c "cd '$out/away' && '$tl' build within.tl -o t && ./t"

# ---- a const is computed when the program is compiled: what computes it is not in the executable or the library
cat >"$out/computes.tl" <<'E'
const w = load("small.npy")
fn power(m: f64[n, n], k: i64) -> f64[n, n] {
  var x = eye(n, f64)
  for i in 0..k { x = x @ m }
  x
}
const P = power(w, 5)
export fn scaled(x: f64[40]) -> f64[40] = P[0] * x
fn main(i: i64 = 3) { print(P[0, 0], P[i, i], P.shape) }
E
(cd "$out" && "$tl" run -e 'save("small.npy", eye(40, f64) * 2.0)')
check "computed consts: build" 0 -- sh -c "cd '$out' && '$tl' build computes.tl -o computes && '$tl' build --lib -g computes.tl -o computed && mkdir -p away && mv small.npy away"
check "computed consts: elsewhere" 0 "^32\.0 32\.0 \(40, 40\)$" -- sh -c "cp '$out/computes' '$out/away' && cd / && '$out/away/computes'"
check "computed consts: no kernel" 0 "^kernels launched +0$" -- "$out/computes" --stats
nm "$out/computed.a" 2>/dev/null | grep -o 'tl_v[34]_[a-z]*' >"$out/computed.kernels"
check "computed consts: the library only scales" 0 "^scaled$" -- sh -c "sed 's/.*_//' '$out/computed.kernels' | sort -u | tr '\n' ' ' | sed 's/ $//'; echo"

# ---- trained networks, in a root with libc and nothing else
check "LeNet as an executable" 0 -- "$out/lenet" "${digits[@]}" --epochs 2 --to "$out/lenet.safetensors" --plot_file "$out/l.svg"
check "GPT as an executable" 0 -- "$out/gpt" --steps 20 --to "$out/gpt.safetensors" --plot_file "$out/l.svg"
check "digit" 0 -- "$tl" build samples/digit.tl -o "$out/digit"
check "writer" 0 -- "$tl" build samples/writer.tl -o "$out/writer"
check "a picture" 0 -- "$tl" run -e "fn main(x: u8[n, h, w], y: u8[n]) { save(\"$out/picture.png\", x[3]) }" "${digits[@]}"
check "an image where none fits" 2 "is a PNG image.*and this program reads none" -- "$out/lenet" "$out/picture.png" "${digits[1]}"
root=$out/root
mkdir -p "$root/lib64" "$root/lib/x86_64-linux-gnu"
cp "$out"/{lenet.safetensors,gpt.safetensors,picture.png,digit,writer,hello} "$root"
for library in libc.so.6 libm.so.6; do cp -L "$(ldd "$out/hello" | awk -v name=$library '$1 == name {print $3}')" "$root/lib/x86_64-linux-gnu/$library"; done
cp -L "$(ldd "$out/hello" | awk '/ld-linux/ {print $1}')" "$root/lib64/"
enter=()
if (($(id -u) != 0)); then enter=(unshare -r); fi
if "${enter[@]}" chroot "$root" /hello >/dev/null 2>&1; then
  check "a prediction in a bare root" 0 "^[0-9] \([0-9.]+ %\), or else" -- "${enter[@]}" chroot "$root" /digit /lenet.safetensors /picture.png
  check "text in a bare root" 0 "^A tensor ." -- "${enter[@]}" chroot "$root" /writer --model /gpt.safetensors --count 40
else
  echo "SKIPPED: a bare root (chroot is not allowed here)"
fi
check "the prediction is that of tl run" 0 -- \
  sh -c "'$out/digit' '$out/lenet.safetensors' '$out/picture.png' >'$out/1' && '$tl' run samples/digit.tl '$out/lenet.safetensors' '$out/picture.png' | cmp - '$out/1'"
finish
