[(block) (fields) (parameters) (arguments) (list) (tuple) (comprehension) (subscripts) (string)] @fold
[(comment) (doc_comment)]+ @fold
(import_statement)+ @fold
