if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s comments=:##,:#
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=0
setlocal suffixesadd=.tl include=^\\s*import
compiler tl

let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< textwidth< suffixesadd< include<"
