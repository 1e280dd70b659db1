if exists("b:did_indent")
  finish
endif
let b:did_indent = 1

setlocal indentexpr=TlIndent(v:lnum) indentkeys=0},0],0),o,O
let b:undo_indent = "setlocal indentexpr< indentkeys<"

" Two blanks more behind a line that opens more brackets than it closes, and back behind one that closes more; a line that begins with
" brackets that close goes back itself.
function! TlIndent(line) abort
  let before = prevnonblank(a:line - 1)
  if before == 0
    return 0
  endif
  let text = substitute(substitute(getline(before), '"\%(\\.\|[^"\\]\)*"', '', 'g'), '#.*$', '', '')
  let inner = substitute(text, '^\s*[\])}]\+', '', '')
  let opened = strlen(substitute(inner, '[^\[({]', '', 'g')) - strlen(substitute(inner, '[^\])}]', '', 'g'))
  let closes = getline(a:line) =~ '^\s*[\])}]'
  return max([0, indent(before) + (opened > 0 ? 1 : opened) * shiftwidth() - (closes ? shiftwidth() : 0)])
endfunction
