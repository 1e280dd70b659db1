"""Names against Python's tables of Unicode: random characters, of which those may stand in a name that Unicode allows there, that are their own
compatibility form and that show; and random words of letters and marks, which are refused unless they are in composed form (NFC)."""
import json
import pathlib
import random
import subprocess
import unicodedata

SEED, COUNT = 1, 1500
IN_A_PROGRAM = 100
# From Unicode's Default_Ignorable_Code_Point, as far as Python would have them in identifiers.
INVISIBLE = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x3164, 0xFFA0, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
LETTERS = "aeiouyAEOUnsctzlghw" + "αηιωυΩ" + "アイカハくひ" + "".join(map(chr, (0x915, 0x92B, 0x9C7, 0xDD9, 0x1100, 0x1112, 0x1161, 0x1175, 0xAC00, 0xAC01, 0xD788)))
MARKS = [chr(c) for c in range(0x300, 0x370) if c != 0x34F] + [chr(c) for c in (0x93C, 0x9BE, 0xDCA, 0xDCF, 0x3099, 0x309A, 0x11A8, 0x11C2, 0x5B0, 0x5B9)]


def stands_in_names(character):
    if 0x2000 <= ord(character) < 0x2C00:  # symbols and punctuation, with a handful of old letters
        return False
    is_own_form = unicodedata.normalize("NFKC", character) == character
    return ("a" + character).isidentifier() and is_own_form and ord(character) not in INVISIBLE


def problems(oracle, folder, words):
    """What `tl check` says of a program that binds each word, by line: kinds, and the hint."""
    pathlib.Path(folder, "program.tl").write_text("".join(f"let {word} = 1\n" for word in words), encoding="utf-8")
    oracle.command = [oracle.tl, "check", "--warnings", "off", "--message-format", "json", "program.tl"]
    run = subprocess.run(oracle.command, cwd=folder, capture_output=True, text=True, timeout=100)
    found = {}
    for line in run.stderr.splitlines():
        message = json.loads(line)
        found.setdefault(message["line"] - 1, []).append((message["kind"], message.get("hint") or ""))
    return found


def check_characters(oracle, folder, rng):
    groups = [range(0x80, 0x800), range(0x800, 0x3000), range(0x3000, 0x11000), range(0x11000, 0x20000), range(0x20000, 0x110000)]
    shapes = set("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϳаеорсухѕіјһԁԛԝӏАВЕКМНОРСТХЅІЈҮԚԜӀ")  # of Latin letters: refused for that
    pick = [chr(c) for c in (rng.choice(rng.choice(groups)) for _ in range(oracle.count)) if not 0xD800 <= c < 0xE000]
    pick = [c for c in pick if c not in shapes and unicodedata.normalize("NFC", "a" + c) == "a" + c]
    for begin in range(0, len(pick), IN_A_PROGRAM):
        part = pick[begin : begin + IN_A_PROGRAM]
        found = problems(oracle, folder, [f"a{c}{i}" for i, c in enumerate(part)])
        for i, c in enumerate(part):
            oracle.check(stands_in_names(c) == (i not in found), f"U+{ord(c):04X}: {found.get(i)}")


def random_word(rng):
    word = rng.choice(LETTERS)
    for _ in range(rng.randrange(1, 5)):
        word += rng.choice(LETTERS) if rng.random() < 0.3 else rng.choice(MARKS)
    form = rng.choice([None, "NFC", "NFD"])
    return unicodedata.normalize(form, word) if form else word


def check_words(oracle, folder, rng):
    words = [word for word in (random_word(rng) for _ in range(oracle.count)) if all(map(stands_in_names, unicodedata.normalize("NFC", word)))]
    words = [word for word in words if all(map(stands_in_names, word)) and word[0].isidentifier()]
    for begin in range(0, len(words), IN_A_PROGRAM):
        part = [f"{word}_{i}" for i, word in enumerate(words[begin : begin + IN_A_PROGRAM])]
        found = problems(oracle, folder, part)
        for i, word in enumerate(part):
            composed = unicodedata.normalize("NFC", word)
            if word == composed:
                oracle.check(i not in found, f"{word!r} ({ascii(word)}): {found.get(i)}")
            else:
                said = found.get(i, [("", "")])[0]
                oracle.check(said[0] == "BadName" and said[1].startswith(f"write `{composed}`"), f"{ascii(word)}: {said}")


def run(oracle):
    rng = random.Random(oracle.seed)
    with oracle.folder() as folder:
        check_characters(oracle, folder, rng)
        check_words(oracle, folder, rng)
