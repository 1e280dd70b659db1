#!/usr/bin/env python3
"""Writes outlines.cpp, the font of pictures made of pixels: outlines.py DejaVuSans.ttf > outlines.cpp (needs fontTools)."""
import sys
import zlib

from fontTools.pens.recordingPen import DecomposingRecordingPen
from fontTools.ttLib import TTFont

UNITS = 256  # of an em
RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x391, 0x3C9), (0x410, 0x44F), (0x2070, 0x208E)]
SINGLE = "ЁёєіїЄІЇ–—‘’“”„•…′″€−√∞≈≠≤≥±∂∑∏∫∇∈∝→←↑↓⇒∘⟨⟩□"
WIDTH = 110  # of a line of text
LICENCE = """
Copyright (c) 2003 by Bitstream, Inc. All Rights Reserved. Bitstream Vera is a trademark of Bitstream, Inc.
DejaVu changes are in public domain.

Permission is hereby granted, free of charge, to any person obtaining a copy of the fonts accompanying this
license ("Fonts") and associated documentation files (the "Font Software"), to reproduce and distribute the Font
Software, including without limitation the rights to use, copy, merge, publish, distribute, and/or sell copies
of the Font Software, and to permit persons to whom the Font Software is furnished to do so, subject to the
following conditions:

The above copyright and trademark notices and this permission notice shall be included in all copies of one or
more of the Font Software typefaces.

The Font Software may be modified, altered, or added to, and in particular the designs of glyphs or characters
in the Fonts may be modified and additional glyphs or characters may be added to the Fonts, only if the fonts
are renamed to names not containing either the words "Bitstream" or the word "Vera".

This License becomes null and void to the extent applicable to Fonts or Font Software that has been modified and
is distributed under the "Bitstream Vera" names.

The Font Software may be sold as part of a larger software package but no copy of one or more of the Font
Software typefaces may be sold by itself.

THE FONT SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO ANY WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT OF COPYRIGHT,
PATENT, TRADEMARK, OR OTHER RIGHT. IN NO EVENT SHALL BITSTREAM OR THE GNOME FOUNDATION BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, INCLUDING ANY GENERAL, SPECIAL, INDIRECT, INCIDENTAL, OR CONSEQUENTIAL DAMAGES,
WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF THE USE OR INABILITY TO USE THE FONT
SOFTWARE OR FROM OTHER DEALINGS IN THE FONT SOFTWARE.

Except as contained in this notice, the names of Gnome, the Gnome Foundation, and Bitstream Inc., shall not be
used in advertising or otherwise to promote the sale, use or other dealings in this Font Software without prior
written authorization from the Gnome Foundation or Bitstream Inc., respectively. For further information,
contact: fonts at gnome dot org.
"""


def number(n):
    """One character from $ to | for -44 to 44, or } and two digits to base 89, or ~ and three."""
    if -44 <= n <= 44:
        return chr(80 + n)
    digits = 2 if abs(n) <= 89**2 // 2 else 3
    n += 89**digits // 2
    return "}~"[digits - 2] + "".join(chr(36 + n // 89**k % 89) for k in reversed(range(digits)))


def outline(glyphs, name, scale):
    pen = DecomposingRecordingPen(glyphs)
    glyphs[name].draw(pen)
    contours = []
    for operation, points in pen.value:
        if operation == "moveTo":
            contours.append([(points[0], True)])
        elif operation == "lineTo":
            contours[-1].append((points[0], True))
        elif operation == "qCurveTo":
            if points[-1] is None:  # a contour without a point on it: one between two others is
                points = points[:-1]
                (ax, ay), (bx, by) = points[-1], points[0]
                contours.append([(((ax + bx) / 2, (ay + by) / 2), True)])
            else:
                points, last = points[:-1], points[-1]
                contours[-1] += [(p, False) for p in points] + [(last, True)]
                continue
            contours[-1] += [(p, False) for p in points]
    text, x, y = "", 0, 0
    for contour in contours:
        text += "#"
        if len(contour) > 1 and contour[0] == contour[-1]:
            contour.pop()
        for (px, py), on in contour:
            px, py = round(px * scale), round(py * scale)
            text += ("" if on else "!") + number(px - x) + number(py - y)
            x, y = px, py
    return text


def main():
    font = TTFont(sys.argv[1])
    names, glyphs = font.getBestCmap(), font.getGlyphSet()
    scale = UNITS / font["head"].unitsPerEm
    codes = sorted({c for a, b in RANGES for c in range(a, b + 1)} | {ord(c) for c in SINGLE})
    text, before = "", 0
    for code in codes:
        if code not in names:
            continue
        advance = round(glyphs[names[code]].width * scale)
        text += " " + number(code - before) + number(advance) + outline(glyphs, names[code], scale)
        before = code
    packed = zlib.compress(text.encode(), 9)
    lines = [[]]
    for byte in packed:
        if len(", ".join(lines[-1] + [str(byte)])) > WIDTH:
            lines.append([])
        lines[-1].append(str(byte))
    print("// Made by outlines.py from DejaVu Sans: do not change it by hand. The licence of its outlines:")
    print("//")
    for line in LICENCE.strip().splitlines():
        print(f"// {line}".rstrip())
    print('#include "vm/plot/font.h"\n')
    print("namespace tl::plot {\n")
    print("// clang-format off")
    print("const uint8_t kOutlines[] = {")
    print("\n".join(f"    {', '.join(line)}," for line in lines) + "\n};")
    print("// clang-format on")
    print("const size_t kOutlinesSize = sizeof kOutlines;")
    print(f"const size_t kOutlinesTextSize = {len(text)};\n")
    print("} // namespace tl::plot")


main()
