" The tensor language tl.
if exists("b:current_syntax")
  finish
endif

syntax keyword tlKeyword let var const fn struct import
syntax keyword tlControl if else for in while break continue return assert
syntax keyword tlOperatorWord and or not
syntax keyword tlConstant true false none new
syntax keyword tlType bool u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64 c64 c128 str List
" Words that are names elsewhere.
syntax match tlKeyword "\<test\ze\s\+\""
syntax match tlKeyword "\<export\ze\s\+fn\>"
syntax match tlKeyword "\<as\ze\s\+\%(\h\|[^\x00-\x7f]\)"
syntax match tlControl "\<on\ze\s\+\%(\h\|[^\x00-\x7f]\)"
syntax match tlFunction "\%(\<fn\s\+\)\@<=\%(\h\|[^\x00-\x7f]\)\%(\w\|[^\x00-\x7f]\)*"
syntax match tlStruct "\%(\<struct\s\+\)\@<=\%(\h\|[^\x00-\x7f]\)\%(\w\|[^\x00-\x7f]\)*"
" Behind a dot every word is a name; not behind two.
syntax match tlMember "\%(\%(^\|[^.]\)\.\)\@<=\%(\h\|[^\x00-\x7f]\)\%(\w\|[^\x00-\x7f]\)*"

syntax match tlNumber "\<\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][+-]\?\d[0-9_]*\)\?i\?"
syntax match tlNumber "\<0[xXoObB]\w\+"

syntax match tlComment "#.*$" contains=tlTodo,@Spell
syntax match tlDoc "##.*$" contains=@Spell
syntax keyword tlTodo TODO FIXME contained

" Code stands between braces in texts, with texts in it.
syntax cluster tlCode contains=tlKeyword,tlControl,tlOperatorWord,tlConstant,tlType,tlMember,tlNumber,tlString,tlLong,tlBrackets
syntax region tlString start=+"+ end=+"+ end=+$+ contains=tlEscape,tlInserted,@Spell
syntax region tlLong start=+"""+ end=+"""+ contains=tlEscape,tlInserted,@Spell
syntax match tlEscape +{{\|}}\|\\[ntr0"\\]\|\\u{[^}"]*}+ contained
syntax region tlInserted matchgroup=tlBrace start="{" end="}" end="$" contained contains=@tlCode,tlFormat
syntax region tlBrackets start="[\[({]" end="[\])}]" end="$" contained contains=@tlCode
syntax match tlFormat ":[^}"]*\ze}" contained

syntax sync fromstart

highlight default link tlKeyword Keyword
highlight default link tlControl Statement
highlight default link tlOperatorWord Operator
highlight default link tlConstant Constant
highlight default link tlType Type
highlight default link tlFunction Function
highlight default link tlStruct Type
highlight default link tlNumber Number
highlight default link tlComment Comment
highlight default link tlDoc SpecialComment
highlight default link tlTodo Todo
highlight default link tlString String
highlight default link tlLong String
highlight default link tlEscape SpecialChar
highlight default link tlBrace Delimiter
highlight default link tlFormat Special

let b:current_syntax = "tl"
