"""Every quick fix that is offered for a wrong program is applied: the program must then parse, or have fewer syntax errors, and say what the fix is
for less often. What else is offered (types and signatures written out) must parse, too. The programs are the golden ones that are refused, and those of the snapshots in `cases/`."""
import pathlib
import subprocess
import tempfile
from collections import Counter

from client import Client, uri
from snapshots import CASES, CURSOR, cases_in, offset

ROOT = pathlib.Path(__file__).resolve().parents[2]
FEWEST = 60  # fixes that the programs are offered together


def programs():
    """Of (name, text)."""
    for path in sorted(ROOT.glob("tests/golden/**/fail_*.tl")):
        yield str(path.relative_to(ROOT)), path.read_text()
    for path in sorted(CASES.glob("*.txt")):
        for case in cases_in(path.read_text()):
            name, text, _ = case.files()[0]
            yield f"{path.name}: {case.head}: {name}", text.replace(CURSOR, "")


def applied(text, edits):
    for edit in sorted(edits, key=lambda edit: offset(text, edit["range"]["start"]), reverse=True):
        begin, end = offset(text, edit["range"]["start"]), offset(text, edit["range"]["end"])
        text = text[:begin] + edit["newText"] + text[end:]
    return text


def syntax_errors(tl, path, text):
    path.write_text(text)
    run = subprocess.run([tl, "dump", "--stage", "ast", str(path)], capture_output=True, text=True, check=False)
    return run.stderr.count(": error[") if run.returncode else 0


def said(diagnostics):
    return Counter((one["code"], one["message"].partition("\nhint: ")[0]) for one in diagnostics)


def fixes(tl):
    with tempfile.TemporaryDirectory() as folder:
        client, file = Client(tl, folder), pathlib.Path(folder, "edited.tl")
        count = 0
        for number, (name, text) in enumerate(programs()):
            path = f"{folder}/{number}.tl"
            client.open(path, text)
            for one in client.published(path):
                asked = {"textDocument": {"uri": uri(path)}, "range": one["range"], "context": {"diagnostics": [one]}}
                for action in client.request("textDocument/codeAction", **asked):
                    if action["kind"] != "quickfix":
                        continue
                    after = applied(text, action["edit"]["changes"][uri(path)])
                    what = f"{name}: {one['code']}, {action['title']}: {after}"
                    before_count, after_count = syntax_errors(tl, file, text), syntax_errors(tl, file, after)
                    assert after_count == 0 or after_count < before_count, f"does not parse: {what}"
                    edited = f"{folder}/{number}.{count}.tl"
                    client.open(edited, after)
                    assert said(client.published(path)) - said(client.published(edited)), f"nothing is mended: {what}"
                    client.close(edited)
                    count += 1
            whole = {"start": {"line": 0, "character": 0}, "end": {"line": text.count("\n"), "character": 0}}
            for action in client.request("textDocument/codeAction", textDocument={"uri": uri(path)}, range=whole, context={"diagnostics": []}):
                after = applied(text, action["edit"]["changes"][uri(path)])
                assert action["kind"] == "quickfix" or syntax_errors(tl, file, after) <= syntax_errors(tl, file, text), f"does not parse: {name}: {action['title']}: {after}"
            client.close(path)
        assert client.end() == 0
        assert count >= FEWEST, f"only {count} fixes"


def tests(tl):
    return [("fixes of wrong programs", lambda: fixes(tl))]
