#!/usr/bin/env bash
# Makes docs/images/{neovim,helix,emacs}.png, the pictures of docs/editors.md, again: editors/screenshots.sh TL. Needs Neovim 0.12, Helix,
# Emacs 29.1 or later, Xvfb, xterm, xdotool, ImageMagick, pngquant, Python, Bison and a C compiler. The editors see a home of their own.
set -euo pipefail
tl=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
pictures=$PWD/docs/images here=$PWD/editors
export HOME DISPLAY=:83 LANG=C.UTF-8 COLORTERM=truecolor NO_AT_BRIDGE=1
HOME=$(mktemp -d)
mkdir -p "$HOME"/{bin,fit,.config/nvim,.config/helix/runtime/{grammars,queries/tl}} "$HOME"/.local/share/nvim/site/{parser,queries,pack/tl/start}
ln -s "$tl" "$HOME/bin/tl"
PATH=$HOME/bin:$PATH
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$HOME"' EXIT

# ---- as docs/editors.md says
cp -r "$here/vim" "$HOME/.local/share/nvim/site/pack/tl/start/tl"
"$here/tree-sitter/pack.py" "$HOME/tree-sitter-tl.tar.gz" >"$HOME/log" && tar xf "$HOME/tree-sitter-tl.tar.gz" -C "$HOME"
(cd "$HOME" && cc -Os -shared -fPIC -I tree-sitter-tl/src tree-sitter-tl/src/parser.c tree-sitter-tl/src/scanner.c -o tl.so)
cp "$HOME/tl.so" "$HOME/.local/share/nvim/site/parser/"
cp -r "$HOME/tree-sitter-tl/queries" "$HOME/.local/share/nvim/site/queries/tl"
cp "$HOME/tl.so" "$HOME/.config/helix/runtime/grammars/"
cp "$HOME"/tree-sitter-tl/helix/*.scm "$HOME/tree-sitter-tl/queries/locals.scm" "$HOME/.config/helix/runtime/queries/tl/"
awk '/^```toml/ { inside = 1; next } /^```/ { inside = 0 } inside' docs/editors.md >"$HOME/.config/helix/languages.toml"
cat >"$HOME/.config/helix/config.toml" <<'END'
theme = "onedark"
[editor]
end-of-line-diagnostics = "hint"
inline-diagnostics = { cursor-line = "hint", other-lines = "error" }
lsp = { display-inlay-hints = true }
END
cat >"$HOME/.config/nvim/init.lua" <<'END'
vim.o.number, vim.o.termguicolors, vim.o.laststatus, vim.o.shortmess = true, true, 0, "aFI"
vim.o.winborder = "rounded"
vim.cmd.colorscheme("habamax")
vim.lsp.enable("tl")
vim.diagnostic.config({ virtual_lines = true })
vim.api.nvim_create_autocmd("FileType", { pattern = "tl", callback = function() vim.treesitter.start() end })
vim.lsp.inlay_hint.enable(true)
vim.lsp.codelens.enable(true)
END
cat >"$HOME/init.el" <<END
(load "$here/emacs/tl-mode.el")
(add-hook 'tl-mode-hook #'eglot-ensure)
(setq inhibit-startup-screen t server-name "$HOME/emacs" completions-max-height 9 completion-show-help nil ring-bell-function #'ignore)
(tool-bar-mode -1) (menu-bar-mode -1) (scroll-bar-mode -1) (set-fringe-mode 14) (blink-cursor-mode -1)
(load-theme 'modus-operandi t)
(set-frame-font "DejaVu Sans Mono-11")
(require 'server) (server-start)
END
cd "$HOME/fit"
cat >fit.tl <<'END'
## A line through rows of numbers: what each column weighs.
struct Line[n] { w: f32[n], b: f32 }

## What the line says of each row.
fn predict(l: Line[n], x: f32[rows, n]) -> f32[rows] = x @ l.w + l.b

fn loss(l: Line[n], x: f32[rows, n], y: f32[rows]) -> f32 {
  let difference = predict(l, x) - y
  mean(difference ** 2.0)
}

let x = normal(key(1), [200, 3])
let y = x @ [1.0, -2.0, 0.5] + 0.25
var line = Line(w = zeros([3]), b = 0.0)
for step in 0..300 {
  line -= 0.1 * grad(loss)(line, x, y)
}
#>> line.w
print("loss {loss(line, x, y):.2e}")
END

# picture NAME WIDTH HEIGHT: of the upper left part of the screen
picture() { import -window root -crop "$2x$3+0+0" +repage png:- | pngquant --quality 60-90 --strip 48 - >"$pictures/$1.png"; }
terminal() { xterm -fa "DejaVu Sans Mono" -fs 11 -geometry 100x28+0+0 -b 0 -bw 0 -e "$@" & }
keys() { xdotool type --delay 30 "$1"; sleep "${2:-0.5}"; }

Xvfb :83 -screen 0 1000x640x24 >"$HOME/log" 2>&1 &
sleep 1

# What a line `#>>` is, inferred sizes, the type of the name under the cursor.
terminal nvim fit.tl
sleep 3
keys '18G:lua vim.lsp.codelens.run()' 0.2
xdotool key Return
sleep 3
keys '16G0wK' 2
picture neovim 900 500
kill %2
sleep 0.5

# A message with its hint, and what a quick fix would do.
terminal hx fit.tl
sleep 3
keys 'geolet scaled = x * y' 2
xdotool key Escape
sleep 0.5
keys '20ggfx a' 2
picture helix 900 500
kill %3
sleep 0.5

# Completion behind a dot, with types.
emacs -q -l "$HOME/init.el" -geometry 98x27+0+0 fit.tl >"$HOME/log" 2>&1 &
sleep 6
emacsclient -s "$HOME/emacs" -e '(with-selected-window (get-buffer-window "fit.tl")
  (goto-char (point-max)) (insert "let scaled = x * y[:, new]\nline.") (completion-at-point) nil)' >"$HOME/log"
sleep 3
picture emacs 900 485
