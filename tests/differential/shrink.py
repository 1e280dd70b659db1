"""Makes a failing case small: drops calls, helpers and statements, puts sub-expressions in the place of expressions, and smaller literals."""
from __future__ import annotations

import copy
import time

from execute import Finding, Runner, TwinFault, examine, run_twin
from tree import *


def check(runner: Runner, case: Case, kind: str, flags, style):
    """The finding, if the case still shows it."""
    if not all(valued(e) for f in case.functions for e in walk(f) if isinstance(e, If)):
        return None
    try:
        outcomes = run_twin(case)
    except (TwinFault, AttributeError, TypeError, ValueError):
        return None  # the change does not leave a program
    if any(o.skip for o in outcomes):
        return None
    failing = [j for j, o in enumerate(outcomes) if o.failure is not None]
    tail = (0, failing[0]) if failing else None
    if len(failing) > 1:
        return None
    found = [f for f in examine(runner, [case], [outcomes], flags, style, tail) if f.kind == kind]
    return found[0] if found else None


def valued(e: If) -> bool:
    """Whether both branches of an `if` that is a value give one, or leave."""
    return e.ty == UNIT or (e.orelse is not None and all(b.value is not None or leaves(b) for b in (e.then, e.orelse)))


def leaves(b) -> bool:
    if b is None:
        return False
    if b.value is not None:
        return isinstance(b.value, If) and b.value.ty == UNIT and leaves(b.value.then) and leaves(b.value.orelse)
    last = b.body[-1] if b.body else None
    return isinstance(last, (Return, Break, Continue)) or (isinstance(last, Do) and isinstance(last.e, If) and leaves(last.e.then) and leaves(last.e.orelse))


def simplest(ty):
    """The plainest constant of a type."""
    if ty == UNIT:
        return []
    if ty == "bool":
        return [Lit("bool", False), Lit("bool", True)]
    if ty == "str":
        return [Lit("str", "")]
    if ty == "T":
        return []
    if is_scalar(ty):
        return [Lit(ty, v) for v in (0, 1, 2)]
    if isinstance(ty, Tup):
        return [Tuple(ty, [simplest(t)[0] for t in ty.items])] if all(simplest(t) for t in ty.items) else []
    if isinstance(ty, Struct):
        return [Make(ty, [simplest(t)[0] for _, t in ty.fields])] if all(simplest(t) for _, t in ty.fields) else []
    if isinstance(ty, Tensor) and all(isinstance(d, int) and 0 < d < 4 for d in ty.dims) and ty.elem != "T":
        inner = Tensor(ty.elem, ty.dims[1:]) if len(ty.dims) > 1 else ty.elem
        return [TensorLit(ty, [simplest(inner)[0] for _ in range(ty.dims[0])])]
    return []


def size(node) -> int:
    return sum(1 for _ in walk(node))


def total_size(case: Case) -> int:
    return sum(size(f) for f in case.functions) + sum(size(a) for c in case.calls for a in c) + len(case.structs)


def bodies(case: Case):
    """All lists of statements, the longest first."""
    blocks = [n for f in case.functions for n in walk(f) if isinstance(n, Block)]
    return sorted(blocks, key=lambda b: -len(b.body))


def candidates(case: Case):
    """Smaller cases, as functions that change a copy: the boldest first. Positions are numbers, since a copy has other objects."""
    for j in range(len(case.calls)):
        if len(case.calls) > 1:
            yield lambda c, j=j: c.calls.__setitem__(slice(None), [c.calls[j]])
    for k in range(len(case.functions) - 1):
        yield lambda c, k=k: c.functions.__delitem__(k)
    for k in range(len(case.structs)):
        yield lambda c, k=k: c.structs.__delitem__(k)
    for k in range(len(case.consts)):
        yield lambda c, k=k: c.consts.__delitem__(k)
    for b, block in enumerate(bodies(case)):
        n = len(block.body)
        if n > 3:
            for lo, hi in ((0, n // 2), (n // 2, n)):
                yield lambda c, b=b, lo=lo, hi=hi: bodies(c)[b].body.__delitem__(slice(lo, hi))
        for k in range(n):
            yield lambda c, b=b, k=k: bodies(c)[b].body.__delitem__(k)
            s = block.body[k]
            if isinstance(s, Do) and isinstance(s.e, If) and s.e.ty == UNIT:
                yield lambda c, b=b, k=k: splice(bodies(c)[b].body, k, lambda s: s.e.then.body)
                if s.e.orelse is not None:
                    yield lambda c, b=b, k=k: splice(bodies(c)[b].body, k, lambda s: s.e.orelse.body if s.e.orelse.value is None else [Do(s.e.orelse.value)])
                    yield lambda c, b=b, k=k: setattr(bodies(c)[b].body[k].e, "orelse", None)
            if isinstance(s, While):
                yield lambda c, b=b, k=k: splice(bodies(c)[b].body, k, lambda s: s.body.body)
    spots = [p for f in case.functions for p in places(f)]
    for n, place in enumerate(spots):
        e = get(place)
        if not isinstance(e, Expr) or isinstance(e, (Span, Mark)):
            continue
        if not isinstance(e, (Lit, Name)):
            for m, inner in enumerate(walk(e)):
                if m > 0 and isinstance(inner, Expr) and inner.ty == e.ty and m < 40:
                    yield lambda c, n=n, m=m: replace(c, n, lambda e: list(walk(e))[m])
        if not (isinstance(e, Lit) and e.value in (0, 1, "", False)):
            for value in simplest(e.ty):
                if isinstance(e, Lit) and not (isinstance(e.value, (int, float)) and abs(e.value) > abs(value.value)):
                    continue
                yield lambda c, n=n, value=value: replace(c, n, lambda e: copy.deepcopy(value))
    for j, call in enumerate(case.calls):
        for k, a in enumerate(call):
            for value in simplest(a.ty):
                if not (isinstance(a, Lit) and (a.value in (0, False) or a.value == getattr(value, "value", None))):
                    yield lambda c, j=j, k=k, value=value: c.calls[j].__setitem__(k, copy.deepcopy(value))
    # Parameters that nothing reads.
    main = case.functions[-1]
    for k in range(len(main.params)):
        if main.params[k][2] is None:
            yield lambda c, k=k: ([call.__delitem__(k) for call in c.calls], c.functions[-1].params.__delitem__(k))


def splice(body, k, inner):
    body[k:k + 1] = inner(body[k])


def replace(case, n, make):
    spots = [p for f in case.functions for p in places(f)]
    put(spots[n], make(get(spots[n])))


def shrink(runner: Runner, finding: Finding, style="main", seconds=40.0) -> Finding:
    """The smallest case found in the time that shows the same kind of fault."""
    end = time.time() + seconds
    best = finding
    timeout, runner.timeout, runner.patient = runner.timeout, min(runner.timeout, 10.0), False
    case = copy.deepcopy(finding.case)
    single = check(runner, case, finding.kind, finding.flags, style)
    if single is None:
        # Failing calls stand alone; those that do not matter may hide the one that does.
        for j in range(len(case.calls)):
            one = copy.deepcopy(case)
            one.calls = [one.calls[j]]
            single = check(runner, one, finding.kind, finding.flags, style)
            if single is not None:
                best, case = single, one
                break
    progress = single is not None
    while progress and time.time() < end:
        progress = False
        changes = list(candidates(case))
        k = 0
        while k < len(changes) and time.time() < end:
            smaller = copy.deepcopy(case)
            changes[k](smaller)
            if total_size(smaller) > total_size(case) or text_of(smaller) == text_of(case):
                k += 1
                continue
            found = check(runner, smaller, finding.kind, finding.flags, style)
            if found is None:
                k += 1
                continue
            case, best, progress = smaller, found, True
            changes = list(candidates(case))  # the next one is about what now stands at this position
    runner.timeout, runner.patient = timeout, True
    return best


def text_of(case: Case) -> str:
    return repr(case.functions) + repr(case.calls) + repr(case.structs)
