"""Signals, forks, the end of the process, threads."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from common import Case, np, python, tl

LOOP = "fn forever(n: i64) -> i64 {\\n var i = n\\n while i >= 0 { i = (i + 1) % 1000 }\\n i\\n}\\nfn one() -> i64 = 1"


def interrupted(code, timeout=60):
    """Runs a script, sends SIGINT once it prints "ready", and gives its exit code and output."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        process = subprocess.Popen([sys.executable, "-u", file.name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "ready" in line:
                time.sleep(0.7)
                process.send_signal(signal.SIGINT)
                break
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        lines.append(process.stdout.read())
        process.wait()
        timer.cancel()
    return process.returncode, "".join(lines)


class Processes(unittest.TestCase):
    def test_interrupt(self):
        for call in ("p.forever(0)", "p.forever.start(0).result()", "p.forever(tl.tensor(0)).numpy()"):
            with self.subTest(call):
                code, text = interrupted('''
import tl
p = tl.compile("%s")
p.one()
print("ready")
try:
    %s
except KeyboardInterrupt:
    print("interrupted", p.one())
''' % (LOOP, call))
                self.assertEqual((code, text), (0, "ready\ninterrupted 1\n"))

    def test_interrupt_ends_the_process(self):
        code, text = interrupted('import tl\np = tl.compile("%s")\nprint("ready")\np.forever(0)' % LOOP)
        self.assertEqual(code, -signal.SIGINT)
        self.assertIn("KeyboardInterrupt", text)

    def test_own_handler(self):
        code, text = interrupted('''
import signal, tl
def handler(number, frame):
    raise RuntimeError("mine")
signal.signal(signal.SIGINT, handler)
p = tl.compile("%s")
print("ready")
try:
    p.forever(0)
except RuntimeError as error:
    print(error, signal.getsignal(signal.SIGINT) is handler)
''' % LOOP)
        self.assertEqual((code, text), (0, "ready\nmine True\n"))

    def test_interrupt_in_output(self):
        code, text = interrupted('''
import tl
p = tl.compile("fn f() { var i = 0\\n while i >= 0 { i += 1\\n if i == 1 { print(\\"ready\\") }\\n if i %% 1000 == 0 { print(\\".\\") } } }")
import sys
try:
    p.f()
except KeyboardInterrupt:
    sys.__stdout__.write("\\ninterrupted\\n")
''' .replace("%%", "%"))
        self.assertEqual(code, 0, text[-500:])
        self.assertTrue(text.endswith("interrupted\n"))

    def test_exit_while_running(self):
        """The process ends although a call runs that nobody waits for."""
        for ending in ("", "import sys; sys.exit(0)", "del p, c"):
            code, text = python('''
                import tl
                p = tl.compile("%s")
                c = p.forever.start(0)
                print("end")
                %s
            ''' % (LOOP, ending), timeout=60)
            self.assertEqual((code, text), (0, "end\n"))

    def test_exit_while_compiling(self):
        """Threads that compile and compute use static objects of the library, and nobody waits for them."""
        for pause in (0, 0, 0.01, 0.01, 0.05, 0.2):
            with tempfile.TemporaryDirectory() as cache:
                code, text = python('''
                    import os, time
                    os.environ["XDG_CACHE_HOME"] = %r
                    import numpy as np, tl
                    steps = "".join("y = exp(y * %%d.5 + sin(sort(y))) / (1.0 + cos(y - %%d.0) ** 2)\\n" %% (k, k) for k in range(30))
                    p = tl.compile("fn f(x: f32[n]) -> f32[n] {\\n var y = x\\n" + steps + "y }")
                    c = p.f.start(np.ones(1000, np.float32))
                    time.sleep(%r)
                    print("end")
                ''' % (cache, pause), timeout=60)
                self.assertEqual((code, text), (0, "end\n"))

    def test_fork(self):
        code, text = python('''
            import os, warnings, numpy as np, tl
            warnings.simplefilter("ignore")  # that there are other threads: their absence in the child is the test
            p = tl.compile("fn f(x: f32[n]) -> f32[n] = x + 1.0")
            x = np.ones(100000, np.float32)
            y = p.f(x)
            t = p.f(tl.tensor(x))
            t.wait()
            child = os.fork()
            if child == 0:
                try:
                    p.f(x)
                except Exception as error:
                    print(type(error).__name__, "fork" in str(error), flush=True)
                assert y[0] == 2 and t.numpy()[0] == 2  # what was computed is there
                q = tl.compile("fn g(x: f32[n]) -> f32[n] = x + 2.0")
                print(q.g(x)[0], tl.tensor([1, 2]).tolist(), flush=True)
                p.close()
                del p
                import sys
                sys.exit(0)
            _, status = os.waitpid(child, 0)
            print("child", status, "parent", p.f(x)[0])
        ''', timeout=60)
        self.assertEqual((code, text), (0, "ValueError True\n3.0 [1, 2]\nchild 0 parent 2.0\n"))

    def test_multiprocessing(self):
        code, text = python('''
            import multiprocessing, numpy as np, tl
            p = tl.compile("fn f(x: f32[n]) -> f32 = sum(x)")
            def work(i):
                return float(p.f(np.full(10, i, np.float32)))
            if __name__ == "__main__":
                multiprocessing.set_start_method("spawn")
                with multiprocessing.Pool(2) as pool:
                    print(pool.map(work, range(4)), pool.map(p.f, [np.ones(3, np.float32)])[0])
        ''', timeout=120)
        self.assertEqual((code, text), (0, "[0.0, 10.0, 20.0, 30.0] 3.0\n"))

    def test_bad_programs_end_well(self):
        code, text = python('''
            import tl
            p = tl.compile("fn exits(n: i64) { exit(n) }\\nfn deep(n: i64) -> i64 = 1 + deep(n + 1)\\nfn fails(n: i64) -> i64 = 1 // n")
            for call in (lambda: p.exits(4), lambda: p.deep(0), lambda: p.fails(0)):
                try:
                    print(call())
                except tl.RunError as error:
                    print("RunError")
            print(p.exits(0))
        ''')
        self.assertEqual((code, text), (0, "RunError\nRunError\nRunError\nNone\n"))

    def test_command(self):
        for command in ([sys.executable, "-m", "tl"], [os.path.join(os.path.dirname(sys.executable), "tl")]):
            if not os.path.exists(command[0]):
                continue
            done = subprocess.run(command + ["-e", "print(1 + 2)"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, "3\n"))
            done = subprocess.run(command + ["version"], stdout=subprocess.PIPE, text=True)
            self.assertIn(tl.__version__, done.stdout)
            done = subprocess.run(command + ["check", "nowhere.tl"], stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertNotEqual(done.returncode, 0)


class Threads(Case):
    SOURCE = '''
        fn f(x: f32[n], k: f32) -> f32[n] = x * k + 1.0
        fn generic(x) = x + x
        fn say(i: i64) { print("{i}") }
        fn at(x: f32[n], i: i64) -> f32 = x[i]
        struct S { x: f32[3] }
        fn s(x: f32[3]) -> S = S(x = x)
    '''

    def test_eight(self):
        failures = []

        def work(number):
            try:
                random = np.random.default_rng(number)
                for i in range(150):
                    x = random.normal(size=random.integers(0, 2000)).astype(np.float32)
                    self.same(self.p.f(x, number), x * np.float32(number) + np.float32(1))
                    if i % 10 == 0:
                        self.same(self.p.f(tl.tensor(x), number).numpy(), x * np.float32(number) + np.float32(1))
                        y = x.astype([np.float16, np.float32, np.float64][i % 3])
                        self.same(self.p.generic(y), y + y)
                        self.same(self.p.s(np.full(3, i, np.float32)).x, np.full(3, i, np.float32))
                        try:
                            self.p.at(x, 5000 + number)
                        except tl.RunError as error:
                            assert str(5000 + number) in str(error), error
                        else:
                            raise AssertionError
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def test_subinterpreters(self):
        """They are told, and do no harm to the main interpreter."""
        for first in ("", "p = tl.compile('fn f(x: f32) -> f32 = x')"):
            code, text = python('''
                import tl
                %s
                try:
                    import _interpreters as interpreters  # 3.13
                except ImportError:
                    import _xxsubinterpreters as interpreters
                own = interpreters.create()
                run = getattr(interpreters, "exec", None) or interpreters.run_string
                failed = None
                try:
                    failed = run(own, "import tl")
                except Exception as error:
                    failed = error
                print("interpreters" in str(failed) or str(failed))
                interpreters.destroy(own)
                print(tl.compile("fn f(x: f32) -> f32 = x + 1.0").f(1.0))
            ''' % first, timeout=60)
            self.assertEqual((code, text), (0, "True\n2.0\n"))

    def test_close_without_waiting(self):
        code, text = python('''
            import threading, time, tl
            p = tl.compile("%s", threads=1)
            pending, waiting = p.forever.start(0), p.forever.start(0)
            def call():
                try:
                    p.forever(0)
                except BaseException as error:
                    print(type(error).__name__, flush=True)
            thread = threading.Thread(target=call)
            thread.start()
            time.sleep(1)
            p.close(wait=False)
            thread.join()
            for one in (pending, waiting):
                try:
                    one.result()
                except BaseException as error:
                    print(type(error).__name__)
        ''' % LOOP, timeout=60)
        self.assertEqual((code, text), (0, "ValueError\n" * 3))

    def test_close_while_called(self):
        for _ in range(5):
            p = tl.compile("fn f(x: f32[n, n]) -> f32[n, n] = x @ x")
            x, seen = np.ones((300, 300), np.float32), []

            def work(p=p, seen=seen):
                try:
                    while True:
                        p.f(x)
                except ValueError as error:
                    seen.append(str(error))

            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.1)
            p.close()
            for thread in threads:
                thread.join()
            self.assertEqual(len(seen), 3)
