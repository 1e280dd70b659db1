#!/usr/bin/env python3
"""Warnings in random programs: tests/lint/run.py TL [--seed 1] [--count 200].

A generator writes programs of which it knows the scopes: every variable is read, every `var` changes, every key is used once, everything can be
reached. Into half of them it plants faults. `tl check` must warn of the planted ones, at their lines and of their kinds, and of nothing else.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile


class Program:
    def __init__(self, rng, plants):
        self.rng, self.plants = rng, plants
        self.lines, self.expected = [], set()
        self.count = 0
        self.unread = set()
        self.helpers()
        for _ in range(rng.randrange(1, 4)):
            self.function()
        self.line(0, f"print({', '.join(f'{name}(1.0, key({i}))' for i, name in enumerate(self.functions))})")

    def helpers(self):
        self.functions = []
        if self.plant():
            self.line(0, "import linalg", "UnusedImport")
        self.line(0, "import nn")
        self.line(0, "fn drawn(k: key) -> f32 = nn.dropout(k, [1.0], 0.5).sum()")
        self.line(0, "fn numbered(k: key, i: i64) -> f32 = normal(fold_in(k, i), [])")

    def plant(self, share=0.2):
        return self.plants and self.rng.random() < share

    def name(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def line(self, depth, text, *kinds):
        self.lines.append("  " * depth + text)
        if not text.startswith(("import", "fn f")):
            self.unread -= set(re.findall(r"\w+", text.split(" = ", 1)[-1].removeprefix("s += ")))
        self.expected |= {(len(self.lines), kind) for kind in kinds}

    def value(self, scope):
        names = [name for block in scope for name in block] + ["1.5", "x"]
        a, b = self.rng.choice(names), self.rng.choice(names)
        return self.rng.choice([f"{a} + {b}", f"{a} * 0.5", f"max({a}, {b})", f"(if {a} > {b} {{ {a} }} else {{ {b} }})", f"[{a} for i in 0..3].sum()", f"(|y: f32| y * {a})({b})"])

    def function(self):
        name = self.name("fun")
        self.functions.append(name)
        self.unread, self.keys = set(), ["k"]
        self.line(0, f"fn {name}(x: f32, k: key) -> f32 {{")
        self.line(1, "var s = x")
        self.block(1, [[]], in_loop=False)
        self.line(1, "s += 1.0")
        if self.plant():
            self.line(1, "return s")
            self.line(1, "print(s)", "UnreachableCode")
            self.line(1, "s")
        else:
            self.line(1, "s")
        self.line(0, "}")

    def block(self, depth, scope, in_loop):
        """Statements; what they bind is read by the end."""
        before = set(self.unread)
        keys = list(self.keys)
        for _ in range(self.rng.randrange(2, 6)):
            self.rng.choice([self.let, self.let, self.var, self.branch, self.loop, self.key, self.part, self.inner, self.fault, self.fault])(depth, scope, in_loop)
        for name in sorted(self.unread - before):
            self.line(depth, f"s += {name}")
        self.unread &= before
        self.keys = [key for key in self.keys if key in keys]

    def let(self, depth, scope, in_loop):
        name = self.name()
        self.line(depth, f"let {name} = {self.value(scope)}")
        if self.rng.random() < 0.3:  # made from what it hides
            self.line(depth, f"let {name} = {name} * 2.0")
        self.bind(scope, name)

    def bind(self, scope, name):
        scope[-1].append(name)
        self.unread.add(name)

    def var(self, depth, scope, in_loop):
        name = self.name()
        self.line(depth, f"var {name} = {self.value(scope)}")
        self.line(depth, self.rng.choice([f"{name} += {self.value(scope)}", f"{name} = {name} + 1.0", f"(s, {name}) = ({name}, s)"]))
        self.bind(scope, name)

    def part(self, depth, scope, in_loop):
        name, marked = self.name(), self.rng.choice(["_", self.name("_w")])
        self.line(depth, f"let ({name}, {marked}) = ({self.value(scope)}, {self.value(scope)})")
        self.bind(scope, name)

    def inner(self, depth, scope, in_loop):
        name = self.name("g")
        self.line(depth, f"fn {name}(a: f32, _b: f32) -> f32 = a + {self.value(scope)}")
        self.line(depth, f"s += {name}({self.value(scope)}, s)")

    def branch(self, depth, scope, in_loop):
        if depth > 4:
            return
        self.line(depth, f"if s > {self.value(scope)} {{")
        keys = list(self.keys)
        self.block(depth + 1, scope + [[]], in_loop)
        after = self.keys
        if self.rng.random() < 0.5:
            self.keys = keys  # each way has its own
            self.line(depth, "} else {")
            self.block(depth + 1, scope + [[]], in_loop)
            self.keys = [key for key in self.keys if key in after]
        self.line(depth, "}")

    def loop(self, depth, scope, in_loop):
        if depth > 3:
            return
        index, keys = self.name("i"), self.keys
        key = None
        if keys and self.rng.random() < 0.5:
            key = self.rng.choice(keys)
        self.line(depth, self.rng.choice([f"for {index} in 0..3 {{", f"while s < {self.value(scope)} {{"]) if key is None else f"for {index} in 0..3 {{")
        self.keys = []
        if key:
            own = self.name("k")
            self.line(depth + 1, f"let {own} = fold_in({key}, {index})")
            self.line(depth + 1, f"s += drawn({own})")
            keys = [other for other in keys if other != key]
        self.block(depth + 1, scope + [[]], True)
        if self.rng.random() < 0.3:
            self.line(depth + 1, "if s > 9.0 { break } else { continue }" if self.plants else "if s > 9.0 { break }")
            if self.plants:
                self.line(depth + 1, "s += 1.0", "UnreachableCode")
        self.line(depth, "}")
        self.keys = keys

    def key(self, depth, scope, in_loop):
        if not self.keys:
            return
        key = self.keys.pop(self.rng.randrange(len(self.keys)))
        if self.rng.random() < 0.5:
            one, two = self.name("k"), self.name("k")
            self.line(depth, f"let ({one}, {two}) = split({key})")
            self.line(depth, f"s += normal({two}, [])")
            self.line(depth, f"s += numbered({one}, 1) + numbered({one}, 2)")
        else:
            self.line(depth, f"s += {self.rng.choice([f'uniform({key}, [])', f'drawn({key})', f'normal({key}, [2]).sum()'])}")

    # ---- what is wrong ----

    def fault(self, depth, scope, in_loop):
        if self.plants:
            self.rng.choice([self.unused, self.unused_parameter, self.unread_var, self.unchanged, self.constant, self.hidden, self.reused, self.reused_in_loop, self.clock])(depth, scope)

    def unused(self, depth, scope):
        name = self.name("u")
        self.line(depth, self.rng.choice([f"let {name} = {self.value(scope)}", f"let ({name}, _) = (1, {self.value(scope)})", f"fn {name}() -> f32 = 1.0"]), "UnusedName")

    def unused_parameter(self, depth, scope):
        self.line(depth, f"s += (|a: f32, b: f32| {self.rng.choice('ab')} + {self.value(scope)})(s, 1.0)", "UnusedName")

    def unread_var(self, depth, scope):
        name = self.name("u")
        self.line(depth, f"var {name} = {self.value(scope)}", "UnusedName")
        self.line(depth, f"{name} += 1.0")

    def unchanged(self, depth, scope):
        name = self.name("u")
        self.line(depth, f"var {name} = {self.value(scope)}", "UnchangedVariable")
        self.line(depth, f"s += {name}")

    def constant(self, depth, scope):
        condition = self.rng.choice(["true", "false", "not true", "s > 1.0 and false", "true or s > 1.0"])
        self.line(depth, f"if {condition} {{ s += {self.value(scope)} }}", "ConstantCondition")

    def hidden(self, depth, scope):
        names = [name for block in scope for name in block if name not in self.unread]
        if not names:
            return
        name = self.rng.choice(names)
        self.line(depth, "if s > 2.0 {")
        self.line(depth + 1, f"let {name} = 2.0", "HiddenName")
        self.line(depth + 1, f"s += {name}")
        self.line(depth, "}")

    def reused(self, depth, scope):
        name = self.name("k")
        self.line(depth, f"let {name} = key(3)")
        self.line(depth, f"s += normal({name}, [])")
        self.line(depth, self.rng.choice([f"s += drawn({name})", f"s += normal(split({name})[0], [])", f"if s > 1.0 {{ s += uniform({name}, []) }}"]), "ReusedKey")

    def reused_in_loop(self, depth, scope):
        name = self.name("k")
        self.line(depth, f"let {name} = key(3)")
        self.line(depth, self.rng.choice([f"for i in 0..3 {{ s += normal({name}, []) * f32(i) }}", f"s += [normal({name}, []) for i in 0..2].sum()"]), "ReusedKey")

    def clock(self, depth, scope):
        start, y = self.name("t"), self.name("y")
        self.line(depth, f"let {start} = time()")
        self.line(depth, f"let {y} = ones([9, 9]) * s")
        if self.rng.random() < 0.5:
            self.line(depth, f"print(time() - {start})", "UnfinishedWork")
        else:
            end = self.name("t")
            self.line(depth, f"let {end} = time()", "UnfinishedWork")
            self.line(depth, f"print({end} - {start})")
        self.line(depth, f"s += {y}.sum()")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tl")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=200)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        programs = {}
        for number in range(arguments.count):
            program = Program(random.Random(f"{arguments.seed} {number}"), plants=number % 2 == 1)
            path = pathlib.Path(folder, f"program{number}.tl")
            path.write_text("\n".join(program.lines) + "\n")
            programs[str(path)] = program
        run = subprocess.run([arguments.tl, "check", "--message-format=json", folder], capture_output=True, text=True)
        found = {path: [] for path in programs}
        for line in run.stderr.splitlines():
            message = json.loads(line)
            found[message["file"]].append((message["line"], message["kind"]))
        failed = 0
        for path, program in programs.items():
            if sorted(found[path]) != sorted(program.expected):
                failed += 1
                missing, extra = sorted(program.expected - set(found[path])), sorted(set(found[path]) - program.expected)
                print(f"FAIL seed {arguments.seed}, {pathlib.Path(path).name}: not found {missing}, not planted {extra}, of")
                print("\n".join(f"{i + 1:3} {line}" for i, line in enumerate(program.lines)))
        planted = sum(len(program.expected) for program in programs.values())
    print(f"{planted} planted faults")
    print(f"{len(programs) - failed} passed, {failed} failed")
    return 1 if failed or planted < len(programs) else 0


if __name__ == "__main__":
    sys.exit(main())
