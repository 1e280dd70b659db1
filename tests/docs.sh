#!/usr/bin/env bash
# The programs of the tutorial, of the language reference and of the pages on training, derivatives, tables, plots, speed, an afternoon and the recipes: a block ```tl runs and must print what
# the block after it says, and so must a block ```sh, which is a script; of a block ```tl error the message must hold the next block's line. tests/docs.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk diff
out=$(mktemp -d)
bin=$(mktemp -d) # scripts call it tl
trap 'rm -rf "$out" "$bin"' EXIT
ln -s "$tl" "$bin/tl"

for page in docs/tutorial.md docs/language.md docs/training.md docs/derivatives.md docs/tables.md docs/plots.md docs/fast.md docs/afternoon.md docs/recipes.md; do
  rm -f "$out"/*
  awk -v out="$out" '
    /^```(tl|sh)/ { n += 1; file = sprintf("%s/%03d.%s", out, n, $1 == "```sh" ? "sh" : $2 == "error" ? "error" : "tl"); next }
    /^```$/ { if (file == "" && expects) { file = sprintf("%s/%03d.want", out, n); printf "" > file; expects = 0 } else { expects = file !~ /want/; file = "" } next }
    file != "" { print > file }' "$page"
  programs=$(find "$out" -mindepth 1 -maxdepth 1 | grep -c -e '\.tl$' -e '\.error$' -e '\.sh$')
  check "$page: every program says what it prints" 0 -- test "$programs" = "$(find "$out" -mindepth 1 -maxdepth 1 | grep -c '\.want$')"
  for want in "$out"/*.want; do
    name=$(basename "$want" .want)
    if [[ -f $out/$name.sh ]]; then
      (cd "$out" && PATH=$bin:$PATH bash "$name.sh") >"$out/$name.got" 2>&1
      check "$page, script $name" 0 -- diff "$out/$name.got" "$want"
      continue
    fi
    if [[ -f $out/$name.tl ]]; then
      (cd "$out" && "$tl" run "$name.tl") >"$out/$name.got" 2>&1 # in a folder of its own: it may write files
      check "$page, program $name" 0 -- diff "$out/$name.got" "$want"
    else
      check "$page, program $name is refused" 0 -- grep -qF -- "$(cat "$want")" <("$tl" run "$out/$name.error" 2>&1)
    fi
  done
done
finish
