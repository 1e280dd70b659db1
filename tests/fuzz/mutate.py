#!/usr/bin/env python3
"""Whole programs, changed at random, against every front of tl: none may end it by a signal, by a fault of its own or not
at all.

A mutant is a golden program or a sample of which names are exchanged, lines and tokens deleted, doubled or moved, numbers
taken to extremes, or into which a part of another program is put. Each goes through `tl check`, `tl fmt` (whose result must
be left as it is by another `tl fmt`), `tl repl` and `tl run --interp`. What is wrong is said, and the program kept.

  mutate.py --tl build/tl [--count N] [--seed K] [--seconds S] [--out FOLDER] [--compiled]

Ends with `N passed, N failed`. A seed always gives the same mutants.
"""
import argparse
import glob
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"|#[^\n]*|[A-Za-z_]\w*|\d[\w.]*(?:e[-+]?\d+)?|'
    r'\*\*=|//=|\.\.\.|->|\.\.|[-+*/%@=!<>]=|\*\*|//|\|\||[ \t]+|\n|.', re.S)
NUMBERS = ['0', '1', '-1', '2', '7', '255', '256', '65536', '2147483648', '4294967296', '9223372036854775807',
           '9223372036854775808', '-9223372036854775808', '18446744073709551616', '0.0', '-0.0', '1e308', '1e-320', '1e999',
           'nan', 'inf', '0x7fffffffffffffff', '3037000500']
WORDS = ['let', 'var', 'const', 'fn', 'struct', 'import', 'if', 'else', 'for', 'in', 'while', 'break', 'continue', 'return',
         'true', 'false', 'and', 'or', 'not', 'assert', 'new', 'none', 'as', 'test', 'on', 'export', '_', '(', ')', '[', ']',
         '{', '}', ',', ':', ';', '.', '..', '...', '->', '=', '+=', '|', '||', '@', '**', '//', '%', '<', '>', '==',
         'f32', 'f16', 'bf16', 'i64', 'u8', 'bool', 'key', 'range', 'List', 'str', 'device', 'sum', 'min', 'list', 'grad',
         'vmap', 'jvp', 'vjp', 'map', 'fold', 'zeros', 'print', 'enumerate', 'zip', 'n', 'x', 'e', 'pi', '"{x}"', '"', '\\',
         '\r', '\r\n', '\t', '\f', '\0', '\ufeff', '\u2028', 'é', '#', '##', '"""', '{{', '0..3', '[1.0, 2.0]', '()', '(1,)']
SECONDS = 5
MEMORY = 6 << 30
FAULT = 'internal error'


def programs():
    """The texts that mutants are made of."""
    paths = sorted(glob.glob(f'{ROOT}/tests/golden/**/*.tl', recursive=True) + glob.glob(f'{ROOT}/samples/*.tl'))
    texts = []
    for path in paths:
        with open(path, encoding='utf-8', newline='') as file:
            text = file.read()
        texts.append(re.sub(r'^[ \t]*#[>!=?%:].*\n?|[ \t]+#>.*$', '', text, flags=re.M))
    return [text for text in texts if text.strip()]


def is_name(token):
    return re.fullmatch(r'[A-Za-z_]\w*', token) is not None


class Mutator:
    def __init__(self, rng, texts):
        self.rng, self.texts = rng, texts

    def mutant(self):
        rng = self.rng
        text = rng.choice(self.texts)
        lines = text.split('\n')
        if len(lines) > 40:  # a part of it: what is wrong early hides the rest
            keep = rng.randint(5, 40)
            begin = rng.randrange(len(lines) - keep)
            text = '\n'.join(lines[begin:begin + keep])
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
            text = rng.choice(self.CHANGES)(self, text)
        return text

    # ---- changes of lines
    def delete_line(self, text):
        lines = text.split('\n')
        del lines[self.rng.randrange(len(lines))]
        return '\n'.join(lines)

    def double_line(self, text):
        lines = text.split('\n')
        lines.insert(self.rng.randrange(len(lines) + 1), self.rng.choice(lines))
        return '\n'.join(lines)

    def swap_lines(self, text):
        lines = text.split('\n')
        a, b = self.rng.randrange(len(lines)), self.rng.randrange(len(lines))
        lines[a], lines[b] = lines[b], lines[a]
        return '\n'.join(lines)

    def splice(self, text):
        """Lines of another program, somewhere."""
        other = self.rng.choice(self.texts).split('\n')
        begin = self.rng.randrange(len(other))
        lines = text.split('\n')
        at = self.rng.randrange(len(lines) + 1)
        return '\n'.join(lines[:at] + other[begin:begin + self.rng.randint(1, 12)] + lines[at:])

    def cut(self, text):
        return text[:self.rng.randrange(len(text) + 1)]

    # ---- changes of tokens
    def tokens(self, text, change, wanted=lambda token: not token.isspace()):
        tokens = TOKEN.findall(text)
        places = [i for i, token in enumerate(tokens) if wanted(token)]
        if places:
            change(tokens, self.rng.choice(places), places)
        return ''.join(tokens)

    def delete_token(self, text):
        def change(tokens, at, _):
            tokens[at] = ''
        return self.tokens(text, change)

    def double_token(self, text):
        def change(tokens, at, _):
            tokens[at] += ' ' + tokens[at]
        return self.tokens(text, change)

    def swap_tokens(self, text):
        def change(tokens, at, places):
            other = self.rng.choice(places)
            tokens[at], tokens[other] = tokens[other], tokens[at]
        return self.tokens(text, change)

    def other_token(self, text):
        def change(tokens, at, _):
            tokens[at] = self.rng.choice(WORDS)
        return self.tokens(text, change)

    def insert_token(self, text):
        def change(tokens, at, _):
            tokens[at] = self.rng.choice(WORDS) + ' ' + tokens[at]
        return self.tokens(text, change)

    def exchange_names(self, text):
        """One name for another, at one place or everywhere."""
        def change(tokens, at, places):
            old, new = tokens[at], tokens[self.rng.choice(places)]
            if self.rng.random() < 0.3:
                new = self.rng.choice([word for word in WORDS if is_name(word)])
            everywhere = self.rng.random() < 0.5
            for i in places if everywhere else [at]:
                if tokens[i] == old:
                    tokens[i] = new
        return self.tokens(text, change, is_name)

    def extreme_number(self, text):
        def change(tokens, at, _):
            tokens[at] = self.rng.choice(NUMBERS)
        return self.tokens(text, change, lambda token: token[0].isdigit())

    def move_part(self, text):
        """A bracketed part, copied to where another stands."""
        parts = [m.span() for m in re.finditer(r'\([^()\n]*\)|\[[^\[\]\n]*\]|\{[^{}\n]*\}', text)]
        if len(parts) < 2:
            return text
        (a, b), (c, d) = self.rng.choice(parts), self.rng.choice(parts)
        return text[:a] + text[c:d] + text[b:]

    CHANGES = [delete_line, double_line, swap_lines, splice, cut, delete_token, delete_token, double_token, swap_tokens,
               other_token, other_token, insert_token, exchange_names, exchange_names, exchange_names, extreme_number,
               extreme_number, move_part, move_part]


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))


class Judge:
    def __init__(self, tl, folder, compiled):
        self.tl, self.folder, self.compiled = tl, folder, compiled
        self.environment = dict(os.environ, HOME=folder, TL_HISTORY='/dev/null',
                                TL_CACHE_DIR=os.path.join(folder, 'cache'))

    def run(self, arguments, stdin=b''):
        """Exit code (None: it had to be ended), output, errors."""
        try:
            done = subprocess.run([self.tl] + arguments, input=stdin, capture_output=True, timeout=SECONDS, cwd=self.folder,
                                  env=self.environment, preexec_fn=limited, check=False)
        except subprocess.TimeoutExpired:
            return None, b'', ''
        return done.returncode, done.stdout, done.stderr.decode('utf-8', 'replace')

    def problems(self, text):
        """What is wrong with tl on this program: (command, why)."""
        data = text.encode('utf-8', 'surrogatepass')
        with open(os.path.join(self.folder, 'mutant.tl'), 'wb') as file:
            file.write(data)
        found = []

        def judge(command, code, errors, may_go_on=False):
            if code is None:
                if not may_go_on:
                    found.append((command, f'is not done after {SECONDS} s'))
            elif code < 0:
                found.append((command, f'ended by signal {-code}'))
            elif FAULT in errors:
                found.append((command, next(line for line in errors.split('\n') if FAULT in line)))

        run = ['--threads', '1', '--memory-limit', '256M']
        code, _, errors = self.run(['check', 'mutant.tl'])
        judge('check', code, errors)
        is_fine = code == 0
        code, out, errors = self.run(['fmt', '-'], data)
        judge('fmt', code, errors)
        if code == 0:
            code, again, errors = self.run(['fmt', '-'], out)
            judge('fmt again', code, errors)
            if code == 0 and again != out:
                found.append(('fmt', 'is not idempotent'))
            elif code not in (0, None):
                found.append(('fmt', 'gives what it does not take'))
        code, _, errors = self.run(['repl', '--interp'] + run, data)
        judge('repl', code, errors, may_go_on=True)
        if is_fine:
            code, _, errors = self.run(['run', '--interp'] + run + ['mutant.tl'])
            judge('run --interp', code, errors, may_go_on=True)
            if self.compiled:
                code, _, errors = self.run(['run'] + run + ['mutant.tl'])
                judge('run', code, errors, may_go_on=True)
        return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tl', required=True)
    parser.add_argument('--count', type=int, default=10**9)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--out', default='')
    parser.add_argument('--compiled', action='store_true', help='also what is compiled')
    options = parser.parse_args()
    texts = programs()
    passed = failed = 0
    end = time.monotonic() + options.seconds
    said = set()
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(os.path.abspath(options.tl), folder, options.compiled)
        for seed in range(options.seed, options.seed + options.count):
            if time.monotonic() > end:
                break
            text = Mutator(random.Random(seed), texts).mutant()
            problems = judge.problems(text)
            passed, failed = passed + (not problems), failed + bool(problems)
            for command, why in problems:
                print(f'seed {seed}: {command}: {why}', flush=True)
                if options.out and (command, why) not in said:
                    os.makedirs(options.out, exist_ok=True)
                    with open(os.path.join(options.out, f'{seed}.tl'), 'wb') as file:
                        file.write(text.encode('utf-8', 'surrogatepass'))
                said.add((command, why))
    print(f'{passed} passed, {failed} failed')
    return failed > 0


if __name__ == '__main__':
    sys.exit(main())
