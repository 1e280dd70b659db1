#!/usr/bin/env python3
"""tl.torch_op against PyTorch's own functions: values, derivatives to the third, opcheck, torch.compile with open sizes. Needs the package tl."""
import copy
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading

try:
    import torch
    torch.library.opcheck
except (ImportError, AttributeError):
    print("SKIPPED: torch_op.py (it needs PyTorch 2.4 or later)")
    sys.exit(77)

import tl

PROGRAM = """
struct Pair[n] { a: f32[n], b: f32[n] }
## Two products beside each other.
fn wide(x: f32[n, d], y: f32[d, m]) -> f32[n, 2 * m + 1] = concat((tanh(x @ y), x @ y, ones([n, 1])), axis = 1)
fn three(x: f32[..s], by: f32 = 2.0, k: i64 = 3) -> (f32[..s], f32, i64[..s]) = (x ** 3 * by, sum(x * x), i64(x) + k)
fn positive(x: f32[n]) -> f32[_] = x[x > 0.0]
fn open_sums(x, y) = (sum(x * x), y * y)
fn inferred(x: f32[n]) = (x[1:], flip(x))
fn same(x: f32[n]) -> f32[n] = x
fn twice(x: f32[n]) -> (f32[n], f32[n]) = (x, x)
fn pick(x: f32[n], i: i64[m]) -> f32[m] = x[i]
fn by_word(x: f64[n], how: str, by: f64 = 1.0) -> f64[n] = if how == "{{sq}}" { x * x * by } else { sin(x) * by }
fn halves(x: bf16[n]) -> bf16[n] = x * 0.5
fn count(x: f32[n]) -> i64 = n
fn of_pair(p: Pair) -> f32 = sum(p.a)
fn words(x: f32[n]) -> str = "{n}"
fn waves(z: c128[n], y: f64[n]) = (z * z * y + exp(z), abs(z) * y, real(z * conj(z)))
fn filtered(z: c128[n]) -> c128[n] = ifft(fft(z) * z) / (1.0 + z)
fn lifted(y: f64[n]) -> c128[n] = complex(y, y * y)
fn fails(x: f32[n]) -> f32[n] { assert x[0] > 0.0, "the first is {x[0]}"; x }
"""
p = tl.compile(PROGRAM, "torch_op.tl")
torch.manual_seed(0)
failures = []


def test(function):
    try:
        function()
    except Exception as error:
        import traceback
        traceback.print_exc()
        failures.append(function.__name__)
    return function


def leaf(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype, requires_grad=True)


def close(ours, theirs, **tolerance):
    torch.testing.assert_close(ours, theirs, **(tolerance or dict(rtol=1e-4, atol=1e-5)))


def raises(error, words, call):
    try:
        call()
    except error as raised:
        assert words in str(raised), raised
    else:
        raise AssertionError(f"no {error.__name__}")


def check(op, *arguments):
    found = torch.library.opcheck(op.op, arguments)
    assert len(found) == 4 and set(found.values()) == {"SUCCESS"}, found


def gradients(result, inputs, seeds):
    return torch.autograd.grad(result, inputs, seeds, create_graph=True)


def wide_of_torch(x, y):
    return torch.cat((torch.tanh(x @ y), x @ y, torch.ones(len(x), 1)), 1)


@test
def no_function():
    for wrong in ("three", p, None):
        try:
            tl.torch_op(wrong)
        except TypeError as error:
            assert "tl.torch_op takes a function of a program" in str(error), error
        else:
            raise AssertionError(wrong)


@test
def values_and_gradients():
    f = tl.torch_op(p.wide)
    assert "Two products" in f.__doc__
    for n, d, m in ((3, 4, 2), (1, 1, 1), (5, 0, 3), (0, 2, 2)):
        x, y = leaf(n, d), leaf(d, m)
        ours, theirs = f(x, y), wide_of_torch(x, y)
        close(ours, theirs)
        seed = torch.randn_like(theirs)
        close(gradients(ours, (x, y), seed), gradients(theirs, (x, y), seed))
        close(gradients(f(x.detach(), y), (y,), seed), gradients(theirs, (y,), seed))
    close(f(y=y, x=x), wide_of_torch(x, y))
    close(f(leaf(4, 6).detach().T, leaf(8, 4)[::2]).shape, torch.Size([6, 9]))
    check(f, leaf(3, 4), leaf(4, 2))
    check(f, leaf(3, 4).detach(), leaf(4, 2))
    check(f, leaf(4, 3).detach().T, leaf(4, 2))


@test
def several_results_and_defaults():
    f = tl.torch_op(p.three)
    x, by = leaf(2, 3), leaf()
    cubes, squares, whole = f(x, by)
    close(cubes, x ** 3 * by)
    close(squares, (x * x).sum())
    assert whole.dtype == torch.int64 and torch.equal(whole, x.long() + 3) and not whole.requires_grad
    assert torch.equal(f(x, k=7)[2], x.long() + 7)
    assert torch.equal(f(x, 1.0, torch.tensor(5))[2], x.long() + 5)
    first = gradients(cubes.sum() + squares, (x, by), None)
    close(first, (3 * x ** 2 * by + 2 * x, (x ** 3).sum()))
    second = gradients(first[0].sum() + first[1] ** 2, (x, by), None)
    close(second, (6 * x * by + 2 + 2 * (x ** 3).sum() * 3 * x ** 2, (3 * x ** 2).sum()))
    third, = gradients(second[0].sum(), (by,), None)
    close(third, (6 * x).sum())
    close(gradients(f(x, by)[1], (x,), None)[0], 2 * x)  # the other results have no derivative
    check(f, x, by)
    check(f, x)
    check(f, x.detach(), None, torch.tensor(4))


@test
def generic_functions():
    f = tl.torch_op(p.open_sums)
    for dtype in (torch.float32, torch.float64):
        x, y = leaf(3, dtype=dtype), leaf(2, 2, dtype=dtype)
        total, squares = f(x, y)
        close((total, squares), ((x * x).sum(), y * y))
        close(gradients(total + squares.sum(), (x, y), None), (2 * x, 2 * y))
        check(f, x, y)
    f = tl.torch_op(p.inferred)
    x = leaf(4)
    close(f(x), (x[1:], x.flip(0)))
    check(f, x)
    f = tl.torch_op(p.function("|x, y| x * y + 1.0"))
    close(f(x, x), x * x + 1)
    close(gradients(f(x, x).sum(), (x,), None)[0], 2 * x)


@test
def sizes_known_when_it_ran():
    f = tl.torch_op(p.positive)
    x = leaf(9)
    close(f(x), x[x > 0])
    close(gradients(f(x).sum(), (x,), None)[0], (x > 0).float())
    check(f, x)


@test
def no_aliases():
    for function in (p.same, p.twice):
        f = tl.torch_op(function)
        x = torch.randn(5)
        kept = x.clone()
        results = f(x)
        results = results if isinstance(results, tuple) else (results,)
        for result in results:
            result += 1
            assert torch.equal(x, kept)
            close(result, kept + 1)
        check(f, leaf(5))


@test
def other_arguments():
    f = tl.torch_op(p.pick)
    x, i = leaf(4), torch.tensor([3, 0, 3])
    close(f(x, i), x[i])
    close(f(x, [3, 0, 3]), x[i])
    close(gradients(f(x, i).sum(), (x,), None)[0], torch.tensor([1.0, 0, 0, 2]))
    check(f, x, i)
    f = tl.torch_op(p.by_word)
    x = leaf(3, dtype=torch.float64)
    close(gradients(f(x, "{sq}", by=2).sum(), (x,), None)[0], 4 * x)
    close(gradients(f(x, 'a"{\\\n').sum(), (x,), None)[0], x.cos())
    check(f, x, "{sq}")
    f = tl.torch_op(p.halves)
    x = leaf(3, dtype=torch.bfloat16)
    close(f(x), x / 2, rtol=0, atol=0)
    close(gradients(f(x).sum(), (x,), None)[0], torch.full((3,), 0.5, dtype=torch.bfloat16))
    check(f, x)
    f = tl.torch_op(p.count)
    assert f(leaf(3)).item() == 3 and not f(leaf(3)).requires_grad
    check(f, leaf(3))


@test
def compiled():
    f, g, h = tl.torch_op(p.wide), tl.torch_op(p.three), tl.torch_op(p.positive)

    def ours(x, y):
        return (f(x * 2, y) ** 2).sum() + g(x, by=1.5)[0].sum() + h(y.reshape(-1)).sum()

    def theirs(x, y):
        return (wide_of_torch(x * 2, y) ** 2).sum() + (x ** 3 * 1.5).sum() + y.relu().sum()

    torch._dynamo.reset()
    run = torch.compile(ours, fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True, capture_dynamic_output_shape_ops=True):
        for n in (3, 5, 8):
            x, y = leaf(n, 4), leaf(4, n + 3)
            a, b = run(x, y), theirs(x, y)
            close(a, b)
            close(torch.autograd.grad(a, (x, y)), torch.autograd.grad(b, (x, y)), rtol=1e-3, atol=1e-3)
            with torch.no_grad():
                close(theirs(x, y), b)


@test
def compiled_with_symbols():
    f = tl.torch_op(p.three)
    run = torch.compile(lambda x: f(x, by=x.shape[0] / 2, k=x.shape[0] + 1), fullgraph=True, dynamic=True)
    for n in (3, 4, 6):
        x = leaf(n)
        ours = run(x)
        close(ours[0], x ** 3 * (n / 2))
        assert torch.equal(ours[2], x.long() + n + 1)


@test
def compiled_before():
    """What PyTorch has compiled in another process calls operators that this one has not traced."""
    script = textwrap.dedent("""
        import torch, tl
        p = tl.compile("fn f(x: f32[n], y: f32[n]) -> f32[n] = sin(x) * y")
        f = tl.torch_op(p.f)
        x = torch.arange(4.0, requires_grad=True)
        torch.compile(lambda x: f(x, x * 2).sum(), fullgraph=True, dynamic=True)(x).backward()
        torch.testing.assert_close(x.grad, (2 * x * x.cos() + 2 * x.sin()).detach())
        from torch._dynamo.utils import counters
        print(dict(counters["aot_autograd"]))
    """)
    with tempfile.TemporaryDirectory() as folder:
        shown = [subprocess.run([sys.executable, "-c", script], env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": folder}, capture_output=True,
                                text=True, timeout=300) for _ in range(2)]
    for done in shown:
        assert done.returncode == 0, done.stderr
    if "autograd_cache" in shown[0].stdout:  # PyTorch 2.4 does not keep them
        assert "autograd_cache_hit" in shown[1].stdout, shown[1].stdout


@test
def derivatives_are_operators():
    f = tl.torch_op(p.wide)
    x, y = leaf(3, 4), leaf(4, 2)
    derivative = sys.modules["tl.torch_op"]._derivative
    expression = "|x, y, d| vjp(|x, y| wide(x, y), x, y)[1](d)"
    found = torch.library.opcheck(derivative, ([x, y, leaf(3, 5)], f.op._qualname, expression, [0, 1]))
    assert len(found) == 4 and set(found.values()) == {"SUCCESS"}, found
    close(gradients(f(x, y), (x,), torch.ones(3, 5))[0], derivative([x, y, torch.ones(3, 5)], f.op._qualname, expression, [0, 1])[0])
    z = leaf(3, 3, dtype=torch.float64)
    g = tl.torch_op(tl.compile("fn g(x: f64[n, n]) -> f64[n] = sum(tanh(x @ x), axis = 0)").g)
    assert torch.autograd.gradcheck(g, (z,)) and torch.autograd.gradgradcheck(g, (z,))


@test
def kept_in_files():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.f, self.w = tl.torch_op(p.wide), torch.nn.Parameter(torch.ones(4, 2))

        def forward(self, x):
            return self.f(x, self.w)

    globals()["Net"] = Net
    Net.__qualname__ = "Net"
    net, x = Net(), leaf(3, 4)
    close(copy.deepcopy(net)(x), net(x))
    again = pickle.loads(pickle.dumps(net))
    close(again(x), net(x))


@test
def exported():
    f = tl.torch_op(p.wide)

    class Net(torch.nn.Module):
        def forward(self, x, y):
            return f(x, y).relu()

    n = torch.export.Dim("n", min=2)
    made = torch.export.export(Net(), (torch.randn(3, 4), torch.randn(4, 2)), dynamic_shapes=({0: n}, {}))
    x, y = torch.randn(7, 4), torch.randn(4, 2)
    close(made.module()(x, y), wide_of_torch(x, y).relu())


@test
def names():
    f = tl.torch_op(p.same, "mine::same")
    x = torch.randn(3)
    close(torch.ops.mine.same(x), x)
    g = tl.torch_op(p.same, "mine::same")  # replaces it, as in a notebook
    close(g(x), x)
    close(f(x), x)
    assert tl.torch_op(p.same).op._qualname == tl.torch_op(p.same).op._qualname != tl.torch_op(p.twice).op._qualname
    other = tl.compile("fn same(x: f32[n]) -> f32[n] = x + 1.0", "torch_op.tl")
    close(tl.torch_op(other.same)(x), x + 1)
    close(tl.torch_op(p.same)(x), x)


@test
def complex_numbers():
    z, y = leaf(4, dtype=torch.complex128), leaf(4, dtype=torch.float64)
    for function, arguments in ((p.waves, (z, y)), (p.filtered, (z,)), (p.lifted, (y,))):
        f = tl.torch_op(function)
        assert torch.autograd.gradcheck(f, arguments) and torch.autograd.gradgradcheck(f, arguments)
        check(f, *arguments)
    close(tl.torch_op(p.filtered)(z), torch.fft.ifft(torch.fft.fft(z) * z) / (1 + z))


@test
def refused():
    x = leaf(3)
    raises(TypeError, "Pair", lambda: tl.torch_op(p.of_pair))
    raises(TypeError, "str", lambda: tl.torch_op(p.words))
    raises(TypeError, "names", lambda: tl.torch_op(p.function("vmap(same)")))
    f = tl.torch_op(p.pick)
    raises(TypeError, "`i`", lambda: f(x))
    raises(TypeError, "`j`", lambda: f(x, [0], j=1))
    raises(TypeError, "takes 2", lambda: f(x, [0], 1))
    raises(TypeError, "", lambda: f(x.to(torch.complex64), [0]))
    raises(TypeError, "f64", lambda: f(x.double(), [0]))
    raises(tl.RunError, "the first is", lambda: tl.torch_op(p.fails)(-x.abs()))
    raises(Exception, "", lambda: tl.torch_op(p.wide)(leaf(3, 4), leaf(5, 2)))


@test
def threads():
    f = tl.torch_op(p.wide)
    wrong = []

    def work(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(50):
            x = torch.randn(4, 3, generator=generator).requires_grad_()
            y = torch.randn(3, 2, generator=generator).requires_grad_()
            pairs = [torch.autograd.grad(call(x, y).sum(), (x, y)) for call in (f, wide_of_torch)]
            if not all(torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(*pairs)):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


print(f"torch_op: {len(failures)} failed{': ' if failures else ''}{', '.join(failures)}")
sys.exit(1 if failures else 0)
