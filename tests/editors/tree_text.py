"""A tree of tree-sitter in the words of `tl dump --stage ast`: what the two say of a program is compared as text."""

ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\"}


def word(node):
    return node.text.decode()


def parts(node):
    """The named children, without comments."""
    return [child for child in node.named_children if not child.is_extra]


def of_type(node, *types):
    return [child for child in parts(node) if child.type in types]


def quoted(text):
    special = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return '"%s"' % "".join(special.get(c) or ("\\u{%x}" % ord(c) if c < " " else c) for c in text)


def unescaped(node):
    text = word(node)
    if node.type == "string_content":
        return text.replace("\r\n", "\n")
    if text.startswith("\\u"):
        return chr(int(text[3:-1], 16))
    return text[0] if text in ("{{", "}}") else ESCAPES[text[1]]


def string_parts(node):
    """Texts, and interpolations as they are."""
    found = []
    for part in parts(node):
        if part.type == "interpolation":
            found.append(part)
        elif found and isinstance(found[-1], str):
            found[-1] += unescaped(part)
        else:
            found.append(unescaped(part))
    return found


class Writer:
    def __init__(self):
        self.indent = 0

    def text(self, node):
        return getattr(self, node.type)(node)

    def all(self, nodes):
        return "".join(" " + self.text(node) for node in nodes)

    def joined(self, nodes):
        return " ".join(self.text(node) for node in nodes)

    def part(self, node, field, before="", otherwise=""):
        child = node.child_by_field_name(field)
        return before + self.text(child) if child else otherwise

    def file(self, node):
        return "".join(self.text(statement) + "\n" for statement in parts(node))

    def statements(self, nodes):
        self.indent += 2
        out = "(do" + "".join("\n" + " " * self.indent + self.text(node) for node in nodes)
        self.indent -= 2
        return out + ")"

    def block(self, node):
        return self.statements(parts(node))

    # ---- statements

    def assignment(self, node):
        return "(= %s %s)" % (self.part(node, "left"), self.part(node, "right"))

    def augmented_assignment(self, node):
        return "(%s %s %s)" % (word(node.child_by_field_name("operator")), self.part(node, "left"), self.part(node, "right"))

    def let_declaration(self, node):
        return "(%s %s%s %s)" % (word(node.children[0]), self.part(node, "pattern"), self.part(node, "type", ": "), self.part(node, "value"))

    var_declaration = let_declaration

    def const_declaration(self, node):
        return "(const %s%s %s)" % (self.part(node, "name"), self.part(node, "type", ": "), self.part(node, "value"))

    def for_statement(self, node):
        return "(for%s %s)" % (self.all(of_type(node, "index_clause")), self.part(node, "body"))

    def while_statement(self, node):
        return "(while %s %s)" % (self.part(node, "condition"), self.part(node, "body"))

    def break_statement(self, node):
        return "(break)"

    def continue_statement(self, node):
        return "(continue)"

    def return_statement(self, node):
        return "(return%s)" % self.part(node, "value", " ")

    def assert_statement(self, node):
        return "(assert %s%s)" % (self.part(node, "condition"), self.part(node, "message", " "))

    def on_statement(self, node):
        return "(on %s %s)" % (self.part(node, "device"), self.part(node, "body"))

    def export_declaration(self, node):
        return "(export " + self.text(parts(node)[0])[1:]

    def types(self, node):
        found = of_type(node, "type_parameters")
        return " (types%s)" % self.all(parts(found[0])) if found else ""

    def function_definition(self, node):
        parameters = self.joined(parts(of_type(node, "parameters")[0]))
        names = (self.part(node, "name"), self.types(node), parameters, self.part(node, "result", " -> "))
        return "(fn %s%s (%s)%s %s)" % (*names, self.part(node, "body", otherwise="builtin"))

    def struct_definition(self, node):
        sizes = of_type(node, "sizes")
        shown = " (sizes%s)" % self.all(parts(sizes[0])) if sizes else ""
        return "(struct %s%s%s%s)" % (self.part(node, "name"), self.types(node), shown, self.all(parts(of_type(node, "fields")[0])))

    def field_definition(self, node):
        return "(%s%s: %s)" % ("state " if node.child_by_field_name("mark") else "", self.part(node, "name"), self.part(node, "type"))

    def import_statement(self, node):
        return "(import %s%s)" % (self.part(node, "module") or self.part(node, "path"), self.part(node, "alias", " as "))

    def test_definition(self, node):
        return "(test %s %s)" % (self.part(node, "name"), self.part(node, "body"))

    def parameter(self, node):
        out = "".join((self.part(node, "name"), self.part(node, "bound", ": "), self.part(node, "type", ": "), self.part(node, "default", " = ")))
        return out if len(parts(node)) == 1 else "(%s)" % out

    type_parameter = parameter

    def rest_parameter(self, node):
        return self.part(node, "name")

    # ---- types and patterns

    def named_type(self, node):
        out = self.part(node, "module", otherwise="") + ("." if node.child_by_field_name("module") else "") + self.part(node, "name")
        for arguments in of_type(node, "type_arguments"):
            out += "<%s>" % self.joined(parts(arguments))
        for sizes in of_type(node, "sizes"):
            out += "[%s]" % self.joined(parts(sizes))
        return out

    def tuple(self, node):
        return "(tuple%s)" % self.all(parts(node))

    tuple_type = tuple_pattern = tuple

    def inner(self, node):
        return self.text(parts(node)[0])

    parenthesized_type = parenthesized_pattern = parenthesized_expression = inner

    def function_type(self, node):
        return "(fn (%s) %s)" % (self.joined(parts(of_type(node, "parameter_types")[0])), self.part(node, "result", otherwise="(tuple)"))

    def index_clause(self, node):
        range = node.child_by_field_name("range")
        return "(%s in %s)" % (self.part(node, "pattern"), self.text(range)) if range else self.part(node, "pattern")

    # ---- expressions

    def identifier(self, node):
        return word(node)

    boolean = none = identifier

    def integer(self, node):
        return str(int(word(node).replace("_", ""), 0 if word(node)[:2].lower() in ("0x", "0o", "0b") else 10))

    def float(self, node):
        return word(node).replace("_", "")

    def string(self, node):
        found = string_parts(node)
        if not found:
            return '""'
        if len(found) == 1 and isinstance(found[0], str):
            return quoted(found[0])
        return "(string%s)" % "".join(" " + (quoted(part) if isinstance(part, str) else self.text(part)) for part in found)

    def interpolation(self, node):
        format = node.child_by_field_name("format")
        return "(insert %s%s)" % (self.part(node, "value"), " " + quoted(word(format)[1:]) if format else "")

    def spread(self, node):
        return ".." + self.part(node, "name")

    def list(self, node):
        return "(list%s)" % self.all(parts(node))

    def comprehension(self, node):
        kind = "build" if node.children[0].type == "[" else "each"
        clauses = self.all(of_type(node, "index_clause"))
        condition = "".join(self.part(one, "condition", " if ") for one in of_type(node, "filter"))
        return "(%s %s for%s%s)" % (kind, self.part(node, "element"), clauses, condition)

    def unary_expression(self, node):
        return "(%s %s)" % (word(node.child_by_field_name("operator")), self.part(node, "operand"))

    def binary_expression(self, node):
        return "(%s %s %s)" % (word(node.child_by_field_name("operator")), self.part(node, "left"), self.part(node, "right"))

    def range(self, node):
        return "(.. %s %s)" % (self.part(node, "first"), self.part(node, "last"))

    def call(self, node):
        function = node.child_by_field_name("function")
        arguments = self.all(parts(of_type(node, "arguments")[0]))
        if function.type == "field":
            return "(method %s %s%s)" % (self.part(function, "object"), self.part(function, "name"), arguments)
        return "(call %s%s)" % (self.text(function), arguments)

    def named_argument(self, node):
        return "(%s = %s)" % (self.part(node, "name"), self.part(node, "value"))

    def field(self, node):
        return "(field %s %s)" % (self.part(node, "object"), self.part(node, "name"))

    def subscript(self, node):
        return "(at %s%s)" % (self.part(node, "object"), self.all(parts(of_type(node, "subscripts")[0])))

    def ellipsis(self, node):
        return "..."

    def new_axis(self, node):
        return "new"

    def slice(self, node):
        return "(slice %s)" % " ".join(self.part(node, field, otherwise="-") for field in ("first", "last", "step"))

    def if_expression(self, node):
        otherwise = node.child_by_field_name("alternative")
        out = "(if %s %s" % (self.part(node, "condition"), self.part(node, "consequence"))
        if otherwise:
            out += " " + (self.text(otherwise) if otherwise.type == "block" else self.statements([otherwise]))
        return out + ")"

    def lambda_(self, node):
        return "(lambda (%s) %s)" % (self.joined(parts(of_type(node, "parameters")[0])), self.part(node, "body"))


setattr(Writer, "lambda", Writer.lambda_)


def written(tree):
    return Writer().file(tree.root_node)
