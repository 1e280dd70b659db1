#!/usr/bin/env bash
# What editors/ has: tests/editors.sh TL [FILTER]. Colours are compared with the compiler's lexer, trees of tree-sitter with its syntax trees;
# what Vim, Node and PyPI are needed for is skipped where they are not.
set -uo pipefail
tl=$(realpath "$1") filter=${2:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source tests/check.sh
needs python3
patience=300
[[ -z ${TL_SANITIZED:-} ]] || { echo "SKIPPED: all of editors.sh (colours are the same with a sanitizer)"; exit 77; }
[[ -d editors ]] || { echo "SKIPPED: all of editors.sh (bundles do without)"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# ---- VS Code
check "TextMate colours as the lexer" 0 '(^| )0 failed' -- python3 tests/editors/grammar.py "$tl"
check "its files are JSON" 0 -- python3 -c 'import json, sys
for name in sys.argv[1:]: json.load(open(name))' editors/vscode/package.json editors/vscode/language-configuration.json
version=$(sed -nE 's/^project\(tl .*VERSION ([0-9.]+)\).*/\1/p' CMakeLists.txt)
check "its version is tl's" 0 "\"version\": \"$version\"" -- cat editors/vscode/package.json
filter="" check "it is packed" 0 'tl.vsix' -- editors/vscode/pack.py "$out/tl.vsix"
for file in '\[Content_Types\].xml' extension.vsixmanifest extension/package.json extension/extension.js extension/language-configuration.json \
  extension/syntaxes/tl.tmLanguage.json; do
  check "it carries $file" 0 "^$file " -- python3 -m zipfile -l "$out/tl.vsix"
done
check "its manifests are XML" 0 "$version" -- python3 -c 'import sys, zipfile, xml.etree.ElementTree as tree
archive = zipfile.ZipFile(sys.argv[1])
tree.fromstring(archive.read("[Content_Types].xml"))
print(next(e.get("Version") for e in tree.fromstring(archive.read("extension.vsixmanifest")).iter() if e.tag.endswith("Identity")))' "$out/tl.vsix"
check "the same files give the same bytes" 0 '^$' -- sh -c "editors/vscode/pack.py '$out/again.vsix' >'$out/log'; cmp '$out/tl.vsix' '$out/again.vsix'"
check "it cannot be written" 1 'pack.py: .*/nowhere/x.vsix' -- editors/vscode/pack.py /nowhere/x.vsix
if command -v node >/dev/null; then
  check "its client" 0 '(^| )0 failed' -- node tests/editors/client.js "$PWD/tests/editors/server.js"
else
  echo "SKIPPED: the client of VS Code (there is no node)"
fi

# ---- Vim
if command -v vim >/dev/null && vim --version | grep -q '+syntax'; then
  check "Vim colours as the lexer" 0 '(^| )0 failed' -- python3 tests/editors/grammar.py "$tl" --vim
  cat >"$out/type.vim" <<END
set runtimepath=$PWD/editors/vim,\$VIMRUNTIME nomodeline
filetype plugin indent on
edit $out/typed.tl
execute "normal ifn f(x) {\<CR>if x {\<CR>g(\<CR>1)\<CR>}\<CR>}\<CR>f(2)"
write
call writefile([&filetype, &commentstring, &makeprg], "$out/options")
compiler! tl
cgetexpr ["$out/typed.tl:2:6: error[UnknownName]: there is no name", "  2 | x", "    | ^"]
call writefile([len(getqflist()) . " at " . getqflist()[0].lnum . ":" . getqflist()[0].col . " " . getqflist()[0].text], "$out/errors")
qall!
END
  vim -N -u NONE -i NONE -n -es -S "$out/type.vim" </dev/null
  check "Vim indents" 0 '^fn f\(x\) \{@  if x \{@    g\(@      1\)@  \}@\}@f\(2\)@$' -- sh -c "tr '\n' '@' <'$out/typed.tl'"
  check "Vim knows the kind of file" 0 '^tl@# %s@tl check %' -- sh -c "tr '\n' '@' <'$out/options'"
  check "Vim reads messages" 0 '^1 at 2:6 there is no name$' -- cat "$out/errors"
else
  echo "SKIPPED: Vim (there is none with colours)"
fi

# ---- Emacs
if command -v emacs >/dev/null && emacs -Q --batch --eval '(unless (version<= "29.1" emacs-version) (kill-emacs 1))' 2>/dev/null; then
  cat >"$out/type.el" <<END
(load "$PWD/editors/emacs/tl-mode.el")
(find-file "$out/typed_in_emacs.tl")
(insert "fn f(x) {\nlet s = \"(\" # {\nif x {\ng(\n1)\n}\n}\nf(2)\n")
(indent-region (point-min) (point-max))
(save-buffer)
(font-lock-ensure)
(defun face (text) (goto-char (point-min)) (search-forward text) (get-text-property (1- (point)) 'face))
(comment-region (progn (goto-char (point-max)) (forward-line -1) (point)) (point-max))
(princ (format "%s %s\n%s" major-mode (buffer-substring (point) (1- (point-max))) (mapcar #'face '("fn" "fn f" "let s" "\"(" "# {"))))
END
  check "Emacs knows, comments and colours" 0 \
    'tl-mode # f\(2\)@\(font-lock-keyword-face font-lock-function-name-face font-lock-variable-name-face font-lock-string-face font-lock-comment-face\)' -- \
    sh -c "emacs -Q --batch -l '$out/type.el' 2>/dev/null | tr '\n' '@'"
  check "Emacs indents" 0 '^fn f\(x\) \{@  let s = "\(" # \{@  if x \{@    g\(@      1\)@  \}@\}@f\(2\)@$' -- \
    sh -c "tr '\n' '@' <'$out/typed_in_emacs.tl'"
else
  echo "SKIPPED: Emacs (there is none of 29.1 or later)"
fi

# ---- tree-sitter
packer=editors/tree-sitter/pack.py
if ! command -v bison >/dev/null || ! command -v cc >/dev/null; then
  echo "SKIPPED: the grammar of tree-sitter (there is no bison, or no cc)"
else
  check "the tree-sitter grammar is packed" 0 'tl.tar.gz' -- "$packer" "$out/tl.tar.gz"
  for file in LICENSE README.md tree-sitter.json src/{parser,scanner}.c src/{abi,language,tokens}.h queries/{folds,highlights,indents,locals}.scm \
    helix/highlights.scm; do
    check "it has $file" 0 "^tree-sitter-tl/$file$" -- tar tf "$out/tl.tar.gz"
  done
  check "the same grammar gives the same bytes" 0 '^$' -- sh -c "$packer '$out/again.tar.gz' >'$out/log'; cmp '$out/tl.tar.gz' '$out/again.tar.gz'"
  check "it cannot be packed" 1 'pack.py: .*/nowhere/x.tar.gz' -- "$packer" /nowhere/x.tar.gz
  check "tree-sitter's version is tl's" 0 "\"version\": \"$version\"" -- cat editors/tree-sitter/tree-sitter.json
  status=0
  python=$(tests/environment.sh editors) || status=$?
  if ((status == 0)); then
    check "trees as the compiler's" 0 '(^| )0 failed' -- "$python" tests/editors/trees.py "$tl"
  elif ((status != 77)); then
    check "the environment of trees.py" 0 -- false
  fi
fi
finish
