#!/usr/bin/env python3
"""Writes letters.def, the table of the characters of names, from Python's own tables of Unicode: letters.py > letters.def. Python 3.11 has
Unicode 14. A character is in it that Unicode allows in names (UAX #31, XID_Start and XID_Continue), that is its own compatibility form, so that
it does not only look like another one, and that shows."""
import sys
import unicodedata

# Default_Ignorable_Code_Point, which `unicodedata` does not have: characters that leave no trace.
INVISIBLE = [(0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
             (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
             (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]
# Letters of Greek and Cyrillic in the shape of Latin ones.
LOOKALIKES = {"Α": "A", "Β": "B", "Ε": "E", "Ζ": "Z", "Η": "H", "Ι": "I", "Κ": "K", "Μ": "M", "Ν": "N", "Ο": "O", "Ρ": "P", "Τ": "T", "Υ": "Y",
              "Χ": "X", "ο": "o", "ϳ": "j", "а": "a", "е": "e", "о": "o", "р": "p", "с": "c", "у": "y", "х": "x", "ѕ": "s", "і": "i", "ј": "j",
              "һ": "h", "ԁ": "d", "ԛ": "q", "ԝ": "w", "ӏ": "l", "А": "A", "В": "B", "Е": "E", "К": "K", "М": "M", "Н": "H", "О": "O", "Р": "P",
              "С": "C", "Т": "T", "Х": "X", "Ѕ": "S", "І": "I", "Ј": "J", "Ү": "Y", "Ԛ": "Q", "Ԝ": "W", "Ӏ": "I"}
SYMBOLS = range(0x2000, 0x2C00)  # and punctuation; the lexer ends names there, for the sake of a handful of old letters
ALL = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]
IS_HANGUL = range(0xAC00, 0xD7A4)  # composed by a formula


def is_visible(code):
    return not any(first <= code <= last for first, last in INVISIBLE)


def is_own_form(code):
    return unicodedata.normalize("NFKC", chr(code)) == chr(code)


def ranges(codes, value=lambda code: ()):
    """Runs of codes that follow each other and have one value."""
    runs = []
    for code in codes:
        if runs and runs[-1][1] + 1 == code and runs[-1][2] == value(code):
            runs[-1][1] = code
        else:
            runs.append([code, code, value(code)])
    return runs


def replacements():
    """Characters in another dress, by what they are without it: one letter or digit, ASCII's or Greek's."""
    plain = {}
    for code in ALL:
        form = unicodedata.normalize("NFKC", chr(code))
        if form != chr(code) and len(form) == 1 and (form.isascii() and form.isalnum() or 0x391 <= ord(form) <= 0x3C9):
            plain[code] = ord(form)
    return ranges(plain, lambda code: plain[code] - code)


def main():
    names = [c for c in ALL if ("a" + chr(c)).isidentifier() and is_own_form(c) and is_visible(c) and c not in SYMBOLS]
    rows = [f"TL_LETTER(0x{first:x}, 0x{last:x})" for first, last, _ in ranges([c for c in names if chr(c).isidentifier()])]
    rows += [f"TL_MARK(0x{first:x}, 0x{last:x})" for first, last, _ in ranges([c for c in names if not chr(c).isidentifier()])]
    marked = [c for c in names if unicodedata.combining(chr(c))]
    rows += [f"TL_ORDER(0x{first:x}, 0x{last:x}, {order})" for first, last, order in ranges(marked, lambda c: unicodedata.combining(chr(c)))]
    for code in names:
        parts = [] if code in IS_HANGUL else unicodedata.decomposition(chr(code)).split()
        if parts:
            rows.append(f"TL_COMPOSED(0x{code:x}, 0x{int(parts[0], 16):x}, 0x{int(parts[1], 16):x})")
    rows += [f"TL_LOOKALIKE(0x{ord(c):x}, '{latin}')" for c, latin in sorted(LOOKALIKES.items())]
    rows += [f"TL_DRESSED(0x{first:x}, 0x{last:x}, 0x{first + shift:x})" for first, last, shift in replacements()]
    print(f"""// The characters of names beyond ASCII, of Unicode {unicodedata.unidata_version}; written by letters.py, which says what is in it.
// TL_LETTER(first, last): may begin a name. TL_MARK(first, last): may stand in one. TL_ORDER(first, last, order): marks that
// Unicode sorts by this number. TL_COMPOSED(whole, first, second): is the same as these two. TL_LOOKALIKE(code, latin):
// has the shape of this Latin letter. TL_DRESSED(first, last, plain): not in names; stands for `plain` and the next ones.
// clang-format off""")
    line = ""
    for row in rows:
        if len(line) + len(row) + 1 > 118:
            print(line)
            line = ""
        line += (" " if line else "") + row
    print(line)
    print("// clang-format on")


if __name__ == "__main__":
    sys.exit(main())
