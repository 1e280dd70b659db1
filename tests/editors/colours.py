"""What the compiler's lexer says of a program (`tl dump --stage tokens`), in the classes that editors colour by."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

CONTEXTUAL = ("test", "on", "export", "as")  # names where they are none of these
KEYWORDS = set("let var const fn struct import if else for in while break continue return true false and or not assert new none".split())


def class_of_token(kind):
    word = kind.split(" ")[0]
    if kind.startswith(("string begin", "string end", "text ")) or kind == "text":
        return "string"
    if word in ("integer", "float"):
        return "number"
    if kind.startswith("format"):
        return "format"
    if word in KEYWORDS or word in CONTEXTUAL:
        return "keyword"
    if word == "name":
        return "name"
    return "other"


def tokens_of(tl, path):
    """The lines, and (row, column, kind) of each token, from 0; none where the lexer finds an error."""
    dumped = subprocess.run([tl, "dump", str(path), "--stage", "tokens"], capture_output=True)
    if dumped.returncode or dumped.stderr:
        return [], []
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode()
    lines = [line.rstrip("\r") for line in text.split("\n")]
    tokens = []
    for entry in dumped.stdout.decode().split("\n"):
        match = re.match(r"(\d+):(\d+) (.*)", entry)
        if not match:
            continue
        row, column, kind = int(match[1]) - 1, int(match[2]) - 1, match[3]
        is_end = kind.startswith(("end of", "string end")) or kind == "interpolation end"
        if not is_end and row < len(lines) and column < len(lines[row]):  # else a text that begins with a line's end
            tokens.append((row, column, kind))
    return lines, tokens
