"""A terminal in memory: what a program writes to it becomes rows of cells, as on the screen of xterm. Its widths of
characters come from Python's own tables. What it does not know is an error: a program is to write no more than it must.
"""
import unicodedata


def columns_of(character):
    code = ord(character)
    if (unicodedata.category(character) in ("Mn", "Me", "Cf") and code != 0xAD) or 0x1160 <= code <= 0x11FF:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Row:
    def __init__(self):
        self.cells = []  # texts; "" behind a wide one
        self.goes_on = False  # into the next row, by the terminal's own wrapping

    def text(self):
        return "".join(self.cells)

    def put(self, column, cell, width):
        self.cells += [" "] * (column + width - len(self.cells))
        self.cells[column] = cell
        if width == 2:
            self.cells[column + 1] = ""


class Screen:
    """`rows` are all that were ever written; from `first` on they are on the screen."""

    def __init__(self, columns, height):
        self.columns, self.height = columns, height
        self.rows, self.row, self.column, self.first, self.clears = [Row()], 0, 0, 0, 0
        self.is_full = False  # the last column was written, and the next character wraps
        self.bells, self.modes, self.colours = 0, set(), set()
        self.waiting = ""

    def feed(self, text):
        text = self.waiting + text
        self.waiting = ""
        i = 0
        while i < len(text):
            if text[i] != "\x1b":
                self.character(text[i])
                i += 1
                continue
            end = i + 2
            while end < len(text) and not "@" <= text[end] <= "~":
                end += 1
            if end >= len(text):
                self.waiting = text[i:]
                return
            assert text[i + 1] == "[", f"an escape sequence that this terminal does not know: {text[i:end + 1]!r}"
            self.sequence(text[i + 2 : end], text[end])
            i = end + 1

    def character(self, c):
        if c == "\r":
            self.column, self.is_full = 0, False
        elif c == "\n":
            self.down()
        elif c == "\a":
            self.bells += 1
        elif c == "\b":
            self.column = max(0, self.column - 1)
        else:
            assert c >= " " and c != "\x7f" and not "\x80" <= c < "\xa0", f"a control character {c!r}"
            self.put(c)

    def down(self):
        self.row += 1
        self.is_full = False
        while self.row >= len(self.rows):
            self.rows.append(Row())
        self.first = max(self.first, self.row - self.height + 1)

    def put(self, c):
        width = columns_of(c)
        if width == 0:
            cells = self.rows[self.row].cells
            at = self.column - (0 if self.is_full else 1)
            if not 0 <= at < len(cells):
                return  # there is nothing that it could go on
            while at > 0 and cells[at] == "":
                at -= 1
            cells[at] += c
            return
        if self.is_full or self.column + width > self.columns:
            self.rows[self.row].goes_on = True
            self.down()
            self.column = 0
        self.rows[self.row].put(self.column, c, width)
        self.column += width
        if self.column >= self.columns:
            self.column, self.is_full = self.columns - 1, True

    def sequence(self, arguments, last):
        number = int(arguments) if arguments.isdigit() else 1
        if last == "A":
            self.row = max(self.first, self.row - number)
            self.is_full = False
        elif last == "C":
            self.column, self.is_full = min(self.columns - 1, self.column + number), False
        elif last == "H" and arguments == "":
            self.row, self.column, self.is_full = self.first, 0, False
        elif last == "J" and arguments == "":
            del self.rows[self.row + 1 :]
            del self.rows[self.row].cells[self.column :]
            self.rows[self.row].goes_on = False
            if self.row > 0 and self.column == 0:
                self.rows[self.row - 1].goes_on = False
        elif last == "J" and arguments == "2":
            self.row += len(self.rows) - self.first
            self.first = len(self.rows)
            while self.row >= len(self.rows):
                self.rows.append(Row())
            self.clears += 1
        elif last in "hl" and arguments.startswith("?"):
            (self.modes.add if last == "h" else self.modes.discard)(arguments[1:])
        elif last == "m":
            self.colours.add(arguments)
        else:
            raise AssertionError(f"an escape sequence that this terminal does not know: CSI {arguments}{last}")

    def resize(self, columns, height):
        """Lines that were wrapped are wrapped anew, as most terminals do, and the cursor stays in its text."""
        rows, row, column = self.rows, self.row, self.column + (1 if self.is_full else 0)
        self.rows, self.columns, self.height = [], columns, height
        i = 0
        while i < len(rows):
            line = list(rows[i].cells)
            cursor = column if i == row else None
            while rows[i].goes_on and i + 1 < len(rows):
                i += 1
                if i == row:
                    cursor = len(line) + column
                line += rows[i].cells
            self.break_line(line, cursor)
            i += 1
        self.first = max(0, self.row - height + 1)

    def break_line(self, line, cursor):
        first = len(self.rows)
        self.rows.append(Row())
        at = 0
        for k in range(len(line) + 1):
            if k == cursor:
                self.row, self.column, self.is_full = len(self.rows) - 1, at, False
                if at >= self.columns:
                    self.column, self.is_full = self.columns - 1, True
            if k == len(line):
                break
            if line[k] == "":
                continue
            width = 2 if k + 1 < len(line) and line[k + 1] == "" else 1
            if at + width > self.columns:
                self.rows[-1].goes_on = True
                self.rows.append(Row())
                at = 0
                if k == cursor:
                    self.row, self.column, self.is_full = len(self.rows) - 1, 0, False
            self.rows[-1].put(at, line[k], width)
            at += width
        if cursor is not None and cursor > len(line):
            self.row, self.column = first + cursor // self.columns, cursor % self.columns
            while len(self.rows) <= self.row:
                self.rows.append(Row())

    def lines(self):
        """Without blanks at their ends, and without empty ones at the end."""
        lines = [row.text().rstrip() for row in self.rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines
