#!/usr/bin/env bash
# The pages of `tl doc --html`: all there, well-formed, every address and anchor in them resolves, nothing comes from the network,
# and every function of `tl doc --all` has an entry. tests/doc_site.sh TL [FILTER].
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
needs awk
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
site=$out/site

# nothing NAME FILE: a check that passes if the list of problems in FILE is empty
nothing() { check "$1" 0 -- bash -c 'head -n 12 "$1"; test ! -s "$1"' _ "$2"; }

check "the pages are written" 0 "^$site/index.html$" -- "$tl" doc --html "$site"
check "again into the same folder" 0 -- "$tl" doc --html "$site/"
touch "$out/file"
check "a file in the place of the folder" 3 "cannot write '$out/file/index.html'" -- "$tl" doc --html "$out/file"
check "a folder whose parent is not there" 3 "cannot create the folder '$out/no/site'" -- "$tl" doc --html "$out/no/site"
check "a folder and a name" 2 "NAME excludes --html" -- "$tl" doc sum --html "$site"
check "no folder" 2 "FOLDER missing" -- "$tl" doc --html
check "an empty name of a folder" 2 "name of a folder" -- "$tl" doc --html ""
for page in index tutorial language commands errors files random formatting accuracy prelude functions $(cd stdlib && ls *.tl | sed 's/\.tl$//'); do
  check "page $page" 0 -- test -s "$site/$page.html"
done

# One tag or entity a line, with its file; then a stack of open tags. Attributes have quotes; `/>` closes.
for page in "$site"/*.html; do
  awk -v page="$(basename "$page")" '
    { text = text $0 "\n" }
    END {
      while (match(text, /[<&]/)) {
        text = substr(text, RSTART)
        if (text ~ /^&/) {
          if (text !~ /^&(amp|lt|gt|quot|#[0-9]+);/) print page ": a bare & before " substr(text, 2, 20)
          text = substr(text, 2)
          continue
        }
        if (!match(text, /^<\/?[a-z][a-z0-9]*( [a-z-]+="[^"<]*")*( \/)?>/) && !match(text, /^<!DOCTYPE html>/)) {
          print page ": not a tag: " substr(text, 1, 40)
          text = substr(text, 2)
          continue
        }
        tag = substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        name = tag
        gsub(/^<\/?|[ >].*$/, "", name)
        if (tag ~ /^<!/ || tag ~ /\/>$/) continue
        if (tag !~ /^<\//) open[++depth] = name
        else if (depth == 0 || open[depth--] != name) { print page ": " tag " closes " open[depth + 1]; exit }
        if (name == "a" && tag ~ /^<a / && links++ > 0) { print page ": a link in a link: " tag; exit }
        if (tag == "</a>") links = 0
      }
      if (depth > 0) print page ": open at the end: " open[depth]
    }' "$page"
done >"$out/malformed"
nothing "the pages are well-formed" "$out/malformed"

# addresses: PAGE ADDRESS; places: every file, and FILE#ID
for page in "$site"/*.html; do
  name=$(basename "$page")
  grep -oE '(href|src)="[^"]*"' "$page" | sed -E "s/^[a-z]+=\"(.*)\"$/$name \1/"
done >"$out/addresses"
grep -oE '"[a-z]+\.html#[^"]*"' "$site/names.js" | sed -E 's/^"(.*)"$/names.js \1/' >>"$out/addresses"
(cd "$site" && ls && grep -oE ' id="[^"]*"' *.html | sed -E 's/^([^:]*): id="(.*)"$/\1#\2/') >"$out/places"
awk 'NR == FNR { place[$1]; next } { address = $2 ~ /^#/ ? $1 $2 : $2 } !(address in place) { print $1 ": " $2 }' \
  "$out/places" "$out/addresses" >"$out/broken"
nothing "every address resolves" "$out/broken"
check "there are addresses to check" 0 -- test "$(wc -l <"$out/addresses")" -gt 1000
sort "$out/places" | uniq -d >"$out/twice"
nothing "an id stands once in a page" "$out/twice"
grep -nE '(src|href)="[a-z]*:?//|url\(|@import|fetch\(' "$site"/* >"$out/network"
nothing "nothing comes from the network" "$out/network"

# Functions: signatures in the pages' text, and an id in the page of the module.
sed -E 's/<[^>]*>//g' "$site"/*.html | sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g' >"$out/text"
"$tl" doc --all | grep -vE '^( |$|import )' >"$out/functions"
sed 's/  /\n/g' "$out/functions" | awk 'NR == FNR { line[$0]; next } !($0 in line)' "$out/text" - >"$out/missing"
nothing "every signature of tl doc --all is there" "$out/missing"
sed -nE 's/^([a-z0-9_]+)\.([a-z0-9_]+)[<(].*/\1.html#\2/p; s/^([a-z0-9_]+)[<(].*/prelude.html#\1/p' "$out/functions" | sort -u >"$out/entries"
check "there are functions to check" 0 -- test "$(wc -l <"$out/entries")" -gt 150
awk 'NR == FNR { place[$1]; next } !($1 in place)' "$out/places" "$out/entries" >"$out/missing"
nothing "every function has an entry" "$out/missing"
sed 's/.*/"&"/' "$out/entries" | grep -vFf <(grep -oE '"[a-z]+\.html#[^"]*"' "$site/names.js") >"$out/missing"
nothing "the search box knows every function" "$out/missing"

check "code is coloured" 0 -- grep -q '<span class="k">fn</span>' "$site/language.html"
check "what is refused is marked" 0 -- grep -q '<pre class="tl refused">' "$site/tutorial.html"
check "tables are tables" 0 -- grep -q '<th>function</th>' "$site/accuracy.html"
check "code that names a function leads to it" 0 -- grep -q '<a href="prelude.html#permutation"><code>permutation(k, n)</code></a>' "$site/random.html"
for command in run check fmt test dump doc explain; do
  check "the page of commands has tl $command" 0 -- grep -q " id=\"tl-$command\"" "$site/commands.html"
done
check "a page is linked by its title" 0 -- grep -q '<a href="files.html">Files</a> says' "$site/language.html"
check "each section of errors marks what is refused" 0 -- test "$(grep -c '<pre class="tl refused">' "$site/errors.html")" = \
  "$(awk '/^## / { fresh = 1 } /^```tl/ && fresh { n++; fresh = 0 } END { print n }' docs/errors.md)"
for kind in $("$tl" explain); do
  check "the page of errors has $kind" 0 -- grep -q " id=\"$kind\"" "$site/errors.html"
done
finish
