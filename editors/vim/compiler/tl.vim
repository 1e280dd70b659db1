" :make checks the file, and :cnext goes through what is wrong.
let current_compiler = "tl"
CompilerSet makeprg=tl\ check\ %:S
CompilerSet errorformat=%f:%l:%c:\ %trror[%*[^]]]:\ %m,%f:%l:%c:\ %tarning[%*[^]]]:\ %m,%-G%.%#
