[(source_file) (function_definition) (lambda) (block) (comprehension) (for_statement) (struct_definition)] @local.scope

(function_definition name: (identifier) @local.definition.function)
(struct_definition name: (identifier) @local.definition.type)
(type_parameter name: (identifier) @local.definition.type)
(import_statement module: (identifier) @local.definition.import)
(import_statement alias: (identifier) @local.definition.import)
(parameter name: (identifier) @local.definition.parameter)
(let_declaration pattern: (identifier) @local.definition.var)
(var_declaration pattern: (identifier) @local.definition.var)
(const_declaration name: (identifier) @local.definition.constant)
(index_clause pattern: (identifier) @local.definition.var)
(tuple_pattern (identifier) @local.definition.var)
(parenthesized_pattern (identifier) @local.definition.var)
(field_definition name: (identifier) @local.definition.field)

(identifier) @local.reference
