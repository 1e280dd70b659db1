"""The same calls of tests/embed/layer.tl through the package tl and through a package that `tl build --lib --python` made:
layer.py load FILE.tl, or layer.py NAME. Prints FAIL lines, and at the end OK. Without NumPy: what needs none."""
import array
import copy
import gc
import inspect
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

how = sys.argv[1]
if how == "load":
    import tl

    def opened():
        return tl.load(sys.argv[2])

    errors, p = tl, opened()
else:
    assert not any(os.path.isdir(os.path.join(folder, "tl")) for folder in sys.path), "the package tl is here"
    errors = __import__(how)

    def opened():  # it is open wherever it is imported
        return errors.program

    p = opened()
    assert "tl" not in sys.modules

try:
    import numpy as np
except ImportError:
    np = None

failures = 0


def expect(what, fine):
    global failures
    if not fine:
        failures += 1
        print("FAIL", what)


def raises(kind, part, call):
    try:
        call()
    except kind as error:
        expect("'%s' in '%s'" % (part, error), part in str(error))
        return error
    except Exception as error:
        expect("%s of '%s', and not %r" % (kind.__name__, part, error), False)
    else:
        expect("%s of '%s' and not nothing" % (kind.__name__, part), False)


def lists(value):
    return value.tolist() if hasattr(value, "tolist") else value


def doubles(*values):
    return array.array("d", values)


# ---- scalars, texts, keyword arguments, defaults
expect("a text", p["lambda"](5) == "5 c" and p["lambda"](5, "d") == "5 d" and p["lambda"](**{"class": "é", "int": 1}) == "1 é")
x = doubles(1, 2)


def scaled(*args, **more):
    values, word = p.scaled(*args, **more)
    return lists(values), word


expect("defaults", scaled(x) == ([2, 4], "x2"))
expect("one of them", scaled(x, 3.0) == ([3, 6], "x2") and scaled(x, word="w") == ([2, 4], "w"))
expect("names", scaled(word="w", x=x, by=2) == ([2, 4], "w") and scaled(flag=True, x=x) == ([1, 2], "x2"))
raises(TypeError, "'y'", lambda: p.scaled(x, y=2))
raises(TypeError, "'x'", lambda: p.scaled(by=2))
raises(TypeError, "'x' twice", lambda: p.scaled(x, x=x))
raises(TypeError, "takes 4 arguments", lambda: p.scaled(x, 1, "", True, 5))
raises(TypeError, "by", lambda: p.scaled(x, "text"))
raises(TypeError, "word", lambda: p.scaled(x, 1.0, 5))
raises(ValueError, "", lambda: p.talk("a\0b"))
expect("numbers", p.big(-128, 65535) == (-128, 65535))
raises((ValueError, OverflowError), "128", lambda: p.big(128, 0))
raises((ValueError, OverflowError), "-1", lambda: p.big(0, -1))
raises(TypeError, "", lambda: p.big(1.5, 0))
expect("narrow floats", p.one_f16(0.1) == 0.0999755859375 and float(p.one_bf16(0.1)) == 0.10009765625)
expect("u64", p.one_u64(7) == 7)
expect("nothing", p.nothing(1.0) is None)
expect("a seed", isinstance(p.draw(3, 1), float) and p.draw(3, 1) == p.draw(3, 1) != p.draw(4, 1))
first, second = p.keys(3)
expect("keys", p.draw(first, 0) != p.draw(second, 0) and p.draw(first, 0) == p.draw(p.keys(3)[0], 0))

signature = inspect.signature(p.scaled)
expect("a signature", list(signature.parameters) == ["x", "by", "word", "flag"] and signature.parameters["flag"].default is False
       and str(signature.parameters["by"].default) == "half + 1.5" and signature.parameters["x"].annotation == "f64[n]")
expect("a docstring", p.apply.__doc__.startswith("fn apply(m: Model[i, o], x: f32[k, i]) -> f32[k, o]")
       and "Applies the model to rows." in p.apply.__doc__ and "by: a factor" in p.scaled.__doc__)
expect("what there is", {"apply", "Model", "Net", "scaled"} <= set(dir(p)) and "apply" in p and "nobody" not in p)

# ---- lists and tuples
expect("a list", [lists(x) for x in p.rows([array.array("f", [1, 2]), array.array("f", [3])])] == [[2, 4], [6]])
expect("lists of lists", p.nested(2) == [["0", "b"], ["1", "b"]])
values, word, number = p.several(array.array("f", [1, 2]), 5, "t")
expect("a tuple", (lists(values), word, number) == ([2, 4], "t", 5))
raises(TypeError, "", lambda: p.rows([array.array("d", [1])]))

# ---- structs
weights = memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))
bias = array.array("f", [1, 1, 1])
m = p.Model(w=weights, b=bias)
expect("fields", lists(m.w) == [[0, 1, 2], [3, 4, 5]] and lists(m.b) == [1, 1, 1] and m.fields() == ("w", "b"))
expect("its type", isinstance(m, p.Model) and "A matrix and a vector." in p.Model.__doc__)
expect("made by position", lists(p.Model(weights, b=bias).w) == lists(m.w))
raises(AttributeError, "nobody", lambda: m.nobody)
raises(AttributeError, "", lambda: setattr(m, "w", m.w))
for wrong in ({}, {"w": weights}, {"w": weights, "b": bias, "c": 1}, {"w": weights, "b": weights}, {"w": weights, "b": x}):
    raises((TypeError, ValueError), "", lambda wrong=wrong: p.Model(**wrong))
rows = memoryview(array.array("f", range(8))).cast("B").cast("f", (4, 2))
expect("a call", lists(p.apply(m, rows)) == [[4, 5, 6], [10, 15, 20], [16, 25, 34], [22, 35, 48]])
changed = m.with_(b=array.array("f", [0, 0, 0]))
expect("with_", lists(changed.b) == [0, 0, 0] and lists(changed.w) == lists(m.w) and lists(m.b) == [1, 1, 1])
raises(TypeError, "no field 'c'", lambda: m.with_(c=1))
expect("copies", copy.copy(m) is m and copy.deepcopy([m])[0] is m)
for ending in ("safetensors", "npz"):
    path = "saved-%s.%s" % (how, ending)
    m.save(path)
    expect("saved and read", lists(p.Model.load(path).w) == lists(m.w))
raises(errors.RunError, "nowhere", lambda: p.Model.load("nowhere.npz"))
net = p.Net(first=m, second=p.Model(memoryview(array.array("f", range(6))).cast("B").cast("f", (3, 2)), b=array.array("f", [1, 2])), steps=7, name="é")
expect("nested", net.name == "é" and net.steps == 7 and lists(net.first.w) == lists(m.w) and isinstance(net.second, p.Model))
expect("nested, called", lists(p.run(net, rows)) == [[35, 51], [111, 157], [187, 263], [263, 369]])
expect("defaults of what makes one", lists(p.made().w) == lists(p.made(3).w) != lists(p.made(4).w))
fixed = p.Fixed(weights)
expect("known sizes", p.fixed(fixed) == 15)
raises(ValueError, "", lambda: p.Fixed(memoryview(array.array("f", range(6))).cast("B").cast("f", (3, 2))))
count, both = p.models([m, changed])
expect("a list of structs", count == 2 and len(both) == 4 and lists(both[3].b) == [0, 0, 0])
raises(TypeError, "", lambda: p.apply("m", rows))
raises(TypeError, "Model", lambda: p.apply(fixed, rows))
linear = p.made_linear(5)
expect("of a module", isinstance(linear, p["nn.Linear"]) and len(lists(p.use_linear(linear, memoryview(array.array("f", range(6))).cast("B").cast("f", (2, 3))))) == 2)
expect("shown", "Model(" in repr(m) and "[2, 3]" in repr(m))
if np is not None:
    again = pickle.loads(pickle.dumps(m))
    expect("pickled", isinstance(again, p.Model) and lists(again.w) == lists(m.w))
    expect("a function, pickled", pickle.loads(pickle.dumps(p.apply)) is p.apply)
gc.collect()

# ---- failures
error = raises(errors.RunError, "layer.tl:", lambda: p.pick(array.array("f", [1]), 5))
expect("where it is", error.kind == "IndexOutOfRange" and error.line > 30 and error.file.endswith("layer.tl") and error.message)
error = raises(errors.ArgumentError, "", lambda: p.add(array.array("f", [1]), array.array("f", [1, 2])))
expect("it is a ValueError", isinstance(error, ValueError))
raises(errors.RunError, "exit(4)", lambda: p.stop(4))
raises(TypeError, "f32[n] is wanted", lambda: p.pick(doubles(1), 0))
raises(TypeError, "", lambda: p.pick(object(), 0))
raises(TypeError, "", lambda: p.pick(rows, 0))
raises(ValueError, "", lambda: p._set("colour", "red"))

# ---- calls that are started, tensors of tl
pending = p.add.start(bias, bias)
expect("a pending call", lists(pending.result()) == [2, 2, 2] and pending.ready())
raises(errors.RunError, "", p.pick.start(bias, 7).result)
t = errors.tensor(bias)
expect("a Tensor", isinstance(t, errors.Tensor) and t.dtype == "f32" and t.shape == (3,) and t.tolist() == [1, 1, 1])
total = p.add(p.add(t, t), t)
expect("Tensors ahead", isinstance(total, errors.Tensor) and total.tolist() == [3, 3, 3])
expect("the type of a result", p.apply.result_type(m, rows) == "f32[x.shape[0], m.w.shape[1]]" or p.apply.result_type(m, rows))
if how != "load":
    raises(ValueError, "needs the compiler", lambda: p.grad("pick")(bias, 0))
    raises(ValueError, "needs the compiler", lambda: p.vmap("pick")(bias, 0))
    raises(ValueError, "needs the compiler", lambda: p.function("|x: f32| x"))

# ---- what is printed goes through sys.stdout
script = """
import io, sys
sys.argv = %r
if sys.argv[1] == "load":
    import tl
    p = tl.load(sys.argv[2])
else:
    p = __import__(sys.argv[1])
"""


def run(code, **more):
    return subprocess.Popen([sys.executable, "-c", script % (sys.argv,) + code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, **more)


text = run("out = sys.stdout = io.StringIO()\ntold = p.talk('you')\nsys.__stdout__.write(repr((out.getvalue(), told)))").communicate()[0]
expect("printed: " + text, text == "('hello you\\n', 'bye you')")

# ---- Ctrl-C, at the end of the process too
process = run("""
import time
print("ready", flush=True)
began = time.time()
try:
    p.spin(10**12)
except KeyboardInterrupt:
    print("interrupted", p.pick([1.0, 2.0], 1) if "numpy" in sys.modules else 2.0, flush=True)
""")
process.stdout.readline()
time.sleep(1)
process.send_signal(signal.SIGINT)
text = process.communicate(timeout=60)[0]
expect("Ctrl-C: " + text, text == "interrupted 2.0\n" and process.returncode == 0)
process = run("pending = p.spin.start(10**12)\nprint('ready', flush=True)")
text = process.communicate(timeout=60)[0]
expect("a call that runs when the process ends: " + text, text == "ready\n" and process.returncode == 0)

# ---- arrays of every type and layout
if np is not None:
    for name in "bool u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64 bf16".split():
        if name == "bf16":
            try:
                from ml_dtypes import bfloat16 as dtype
            except ImportError:
                continue
        else:
            dtype = {"b": "bool", "u": "uint" + name[1:], "i": "int" + name[1:], "f": "float" + name[1:]}[name[0]]
        same = p["of_" + name]
        whole = (np.arange(24).reshape(4, 6) % 7).astype(dtype)
        cases = [whole, np.asfortranarray(whole), whole[:, ::2], whole[::-1, ::-2], whole.T, whole[:0], np.broadcast_to(whole[1], (3, 6))]
        data = b"x" + whole.tobytes()
        cases.append(np.frombuffer(data, np.uint8)[1:].view(dtype).reshape(4, 6))
        frozen = whole.copy()
        frozen.flags.writeable = False
        cases.append(frozen)
        for i, case in enumerate(cases):
            got = same(case)
            fine = isinstance(got, np.ndarray) and got.dtype == case.dtype and got.shape == case.shape and got.tobytes() == case.tobytes()
            expect("%s, layout %d" % (name, i), fine)
        got = same(whole)
        got[0, 0] = 1
        expect("%s: a result may be changed" % name, got.flags.writeable and whole[0, 0] == 0)
    ours = errors.tensor(np.arange(3, dtype="float32"))
    expect("DLPack", np.from_dlpack(ours).tolist() == [0, 1, 2] if hasattr(np, "from_dlpack") else True)
    expect("lists of numbers", p.add([1, 2], [3, 4]).tolist() == [4, 6])
    raises(TypeError, "astype", lambda: p.pick(np.zeros(3), 0))
    raises((TypeError, ValueError), "", lambda: p.pick(np.zeros(3, "complex64"), 0))
    expect("other bytes", p.pick(np.arange(3, dtype=">f4"), 2) == 2)
    expect("arrays of fields", p.pick(np.zeros(5, [("a", "u1"), ("x", "f4")])["x"], 1) == 0)
    expect("NumPy's numbers", isinstance(p.pick(np.ones(2, "float32"), np.int64(1)), np.float32) or p.pick(np.ones(2, "float32"), 1) == 1)

# ---- threads
wrong = []
expected = lists(p.apply(m, rows))


def work():
    for i in range(100):
        if lists(p.apply(m, rows)) != expected or lists(p.add.start(bias, bias).result()) != [2, 2, 2]:
            wrong.append(i)


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect("eight threads", not wrong)

# ---- fork, after calls that have started threads
child = os.fork()
if child == 0:
    status = 1
    try:
        own = opened()
        made = own.Model(w=weights, b=bias)
        good = lists(own.apply(made, rows)) == expected and lists(own.add.start(bias, bias).result()) == [2, 2, 2]
        status = 0 if good else 2
    finally:
        os._exit(status)
expect("in a child", os.waitpid(child, 0)[1] == 0)
expect("and in the parent", lists(p.apply(m, rows)) == expected)


# ---- memory
def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


for _ in range(2000):
    p.apply(m, rows), m.w
before = resident()
for _ in range(10000):
    p.apply(m, rows), m.w
expect("memory does not grow", resident() <= before + 100 or "--sanitized" in sys.argv)
if not failures:
    print("OK")
sys.exit(failures != 0)
