"""Random keys at the prompt beside a model of the editor: after each few of them, text, cursor and screen are compared.
random_keys.py TL [FILTER] [--seed S] [--trials N]; a failure says the keys that lead to it."""
import os
import random
import shutil
import sys
import tempfile

from at_terminal import Failure, Terminal, has_terminals
from emulator import columns_of

LETTERS = "abcdefgh 12_   äößéçñ αβγδλ джзий אבג हिन्दी ไทย 漢字仮名 한국어 😀🎉 " + "e\u0301\u0302a\u0308\u200b"[:5]
KEYS = {
    "left": ["\x1b[D", "\x1bOD", "\x02"], "right": ["\x1b[C", "\x06"], "up": ["\x1b[A", "\x10", "\x1bOA"], "down": ["\x1b[B", "\x0e"],
    "home": ["\x1b[H", "\x01", "\x1b[1~"], "end": ["\x1b[F", "\x05", "\x1b[8~"], "text begin": ["\x1b<", "\x1b[1;5H"], "text end": ["\x1b>"],
    "word left": ["\x1bb", "\x1b[1;5D"], "word right": ["\x1bf", "\x1b[1;3C"], "backspace": ["\x7f", "\x08"], "delete": ["\x1b[3~"],
    "kill end": ["\x0b"], "kill begin": ["\x15"], "kill word left": ["\x17", "\x1b\x7f"], "kill word right": ["\x1bd"],
    "yank": ["\x19"], "transpose": ["\x14"], "undo": ["\x1f", "\x18\x15"], "redo": ["\x1b/"], "line": ["\x1b\r", "\x1b[13;2u"],
    "unknown": ["\x1b[15~", "\x1b[1;2P", "\x1b[I", "\x1b[<0;1;2M", "\x1b]0;title\x07", "\x1bx", "\x16"],
}
OFTEN = ["left", "right", "up", "down", "backspace", "line"]


def clusters(text):
    """(begin, end, columns) of each."""
    result = []
    i = 0
    while i < len(text):
        end = i + 1
        while text[i] != "\n" and end < len(text) and text[end] != "\n" and columns_of(text[end]) == 0:
            end += 1
        result.append((i, end, columns_of(text[i]) if text[i] != "\n" else 0))
        i = end
    return result


def is_word(c):
    return ord(c) >= 0x80 or c.isalnum() or c == "_"


class Editor:
    def __init__(self):
        self.history, self.kills = [], ""
        self.begin()

    def begin(self):
        self.text, self.cursor, self.goal, self.last = "", 0, None, None
        self.undos, self.redos, self.entry, self.cuts = [], [], None, False

    # positions
    def before(self, at):
        return max([b for b, e, _ in clusters(self.text) if e <= at], default=0)

    def after(self, at):
        return min([e for b, e, _ in clusters(self.text) if b >= at], default=len(self.text))

    def line_begin(self):
        return self.text.rfind("\n", 0, self.cursor) + 1

    def line_end(self):
        end = self.text.find("\n", self.cursor)
        return len(self.text) if end < 0 else end

    def word_left(self):
        at = self.cursor
        while at > 0 and not is_word(self.text[self.before(at)]):
            at = self.before(at)
        while at > 0 and is_word(self.text[self.before(at)]):
            at = self.before(at)
        return at

    def word_right(self):
        at = self.cursor
        while at < len(self.text) and not is_word(self.text[at]):
            at = self.after(at)
        while at < len(self.text) and is_word(self.text[at]):
            at = self.after(at)
        return at

    # movements and changes
    def move(self, at):
        self.cursor, self.goal, self.last = at, None, None

    def change(self, kind, begin, end, text, cursor=None):
        self.redos, self.goal = [], None
        if kind != self.last or kind == "other":
            self.undos.append((self.text, self.cursor))
        self.last = kind
        self.text = self.text[:begin] + text + self.text[end:]
        self.cursor = begin + len(text) if cursor is None else cursor
        self.cursor = min([e for _, e, _ in clusters(self.text) if e >= self.cursor], default=len(self.text)) if self.cursor else 0

    def vertical(self, begin):
        goal = self.goal
        if goal is None:
            goal = sum(columns for b, _, columns in clusters(self.text) if self.line_begin() <= b < self.cursor)
        end = self.text.find("\n", begin)
        end = len(self.text) if end < 0 else end
        at, column = begin, 0
        for b, e, columns in clusters(self.text):
            if begin <= b < end:
                if column + columns > goal:
                    break
                at, column = e, column + columns
        self.move(at)
        self.goal = goal

    def kill(self, to, is_before):
        if to == self.cursor:
            return
        begin, end = min(to, self.cursor), max(to, self.cursor)
        cut = self.text[begin:end]
        self.change("other", begin, end, "")
        old = self.kills if self.could_append else ""
        self.kills = cut + old if is_before else old + cut
        self.cuts = True

    def restore(self, one, other):
        if one:
            other.append((self.text, self.cursor))
            self.text, self.cursor = one.pop()
            self.goal = self.last = None

    def recall(self, entry):
        self.change("other", 0, len(self.text), self.draft if entry is None else self.history[entry])
        self.entry = entry

    def older(self):
        if self.entry is None:
            self.draft, self.prefix = self.text, self.text[: self.cursor]
        start = len(self.history) if self.entry is None else self.entry
        for i in range(start - 1, -1, -1):
            if self.history[i].startswith(self.prefix) and self.history[i] != self.text:
                return self.recall(i)

    def newer(self):
        if self.entry is None:
            return
        for i in range(self.entry + 1, len(self.history)):
            if self.history[i].startswith(self.prefix) and self.history[i] != self.text:
                return self.recall(i)
        self.recall(None)

    def press(self, key, text=""):
        if key == "unknown":
            return
        self.could_append, self.cuts = self.cuts, False
        c, n = self.cursor, len(self.text)
        if key == "text":
            self.change("typing", c, c, text)
        elif key == "paste":
            self.change("other", c, c, text)
        elif key == "line":
            begin = self.line_begin()
            line = self.text[begin:c]
            blanks = len(line) - len(line.lstrip(" "))
            end = c
            while end < n and self.text[end] == " ":
                end += 1
            self.change("other", c, end, "\n" + " " * blanks)
        elif key == "left" and c > 0:
            self.move(self.before(c))
        elif key == "right" and c < n:
            self.move(self.after(c))
        elif key == "up":
            begin = self.line_begin()
            self.vertical(self.text.rfind("\n", 0, begin - 1) + 1) if begin > 0 else self.older()
        elif key == "down":
            self.vertical(self.line_end() + 1) if self.line_end() < n else self.newer()
        elif key == "home":
            self.move(self.line_begin())
        elif key == "end":
            self.move(self.line_end())
        elif key == "text begin":
            self.move(0)
        elif key == "text end":
            self.move(n)
        elif key == "word left" and c > 0:
            self.move(self.word_left())
        elif key == "word right" and c < n:
            self.move(self.word_right())
        elif key == "backspace" and c > 0:
            self.change("erasing", self.before(c), c, "")
        elif key == "delete" and c < n:
            self.change("erasing", c, self.after(c), "")
        elif key == "kill end":
            self.kill(c + 1 if c == self.line_end() and c < n else self.line_end(), False)
        elif key == "kill begin":
            self.kill(self.line_begin(), True)
        elif key == "kill word left":
            self.kill(self.word_left(), True)
        elif key == "kill word right":
            self.kill(self.word_right(), False)
        elif key == "yank" and self.kills:
            self.change("other", c, c, self.kills)
        elif key == "transpose":
            begin, end = self.line_begin(), self.line_end()
            middle = self.before(c) if c == end and c > begin else c
            if begin < middle < end:
                first, last = self.before(middle), self.after(middle)
                self.change("other", first, last, self.text[middle:last] + self.text[first:middle])
        elif key == "undo":
            self.restore(self.undos, self.redos)
        elif key == "redo":
            self.restore(self.redos, self.undos)
        if key not in ("up", "down"):
            self.entry = None

    def screen(self, columns, with_cursor=True):
        """Rows, and the cursor among them as (row, column)."""
        rows, column, cursor = [""], 0, None

        def put(text, width):
            nonlocal column
            rows[-1] += text
            column += width
            if column >= columns:
                rows.append("")
                column = 0

        for c in "tl> ":
            put(c, 1)
        for b, e, width in clusters(self.text) + [(len(self.text), len(self.text), None)]:
            if width is not None and self.text[b] != "\n" and column + width > columns:
                rows.append("")
                column = 0
            if b == self.cursor:
                cursor = (len(rows) - 1, column)
            if width is None:
                break
            if self.text[b] == "\n":
                rows.append("")
                column = 0
                for c in "  > ":
                    put(c, 1)
            else:
                put(self.text[b:e], width)
        return [row.rstrip() for row in rows], cursor


class Trial:
    def __init__(self, terminal, chance, model):
        self.t, self.random, self.model, self.sent = terminal, chance, model, []
        self.inserted = 0

    def letters(self, count):
        return "".join(self.random.choice(LETTERS) for _ in range(count))

    def key(self):
        choice = self.random.random()
        if choice < 0.45:
            return [("text", c, c) for c in self.letters(self.random.randint(1, 6))]
        if choice < 0.5:
            text = "\n".join(self.letters(self.random.randint(0, 30)) for _ in range(self.random.randint(1, 3)))
            # Text with spaces at the ends of rows looks as it does without.
            return [("paste", text, f"\x1b[200~{text}\x1b[201~")] if text else []
        name = self.random.choice(OFTEN if choice < 0.8 else list(KEYS))
        return [(name, "", self.random.choice(KEYS[name]))]

    def press(self, keys):
        for name, text, sent in keys:
            self.model.press(name, text)
            self.sent.append((name, text))
            self.t.send(sent)

    def compare(self):
        rows, cursor = self.model.screen(self.t.screen.columns)
        while rows and not rows[-1]:
            rows.pop()

        def same():
            at = self.t.begin
            shown = [row.text().rstrip() for row in self.t.screen.rows[at:]]
            while shown and not shown[-1]:
                shown.pop()
            return shown == rows and (self.t.screen.row - at, self.t.screen.column) == cursor

        try:
            self.t.wait(same, "the screen", 20)
        except Failure:
            at = self.t.begin
            shown = "\n".join(row.text() for row in self.t.screen.rows[at:])
            raise Failure(f"after {self.sent}\nthe screen is\n{shown}\nwith the cursor at {(self.t.screen.row - at, self.t.screen.column)}"
                          f"\nand should be\n" + "\n".join(rows) + f"\nwith the cursor at {cursor}") from None

    def too_tall(self):
        return len(self.model.screen(self.t.screen.columns)[0]) > self.t.screen.height - 3

    def run(self):
        for _ in range(self.random.randint(3, 25)):
            for _ in range(self.random.randint(1, 4)):
                keys = self.key()
                self.press(keys)
                if self.too_tall():
                    self.press([("text begin", "", "\x1b<")] + [("kill end", "", "\x0b")] * 200)
            self.compare()
        # Not of one from the history, and of one whose mark would go on what is written before it.
        if '"' in self.model.text or columns_of((self.model.text or " ")[0]) == 0:
            self.t.send("\x03")
            self.t.wait(lambda: self.t.screen.lines()[-1] == "tl>" and self.t.screen.row > self.t.begin, "a prompt", 20)
            self.model.begin()
            self.t.begin = self.t.screen.row
            return
        # The text itself: as the value of a string.
        self.press([("text begin", "", "\x1b<")] + [("text", '"', '"')] * 3 + [("text end", "", "\x1b>")] + [("text", '"', '"')] * 3)
        text = self.model.text
        self.t.send("\r")
        expected = self.model.screen(self.t.screen.columns)[0]
        if not expected[-1]:  # behind a row that is full to its end the answer begins at once
            expected.pop()
        self.model.history += [text] if not self.model.history or self.model.history[-1] != text else []
        self.model.begin()
        value = text[3:-3] + " : str"
        if any(line and columns_of(line[0]) == 0 for line in value.split("\n")):
            value = ""  # what such a mark goes on depends on the terminal

        def answered():
            lines = self.t.screen.lines()[self.t.begin :]
            answer = "".join(row.text() for row in self.t.screen.rows[self.t.begin + len(expected) :])
            return lines[-1:] == ["tl>"] and answer.replace(" ", "").startswith(value.replace("\n", "").replace(" ", ""))

        self.t.wait(answered, f"the value {value!r} after {self.sent}", 20)
        self.t.begin = self.t.screen.row


def option(name, otherwise):
    return int(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else otherwise


def main():
    if not has_terminals():
        return 77
    tl = os.path.realpath(sys.argv[1])
    if len(sys.argv) > 2 and not sys.argv[2].startswith("--") and sys.argv[2] not in "random keys":
        print("0 passed, 0 failed")
        return 0
    passed = 0
    seed, trials = option("--seed", 1), option("--trials", 40)
    chance = random.Random(seed)
    folder = tempfile.mkdtemp()
    try:
        for columns in (80, 40, 23):
            terminal = Terminal(tl, folder, columns=columns, rows=24, TL_HISTORY=None, HOME="")
            model = Editor()
            for _ in range(trials // 3 + 1):
                Trial(terminal, chance, model).run()
                passed += 1
            terminal.close()
    except (Failure, AssertionError) as problem:
        print(f"FAIL random keys, seed {seed}: {problem}\n{passed} passed, 1 failed")
        return 1
    finally:
        shutil.rmtree(folder)
    print(f"{passed} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
