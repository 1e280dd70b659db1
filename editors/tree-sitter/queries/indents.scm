[
  (block) (fields) (parameters) (arguments) (list) (tuple) (comprehension) (subscripts) (sizes)
  (parenthesized_expression) (tuple_type) (tuple_pattern)
] @indent.begin

["}" "]" ")"] @indent.branch @indent.end
(string) @indent.auto
[(comment) (doc_comment)] @indent.ignore
