# shellcheck shell=bash
# What it takes before a program does anything: starts, builds and sizes. Sourced by run.sh, which says what $out and $pairs
# are, and has `record`.

least() { sort -g | head -n 1; }

# prepare_programs: hello.tl and a program that embeds 100 MB of weights, in $starts.
prepare_programs() {
  starts=$out/starts
  rm -rf "$starts"
  mkdir -p "$starts"
  g++ -O2 -std=c++20 bench/spawned.cpp -o "$out/spawned"
  export TL_CACHE_DIR=$starts/warm
  echo 'print("hello")' >"$starts/hello.tl"
  build/tl -e "save(\"$starts/w.npy\", normal(key(1), [5000, 5000]))"
  printf 'const w = load("w.npy")\nfn main(i: i64 = 4999) { print(w[i, i]) }\n' >"$starts/weights.tl" # beside it
}

# timed ROW COMMAND…: once, into the row's file. cold ROW COMMAND…: with an empty disk cache.
timed() { "$out/spawned" 1 "${@:2}" >>"$starts/$1.txt"; }
cold() {
  rm -rf "$starts/cold"
  TL_CACHE_DIR=$starts/cold timed "$@"
}

# times ROW LABEL WANTED
times() {
  [[ -s $starts/$1.txt ]] || return 0
  local middle smallest row=${1%.*} column=""
  [[ $1 == *.* ]] && column=${1#*.}
  middle=$(cut -d' ' -f1 "$starts/$1.txt" | median)
  smallest=$(cut -d' ' -f1 "$starts/$1.txt" | least)
  record "$row" "${column:-median}" "$middle"
  record "$row" "${column:+$column }least" "$smallest"
  printf '%-48s %10.2f %10.2f %8s\n' "$2" "$middle" "$smallest" "$3"
}

# peak_of ROW LABEL
peak_of() {
  local kilobytes
  kilobytes=$(cut -d' ' -f2 "$starts/$1.txt" | median)
  record "$1" bytes "$(awk -v k="$kilobytes" 'BEGIN {print k * 1024}')"
  printf '%-48s %10s KiB\n' "peak memory: $2" "$kilobytes"
}

# Milliseconds from starting a process to its end, or to the REPL's first result. The peer does nothing but `import torch`
# (PYTHON=…; left out where there is none).
start() {
  local runs=$((pairs * 4)) peer=0
  prepare_programs
  ${PYTHON:-python3} -c 'import torch' 2>/dev/null && peer=1
  build/tl build "$starts/hello.tl" -o "$starts/hello"
  build/tl build "$starts/weights.tl" -o "$starts/weights"
  build/tl run "$starts/hello.tl" >/dev/null # the cache is warm
  printf '1 + 2\n0\n' >"$starts/input.txt"   # from a pipe the REPL computes an input when it has seen the next line
  for ((i = 0; i < runs; ++i)); do
    cold run_cold build/tl run "$starts/hello.tl"
    timed run_warm build/tl run "$starts/hello.tl"
    timed built "$starts/hello"
    timed weights "$starts/weights"
    "$out/spawned" --first "$starts/input.txt" 1 build/tl repl >>"$starts/repl.txt"
    timed text build/tl -e 'print(1 + 2)'
    if ((peer && i % 4 == 0)); then timed torch "${PYTHON:-python3}" -c 'import torch'; fi
  done
  printf '%-48s %10s %10s %8s\n' "start, $runs times" "median ms" "least ms" "wanted"
  times run_cold "tl run hello.tl, empty disk cache" 60
  times run_warm "tl run hello.tl" 15
  times built "hello, built" 3
  times repl "tl repl, first result" 100
  times text "tl -e 'print(1 + 2)'" 100
  times weights "100 MB of weights, built" ""
  times torch "python -c 'import torch'" ""
  peak_of built "hello, built"
  peak_of weights "100 MB of weights, built"
}

# size_of ROW LABEL WANTED FILE: stripped, and what it needs.
size_of() {
  strip -o "$starts/stripped" "$4"
  record "$1" bytes "$(stat -c %s "$starts/stripped")"
  printf '%-48s %10d %10s   %s\n' "$2" "$(stat -c %s "$starts/stripped")" "$3" \
    "$(ldd "$4" | awk '$2 == "=>" {sub(/\.so.*/, "", $1); printf "%s%s", n++ ? ", " : "", $1}')"
}

# Bytes of what tl makes and of tl itself, and milliseconds of making it.
size() {
  prepare_programs
  local program name
  for ((i = 0; i < pairs; ++i)); do
    for program in "$starts/hello.tl" samples/{lenet,digit,gpt}.tl "$starts/weights.tl"; do
      name=$(basename "$program" .tl)
      cold "$name.cold" build/tl build "$program" -o "$starts/$name"
      ((i)) || build/tl build "$program" -o "$starts/$name"
      timed "$name.warm" build/tl build "$program" -o "$starts/$name"
    done
  done
  build/tl build --lib samples/embed/mlp.tl -o "$starts/mlp"
  printf '%-48s %10s %10s   %s\n' "size" "bytes" "wanted" "needs"
  size_of hello hello 1000000 "$starts/hello"
  size_of lenet lenet 2000000 "$starts/lenet"
  size_of digit digit "" "$starts/digit"
  size_of gpt gpt "" "$starts/gpt"
  size_of weights "100 MB of weights" "" "$starts/weights"
  size_of mlp "embed/mlp, a library: .so" "" "$starts/mlp.so"
  size_of tl tl "" build/tl
  for archive in build/tl[-_]*.{deb,tar.xz}; do
    [[ -f $archive ]] || continue
    if [[ $archive == *.deb ]]; then record deb bytes "$(stat -c %s "$archive")"; else record bundle bytes "$(stat -c %s "$archive")"; fi
    printf '%-48s %10d\n' "${archive#build/}" "$(stat -c %s "$archive")"
  done
  printf '%-48s %10s %10s\n' "tl build, $pairs times" "median ms" "least ms"
  for name in hello lenet digit gpt weights; do
    times "$name.cold" "$name, empty disk cache" ""
    times "$name.warm" "$name" ""
  done
}
