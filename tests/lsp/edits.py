"""Random edits: applied one by one they leave the text, and the diagnostics, that the whole text has, and these are what `tl check` says."""
import json
import pathlib
import random
import subprocess
import tempfile
import time

from client import Client

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


def tests(tl):
    return [("random edits", lambda: random_edits(tl, 1))]
