" Vim knows another language by this ending.
autocmd BufRead,BufNewFile *.tl set filetype=tl
