#!/usr/bin/env bash
# What shells and man know of the command line: tests/shell.sh TL [FILTER]. zsh, fish and man are asked where they are.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tests/check.sh
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for shell in bash zsh fish; do
  "$tl" completions $shell >"$out/$shell" || { echo "FAIL: completions $shell"; exit 1; }
done
"$tl" help --man >"$out/tl.1" || { echo "FAIL: help --man"; exit 1; }
touch "$out/program.tl" "$out/other.txt"

# ---- bash, whose function is called as Tab does
# complete LINE: what the last word of it may become.
cat >"$out/complete" <<'END'
cd "${0%/*}" && source ./bash
read -ra COMP_WORDS <<<"$1"
[[ $1 == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tl
echo "${COMPREPLY[*]}"
END
bash_completes() { check "bash: $1" 0 "$2" -- bash "$out/complete" "$1"; }
bash_completes "tl com" '^completions$'
bash_completes "tl pro" '^program\.tl$'
bash_completes "tl --v" '^--version$'
bash_completes "tl run --thr" '^--threads$'
bash_completes "tl run --threads " '^$'
bash_completes "tl completions " '^bash zsh fish$'
bash_completes "tl dump x.tl --stage ty" '^typed$'
bash_completes "tl help re" '^repl$'
bash_completes "tl nosuch --x" '^$'
for command in $("$tl" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p'); do
  check "bash knows tl $command" 0 '(^| )--help( |$)' -- bash "$out/complete" "tl $command --he"
  check "the man page has tl $command" 0 . -- grep -x ".SS tl $command" "$out/tl.1"
  check "tl help $command" 0 '^Usage: tl ' -- "$tl" help "$command"
done

# ---- zsh and fish
if command -v zsh >/dev/null; then
  check "zsh reads it" 0 '^$' -- zsh -n "$out/zsh"
  cp "$out/zsh" "$out/_tl"
  check "zsh loads it" 0 '^_tl$' -- zsh -fc "fpath=('$out' \$fpath); autoload -U compinit; compinit -D -u; echo \$_comps[tl]"
else
  echo "SKIPPED: zsh (there is none)"
fi
if command -v fish >/dev/null; then
  fish_completes() { check "fish: $1" 0 "$2" -- env HOME="$out" fish -c "source '$out/fish'; complete -C '$1'"; }
  fish_completes "tl comple" '^completions'
  fish_completes "tl run --thr" '^--threads'
  fish_completes "tl completions z" '^zsh'
  fish_completes "tl dump x.tl --stage ty" '^typed'
else
  echo "SKIPPED: fish (there is none)"
fi
if command -v groff >/dev/null; then
  check "the man page has no errors" 0 '^$' -- groff -man -ww -K utf8 -Tutf8 -z "$out/tl.1"
else
  echo "SKIPPED: the man page (there is no groff)"
fi

# ---- the commands
check "tl help" 0 '^Subcommands:' -- "$tl" help
check "tl help of nothing" 2 'nosuch not in' -- "$tl" help nosuch
check "tl help of too much" 2 'not expected|takes a command' -- "$tl" help run check
check "tl -V" 0 '^tl [0-9]+\.[0-9]+\.[0-9]+$' -- "$tl" -V
check "completions of no shell" 2 'SHELL is required' -- "$tl" completions
check "completions of another shell" 2 'csh not in \{bash,zsh,fish\}' -- "$tl" completions csh
check "completions to a full device" 3 'No space left' -- sh -c "'$tl' completions bash >/dev/full"
finish
