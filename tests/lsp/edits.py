"""Random edits: applied one by one they leave the text, and the diagnostics, that the whole text has, and these are what `tl check` says."""
import json
import pathlib
import random
import re
import subprocess
import tempfile
import time

from client import Client, uri

SECONDS = 8
PIECES = ["(", ")", "{", "}", "[", "]", "\n", "\r\n", "let ", "x", " = ", "1", "2.0", '"', "{x}", "é", "😀", "fn f() = 3\n", "# a comment", ".", "sum", " @ ", "if ", "0..3", "\t"]


def position(text, at):
    """In UTF-16, of a place in Python's characters. Lines end with any of the three ends."""
    lines = text[:at].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return {"line": len(lines) - 1, "character": len(lines[-1].encode("utf-16-le")) // 2}


def edit(text, rng):
    """A change for the server, and the text behind it."""
    begin = rng.randrange(len(text) + 1)
    end = min(len(text), begin + rng.choice((0, 0, 1, 2, 30)))
    while 0 < begin < len(text) and text[begin - 1 : begin + 1] == "\r\n":  # no place of the protocol's
        begin -= 1
    while 0 < end < len(text) and text[end - 1 : end + 1] == "\r\n":
        end += 1
    with_ = "".join(rng.choice(PIECES) for _ in range(rng.choice((0, 1, 1, 2))))
    change = {"range": {"start": position(text, begin), "end": position(text, end)}, "text": with_}
    return change, text[:begin] + with_ + text[end:]


def checked(tl, path, text):
    """What `tl check` says: kinds and messages, by place."""
    path.write_bytes(text.encode())
    run = subprocess.run([tl, "check", "--message-format=json", str(path)], capture_output=True, text=True, cwd=path.parent)
    assert run.returncode in (0, 1), run.stderr
    found = [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]
    return sorted((d["kind"], d["message"] + ("\nhint: " + d["hint"] if d.get("hint") else "")) for d in found)


def published(client, path, wanted):
    """Of this version; what takes long (lowering) is said a moment later."""
    found = None
    end = time.monotonic() + 10
    while time.monotonic() < end:
        found = sorted((d["code"], d["message"]) for d in client.published(str(path)))
        if found == wanted:
            return found
        message = client.receive(patience=2)
        if message is None:
            return found
        client.take(message)
    return found


def random_edits(tl, seed):
    rng = random.Random(seed)
    programs = sorted(pathlib.Path(__file__).resolve().parents[2].glob("tests/golden/run/*.tl"))
    with tempfile.TemporaryDirectory() as folder:
        client = Client(tl, folder)
        end = time.monotonic() + SECONDS
        count = 0
        while time.monotonic() < end:
            one, whole = pathlib.Path(folder, f"one{count}.tl"), pathlib.Path(folder, f"whole{count}.tl")
            text = rng.choice(programs).read_text()
            client.open(str(one), text)
            client.open(str(whole), "")
            for _ in range(rng.randrange(1, 6)):
                change, text = edit(text, rng)
                client.change(str(one), change)
            client.change(str(whole), {"text": text})
            wanted = checked(tl, one, text)
            for path in (one, whole):
                found = published(client, path, wanted)
                found = [(kind, message.replace(str(path), str(one))) for kind, message in found]
                assert found == wanted, f"seed {seed}, program {count}: {found} and not {wanted}, of\n{text}"
            client.close(str(one))
            client.close(str(whole))
            count += 1
        assert client.end() == 0
        assert count > 5, f"only {count} programs in {SECONDS} s"


WORD, NUMBER = re.compile(r"[A-Za-z_]\w*"), re.compile(r"\b\d+\b")
LINES = ["# note\n", "## doc\n", "\n", "let added = 1\n", "fn added(x: f32[n]) -> f32[n] = x\n", "  let unused = 3\n"]


def typed(text, rng):
    """A change as people make them: a name for another, a letter more or less, a line more or less. Begin, end, and what comes there."""
    words, numbers = list(WORD.finditer(text)), list(NUMBER.finditer(text))
    ends = [0, *(i + 1 for i, letter in enumerate(text) if letter == "\n")]
    line = rng.randrange(len(ends))
    begin, end = ends[line], [*ends, len(text)][line + 1]
    place = rng.randrange(len(text))
    word, number = rng.choice(words), rng.choice(numbers or words)
    return rng.choice([
        (*word.span(), rng.choice(words).group()),
        (word.end(), word.end(), "q"),
        (*number.span(), str(rng.randrange(9))),
        (begin, end, ""),
        (begin, begin, rng.choice([*LINES, text[begin:end]])),
        (place, place, rng.choice([" ", "\n", ")", "x"])),
        (place, place + 1, ""),
    ])  # fmt: skip


def settled_edits(tl):
    """What is said at once, of what an edit touches, is what the analysis of the whole text says."""
    rng = random.Random(1)
    top = pathlib.Path(__file__).resolve().parents[2]
    programs = [path for path in sorted([*top.glob("samples/**/*.tl"), *top.glob("tests/golden/run/*.tl")]) if path.read_text().isascii()]
    client, count, other = Client(tl, top), 0, []

    def symbols(path):  # takes all of the text
        client.request("textDocument/documentSymbol", textDocument={"uri": uri(path)})

    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        path = rng.choice(programs)
        text = path.read_text()
        client.open(str(path), text)
        for _ in range(4):
            symbols(path)
            begin, last, with_ = typed(text, rng)
            client.change(str(path), {"range": {"start": position(text, begin), "end": position(text, last)}, "text": with_})
            at_once = client.published(str(path))
            text = text[:begin] + with_ + text[last:]
            symbols(path)
            while (message := client.receive(patience=0.02)) is not None:
                client.take(message)
            count += 1
            if client.published(str(path)) != at_once:
                other.append(f"{path.name} {begin}..{last} {with_!r}")
        client.close(str(path))
    assert count >= 20 and len(other) <= 1 + count // 50, f"{len(other)} of {count} differ: {other}"
    assert client.end() == 0


def tests(tl):
    return [("random edits", lambda: random_edits(tl, 1)), ("settled edits", lambda: settled_edits(tl))]
