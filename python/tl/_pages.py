"""Values as HTML, for notebooks: from the text and type that `tl repl` shows, so that both have the same digits."""
import html
import itertools
import re
import struct
import zlib

_TENSOR = re.compile(r"([a-z]\w*)\[([\d, ]+)\]$")
_MOST, _EDGE = 12, 5  # rows and columns of a table; beyond, so many at both ends
_STYLE = "text-align: right; font-family: monospace; padding: 1px 8px"


def html_of(shown, type):
    """A tensor of one, two or three axes as tables; None of anything else."""
    match = _TENSOR.match(type)
    if not match:
        return None
    shape = [int(size) for size in match[2].split(",")]
    if len(shape) > 3 or 0 in shape:
        return None
    text = shown[:shown.rindex(": " + type)] if shown.endswith(": " + type) else shown
    values = nested(text)
    head = "<div><code>%s</code></div>" % html.escape(type)
    if len(shape) == 1:
        return head + table([values], shape[0], None)
    if len(shape) == 2:
        return head + table(values, shape[1], shape[0])
    return head + "".join(
        "<div>⋮</div>" if plane is None else "<div><code>[%d]</code></div>%s" % (index, table(plane, shape[2], shape[1]))
        for index, plane in cut(values, shape[0]))


def is_picture(type):
    """Bytes of red, green, blue, and maybe opacity, as `load` gives them of a picture's file; no more of them than a page should hold."""
    match = re.match(r"u8\[(\d+), (\d+), [34]\]$", type)
    return bool(match) and 4 <= min(int(match[1]), int(match[2])) and int(match[1]) * int(match[2]) <= 4 << 20


def png_of(pixels):
    """The PNG file of a picture, an array of the shape [height, width, 3 or 4]."""
    height, width, channels = pixels.shape

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + bytes(itertools.chain.from_iterable(row)) for row in pixels.tolist())
    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def nested(text):
    """The lists of a printed tensor, of texts."""
    lists = [[]]
    for token in re.findall(r"\[|\]|[^\s\[\],]+", text):
        if token == "[":
            lists.append([])
        elif token == "]":
            lists[-2].append(lists.pop())
        else:
            lists[-1].append(token)
    return lists[0][0]


def cut(values, size):
    """Pairs of index and value; (None, None) where some are left out, by `print` or here."""
    if "..." in values:
        gap = values.index("...")
        head, tail = values[:gap], values[gap + 1:]
    else:
        head, tail = values, []
    if len(values) > _MOST:
        head, tail = head[:_EDGE], (tail or head)[-_EDGE:]
    pairs = list(enumerate(head))
    if tail:
        pairs += [(None, None), *enumerate(tail, size - len(tail))]
    return pairs


def table(rows, width, height):
    """Rows of elements; without a height it is one of a vector, which has no index."""
    columns = cut(next(row for row in rows if row != "..."), width)
    lines = ["<tr>%s%s</tr>" % ("<th></th>" if height else "", "".join(cell("th", "⋯" if at is None else at) for at, _ in columns))]
    for index, row in cut(rows, height or 1):
        cells = ["⋮"] * len(columns) if row is None else ["⋯" if at is None else value for at, value in cut(row, width)]
        name = "" if not height else cell("th", "⋮" if index is None else index)
        lines.append("<tr>%s%s</tr>" % (name, "".join(cell("td", value) for value in cells)))
    return "<table>%s</table>" % "".join(lines)


def cell(tag, content):
    return '<%s style="%s">%s</%s>' % (tag, _STYLE, html.escape(str(content)), tag)
