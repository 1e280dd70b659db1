"""Requests and their answers. A file of `cases/` holds many: `=== REQUEST: what it shows`, the program, `---`, the answer.

In a program ¦ is the cursor (of a request about a range, where it begins, and a second one where it ends); `>>> NAME` begins another file, which
is open too, `>>> NAME on disk` one that is not. The program itself is main.tl. Answers are written as lines, each request's in its own way (below).
"""
import pathlib
import tempfile

from client import Client, file_of, uri

CASES = pathlib.Path(__file__).resolve().parent / "cases"
CURSOR = "¦"


def position(text, at):
    lines = text[:at].split("\n")
    return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}


def offset(text, place):
    """Back from the protocol's position."""
    begin = sum(len(line) + 1 for line in text.split("\n")[: place["line"]])
    line = text.split("\n")[place["line"]].encode("utf-16-le")
    return begin + len(line[: 2 * place["character"]].decode("utf-16-le"))


class Case:
    def __init__(self, head, body, answer):
        self.method, _, self.name = head.partition(": ")
        self.method, *self.words = self.method.split(" ")
        self.head, self.body, self.expected = head, body, answer

    def files(self):
        """Of (name, text, is it open), the program first."""
        found = [["main.tl", [], True]]
        for line in self.body.split("\n"):
            if line.startswith(">>> "):
                name, _, disk = line[4:].partition(" on ")
                found.append([name, [], not disk])
            else:
                found[-1][1].append(line)
        return [(name, "\n".join(lines) + "\n", is_open) for name, lines, is_open in found]

    def answer(self, client, folder):
        folder.mkdir(parents=True)
        self.folder = folder
        texts = {}
        for name, text, is_open in self.files():
            path = str(folder / name)
            if name == "main.tl":
                parts = text.split(CURSOR)
                places = [len("".join(parts[: i + 1])) for i in range(len(parts) - 1)]
                text = "".join(parts)
                main = path
            if not is_open:
                (folder / name).write_text(text)
            texts[path] = text
        for name, _, is_open in self.files():
            if is_open and name != "main.tl":
                client.open(str(folder / name), texts[str(folder / name)])
        client.open(main, texts[main])
        self.texts, self.main = texts, main
        self.places = [position(texts[main], at) for at in places]
        try:
            return ANSWERS[self.method](self, client).strip("\n")
        finally:
            for name, _, is_open in self.files():
                if is_open:
                    client.close(str(folder / name))

    # ---- what requests say ----

    def ask(self, client, method, **more):
        params = {"textDocument": {"uri": uri(self.main)}, **more}
        if self.places:
            params["position"] = self.places[0]
        answer = client.call(method, params)
        return answer["result"] if "result" in answer else f"error: {answer['error']['message']}"

    def text_of(self, path):
        return self.texts.get(path) or pathlib.Path(path).read_text()

    def place(self, address, span):
        """`2:5 name`, with the file unless it is the program."""
        path = str(file_of(address))
        start = span["start"]
        text = self.text_of(path)
        named = text[offset(text, start) : offset(text, span["end"])]
        if str(self.folder) not in path:
            return f"{pathlib.Path(path).name} {named}"  # of the library, which changes
        file = "" if path == self.main else f"{pathlib.Path(path).name}:"
        return f"{file}{start['line'] + 1}:{start['character'] + 1} {named}".rstrip()

    def here(self, span):
        return self.place(uri(self.main), span)

    def edited(self, edits, path=None):
        text = self.text_of(path or self.main)
        for edit in sorted(edits, key=lambda edit: (edit["range"]["start"]["line"], edit["range"]["start"]["character"]), reverse=True):
            text = text[: offset(text, edit["range"]["start"])] + edit["newText"] + text[offset(text, edit["range"]["end"]) :]
        return text


def answers_none(function):
    def wrapped(case, client):
        answer = function.ask(case, client)
        if answer is None or isinstance(answer, str):
            return answer or "nothing"
        return function(case, answer)

    return wrapped


def request(method, **more):
    """Of a function that writes the answer of this request."""

    def decorate(function):
        function.ask = lambda case, client: case.ask(client, method, **(more | case_parameters(method, case)))
        return answers_none(function)

    return decorate


def case_parameters(method, case):
    if method == "textDocument/rename":
        return {"newName": case.words[0]}
    if method == "textDocument/references":
        return {"context": {"includeDeclaration": "others" not in case.words}}
    if method in ("textDocument/inlayHint", "textDocument/codeAction"):
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 1000, "character": 0}}
        return {"range": {"start": case.places[0], "end": case.places[-1]} if case.places else whole, "context": {"diagnostics": []}}
    return {}


@request("textDocument/hover")
def hover(case, answer):
    return case.here(answer["range"]) + "\n" + answer["contents"]["value"]


@request("textDocument/definition")
def definition(case, answer):
    return case.place(answer["uri"], answer["range"])


@request("textDocument/references")
def references(case, answer):
    return "\n".join(case.place(one["uri"], one["range"]) for one in answer)


@request("textDocument/documentHighlight")
def highlight(case, answer):
    kinds = {1: "text", 2: "read", 3: "write"}
    return "\n".join(f"{case.here(one['range'])}: {kinds[one['kind']]}" for one in answer)


@request("textDocument/prepareRename")
def prepare(case, answer):
    return case.here(answer["range"])


@request("textDocument/rename")
def rename(case, answer):
    return "\n".join(
        ("" if address == uri(case.main) else f">>> {file_of(address).name}\n") + case.edited(edits, str(file_of(address))).rstrip("\n")
        for address, edits in sorted(answer["changes"].items(), key=lambda item: (item[0] != uri(case.main), item[0]))
    )


@request("textDocument/formatting")
def formatting(case, answer):
    return case.edited(answer)


@request("textDocument/codeLens")
def lenses(case, answer):
    return "\n".join(" ".join([case.here(one["range"]), "|", one["command"]["title"], *map(repr, one["command"]["arguments"][1:])]) for one in answer) or "nothing"


KINDS = {2: "module", 3: "function", 5: "field", 6: "variable or test", 7: "struct", 8: "field", 12: "function", 13: "variable", 14: "const", 23: "struct"}


@request("textDocument/documentSymbol")
def symbols(case, answer):
    def lines(all_, indent):
        for one in all_:
            yield f"{indent}{KINDS[one['kind']]} {case.here(one['selectionRange'])} {one.get('detail', '')}".rstrip()
            yield from lines(one.get("children", []), indent + "  ")

    return "\n".join(lines(answer, ""))


@request("textDocument/foldingRange")
def folding(case, answer):
    return "\n".join(f"{one['startLine'] + 1}-{one['endLine'] + 1} {one.get('kind', '')}".rstrip() for one in answer)


ITEMS = {3: "function", 5: "field", 6: "variable", 9: "module", 10: "property", 14: "keyword", 17: "file", 19: "folder", 21: "const", 22: "struct", 25: "type"}


@request("textDocument/completion")
def completion(case, answer):
    """What begins with the word before the cursor, the nearest first; of many, those that the case names."""
    text = case.texts[case.main]
    at = offset(text, case.places[0])
    begin = at
    while begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
        begin -= 1
    found = [one for one in sorted(answer, key=lambda one: one["sortText"]) if one["label"].startswith(text[begin:at])]
    if case.words:
        found = [one for one in found if one["label"].rstrip(" =") in case.words]
    return "\n".join(f"{ITEMS[one['kind']]} {one['label'].strip()}: {one.get('detail', '')}".rstrip(": ") for one in found[:12]) or "nothing"


@request("textDocument/signatureHelp")
def signature(case, answer):
    lines = []
    for one in answer["signatures"]:
        active = one["activeParameter"]
        parameter = one["parameters"][active]["label"] if active < len(one["parameters"]) else "none"
        assert parameter == "none" or parameter in one["label"], one
        lines.append(f"{one['label']}\n  {parameter}")
    return "\n".join(lines)


@request("textDocument/inlayHint")
def hints(case, answer):
    text = case.texts[case.main]
    for one in sorted(answer, key=lambda one: offset(text, one["position"]), reverse=True):
        at = offset(text, one["position"])
        text = f"{text[:at]}«{one['label']}»{text[at:]}"
    return text


TOKENS = "namespace type struct typeParameter parameter variable property function keyword comment string number".split()
MODIFIERS = "declaration readonly modification defaultLibrary".split()


@request("textDocument/semanticTokens/full")
def tokens(case, answer):
    lines, data = [], answer["data"]
    line = column = 0
    for i in range(0, len(data), 5):
        down, right, length, kind, modifiers = data[i : i + 5]
        line, column = line + down, right if down else column + right
        span = {"start": {"line": line, "character": column}, "end": {"line": line, "character": column + length}}
        lines.append(" ".join([case.here(span), TOKENS[kind], *(name for bit, name in enumerate(MODIFIERS) if modifiers >> bit & 1)]))
    return "\n".join(lines)


@request("textDocument/codeAction")
def actions(case, answer):
    return "\n".join(f"{one['kind']}: {one['title']}\n{case.edited(one['edit']['changes'][uri(case.main)]).rstrip()}" for one in answer) or "nothing"


def diagnostics(case, client):
    severities = {1: "error", 2: "warning", 4: "note"}
    lines = []
    for one in client.published(case.main):
        lines.append(f"{case.here(one['range'])}: {severities[one['severity']]}[{one['code']}]: {one['message']}".replace(f"{case.folder}/", ""))
        lines += [f"  {case.place(part['location']['uri'], part['location']['range'])}: {part['message']}" for part in one.get("relatedInformation", [])]
    return "\n".join(lines) or "nothing"


def workspace(case, client):
    found = client.request("workspace/symbol", query=case.words[0])
    found = [one for one in found if str(case.folder) in str(file_of(one["location"]["uri"]))]
    return "\n".join(f"{KINDS[one['kind']]} {case.place(one['location']['uri'], one['location']['range'])}" for one in found) or "nothing"


ANSWERS = {
    "hover": hover,
    "definition": definition,
    "references": references,
    "highlight": highlight,
    "prepare": prepare,
    "rename": rename,
    "formatting": formatting,
    "symbols": symbols,
    "workspace": workspace,
    "folding": folding,
    "completion": completion,
    "signature": signature,
    "hints": hints,
    "tokens": tokens,
    "actions": actions,
    "diagnostics": diagnostics,
    "lenses": lenses,
}


def cases_in(text):
    for part in ("\n" + text).split("\n=== ")[1:]:
        head, _, rest = part.partition("\n")
        body, _, answer = rest.partition("\n---\n")
        yield Case(head, body, answer.strip("\n"))


def written(cases):
    return "".join(f"=== {case.head}\n{case.body}\n---\n{case.expected}\n\n" for case in cases)[:-1]


def tests(tl, rewrite):
    """One client asks all: a document is closed behind its case."""
    holder = tempfile.TemporaryDirectory()
    root = pathlib.Path(holder.name).resolve()
    client = Client(tl, root)

    def run(case, number, file, cases):
        found = case.answer(client, root / str(number))
        if rewrite:
            case.expected = found
            file.write_text(written(cases))
        assert found == case.expected, f"it answers\n{found}\n  and not\n{case.expected}"

    number = 0
    for file in sorted(CASES.glob("*.txt")):
        cases = list(cases_in(file.read_text()))
        for case in cases:
            number += 1
            yield f"{file.stem}: {case.head}", lambda case=case, number=number, file=file, cases=cases: run(case, number, file, cases)

    def end():
        assert client.end() == 0
        holder.cleanup()

    yield "snapshots: the session ends", end
