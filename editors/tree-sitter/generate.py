"""What pack.py adds to the sources of the tree-sitter parser that are written by hand: the tables, in version 14 of the binary interface, and
what the scanner knows of tokens. Rules come from parser/syntax/grammar.yy, with the names that nodes.txt gives them; Bison makes the
automaton. What the runtime wants is another form of the grammar, step by step: no empty rules, repetitions that it can balance, and no rules
that only stand for parts of others."""
import collections
import itertools
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
SYNTAX = HERE.parents[1] / "parser/syntax"

# How the tree shows tokens that are no words or signs of their own: by name, or as a sign.
NAMED = {"NAME": "identifier", "INT": "integer", "FLOAT": "float", "TEXT": "string_content", "FORMAT": "format_specifier"}
SIGNS = {"STRING_BEGIN": '"', "STRING_END": '"', "INTERP_BEGIN": "{", "INTERP_END": "}"}
HIDDEN = ("END_STATEMENT",)
UNUSED = ("END", "BAD")
CONTEXTUAL = ("AS", "TEST", "ON", "EXPORT")
# Tokens that the tree has and the grammar does not: those that stand anywhere, and one that stands where a TEXT does.
EXTRAS = {"COMMENT": "comment", "DOC_COMMENT": "doc_comment", "EMPTY_STATEMENT": ";"}
TWINS = {"ESCAPE": ("TEXT", "escape_sequence")}

REPEAT = "_repeat"

Rule = collections.namedtuple("Rule", "left parts node")  # parts: (symbol, field)


class Wrong(Exception):
    pass


# ---- the grammar, and what nodes.txt makes of it


def bison(source, *options):
    """Bison's report on a grammar."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        command = ["bison", "--xml=%s" % report, "-o", "%s/grammar.c" % folder, *options, str(source)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise Wrong("bison: %s" % done.stderr)
        return xml.parse(report).getroot()


def tokens_of_grammar():
    """Identifier -> how it is written."""
    text = (SYNTAX / "grammar.yy").read_text(encoding="utf-8")
    tokens = {}
    for line in re.findall(r"^%token (?:<.*?> )?(.*)$", text, re.M):
        tokens.update(re.findall(r'(\w+)(?: 0)? "([^"]+)"', line))
    return tokens


def rules_of_grammar(tokens):
    """(left, right) of all rules but those for errors, with the identifiers of tokens."""
    identifiers = {'"%s"' % text: name for name, text in tokens.items()}
    broken = {"recovery", "broken_header", "error"}
    rules = []
    for rule in bison(SYNTAX / "grammar.yy").find("grammar/rules"):
        left = rule.find("lhs").text
        right = tuple(identifiers.get(symbol.text, symbol.text) for symbol in rule.findall("rhs/symbol"))
        if left != "$accept" and left not in broken and not broken & set(right):
            rules.append((left, right))
    return rules


def parts_of(text, identifiers):
    """The parts of a line, with groups as (node, parts); and the symbols without groups."""
    parts, stack, symbols = [], [], []
    for opened, closed, field, symbol in re.findall(r'\((\w+)|(\))|(?:(\w+):)?("[^"]*"|\w+)', text):
        if opened:
            stack.append((opened, parts))
            parts = []
        elif closed:
            node, outer = stack.pop()
            parts = outer + [(node, parts)]
        else:
            name = identifiers[symbol[1:-1]] if symbol.startswith('"') else symbol
            parts.append((name, field or None))
            symbols.append(name)
    return parts, tuple(symbols)


def named_rules(tokens):
    """All rules with their nodes and fields; groups become rules of their own."""
    identifiers = {text: name for name, text in tokens.items()}
    lines, plain = {}, set()
    for line in (HERE / "nodes.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        node, left, *rest = line.split(None, 2)
        if rest:
            parts, symbols = parts_of(rest[0], identifiers)
            lines[left, symbols] = (node, parts)
        else:
            plain.add(left)
    groups, rules = {}, []

    def grouped(left, parts):
        out = []
        for name, field in parts:
            if isinstance(field, list):
                key = (name, tuple(grouped(left, field)))
                if key not in groups:
                    groups[key] = "%s_%s_%d" % (left, name, len(groups))
                out.append((groups[key], None))
            else:
                out.append((name, field))
        return out

    for left, right in rules_of_grammar(tokens):
        line = lines.pop((left, right), None)
        if line is None and len(right) > 1 and left not in plain:
            raise Wrong("nodes.txt has no line for %s: %s" % (left, " ".join(right)))
        node, parts = line or ("_", [(symbol, None) for symbol in right])
        rules.append(Rule(left, grouped(left, parts), node))
    if lines:
        raise Wrong("grammar.yy has no rule %s: %s" % (next(iter(lines))[0], " ".join(next(iter(lines))[1])))
    return rules + [Rule(left, list(parts), node) for (node, parts), left in groups.items()], plain


def without_empty_rules(rules, start):
    """The same language, where only `start` may be empty: a tree-sitter node always holds a token."""
    empty, before = set(), -1
    while len(empty) != before:
        before = len(empty)
        empty |= {rule.left for rule in rules if all(symbol in empty for symbol, _ in rule.parts)}
    filled = {rule.left for rule in rules if rule.parts}
    out = []
    for rule in rules:
        choices = [((part,) if part[0] in filled or part[0] not in empty else ()) + ((None,) if part[0] in empty else ()) for part in rule.parts]
        for chosen in itertools.product(*choices):
            parts = [part for part in chosen if part]
            made = Rule(rule.left, parts, rule.node)
            if (parts or rule.left == start) and made not in out and not (len(parts) == 1 and parts[0][0] == rule.left):
                out.append(made)
    return sorted(out, key=lambda rule: rule.left != start)


def with_repeats(rules):
    """The same language, where what a list repeats is a node that is made of two such nodes: the runtime balances these, and reads only
    what was edited again. `list: item | list "," item` becomes `item` and `item repeat` where it is used, with `repeat: "," item`."""
    lists = {rule.left for rule in rules if rule.parts and rule.parts[0][0] == rule.left and rule.node == "_"}
    heads = {one: [rule.parts for rule in rules if rule.left == one and rule.parts[0][0] != one] for one in lists}
    tails = {one: [rule.parts[1:] for rule in rules if rule.left == one and rule.parts[0][0] == one] for one in lists}
    out = []
    for rule in rules:
        if rule.left in lists:
            continue
        choices = [[[part]] for part in rule.parts]
        for i, (symbol, _) in enumerate(rule.parts):
            if symbol in lists:
                again = [(symbol + REPEAT, None)]
                pure = heads[symbol] == tails[symbol]
                choices[i] = [again] if pure else [head + more for head in heads[symbol] for more in ([], again)]
        out += [Rule(rule.left, list(itertools.chain(*chosen)), rule.node) for chosen in itertools.product(*choices)]
    for one in sorted(lists):
        out += [Rule(one + REPEAT, list(tail), "_") for tail in tails[one]] + [Rule(one + REPEAT, [(one + REPEAT, None)] * 2, "_")]
    return out


def inlined(rules, names):
    """The same language without these left sides. A state then knows what it is in: a stray `}` does not end a file's statements, though it
    ends those of blocks, so that reading goes on with the next statement."""
    rights, own, out = collections.defaultdict(list), [], []
    for rule in rules:
        parts = rule.parts
        if rule.left in names and rule.node != "_":
            own.append(rule._replace(left="%s_%s" % (rule.left, rule.node)))
            parts = [(own[-1].left, None)]
        if parts not in rights[rule.left]:
            rights[rule.left].append(parts)

    def choices(parts):
        options = [list(itertools.chain(*(choices(right) for right in rights[part[0]]))) if part[0] in names else [[part]] for part in parts]
        return [list(itertools.chain(*chosen)) for chosen in itertools.product(*options)]

    for rule in rules + own:
        if rule.left not in names:
            out += [Rule(rule.left, parts, rule.node) for parts in choices(rule.parts)]
    return out


# ---- the automaton: in each state what to do at a token, and where to go with a node


class Automaton:
    """What Bison made of the rules: for each state, token -> ("shift", state), ("reduce", rule), the same with the state that a shift would
    go to, or ("accept",); left side -> state."""

    def __init__(self, rules, tokens):
        self.rules = sorted(rules, key=lambda rule: (rule.left != rules[0].left, rule.left))
        lines = ["%%token %s" % " ".join(tokens), "%%"]
        for left, group in itertools.groupby(self.rules, lambda rule: rule.left):
            rights = [" ".join(symbol for symbol, _ in rule.parts) or "%empty" for rule in group]
            lines.append("%s: %s ;" % (left, " | ".join(rights)))
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "tree.y")
            source.write_text("\n".join(lines) + "\n", encoding="utf-8")
            report = bison(source, "-Dlr.default-reduction=accepting", "-Wno-conflicts-sr")
        self.actions, self.gotos = [], []
        for state in report.find("automaton"):
            moves = state.findall("actions/transitions/transition")
            actions = {move.get("symbol"): ("shift", int(move.get("state"))) for move in moves if move.get("type") == "shift"}
            for reduction in state.findall("actions/reductions/reduction"):
                if reduction.get("rule") != "accept":
                    token, rule = reduction.get("symbol"), self.rules[int(reduction.get("rule")) - 1]
                    actions[token] = ("reduce", rule) if reduction.get("enabled") == "true" else self.repeated(actions[token], rule)
            if actions.get("$end", ("",))[0] == "shift":
                actions["$end"] = ("accept",)
            self.actions.append(actions)
            self.gotos.append({move.get("symbol"): int(move.get("state")) for move in moves if move.get("type") == "goto"})

    @staticmethod
    def repeated(shift, rule):
        """Two repetitions are joined before the next; the runtime looks up where that would go when it takes them apart."""
        if not rule.left.endswith(REPEAT) or len(rule.parts) != 2 or shift[0] != "shift":
            raise Wrong("a conflict at the end of %s: %s" % (rule.left, " ".join(symbol for symbol, _ in rule.parts)))
        return ("reduce", rule, shift[1])

    def chain(self, action):
        """The left side that a reduction makes of one node without being a node itself."""
        if action and action[0] == "reduce" and len(action[1].parts) == 1 and action[1].node == "_" and not action[1].parts[0][1]:
            return action[1].left
        return None

    def after(self, state):
        """The states that may follow."""
        return [action[-1] for action in self.actions[state].values() if isinstance(action[-1], int)] + list(self.gotos[state].values())

    def skip_states(self):
        """Goes at once where a state would only wrap one node: `expr` is eleven rules away from a number."""
        for state, gotos in enumerate(self.gotos):

            def behind(after):
                chains = {self.chain(action) for action in self.actions[after].values()}
                left = chains.pop() if len(chains) == 1 else None
                return behind(gotos[left]) if left in gotos else after

            for symbol in gotos:
                gotos[symbol] = behind(gotos[symbol])
            for token, action in self.actions[state].items():
                if isinstance(action[-1], int):
                    self.actions[state][token] = (*action[:-1], behind(action[-1]))

    def reachable(self):
        found, todo = {0}, [0]
        while todo:
            state = todo.pop()
            todo += [one for one in set(self.after(state)) if one not in found]
            found.update(self.after(state))
        return sorted(found)


# ---- the tables as tree-sitter reads them


class Tables:
    """Symbols, productions (a count and the fields), and numbered actions."""

    def __init__(self, automaton, tokens):
        self.automaton = automaton
        own = [name for name in tokens if name not in UNUSED]
        self.tokens = ["$end"] + own + list(TWINS) + list(EXTRAS)
        self.names = [("end", False, True)] + [self.shown(name, tokens) for name in self.tokens[1:]]
        self.numbers = {name: i for i, name in enumerate(self.tokens)}
        self.variants = collections.defaultdict(list)
        for rule in automaton.rules:
            if (rule.left, rule.node) not in self.numbers:
                self.numbers[rule.left, rule.node] = len(self.names)
                self.variants[rule.left].append(len(self.names))
                self.names.append(("_" + rule.left, False, not rule.left.endswith(REPEAT)) if rule.node == "_" else (rule.node, True, True))
        self.fields = sorted({field for rule in automaton.rules for _, field in rule.parts if field})
        self.inherited = self.fields_of_hidden()
        self.productions = [()]
        self.entries, self.places = ["{.entry = {.count = 0}}"], {}

    def shown(self, name, tokens):
        """The name of a token in the tree, whether it is visible, and whether it is named."""
        if name in HIDDEN:
            return ("_" + tokens[name].replace(" ", "_"), False, True)
        named = NAMED.get(name) or TWINS.get(name, ("", None))[1] or EXTRAS.get(name)
        if named and named[0].isalpha():
            return (named, True, True)
        return (named or SIGNS.get(name) or tokens[name], True, False)

    def fields_of_hidden(self):
        """The fields that parents get from the parts of a left side's rules that are no nodes."""
        fields = collections.defaultdict(set)
        size = -1
        while sum(map(len, fields.values())) != size:
            size = sum(map(len, fields.values()))
            for rule in self.automaton.rules:
                if rule.node == "_":
                    fields[rule.left].update(field for _, field in rule.parts if field)
                    fields[rule.left].update(itertools.chain(*(fields[symbol] for symbol, _ in rule.parts)))
        return fields

    def production(self, rule):
        found = []
        for i, (symbol, field) in enumerate(rule.parts):
            found += [(self.fields.index(field) + 1, i, False)] if field else []
            found += [(self.fields.index(one) + 1, i, True) for one in sorted(self.inherited.get(symbol, ()))]
        key = tuple(sorted(found))
        if key not in self.productions:
            self.productions.append(key)
        return self.productions.index(key)

    def place(self, *entry):
        """The index of these actions in the table of actions."""
        if entry not in self.places:
            self.places[entry] = len(self.entries)
            self.entries += ["{.entry = {.count = %d, .reusable = true}}" % len(entry), *entry]
        return self.places[entry]

    def action(self, action, numbers):
        if action[0] == "shift":
            return self.place("SHIFT(%d)" % numbers[action[1]])
        if action[0] == "accept":
            return self.place("ACCEPT")
        rule = action[1]
        reduce = "REDUCE(%d, %d, %d)" % (self.numbers[rule.left, rule.node], len(rule.parts), self.production(rule))
        return self.place(reduce, *("SHIFT_REPEAT(%d)" % numbers[state] for state in action[2:]))

    def rows(self):
        """The rows of the states, symbol -> action or state: first that of errors, then that of the beginning, then by size."""
        extras = {self.numbers[name]: self.place("SHIFT_EXTRA") for name in EXTRAS}
        states = self.automaton.reachable()
        sizes = {state: len(self.automaton.actions[state]) + len(self.automaton.gotos[state]) for state in states}
        order = [0] + sorted(states[1:], key=lambda state: -sizes[state])
        numbers = {state: i + 1 for i, state in enumerate(order)}
        recover = self.place("RECOVER")
        rows = [{**{i: recover for i in range(len(self.tokens))}, **extras}]
        for state in order:
            row = {self.numbers[token]: self.action(action, numbers) for token, action in self.automaton.actions[state].items()}
            row.update((self.numbers[twin], row[self.numbers[of]]) for twin, (of, _) in TWINS.items() if self.numbers[of] in row)
            row.update((variant, numbers[after]) for left, after in self.automaton.gotos[state].items() for variant in self.variants[left])
            rows.append({**row, **extras})
        return rows


def lines_of(values, width=110):
    """Comma-separated values in lines."""
    lines, line = [], ""
    for value in values:
        if len(line) + len(value) + 4 > width:
            lines.append(line)
            line = ""
        line += ("" if not line else " ") + value + ","
    return "\n".join("  " + line for line in lines + [line] if line)


def array(declaration, values):
    return "static const %s = {\n%s\n};\n" % (declaration, lines_of(values))


def small_rows(rows, token_count):
    """States with few entries: how many groups; for each its value, how many symbols, and these."""
    values, places = [], []
    for row in rows:
        places.append(len(values))
        groups = collections.defaultdict(list)
        for symbol, value in sorted(row.items()):
            groups[symbol < token_count, value].append(symbol)
        values.append(len(groups))
        for (_, value), symbols in sorted(groups.items(), key=lambda group: len(group[1])):
            values += [value, len(symbols), *symbols]
    return values, places


def parser_source(tables):
    rows = tables.rows()
    large = max(2, sum(len(row) > 64 for row in rows))
    token_count, symbol_count = len(tables.tokens), len(tables.names)
    small, places = small_rows(rows[large:], token_count)
    first = {}
    public = [str(first.setdefault(name, i)) for i, name in enumerate(tables.names)]
    quoted = ['"%s"' % name.replace("\\", "\\\\").replace('"', '\\"') for name, _, _ in tables.names]
    entries = [entry for production in tables.productions for entry in production]
    slices = itertools.accumulate((len(production) for production in tables.productions), initial=0)
    flag = {True: "true", False: "false"}
    longest = max(len(rule.parts) for rule in tables.automaton.rules)
    dense = [str(row.get(symbol, 0)) for row in rows[:large] for symbol in range(symbol_count)]
    out = ["// Written by generate.py from tl's grammar.", '#include "abi.h"', ""]
    out += [array("char *const symbol_names[]", quoted)]
    out += [array("TSSymbol public_symbols[]", public)]
    out += [array("TSSymbolMetadata symbol_metadata[]", ["{%s, %s, false}" % (flag[visible], flag[named]) for _, visible, named in tables.names])]
    out += [array("char *const field_names[]", ["NULL"] + ['"%s"' % field for field in tables.fields])]
    out += [array("TSFieldMapSlice field_slices[]", ["{%d, %d}" % pair for pair in zip(slices, map(len, tables.productions))])]
    out += [array("TSFieldMapEntry field_entries[]", ["{%d, %d, %s}" % (field, i, flag[inherited]) for field, i, inherited in entries])]
    out += [array("TSSymbol alias_sequences[%d]" % (len(tables.productions) * longest), ["0"])]
    out += [array("uint16_t alias_map[]", ["0"])]
    out += [array("TSLexMode lex_modes[]", ["{0, 1}"] * len(rows))]
    out += [array("TSStateId primary_states[]", map(str, range(len(rows))))]
    out += [array("uint16_t large_rows[]", dense)]
    out += [array("uint16_t small_rows[]", map(str, small))]
    out += [array("uint32_t small_row_places[]", map(str, places))]
    out += [array("TSParseActionEntry actions[]", tables.entries)]
    out += [array("bool external_states[]", ["false"] * (token_count - 1) + ["true"] * (token_count - 1))]
    out += [array("TSSymbol external_symbols[]", map(str, range(1, token_count)))]
    counts = {
        "SYMBOL_COUNT": symbol_count, "TOKEN_COUNT": token_count, "STATE_COUNT": len(rows), "LARGE_STATE_COUNT": large,
        "PRODUCTION_COUNT": len(tables.productions), "FIELD_COUNT": len(tables.fields), "LONGEST_RULE": longest
    }
    out += ["#define %s %d" % count for count in counts.items()]
    return "\n".join(out) + '\n#include "language.h"\n'


# ---- what the scanner knows of tokens


def cases(function):
    """The tokens for which a function of layout.cpp says true."""
    text = (SYNTAX / "layout.cpp").read_text(encoding="utf-8")
    body = re.search(r"^bool %s\(Kind kind\) \{\n  switch \(kind\) \{\n((?:  case \w+:.*\n)+)  default: return false" % function, text, re.M)
    if not body:
        raise Wrong("layout.cpp has no %s as it is expected" % function)
    return re.findall(r"case (\w+):", body[1])


def tokens_header(tables, tokens):
    letters = (SYNTAX / "letters.def").read_text(encoding="utf-8")
    keywords = set(cases("is_keyword"))
    words = [name for name in tables.tokens if name in keywords or name in CONTEXTUAL]
    signs = [name for name in tokens if not re.fullmatch(r"[a-z ]+", tokens[name])]
    out = ["// Written by generate.py from tl's grammar and layout.", "#pragma once", "#include <stdbool.h>", "#include <stdint.h>", ""]
    out += ["enum Token {\n%s\n};\n" % lines_of(["NOTHING"] + tables.tokens[1:])]
    out += ["typedef struct {\n  const char *text;\n  uint8_t token;\n} Spelling;\n"]
    out += [array("Spelling words[]", ['{"%s", %s}' % (tokens[name], name) for name in words])]
    out += [array("Spelling signs[]", ['{"%s", %s}' % (tokens[name], name) for name in signs])]
    for function in ("continues_after", "only_begins_statement", "is_keyword"):
        out += ["static bool %s(uint8_t token) {\n  switch (token) {" % function]
        out += ["  case %s:" % name for name in cases(function)]
        out += ["    return true;\n  default:\n    return false;\n  }\n}\n"]
    out += ["typedef struct {\n  int32_t first, last;\n} Range;\n"]
    for macro, name in (("TL_LETTER", "letters"), ("TL_MARK", "marks")):
        ranges = re.findall(r"\b%s\((0x\w+), (0x\w+)\)" % macro, letters)
        out += [array("Range %s[]" % name, ["{%s, %s}" % pair for pair in ranges])]
    return "\n".join(out)


def generate():
    """The sources that are not written by hand: name -> text."""
    tokens = tokens_of_grammar()
    rules, hidden = named_rules(tokens)
    rules = with_repeats(without_empty_rules(rules, "file"))
    rules = inlined(rules, hidden & {rule.left for rule in rules})
    automaton = Automaton(rules, [name for name in tokens if name not in UNUSED])
    automaton.skip_states()
    tables = Tables(automaton, tokens)
    return {"src/parser.c": parser_source(tables), "src/tokens.h": tokens_header(tables, tokens)}
