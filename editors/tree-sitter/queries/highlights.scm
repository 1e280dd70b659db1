; Names are Neovim's; pack.py has Helix's for them. No two patterns take the same node, so that their order does not matter.

(comment) @comment
(doc_comment) @comment.documentation

(string "\"" @string)
(string_content) @string
(escape_sequence) @string.escape
(format_specifier) @string.special
(interpolation ["{" "}"] @punctuation.special)

(integer) @number
(float) @number.float
(boolean) @boolean
(none) @constant.builtin
(new_axis) @keyword

["let" "var" "const" "test" "on" "assert"] @keyword
"struct" @keyword.type
"fn" @keyword.function
"return" @keyword.return
["if" "else"] @keyword.conditional
["for" "while" "break" "continue"] @keyword.repeat
["import" "as" "export"] @keyword.import
["and" "or" "not" "in"] @keyword.operator
(field_definition mark: (identifier) @attribute)

(function_definition name: (identifier) @function)
(call function: (identifier) @function.call)
(call function: (field name: (identifier) @function.method.call))
(struct_definition name: (identifier) @type)
(type_parameter name: (identifier) @type)
(type_parameter bound: (identifier) @type)
(named_type name: (identifier) @type)
(named_type module: (identifier) @module)
(import_statement [module: (identifier) alias: (identifier)] @module)
(parameter name: (identifier) @variable.parameter)
(named_argument name: (identifier) @variable.parameter)
(field_definition name: (identifier) @variable.member)

["=" "+=" "-=" "*=" "/=" "//=" "%=" "@=" "**=" "==" "!=" "<=" ">=" "+" "-" "*" "/" "//" "%" "@" "**" ".." "->"] @operator
(binary_expression operator: ["<" ">"] @operator)
["," ":" "." ";"] @punctuation.delimiter
["(" ")" "[" "]"] @punctuation.bracket
(block ["{" "}"] @punctuation.bracket)
(fields ["{" "}"] @punctuation.bracket)
(type_parameters ["<" ">"] @punctuation.bracket)
(type_arguments ["<" ">"] @punctuation.bracket)
(parameters ["|" "||"] @punctuation.bracket)
