"""The Python packages that `tl build --lib --python` made, from tests/embed.sh. Prints FAIL lines, and at the end OK."""
import array
import copy
import gc
import pickle
import sys
import threading

import mlp
import plain

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
        expect("%s, and not %r" % (kind.__name__, error), False)
    else:
        expect("%s of '%s' and not nothing" % (kind.__name__, part), False)


def view(values, *shape):
    return memoryview(array.array("f", values)).cast("B").cast("f", shape)


rows = view([float(i % 7) - 3 for i in range(20)], 5, 4)
model = mlp.create(1)
scores = mlp.predict(model, rows).tolist()
expect("sums of 1", all(abs(sum(row) - 1) < 1e-6 for row in scores))
expect("defaults", mlp.predict(mlp.create(), rows).tolist() == mlp.predict(mlp.create(0), rows).tolist())
expect("names of arguments", mlp.predict(m=model, x=rows).tolist() == scores)
mlp.save_to(model, "python.safetensors")
with mlp.open("python.safetensors") as other:
    expect("a saved model", mlp.predict(other, rows).tolist() == scores)
raises(ValueError, "this Model was closed", lambda: mlp.predict(other, rows))
other.close()

twin = copy.copy(model)
inside = copy.deepcopy({"model": model})["model"]
twin.close()
raises(ValueError, "this Model was closed", lambda: mlp.predict(twin, rows))
expect("the end of a copy is not that of the others", mlp.predict(model, rows).tolist() == scores)
expect("a copy outlives what it copies", mlp.predict(copy.copy(mlp.create(1)), rows).tolist() == scores)
expect("a deep copy", mlp.predict(inside, rows).tolist() == scores)
raises(TypeError, "a Model is memory of this process and cannot be pickled", lambda: pickle.dumps(model))
if type(mlp.predict(model, rows)).__name__ == "Tensor":
    raises(TypeError, "a Tensor owns its memory", lambda: copy.copy(mlp.predict(model, rows)))
    raises(TypeError, "a Tensor owns its memory", lambda: copy.deepcopy([mlp.predict(model, rows)]))

text, squares, counts = mlp.summary(model, rows, "fünf", scale=2)
expect("a tuple", text == "fünf: 5 flowers" and squares > 0 and sum(counts.tolist()) == 5)

error = raises(mlp.Error, "nowhere", lambda: mlp.open("nowhere"))
expect("status", error.status == 3 and "mlp.tl:" in str(error))
error = raises(mlp.Error, "elements of type f64", lambda: mlp.predict(model, memoryview(array.array("d", [0] * 4)).cast("B").cast("d", (1, 4))))
expect("status", error.status == 2)
raises(mlp.Error, "rank 1", lambda: mlp.predict(model, array.array("f", [1, 2, 3, 4])))
raises(mlp.Error, "5", lambda: mlp.predict(model, view([0] * 5, 1, 5)))
raises(TypeError, "a Model is wanted, not a str", lambda: mlp.predict("m", rows))
raises(TypeError, "a Model is wanted, not a Held", lambda: mlp.predict(plain.hold(array.array("f", [1, 2])), rows))
raises(TypeError, "neither a buffer nor", lambda: mlp.predict(model, object()))
raises(TypeError, "a str is wanted", lambda: mlp.open(5))
raises(ValueError, "character 0", lambda: mlp.open("a\0b"))
raises(OverflowError, "9223372036854775808", lambda: mlp.create(1 << 63))
raises(OverflowError, "128", lambda: plain.mixed(True, 128, 0, 0, 0))
raises(OverflowError, "-1", lambda: plain.mixed(True, 0, -1, 0, 0))
raises(TypeError, "float", lambda: mlp.create(1.5))
raises(mlp.Error, "no setting", lambda: mlp.configure("colour"))
error = raises(plain.Error, "plain.tl:6:", lambda: plain.pick(array.array("f", [1, 2, 3]), 5))
expect("status", error.status == 3)
raises(plain.Error, "exit(4)", lambda: plain.stop(4))
expect("scalars", plain.mixed(False, -3, 65535, 0.1, 0.5) == (True, -3, 65535, 0.1, 0.5))

three = array.array("f", [1, 2, 3])
expect("a result as an argument", plain.same(plain.same(three)).tolist() == [1, 2, 3])
expect("strides", plain.same(memoryview(array.array("f", range(9)))[::-2]).tolist() == [8, 6, 4, 2, 0])
expect("nothing", plain.same(array.array("f")).tolist() == [])
expect("bytes", plain.pick(memoryview(bytes(8)).cast("f"), 1) == 0)
held = plain.hold(three)
three[0] = 50
first, _, second = plain.look(held)
expect("a handle keeps its own", first.tolist() == [1, 2, 3] and second.tolist() == [1, 2])
del held
expect("results outlive handles", first.tolist() == [1, 2, 3])

three[0] = 1
pair = plain.pair(three, array.array("f", [4, 5]))
three[0] = 50
expect("a list keeps its own", plain.at(pair, 0).tolist() == [1, 2, 3] and plain.at(pair, -1).tolist() == [4, 5])
longer = plain.append(pair, three)
expect("a list grows", plain.at(longer, 2).tolist() == [50, 2, 3] and type(longer) is plain.List_f32_1d)
raises(plain.Error, "index 2 is out of range for a list of length 2", lambda: plain.at(pair, 2))
raises(plain.Error, "axis 0 of an element of argument `xs` of `threes` is 2, where 3 is written", lambda: plain.threes(pair))
raises(plain.Error, "where n is written, which is 3", lambda: plain.add(pair, three))
raises(TypeError, "a List_f32_1d is wanted, not a Held", lambda: plain.at(plain.hold(three), 0))
sums = plain.add(plain.pair(three, three), three)
expect("a list of results", plain.threes(sums) == 220)
tags, words, _ = plain.tags(2)
told = "[Tag(name = 't0', at = []), Tag(name = 't1', at = [0])] [['a', 'b'], ['c']]"
expect("lists of structs and lists", plain.told(tags, words) == told)
with longer:
    first = plain.at(longer, 0)
raises(ValueError, "this List_f32_1d was closed", lambda: plain.at(longer, 0))
expect("results outlive lists", first.tolist() == [1, 2, 3])

try:
    import numpy
except ImportError:
    numpy = None
    tensor = plain.same(three)
    expect("a tensor", tensor.shape == (3,) and tensor.dtype == "float32")
    tensor.__dlpack__()  # nobody takes it
    raises(BufferError, "given away", tensor.tolist)
    print("SKIPPED: what NumPy gives and takes (it is not installed)")
if numpy is not None:
    x = numpy.arange(20, dtype="float32").reshape(5, 4) / 10
    dense = mlp.predict(model, x)
    expect("an array", isinstance(dense, numpy.ndarray) and dense.dtype == "float32" and dense.shape == (5, 3))
    for other in (numpy.asfortranarray(x), numpy.repeat(x, 2, axis=0)[::2], numpy.flip(x)[::-1, ::-1], x.tolist()):
        expect("the same rows", numpy.array_equal(mlp.predict(model, other), dense))
    unaligned = numpy.frombuffer(b"x" + x.tobytes(), "float32", offset=1).reshape(5, 4)
    expect("unaligned", not unaligned.flags.aligned and numpy.array_equal(mlp.predict(model, unaligned), dense))
    one = numpy.broadcast_to(x[1], (5, 4))
    expect("broadcast", numpy.array_equal(mlp.predict(model, one), numpy.tile(dense[1], (5, 1))))
    frozen = x.copy()
    frozen.flags.writeable = False
    expect("read only", numpy.array_equal(mlp.predict(model, frozen), dense))
    dense[:] = 0
    expect("a result may be changed", mlp.predict(model, x).sum() > 4)
    for wrong in (x.astype(">f4"), x.astype("complex64")):
        error = raises(mlp.Error, "", lambda: mlp.predict(model, wrong))
        expect("status", error is not None and error.status == 2)
    fields = numpy.zeros(5, [("a", "u1"), ("x", "f4", 4)])["x"]
    raises(mlp.Error, "strides", lambda: mlp.predict(model, fields))
    expect("numbers of NumPy", mlp.create(numpy.int64(1)) is not None)
    expect("from_dlpack", numpy.from_dlpack(x).shape == (5, 4))

wrong = []


def work():
    for i in range(int(sys.argv[1])):
        with mlp.create(1) as own:
            if mlp.predict(own, rows).tolist() != scores or mlp.predict(model, rows).tolist() != scores:
                wrong.append(i)


threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expect("eight threads", not wrong)


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])


before = resident()
for i in range(10 * int(sys.argv[1])):
    mlp.predict(model, rows)
    if i % 10 == 0:
        plain.same(plain.same(array.array("f", [1, 2])))
expect("memory does not grow", resident() <= before + 100 or "--sanitized" in sys.argv)
if not failures:
    print("OK")
sys.exit(failures != 0)
