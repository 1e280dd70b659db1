#!/usr/bin/env python3
"""Format specifications against Python's own `format()`: what it accepts, tl formats the same, to the character; what it
rejects, `tl check` rejects.

Each round is two programs of many lines, a value and a specification in each: one that runs, with what Python accepts, and
one that is only checked, of which every line must have an error of the kind FormatMismatch. Values are integers, floats and
text, of every type; specifications are put together from fill, alignment, sign, `z`, `#`, `0`, width, grouping, precision and
type, of which each may be left out, doubled, misplaced or wrong.

Where tl's contract is another, no case is made:
  - a width or precision above 10000 is rejected (here: by both, as Python's answer is taken to be);
  - bools are the words true and false, and take only fill, alignment and width;
  - format `c` of a number that is no character gives U+FFFD, where Python raises an exception when it runs;
  - `{x}` of an f32 or f16 shows the digits of its own type; Python has only f64. With a precision both are the same;
  - a specification cannot hold braces, quotes, backslashes or the end of a line;
  - `{x:}`, and `!r`, are not written in tl.

  formats.py --tl build/tl [--count ROUNDS] [--seed K] [--seconds S] [--out FOLDER]

Ends with `N passed, N failed`. A seed always gives the same cases.
"""
import argparse
import json
import math
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

CASES = 400  # of a round
SECONDS = 60
MEMORY = 6 << 30
LONGEST = 10000  # of width and precision (abi/format_spec.cpp)
FILLS = [' ', '0', '*', '#', '_', '-', '+', 'x', '.', ',', ':', '<', '>', '=', '^', '%', 'é', '漢', '😀', '\u0301', '\u00a0']
TYPES = 'bcdoxXeEfFgGn%s'
INTEGERS = {'i64': (-2**63, 2**63 - 1), 'i32': (-2**31, 2**31 - 1), 'i8': (-128, 127), 'u8': (0, 255)}
FLOATS = {'f64': 'd', 'f32': 'f', 'f16': 'e'}
LETTERS = 'ab zé漢😀.,0-\u0301'


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def maybe(self, chance, make):
        return make() if self.rng.random() < chance else ''

    # ---- values: (type, value for Python, source for tl)
    def integer(self):
        rng = self.rng
        kind = rng.choice(list(INTEGERS))
        least, most = INTEGERS[kind]
        value = rng.choice([0, 1, -1, 9, 10, 999, 1000, 1234567, 65, 0x10ffff, 0xd800, least, most,
                            rng.randint(least, most), int(math.copysign(rng.random(), rng.random() - 0.5) * 10**rng.randint(0, 18))])
        value = min(max(value, least), most)
        return kind, value, str(value)

    def float(self):
        rng = self.rng
        kind = rng.choice(list(FLOATS))
        code = FLOATS[kind]
        bits = bytes(rng.randrange(256) for _ in range(struct.calcsize(code)))
        value = rng.choice([0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, 0.1, 9.5, 99.95, 0.00012345, 123456.0, 1e15, 1e16, 1e17, -1e-5,
                            math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308,
                            rng.gauss(0, 1), rng.gauss(0, 1) * 10.0**rng.randint(-20, 20), float(rng.randint(-10**6, 10**6)) / 64,
                            struct.unpack('<' + code, bits)[0]])
        try:
            value = struct.unpack(code, struct.pack(code, value))[0]
        except OverflowError:
            value = math.inf
        if math.isnan(value):
            return kind, math.nan, 'nan'
        if math.isinf(value):
            return kind, value, 'inf' if value > 0 else '-inf'
        return kind, value, repr(value)

    def text(self):
        value = ''.join(self.rng.choice(LETTERS) for _ in range(self.rng.choice([0, 1, 2, 5, 12])))
        return 'str', value, f'"{value}"'

    def value(self):
        return self.rng.choice([self.integer, self.integer, self.float, self.float, self.text])()

    # ---- specifications
    def number(self):
        rng = self.rng
        return str(rng.choice([rng.randint(0, 9), rng.randint(0, 30), rng.randint(0, 30), rng.randint(10, 99), rng.randint(100, 400)]
                              + [LONGEST, LONGEST + 1] * (rng.random() < 0.01)))

    def specification(self):
        rng = self.rng
        parts = [
            self.maybe(0.4, lambda: self.maybe(0.6, lambda: rng.choice(FILLS)) + rng.choice('<>=^')),
            self.maybe(0.3, lambda: rng.choice('+- ')),
            self.maybe(0.1, lambda: 'z'),
            self.maybe(0.2, lambda: '#'),
            self.maybe(0.25, lambda: '0'),
            self.maybe(0.6, self.number),
            self.maybe(0.3, lambda: rng.choice(',_')),
            self.maybe(0.4, lambda: '.' + self.number()),
            self.maybe(0.7, lambda: rng.choice(TYPES)),
        ]
        spoil = rng.random()
        if spoil < 0.05:  # in another order
            rng.shuffle(parts)
        elif spoil < 0.1:  # one of them twice
            parts.insert(rng.randrange(len(parts) + 1), rng.choice(parts))
        elif spoil < 0.15:  # something else in between
            parts.insert(rng.randrange(len(parts) + 1), rng.choice(FILLS + list('aAdfsykZ;!?.,_0')))
        return ''.join(parts)

    def case(self):
        while True:
            kind, value, source = self.value()
            spec = self.specification()
            if is_in_contract(kind, value, spec):
                return kind, value, source, spec


def is_in_contract(kind, value, spec):
    if not spec or spec.startswith('!'):
        return False
    if kind in INTEGERS and spec[-1] == 'c' and not (0 <= value <= 0x10ffff and not 0xd800 <= value < 0xe000):
        return False
    if kind in INTEGERS and spec[-1] == 'c' and chr(value) in '\n\r|\0':
        return False
    # The shortest digits are those of the type.
    shortest = kind in ('f32', 'f16') and spec[-1] not in 'eEfFgGn%' and not re.search(r'\.\d', spec)
    return not shortest


def expected(value, spec):
    """What Python makes of it; None: it rejects it."""
    digits = ''
    for c in spec + ' ':
        if c.isascii() and c.isdigit():
            digits += c
        elif digits:
            if int(digits) > LONGEST:
                return None
            digits = ''
    try:
        return format(value, spec)
    except (ValueError, OverflowError):
        return None


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Judge:
    def __init__(self, tl, folder):
        self.tl, self.folder = tl, folder
        self.environment = dict(os.environ, TL_CACHE_DIR=os.path.join(folder, 'cache'))

    def run(self, arguments, lines):
        with open(os.path.join(self.folder, 'formats.tl'), 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
        try:
            done = subprocess.run([self.tl] + arguments + ['formats.tl'], capture_output=True, timeout=SECONDS, cwd=self.folder,
                                  env=self.environment, preexec_fn=limited, check=False)
        except subprocess.TimeoutExpired:
            return None, '', ''
        return done.returncode, done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')

    @staticmethod
    def program(cases):
        """A case in each line."""
        return [f'let v{i}: {kind} = {source}; print("{i}|{{v{i}:{spec}}}|")' for i, (kind, _, source, spec) in enumerate(cases)]

    def rejections(self, cases):
        """By the number of the case: what `tl check` says of it."""
        code, _, errors = self.run(['check', '--message-format=json'], self.program(cases))
        said = {}
        for line in errors.splitlines():
            try:
                message = json.loads(line)
                said.setdefault(message['line'] - 1, []).append(message)
            except (ValueError, KeyError):
                pass
        return code, said, errors

    def problems(self, cases, engine):
        """What is wrong: (case, why)."""
        results = [expected(case[1], case[3]) for case in cases]
        found = []
        bad = [case for case, result in zip(cases, results) if result is None]
        good = [(case, result) for case, result in zip(cases, results) if result is not None]
        if bad:
            code, said, errors = self.rejections(bad)
            if code != 1:
                found.append((bad[0], f'check of what Python rejects ends with {code}: {errors[-300:]}'))
            for i, case in enumerate(bad):
                kinds = {message.get('kind') for message in said.get(i, [])}
                if kinds != {'FormatMismatch'}:
                    found.append((case, f'Python rejects it, and check says {sorted(map(str, kinds)) or "nothing"}'))
        if good:
            code, said, errors = self.rejections([case for case, _ in good])
            for i in sorted(said):
                found.append((good[i][0], f'Python accepts it, and check says {said[i][0].get("message")}'))
            good = [pair for i, pair in enumerate(good) if i not in said]
            code, out, errors = self.run(['run', '--threads', '1'] + engine, self.program([case for case, _ in good]))
            if code != 0:
                found.append((good[0][0], f'a program of such lines ends with {code}: {errors[-300:]}'))
            lines = out.split('\n')
            for i, (case, result) in enumerate(good):
                want = f'{i}|{result}|'
                if code == 0 and (i >= len(lines) or lines[i] != want):
                    found.append((case, f'{want!r} in Python, {lines[i] if i < len(lines) else None!r} here'))
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tl', required=True)
    parser.add_argument('--count', type=int, default=10**9)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--out', default='')
    options = parser.parse_args()
    passed = failed = 0
    end = time.monotonic() + options.seconds
    print(f'seed {options.seed}', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(os.path.abspath(options.tl), folder)
        for seed in range(options.seed, options.seed + options.count):
            if time.monotonic() > end:
                break
            maker = Maker(random.Random(seed))
            cases = [maker.case() for _ in range(CASES)]
            problems = judge.problems(cases, [] if seed % 16 == 0 else ['--interp'])
            failed += len(problems)
            passed += len(cases) - min(len(problems), len(cases))
            for (kind, value, source, spec), why in problems:
                print(f'seed {seed}: {kind} {source} as {spec!r}: {why}', flush=True)
            if problems and options.out:
                os.makedirs(options.out, exist_ok=True)
                with open(os.path.join(options.out, f'formats-{seed}.tl'), 'w', encoding='utf-8') as file:
                    file.write('\n'.join(judge.program([case for case, _ in problems])) + '\n')
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
