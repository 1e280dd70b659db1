"""Two Python packages that `tl build --lib --python` made, in one process, from tests/embed.sh: what is theirs alone, and what is between
them. (layer.py has what they share with the package tl.) Prints FAIL lines, and at the end OK."""
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
other = mlp.open("python.safetensors")
expect("a saved model", mlp.predict(other, rows).tolist() == scores)
expect("a struct's fields", len(model.hidden.tolist()) == 4 and mlp.Model.load("python.safetensors").bias.tolist() == model.bias.tolist())
expect("what the library says of itself", "A small perceptron" in mlp.__doc__ and "rows of kind" not in mlp.__doc__)
expect("names", {"Model", "create", "open", "predict", "save_to", "summary", "configure", "tensor"} <= set(mlp.__all__))

text, squares, counts = mlp.summary(model, rows, "fünf", scale=2)
expect("a tuple", text == "fünf: 5 flowers" and squares > 0 and sum(counts.tolist()) == 5)

error = raises(mlp.RunError, "nowhere", lambda: mlp.open("nowhere"))
expect("where", error.file.endswith("mlp.tl") and error.line > 0)
raises(TypeError, "f32[n, 4] is wanted", lambda: mlp.predict(model, memoryview(array.array("d", [0] * 4)).cast("B").cast("d", (1, 4))))
raises(TypeError, "", lambda: mlp.predict(model, array.array("f", [1, 2, 3, 4])))
raises(mlp.ArgumentError, "5", lambda: mlp.predict(model, view([0] * 5, 1, 5)))
raises(TypeError, "", lambda: mlp.predict(plain.hold(array.array("f", [1, 2])), rows))  # a struct of another package
raises(ValueError, "colour", lambda: mlp.configure("colour"))
mlp.configure("threads", 2)
mlp.configure("sync", True)
expect("settings", mlp.predict(model, rows).tolist() == scores)
mlp.configure("sync", False)
error = raises(plain.RunError, "plain.tl:6:", lambda: plain.pick(array.array("f", [1, 2, 3]), 5))
expect("classes of their own", plain.RunError is not mlp.RunError and not isinstance(error, mlp.RunError))
raises(plain.RunError, "exit(4)", lambda: plain.stop(4))
expect("a tensor of another package", plain.same(mlp.tensor(array.array("f", [1, 2]))).tolist() == [1, 2])

three = array.array("f", [1, 2, 3])
expect("a result as an argument", plain.same(plain.same(three)).tolist() == [1, 2, 3])
expect("strides", plain.same(memoryview(array.array("f", range(9)))[::-2]).tolist() == [8, 6, 4, 2, 0])
expect("nothing", plain.same(array.array("f")).tolist() == [])
expect("bytes", plain.pick(memoryview(bytes(8)).cast("f"), 1) == 0)
held = plain.hold(three)
three[0] = 50
first, _, second = plain.look(held)
expect("a struct keeps its own", first.tolist() == [1, 2, 3] and second.tolist() == [1, 2])
del held
expect("results outlive structs", first.tolist() == [1, 2, 3])

three[0] = 1
pair = plain.pair(three, array.array("f", [4, 5]))
three[0] = 50
expect("a list keeps its own", pair[0].tolist() == [1, 2, 3] and plain.at(pair, -1).tolist() == [4, 5])
expect("a list grows", plain.at(plain.append(pair, three), 2).tolist() == [50, 2, 3])
raises(plain.RunError, "index 2 is out of range for a list of length 2", lambda: plain.at(pair, 2))
raises(plain.RunError, "axis 0 of an element of argument `xs` of `threes` is 2, where 3 is written", lambda: plain.threes(pair))
raises(plain.RunError, "where n is written, which is 3", lambda: plain.add(pair, three))
total = plain.threes(plain.add(plain.pair(three, three), three))  # a Tensor where there is no NumPy
expect("a list of results", getattr(total, "tolist", lambda: total)() == 220)
tags, words, _ = plain.tags(2)
told = "[Tag(name = 't0', at = []), Tag(name = 't1', at = [0])] [['a', 'b'], ['c']]"
expect("lists of structs and lists", plain.told(tags, words) == told)
wrong = []


def work():
    for i in range(int(sys.argv[1])):
        if mlp.predict(mlp.create(1), rows).tolist() != scores or mlp.predict(model, rows).tolist() != scores:
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
