"""Runs cases: the twin in this process, the tl program as a process, and compares what they print.

A batch of cases is one program. Each call prints its mark ("@case.call") and then its result, so a difference names the call. Calls for which the twin
raises are kept out of the batch, but for one at the end: the program must print the same up to there and then fail with that kind.
"""
from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field

import runtime
from render_py import PyRenderer
from render_tl import TlRenderer
from tree import *

LOUD = 'fn loud(t: i64, x) {\n  print("loud", t)\n  x\n}\n'
NOISE_RUNS, MORE_RUNS = 3, 40
OF_VALUES = ("DivisionByZero", "EmptyReduction", "IndexOutOfRange", "NegativeExponent")  # reported where the value is needed


class TwinFault(Exception):
    """The twin itself is wrong: a fault of the generator or of a renderer."""


@dataclass
class Outcome:
    """What the twin says of one call: its text, the texts of the runs with noise, the kind of failure or None and what its message must say; `skip` where it says nothing."""
    text: str = ""
    noisy: list = field(default_factory=list)
    failure: object = None
    words: tuple = ()
    skip: bool = False
    more: object = None  # runs with more noise, for an answer that is none of these


@dataclass
class Finding:
    case: Case
    kind: str       # what is wrong, in a word that shrinking keeps: "differs", "rejected MixedTypes", "signal 11", "hang", …
    detail: str
    flags: tuple = ()
    program: str = ""   # the whole program, where only all of it fails


@dataclass
class Result:
    code: int       # exit code; negative for a signal, None for a run past its time
    out: str
    err: str


class _Late(Exception):
    pass


def _alarm(*_):
    raise _Late


def twin_text(case: Case) -> str:
    r = PyRenderer()
    for s in case.structs:
        r.struct(s)
    for c in case.consts:
        r.line(f"{c.pattern} = {r.expr(c.value)}")
    for f in case.functions:
        r.stmt(f)
    return r.text()


def argument_texts(case: Case, call) -> list:
    return [PyRenderer().expr(a) for a in call]


def run_twin(case: Case) -> list:
    """An Outcome for each call."""
    text = ""
    space = dict(vars(runtime))
    try:
        text = twin_text(case)
        exec(compile(text, f"twin of {case.functions[-1].name}", "exec"), space)
    except Exception as fault:
        raise TwinFault(f"{type(fault).__name__}: {fault}\n{text}") from fault
    outcomes = []
    for call in case.calls:
        source = f"{case.functions[-1].name}({', '.join(argument_texts(case, call))})"
        first = one_run(space, source, None, text)
        if first.failure is None and not first.skip and runtime.Noise.used:
            add_noise(first, space, source, text, range(NOISE_RUNS))
            first.more = lambda first=first, source=source: add_noise(first, space, source, text, range(NOISE_RUNS, MORE_RUNS), anew=True)
        elif first.failure is not None and runtime.Noise.used:
            first.skip = True
        outcomes.append(first)
    return outcomes


def add_noise(first, space, source, text, runs, anew=False):
    """Runs with noise, whose texts the outcome keeps; it is open if one of them differs in more than the values of floats."""
    if anew:
        one_run(space, source, None, text)  # what the runs need not compute again is of the last call
    for k in runs:
        again = one_run(space, source, k, text)
        if again.failure is not None or again.skip or shape_of(again.text) != shape_of(first.text):
            first.skip = True
            return
        first.noisy.append(again.text)


def one_run(space, source, noise, text) -> Outcome:
    runtime.Noise.on = noise is not None
    runtime.Noise.used = False
    runtime.Noise.side = {0: 1, 1: -1}.get(noise)
    runtime.Noise.short = noise is not None and noise > 1 and noise % 2 == 0
    if noise is not None:
        runtime.Noise.rng.seed(noise)
    else:
        runtime.Slopes.known.clear()
    runtime.Out.text = []
    runtime.Out.count = 0
    old = signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, 2.0)
    outcome = Outcome()
    try:
        value = eval(source, space)
        runtime.out(value)
    except runtime.TlError as failure:
        outcome.failure, outcome.words = failure.kind, tuple(map(str, failure.words))
    except (runtime.Skip, _Late, RecursionError, MemoryError):
        outcome.skip = True
    except Exception as fault:
        if noise is not None:  # it made one thing two: a position that is computed twice
            outcome.skip = True
        else:
            raise TwinFault(f"{source}: {type(fault).__name__}: {fault}\n{text}") from fault
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    outcome.text = "".join(runtime.Out.text)
    return outcome


NUMBER = re.compile(r"-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|inf\b|nan\b)%?")


def shape_of(text: str) -> list:
    """The text without the values of its floats and without alignment: what noise must not change."""
    return re.sub(r"([][])", r" \1 ", NUMBER.sub("#", text)).split()


def close(got: str, outcome: Outcome) -> bool:
    """Whether `got` is what the twin says: exactly, or within what noise can change."""
    if within(got, outcome):
        return True
    if not outcome.noisy or outcome.more is None:
        return False
    more, outcome.more = outcome.more, None
    more()
    return outcome.skip or within(got, outcome)


def within(got: str, outcome: Outcome) -> bool:
    if got == outcome.text:
        return True
    if not outcome.noisy or shape_of(got) != shape_of(outcome.text):
        return False
    columns = [[value(v) for v in NUMBER.findall(t)] for t in [outcome.text] + outcome.noisy]
    for k, text in enumerate(NUMBER.findall(got)):
        v = value(text)
        known = [c[k] for c in columns]
        if any(x == v or (x != x and v != v) for x in known):
            continue
        low, high = min(known), max(known)
        last = 5e-16 if sum(map(str.isdigit, text)) > 9 else 2e-7  # noise may vanish in a rounding that the right answer does not share
        slack = 3 * (high - low) + last * abs(v)
        if not low - slack <= v <= high + slack:
            return False
    return True


def value(text: str) -> float:
    return float(text.rstrip("%"))


# ---- programs of tl -----------------------------------------------------------------------------------------------------------------

class Program:
    """The tl text of a batch: which calls it makes, and which lines belong to which case."""

    def __init__(self, cases, outcomes, style="main", tail=None):
        self.cases, self.outcomes, self.tail = cases, outcomes, tail
        self.lines_of = []
        r = TlRenderer()
        r.lines += LOUD.rstrip("\n").split("\n")
        for k, case in enumerate(cases):
            start = self.count(r) + 1
            for c in case.consts:
                r.const(c)
            for s in case.structs:
                r.struct(s)
            for f in case.functions if case.kind != "script" else case.functions[:-1]:
                r.stmt(f)
            self.lines_of.append((start, self.count(r), k))
        # Scripts stand at the top level, which runs before `main`.
        for k, case in enumerate(cases):
            if case.kind == "script":
                start = self.count(r) + 1
                for j in range(len(case.calls)):
                    if self.bulk(k, j):
                        self.call(r, k, j, case.calls[j], style)
                self.lines_of.append((start, self.count(r), k))
        if tail is not None and cases[tail[0]].kind == "script":
            style = "script"
        if style == "main":
            r.line("fn main(zero: i64 = 0) {" if len(cases) % 2 else "fn main(zero: i64, one: f64 = 1.0, flag: bool = false) {")
            r.depth += 1
        for k, case in enumerate(cases):
            start = self.count(r) + 1
            for j, call in enumerate(case.calls):
                if self.bulk(k, j) and case.kind != "script":
                    self.call(r, k, j, call, style)
            self.lines_of.append((start, self.count(r), k))
        if tail is not None:
            k, j = tail
            start = self.count(r) + 1
            self.call(r, k, j, cases[k].calls[j], style)
            self.lines_of.append((start, self.count(r), k))
        if style == "main":
            r.depth -= 1
            r.line("}")
        self.text = r.text()

    def count(self, r) -> int:
        return sum(line.count("\n") + 1 for line in r.lines)

    def bulk(self, k, j) -> bool:
        o = self.outcomes[k][j]
        return o.failure is None and not o.skip and (k, j) != self.tail

    def call(self, r, k, j, call, style):
        f = self.cases[k].functions[-1]
        texts = []
        for a in call:
            text = r.expr(a, True)
            if style == "main" and (is_scalar(a.ty) or isinstance(a.ty, Tensor)) and (k + j) % 2 == 0:
                text = opaque(text, elem_of(a.ty))
            texts.append(text)
        r.line(f'print("@{k}.{j}")')
        if self.cases[k].kind == "script":
            for s in f.body.body:
                r.stmt(s)
            r.line(f"print({r.expr(f.body.value)})")
            return
        r.line(f"print({f.name}({', '.join(texts)}))")

    def loose(self, k) -> bool:
        """Whether which of several failures comes first is open: inside comprehensions and batches."""
        return any(isinstance(n, (Comprehension, Transform, Along)) for f in self.cases[k].functions for n in walk(f))

    def case_of_line(self, n):
        return next((k for a, b, k in self.lines_of if a <= n <= b), None)


def opaque(text: str, ty: str) -> str:
    """The same value, unknown to the compiler."""
    if ty == "bool":
        return f"({text} and zero == 0)"
    if ty in FLOATS:
        return f"({text}) * {ty}(zero + 1)"
    return f"({text}) + zero" if ty == "i64" else f"({text}) + {ty}(zero)"


def sections(text: str) -> dict:
    """What each call printed, by mark."""
    found = {}
    for part in re.split(r"^@", text, flags=re.M)[1:]:
        mark, _, rest = part.partition("\n")
        found[mark] = rest
    return found


class Runner:
    def __init__(self, tl: str, timeout=60.0):
        self.tl, self.timeout = tl, timeout
        self.folder = tempfile.mkdtemp(prefix="tl-differential-")
        self.runs = 0
        self.patient = True

    def run(self, text: str, flags=()) -> Result:
        path = os.path.join(self.folder, "program.tl")
        with open(path, "w") as f:
            f.write(text)
        self.runs += 1
        if "fmt" in flags:
            flags = tuple(f for f in flags if f != "fmt")
            done = self.process([self.tl, "fmt", path])
            if done.code != 0:
                return Result(done.code, "", "fmt: " + done.err)
        arguments = ["--zero", "0", "--flag"] if "fn main(zero: i64, one" in text else []
        if "build" in flags:
            done = self.process([self.tl, "build", path, "-o", os.path.join(self.folder, "program")])
            return done if done.code != 0 else self.process([os.path.join(self.folder, "program"), *arguments])
        result = self.process([self.tl, "run", *flags, path, *arguments])
        if result.code is None and self.patient:  # on a busy machine: does it end at all?
            result = self.process([self.tl, "run", *flags, path, *arguments], 3 * self.timeout)
        return result

    def process(self, command, timeout=None) -> Result:
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout or self.timeout)
        except subprocess.TimeoutExpired as late:
            return Result(None, (late.stdout or b"").decode(errors="replace"), (late.stderr or b"").decode(errors="replace"))
        return Result(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))


def kinds_in(err: str) -> list:
    return re.findall(r"error\[(\w+)\]", err)


def said(err: str, outcome: Outcome) -> bool:
    """Whether the first message of the expected kind says what it must."""
    message = first_message(err)
    return all(re.search(rf"(?<![\w.-]){re.escape(w)}(?![\w.])", message.split("\n")[0]) if w.lstrip("-").isdigit() else w in message for w in outcome.words)


def first_message(err: str) -> str:
    """Without the lines of the program, which `tl fmt` may have written in another way."""
    return re.split(r"\n *\d+ \| |\n  ", err.partition("error[")[2])[0]


def errors_in(err: str):
    """(line, kind, proven, first words) of the errors in a diagnostic text. What is provably wrong wherever it
    stands may be refused: a constant index out of range, an index over axes of two constant sizes. So may a `vmap`
    whose sizes nothing tells."""
    found = []
    for part in re.split(r"^(?=[^\n:]*:\d+:\d+: error\[)", err, flags=re.M)[1:]:
        head = re.match(r"[^\n:]*:(\d+):\d+: error\[(\w+)\]: (.*)", part, flags=re.S)
        m = re.match(r"index (-?\d+) is out of range: axis \d+ of .*? has size (\d+)$", head[3], flags=re.M | re.S)
        outside = bool(m) and not -int(m[2]) <= int(m[1]) < int(m[2])
        outside = outside or bool(re.match(r"`\w+` indexes axes of different sizes, \d+ and \d+$", head[3], flags=re.M))
        outside = outside or "of a function whose result has a size that only its values tell is not supported yet" in head[3]
        found.append((int(head[1]), head[2], outside, " ".join(re.findall(r"[a-z]+", re.sub(r"`.*?`", "", head[3]))[:4])))
    return found


def message_of(err: str, kind: str, program, k) -> str:
    """The message about the case k, of all that were printed."""
    parts = re.split(r"^(?=[^\n:]*:\d+:\d+: error\[)", err, flags=re.M)
    return next((p for p in parts for n, found, _, words in errors_in(p) if f"{found}: {words}" == kind and program.case_of_line(n) == k), err)[:3000]


def crash(result: Result):
    """The kind of a fault of tl's own, or None."""
    if result.code is None:
        return "hang"
    if result.code < 0:
        return f"signal {-result.code}"
    if result.code == 70 or result.code > 3:
        place = re.search(r"internal error[^\n]*", result.err)
        return "internal" + (" " + re.sub(r"\d+", "N", place.group(0))[:60] if place else "")
    return None


def examine(runner: Runner, cases, outcomes, flags=(), style="main", tail=None):
    """Findings of one batch. Where a program fails as a whole, the batch is divided until one case is left."""
    live = [k for k in range(len(cases)) if any(o.failure is None and not o.skip for o in outcomes[k]) or (tail and tail[0] == k)]
    if len(live) < len(cases):
        place = {k: n for n, k in enumerate(live)}
        cases, outcomes = [cases[k] for k in live], [outcomes[k] for k in live]
        tail = (place[tail[0]], tail[1]) if tail else None
    if not cases:
        return []
    program = Program(cases, outcomes, style, tail)
    result = runner.run(program.text, flags)
    fault = crash(result)
    if fault is None and result.code == 1:
        # `tl fmt` moves lines, so that they do not name a case any more.
        errors = [(program.case_of_line(n), f"{kind}: {words}", proven) for n, kind, proven, words in errors_in(result.err)] if "fmt" not in flags else []
        guilty = {k: kind for k, kind, proven in reversed(errors) if k is not None and not proven}
        proven = {k for k, _, proven in errors if proven} - set(guilty)
        if guilty or proven:
            findings = [Finding(cases[k], f"rejected {kind}", message_of(result.err, kind, program, k), flags) for k, kind in guilty.items()]
            guilty.update(dict.fromkeys(proven))
            return findings + part(runner, cases, outcomes, flags, style, tail, [k for k in range(len(cases)) if k not in guilty])
        fault = "rejected " + next((f"{kind}: {words}" for _, kind, proven, words in errors_in(result.err) if not proven), "")
        if fault == "rejected " and len(cases) == 1:
            return []
    if fault is None:
        findings, complete = compare(program, result, flags)
        # Which of several failures is reported depends on who needs what. How the program is run does not matter, but that a condition
        # which chooses between values may become data: then it needs nothing itself, and the failure that came first is reported.
        if any(f.kind == "fails with another message" for f in findings):
            other = runner.run(program.text, () if "--interp" in flags else ("--interp",))
            if first_message(other.err) == first_message(result.err) or said(other.err, outcomes[tail[0]][tail[1]]):
                findings = [f for f in findings if f.kind != "fails with another message"]
        if complete or len(cases) == 1:
            return findings
        # The program ended early: what was compared is known, the case where it ended is guilty, the rest has to be run again.
        seen = sections(result.out)
        last = max((int(m.split(".")[0]) for m in seen), default=-1)
        guilty = {cases.index(f.case) for f in findings}
        rest = [k for k in range(len(cases)) if k > last and k not in guilty]
        if last in guilty and len(rest) < len(cases):
            return findings + part(runner, cases, outcomes, flags, style, tail if tail and tail[0] in rest else None, rest)
        fault = "ended"
    if len(cases) == 1:
        return [Finding(cases[0], fault, (result.out[-300:] + "\n" + result.err)[:3000], flags)]
    half = len(cases) // 2
    found = part(runner, cases, outcomes, flags, style, tail, range(half)) + part(runner, cases, outcomes, flags, style, tail, range(half, len(cases)))
    if found or (result.code == 1 and all(proven for _, _, proven, _ in errors_in(result.err))):
        return found
    return [together(runner, cases, outcomes, flags, style, fault)]


def together(runner, cases, outcomes, flags, style, fault):
    """Each half runs, the whole fails: cases are left out one by one for as long as it still does."""
    chosen = list(range(len(cases)))
    text, message = "", ""
    k = 0
    while k < len(chosen):
        fewer = chosen[:k] + chosen[k + 1:]
        program = Program([cases[j] for j in fewer], [outcomes[j] for j in fewer], style, None)
        result = runner.run(program.text, flags)
        if fewer and (crash(result) == fault if crash(result) else fault.split()[0] == "rejected" and result.code == 1):
            chosen, text, message = fewer, program.text, (result.out[-300:] + result.err)[:3000]
        else:
            k += 1
    return Finding(cases[chosen[0]], fault + " only together", message, flags, text or Program(cases, outcomes, style, None).text)


def part(runner, cases, outcomes, flags, style, tail, chosen):
    chosen = list(chosen)
    tail = (chosen.index(tail[0]), tail[1]) if tail and tail[0] in chosen else None
    return examine(runner, [cases[k] for k in chosen], [outcomes[k] for k in chosen], flags, style, tail)


def compare(program: Program, result: Result, flags):
    """Findings of a program that was compiled, and whether it came to its end."""
    seen = sections(result.out)
    findings, guilty, complete = [], set(), True
    for k, case in enumerate(program.cases):
        for j in range(len(case.calls)):
            if not program.bulk(k, j) or k in guilty:
                continue
            o = program.outcomes[k][j]
            got = seen.get(f"{k}.{j}")
            if got is not None and close(got, o):
                continue
            marks = [m for m in seen]
            if result.code != 0 and (got is None or marks[-1] == f"{k}.{j}"):
                complete = False
                if got is None and not (marks and marks[-1].startswith(f"{k}.")):
                    continue
                kind = "fails " + (kinds_in(result.err) or ["?"])[0]
            else:
                kind = "differs"
            guilty.add(k)
            findings.append(Finding(case, kind, f"call {j}\nexpected:\n{o.text}got:\n{got}\n{result.err[:1500]}", flags))
    if not complete:
        return findings, False
    if program.tail is not None:
        k, j = program.tail
        o = program.outcomes[k][j]
        got = seen.get(f"{k}.{j}", "")
        kinds = kinds_in(result.err)
        problem = None
        if result.code != 3:
            problem = "does not fail"
        elif o.failure not in kinds and o.failure in OF_VALUES and kinds and got.startswith(o.text):
            pass  # a value that nobody needed before another failure was needed, which the twin does not know of
        elif o.failure not in kinds:
            problem = f"fails {(kinds or ['?'])[0]} instead of {o.failure}"
        elif not got.startswith(o.text):
            problem = "differs before failing"
        elif not program.loose(k) and not said(result.err, o):
            problem = "fails with another message"
        lines = [program.case_of_line(n) for n, *_ in errors_in(result.err)] if "fmt" not in flags else []
        if problem and lines and lines[0] is not None and lines[0] != k:
            findings.append(Finding(program.cases[lines[0]], f"fails at the end {kinds[0]}", result.err[:1500], flags))
        elif problem and k not in guilty:
            findings.append(Finding(program.cases[k], problem, f"call {j}\nexpected {o.failure} {o.words} after:\n{o.text}got:\n{got}\n{result.err[:1500]}", flags))
    elif result.code != 0 and not findings:
        # A failure that nothing printed needed: its message names the line.
        lines = [program.case_of_line(n) for n, *_ in errors_in(result.err)] if "fmt" not in flags else []
        case = program.cases[lines[0]] if lines and lines[0] is not None else program.cases[-1]
        findings.append(Finding(case, "fails at the end " + (kinds_in(result.err) or ["?"])[0], result.err[:1500], flags))
    return findings, True
