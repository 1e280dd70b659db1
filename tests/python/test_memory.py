"""Memory stays flat over many calls; what a call costs is printed."""

import gc
import io
import contextlib
import time

from common import Case, np, tl


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Memory(Case):
    SOURCE = '''
        struct S { x: f32[8], n: i64 }
        fn f(x: f32[n], k: f32 = 2.0) -> f32[n] = x * k
        fn s(x: f32[8]) -> S = S(x = x, n = 1)
        fn at(x: f32[n], i: i64) -> f32 = x[i]
        fn many(x: f32[n]) -> (f32[n], List<f32[n]>, str, S) = (x, list(x, x), "text", S(x = ones([8]), n = 2))
        fn len_of(xs: List<f32[_]>) -> i64 = len(xs)
    '''

    def flat(self, call, count, most=6e6):
        for _ in range(count // 10):
            call()
        gc.collect()
        before = resident()
        for _ in range(count):
            call()
        self.p.f(tl.tensor([1.0])).wait()  # and so for those that nobody waits for
        gc.collect()
        self.assertLess(resident() - before, most)

    def test_calls(self):
        x = np.ones(8, np.float32)
        self.flat(lambda: self.p.f(x), 100000)
        self.flat(lambda: self.p.f(x=x, k=3.0), 20000)

    def test_others(self):
        x = np.ones(8, np.float32)
        t = tl.tensor(x)
        s = self.p.s(x)

        def fails():
            try:
                self.p.at(x, 9)
            except tl.RunError:
                pass
            try:
                self.p.f(x.astype(np.float64))
            except TypeError:
                pass

        for call, count in ((lambda: self.p.s(x).x, 10000), (lambda: self.p.f(t), 10000), (lambda: self.p.f(t).numpy(), 10000),
                            (lambda: self.p.f.start(x), 10000), (lambda: self.p.f.start(x).result(), 10000), (fails, 3000),
                            (lambda: self.p.many(x), 5000), (lambda: self.p.len_of([x, x]), 5000), (lambda: s.with_(n=3), 5000),
                            (lambda: tl.tensor([1.0, 2.0]), 5000), (lambda: self.p.f([1.0] * 8), 10000)):
            self.flat(call, count)

    def test_large(self):
        x = np.ones(1 << 20, np.float32)
        self.flat(lambda: self.p.f(x), 300, most=40e6)
        self.flat(lambda: self.p.f(tl.tensor(x)).wait(), 100, most=60e6)

    def test_programs(self):
        def one():
            tl.compile("struct S { x: f32[2] }\nfn f(x: f32[2]) -> S = S(x = 2.0 * x)").f([1, 2]).x

        self.flat(one, 40, most=30e6)

    def test_cost(self):
        x = np.ones(8, np.float32)
        f, s, t = self.p.f, self.p.s, tl.tensor(x)
        for name, call in (("f(x), 8 elements", lambda: f(x)), ("f(x, k=3.0)", lambda: f(x, k=3.0)), ("f(list)", lambda: f([1.0] * 8)),
                           ("a struct", lambda: s(x)), ("f.start(x).result()", lambda: f.start(x).result()),
                           ("f(tensor).wait()", lambda: f(t).wait())):
            best = min(self.seconds(call) for _ in range(5))
            print("  %-24s %6.2f us" % (name, best * 1e6))

    def seconds(self, call, count=2000):
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count
