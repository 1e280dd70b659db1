"""Examples of NumPy's own documentation, in NumPy and in tl: for each function named, lines of its docstring (joined, where the docstring shows
several results, into one tuple) and a program of tl that gives the same numbers, shapes and types. They run by kernels and by the interpreter.

Integers of an example that become floats in NumPy are written as floats in tl, which converts nothing by itself.
"""
import numpy as np

from functions import Case, run_cases

SEED = 0
PROGRAM = 20
TIMES = 100  # a result may differ by so many roundings

# (the function of NumPy, its example, the same in tl); the last line of an example is its value
EXAMPLES = [
    # ---- making arrays
    ("arange", "np.arange(3), np.arange(3, 7), np.arange(3, 7, 2)", "(arange(3), arange(3, 7), arange(3, 7, 2))"),
    ("linspace", "np.linspace(2.0, 3.0, num=5), np.linspace(2.0, 3.0, num=5, endpoint=False)",
     "{ let (x, y): (f64[5], f64[6]) = (linspace(2.0, 3.0, 5), linspace(2.0, 3.0, 6)); (x, y[:5]) }"),
    ("geomspace", "np.geomspace(1, 1000, num=4), np.geomspace(1, 256, num=9)",
     "(exp(log(f64(1000.0)) * f64(arange(4)) / 3.0), f64(2.0) ** f64(arange(9)))"),
    ("logspace", "np.logspace(2.0, 3.0, num=4), np.logspace(2.0, 3.0, num=4, base=2.0)",
     "{ let e = 2.0 + f64(arange(4)) / 3.0; (10.0 ** e, 2.0 ** e) }"),
    ("eye", "np.eye(2, dtype=int), np.eye(3, k=1)", "(eye(2, i64), [f64(j == i + 1) for i in 0..3, j in 0..3])"),
    ("fromfunction", "np.fromfunction(lambda i, j: i == j, (3, 3), dtype=int), np.fromfunction(lambda i, j: i + j, (3, 3), dtype=int)",
     "([i == j for i in 0..3, j in 0..3], [i + j for i in 0..3, j in 0..3])"),
    ("vander", "x = np.array([1, 2, 3, 5])\nN = 3\nnp.vander(x, N), np.vander(x), np.vander(x, increasing=True)",
     "{ let x = [1, 2, 3, 5]; ([x[i] ** (2 - j) for i, j in 0..3], [x[i] ** (3 - j) for i, j in 0..4], [x[i] ** j for i, j in 0..4]) }"),
    ("tri", "np.tri(3, 5, 2, dtype=int), np.tri(3, 5, -1)", "([i64(j <= i + 2) for i in 0..3, j in 0..5], tril(ones([3, 5], f64), -1))"),
    ("meshgrid", "nx, ny = (3, 2)\nx = np.linspace(0, 1, nx)\ny = np.linspace(0, 1, ny)\nnp.meshgrid(x, y)",
     "{ let x: f64[3] = linspace(0.0, 1.0, 3); let y: f64[2] = linspace(0.0, 1.0, 2); meshgrid(x, y) }"),
    ("diag", "x = np.arange(9).reshape((3,3))\nnp.diag(x), np.diag(x, k=1), np.diag(x, k=-1), np.diag(np.diag(x))",
     "{ let x = arange(9).reshape([3, 3]); (diag(x), diag(x, k = 1), diag(x, k = -1), diag(diag(x))) }"),
    ("indices", "grid = np.indices((2, 3))\ngrid.shape, grid[0], grid[1]",
     '{ let (r, c) = meshgrid(arange(2), arange(3), indexing = "ij"); (stack((r, c)).shape, r, c) }'),
    ("hanning", "np.hanning(12)", "[0.5 - 0.5 * cos(2.0 * pi * f64(i) / 11.0) for i in 0..12]"),
    # ---- shapes
    ("reshape", "a = np.array([[1,2,3], [4,5,6]])\nnp.reshape(a, 6), np.reshape(a, (3,-1))", "{ let a = [[1, 2, 3], [4, 5, 6]]; (a.flatten(), a.reshape([3, 2])) }"),
    ("moveaxis", "x = np.zeros((3, 4, 5))\nnp.moveaxis(x, 0, -1).shape, np.transpose(x).shape, np.moveaxis(x, [0, 1, 2], [-1, -2, -3]).shape",
     "{ let x = zeros([3, 4, 5]); (moveaxis(x, 0, -1).shape, x.T.shape, moveaxis(x, (0, 1, 2), (-1, -2, -3)).shape) }"),
    ("block", "A = np.eye(2) * 2\nB = np.eye(3) * 3\nnp.block([\n    [A,               np.zeros((2, 3))],\n    [np.ones((3, 2)), B               ]\n])",
     "{ let (a, b) = (eye(2, f64) * 2.0, eye(3, f64) * 3.0); concat((concat((a, zeros([2, 3])), axis = 1), concat((ones([3, 2]), b), axis = 1))) }"),
    ("insert", "a = np.array([[1, 1], [2, 2], [3, 3]])\nnp.insert(a, 1, 5), np.insert(a, 1, 5, axis=1), np.insert(a.flatten(), [2, 2], [5, 6])",
     "{ let a = [[1, 1], [2, 2], [3, 3]]; let b = flatten(a); (concat((b[:1], [5], b[1:])), concat((a[:, :1], full([3, 1], 5), a[:, 1:]), axis = 1), concat((b[:2], [5, 6], b[2:]))) }"),
    ("delete", "arr = np.array([[1,2,3,4], [5,6,7,8], [9,10,11,12]])\nnp.delete(arr, 1, 0), np.delete(arr, np.s_[::2], 1), np.delete(arr, [1,3,5], None)",
     "{ let a = arange(1, 13).reshape([3, 4]); let at = arange(12); (a[[0, 2]], a[:, 1::2], flatten(a)[isin(at, [1, 3, 5], invert = true)]) }"),
    ("pad", "a = [1, 2, 3, 4, 5]\nnp.pad(a, (2, 3), 'edge'), np.pad(a, (2, 3), 'reflect'), np.pad(a, (2, 3), 'symmetric'), np.pad(a, (2, 3), 'wrap')",
     '{ let a = [1, 2, 3, 4, 5]; (pad(a, [(2, 3)], mode = "edge"), pad(a, [(2, 3)], mode = "reflect"), pad(a, [(2, 3)], mode = "symmetric"), '
     'pad(a, [(2, 3)], mode = "wrap")) }'),
    ("tile", "a = np.array([0, 1, 2])\nnp.tile(a, 2), np.tile(a, (2, 2)), np.tile(a, (2, 1, 2))",
     "{ let a = [0, 1, 2]; (tile(a, [2]), tile(a, [2, 2]), tile(a, [2, 1, 2])) }"),
    ("repeat", "x = np.array([[1,2],[3,4]])\nnp.repeat(3, 4), np.repeat(x, 2), np.repeat(x, 3, axis=1), np.repeat(x, [1, 2], axis=0)",
     "{ let x = [[1, 2], [3, 4]]; (repeat([3], 4), repeat(x.flatten(), 2), repeat(x, 3, axis = 1), repeat(x, counts = [1, 2], axis = 0)) }"),
    ("roll", "x = np.arange(10)\nx2 = np.reshape(x, (2, 5))\nnp.roll(x, 2), np.roll(x, -2), np.roll(x2, 1), np.roll(x2, -1, axis=0), np.roll(x2, 1, axis=1)",
     "{ let x = arange(10); let y = x.reshape([2, 5]); (roll(x, 2), roll(x, -2), roll(y, 1), roll(y, -1, axis = 0), roll(y, 1, axis = 1)) }"),
    ("rot90", "m = np.arange(8).reshape((2,2,2))\nnp.rot90(np.array([[1,2],[3,4]], int)), np.rot90(np.array([[1,2],[3,4]], int), 2), np.rot90(m, 1, (1,2))",
     "{ let m = [[1, 2], [3, 4]]; (m.T[::-1], m[::-1, ::-1], transpose(arange(8).reshape([2, 2, 2]), 1, 2)[:, ::-1]) }"),
    ("lib.stride_tricks.sliding_window_view",
     "x = np.arange(6)\ny = np.arange(4) + 10 * np.arange(3)[:, None]\nf = np.lib.stride_tricks.sliding_window_view\nf(x, 3), f(y, (2, 2)), f(y, 3, 0)",
     "{ let x = arange(6); let y = [10 * i + j for i in 0..3, j in 0..4]; "
     "([x[i + k] for i in 0..4, k in 0..3], [y[i + k, j + l] for i in 0..2, j in 0..3, k in 0..2, l in 0..2], [y[i + k, j] for i in 0..1, j, k in 0..3]) }"),
    ("broadcast_arrays", "x = np.array([[1,2,3]])\ny = np.array([[4],[5]])\nnp.broadcast_arrays(x, y)",
     "{ let (x, y) = ([[1, 2, 3]], [[4], [5]]); (broadcast_to(x, [2, 3]), broadcast_to(y, [2, 3])) }"),
    ("trim_zeros", "a = np.array((0, 0, 0, 1, 2, 3, 0, 2, 1, 0))\nnp.trim_zeros(a), np.trim_zeros(a, 'b')",
     '{ let a = [0, 0, 0, 1, 2, 3, 0, 2, 1, 0]; (trim_zeros(a), trim_zeros(a, "b")) }'),
    # ---- indexing
    ("take_along_axis", "a = np.array([[10, 30, 20], [60, 40, 50]])\nai = np.argsort(a, axis=1)\nai, np.take_along_axis(a, ai, axis=1)",
     "{ let a = [[10, 30, 20], [60, 40, 50]]; let i = argsort(a, axis = 1); (i, gather(a, i, axis = 1)) }"),
    ("put_along_axis", "a = np.array([[10, 30, 20], [60, 40, 50]])\nai = np.expand_dims(np.argmax(a, axis=1), axis=1)\nnp.put_along_axis(a, ai, 99, axis=1)\na",
     "{ var a = [[10, 30, 20], [60, 40, 50]]; a[arange(2), argmax(a, axis = 1)] = 99; a }"),
    ("fill_diagonal", "a = np.zeros((3, 3), int)\nnp.fill_diagonal(a, 5)\na", "{ var a = zeros([3, 3], i64); a[arange(3), arange(3)] = 5; a }"),
    ("ix_", "a = np.arange(10).reshape(2, 5)\na[np.ix_([0, 1], [2, 4])], a[np.ix_([True, True], [False, False, True, False, True])]",
     "{ let a = arange(10).reshape([2, 5]); (a[[0, 1]][:, [2, 4]], a[:, [false, false, true, false, true]]) }"),
    ("choose", "choices = [[0, 1, 2, 3], [10, 11, 12, 13],\n  [20, 21, 22, 23], [30, 31, 32, 33]]\nnp.choose([2, 3, 1, 0], choices), np.choose([2, 4, 1, 0], choices, mode='clip')",
     "{ let c = [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23], [30, 31, 32, 33]]; (c[[2, 3, 1, 0], arange(4)], c[min([2, 4, 1, 0], 3), arange(4)]) }"),
    ("select", "x = np.arange(6)\ncondlist = [x<3, x>3]\nchoicelist = [x, x**2]\nnp.select(condlist, choicelist, 42)",
     "{ let x = arange(6); where(x < 3, x, where(x > 3, x ** 2, 42)) }"),
    ("piecewise", "x = np.linspace(-2.5, 2.5, 6)\nnp.piecewise(x, [x < 0, x >= 0], [-1, 1]), np.piecewise(x, [x < 0, x >= 0], [lambda x: -x, lambda x: x])",
     "{ let x: f64[6] = linspace(-2.5, 2.5, 6); (where(x < 0.0, -1.0, 1.0) + 0.0 * x, where(x < 0.0, -x, x)) }"),
    ("extract", "arr = np.arange(12).reshape((3, 4))\nnp.extract(np.mod(arr, 3)==0, arr)", "{ let a = arange(12).reshape([3, 4]); a[a % 3 == 0] }"),
    ("place", "arr = np.arange(6).reshape(2, 3)\nnp.place(arr, arr>2, [44, 55])\narr",
     "{ var a = arange(6).reshape([2, 3]); let at = a > 2; a[at] = [44, 55][arange(sum(at)) % 2]; a }"),
    ("put", "a = np.arange(5)\nnp.put(a, [0, 2], [-44, -55])\na", "{ var a = arange(5); a[[0, 2]] = [-44, -55]; a }"),
    ("argwhere", "x = np.arange(6).reshape(2,3)\nnp.argwhere(x>1)", "argwhere(arange(6).reshape([2, 3]) > 1)"),
    ("triu_indices", "iu1 = np.triu_indices(4)\niu2 = np.triu_indices(4, 2)\na = np.arange(16).reshape(4, 4)\na[iu1], a[iu2]",
     "{ let a = arange(16).reshape([4, 4]); let (i, j) = nonzero(triu(ones([4, 4]))); let (k, l) = nonzero(triu(ones([4, 4]), 2)); (a[i, j], a[k, l]) }"),
    ("unravel_index", "np.unravel_index([22, 41, 37], (7,6)), np.unravel_index(1621, (6,7,8,9))",
     "(unravel_index([22, 41, 37], (7, 6)), unravel_index(1621, (6, 7, 8, 9)))"),
    ("ravel_multi_index", "arr = np.array([[3,6,6],[4,5,1]])\nnp.ravel_multi_index(arr, (7,6)), np.ravel_multi_index((3,1,4,1), (6,7,8,9))",
     "(ravel_multi_index(([3, 6, 6], [4, 5, 1]), (7, 6)), ravel_multi_index((3, 1, 4, 1), (6, 7, 8, 9)))"),
    # ---- elementwise
    ("gcd", "np.gcd(12, 20), np.gcd.reduce([15, 25, 35]), np.gcd(np.arange(6), 20)", "(gcd(12, 20), reduce(|a, b| gcd(a, b), 0, [15, 25, 35]), gcd(arange(6), 20))"),
    ("lcm", "np.lcm(12, 20), np.lcm.reduce([40, 12, 20]), np.lcm(np.arange(6), 20)", "(lcm(12, 20), reduce(|a, b| lcm(a, b), 1, [40, 12, 20]), lcm(arange(6), 20))"),
    ("divmod", "np.divmod(np.arange(5), 3)", "{ let x = arange(5); (x // 3, x % 3) }"),
    ("modf", "np.modf([0, 3.5]), np.modf(-0.5)", "{ let x: f64[2] = [0.0, 3.5]; let y: f64 = -0.5; (x - trunc(x), trunc(x), y - trunc(y), trunc(y)) }"),
    ("copysign", "np.copysign(1.3, -1), np.copysign([-1, 0, 1], -1.1), np.copysign([-1, 0, 1], np.arange(3)-1)",
     "{ let x: f64[3] = [-1.0, 0.0, 1.0]; (copysign(f64(1.3), -1.0), copysign(x, -1.1), copysign(x, f64(arange(3) - 1))) }"),
    ("heaviside", "np.heaviside([-1.5, 0, 2.0], 0.5), np.heaviside([-1.5, 0, 2.0], 1)",
     "{ let x: f64[3] = [-1.5, 0.0, 2.0]; let h = |x, y: f64| where(x < 0.0, 0.0, where(x > 0.0, 1.0, y)); (h(x, 0.5), h(x, 1.0)) }"),
    ("sinc", "np.sinc(np.linspace(-4, 4, 41))", "{ let x = f64(arange(41) - 20) / 5.0; where(x == 0.0, 1.0, sin(pi * x) / (pi * x)) }"),
    ("logaddexp", "prob1 = np.log(1e-50)\nprob2 = np.log(2.5e-50)\nprob12 = np.logaddexp(prob1, prob2)\nprob12, np.exp(prob12)",
     "{ let p = logaddexp(log(f64(1e-50)), log(f64(2.5e-50))); (p, exp(p)) }"),
    ("around", "np.around([0.37, 1.64]), np.around([0.37, 1.64], decimals=1), np.around([.5, 1.5, 2.5, 3.5, 4.5]), np.around([1,2,3,11], decimals=-1)",
     "{ let x: f64[2] = [0.37, 1.64]; (round(x), round(x, 1), round(f64([0.5, 1.5, 2.5, 3.5, 4.5])), round([1, 2, 3, 11], -1)) }"),
    ("nan_to_num", "x = np.array([np.inf, -np.inf, np.nan, -128, 128])\nnp.nan_to_num(x), np.nan_to_num(x, nan=-9999, posinf=33333333, neginf=33333333)",
     "{ let x: f64[5] = [inf, -inf, nan, -128.0, 128.0]; (nan_to_num(x), nan_to_num(x, nan = -9999.0, posinf = 33333333.0, neginf = 33333333.0)) }"),
    ("bitwise_xor", "np.bitwise_xor(13, 17), np.bitwise_xor([31,3], 5), np.bitwise_xor([True, True], [False, True])",
     "(bit_xor(13, 17), bit_xor([31, 3], 5), [true, true] != [false, true])"),
    ("angle", "np.angle([1.0, 1.0j, 1+1j]), np.angle(1+1j, deg=True)", "{ let z: c128[3] = [1.0 + 0i, 1i, 1.0 + 1i]; (angle(z), angle(z[2]) * (180.0 / pi)) }"),
    ("conj", "x = np.eye(2) + 1j * np.eye(2)\nnp.conjugate(1+2j), np.conjugate(x)", "{ let z: c128 = 1.0 + 2i; (conj(z), conj(complex(eye(2, f64), eye(2, f64)))) }"),
    ("unwrap", "np.unwrap([0., 1, 2, -1, 0], period=4), np.unwrap([1., 2, 3, 4, 5, 6, 1, 2, 3], period=6), np.unwrap(np.mod(np.linspace(0 ,720, 19), 360) - 180, period=360)",
     "(unwrap(f64([0.0, 1.0, 2.0, -1.0, 0.0]), period = 4.0), unwrap(f64([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.0, 2.0, 3.0]), period = 6.0), "
     "unwrap(f64(arange(19)) * 40.0 % 360.0 - 180.0, period = 360.0))"),
    ("interp", "xp = [1, 2, 3]\nfp = [3, 2, 0]\nnp.interp(2.5, xp, fp), np.interp([0, 1, 1.5, 2.72, 3.14], xp, fp), np.interp(3.14, xp, fp, right=-99.0)",
     "{ let (x, y): (f64[3], f64[3]) = ([1.0, 2.0, 3.0], [3.0, 2.0, 0.0]); (interp(f64(2.5), x, y), interp(f64([0.0, 1.0, 1.5, 2.72, 3.14]), x, y), interp(f64(3.14), x, y, right = -99.0)) }"),
    # ---- methods of ufuncs
    ("ufunc.outer", "A = np.array([[1, 2, 3], [4, 5, 6]])\nB = np.array([[1, 2, 3, 4]])\nnp.multiply.outer([1, 2, 3], [4, 5, 6]), np.multiply.outer(A, B)",
     "{ let (a, b) = ([[1, 2, 3], [4, 5, 6]], [[1, 2, 3, 4]]); (outer([1, 2, 3], [4, 5, 6]), [a[i, j] * b[k, l] for i, j, k, l]) }"),
    ("ufunc.at", "a = np.array([1, 2, 3, 4])\nnp.add.at(a, [0, 1, 2, 2], 1)\nb = np.array([1, 2, 3, 4])\nnp.negative.at(b, [0, 1])\na, b",
     "{ var a = [1, 2, 3, 4]; a[[0, 1, 2, 2]] += 1; var b = [1, 2, 3, 4]; b[[0, 1]] = -b[[0, 1]]; (a, b) }"),
    ("ufunc.reduce", "X = np.arange(8).reshape((2,2,2))\nnp.multiply.reduce([2,3,5]), np.add.reduce(X, 0), np.add.reduce(X, 2), np.add.reduce([10], initial=5),"
     " np.add.reduce(np.ones((2, 2, 2)), axis=(0, 2), initial=10)",
     "{ let x = arange(8).reshape([2, 2, 2]); (prod([2, 3, 5]), sum(x, axis = 0), sum(x, axis = 2), reduce(|a, b| a + b, 5, [10]), 10.0 + sum(ones([2, 2, 2], f64), axis = (0, 2))) }"),
    ("ufunc.reduce (where)", "a = np.array([10., np.nan, 10])\nnp.add.reduce(a, where=~np.isnan(a)), np.minimum.reduce([], initial=np.inf)",
     "{ let a: f64[3] = [10.0, nan, 10.0]; let none_at_all: f64[0] = []; (sum(a[i] for i if not isnan(a[i])), reduce(|p, q| min(p, q), inf, none_at_all)) }"),
    ("ufunc.accumulate", "I = np.eye(2)\nnp.add.accumulate([2, 3, 5]), np.multiply.accumulate([2, 3, 5]), np.add.accumulate(I, 0), np.add.accumulate(I, 1)",
     "{ let i = eye(2, f64); (cumsum([2, 3, 5]), cumprod([2, 3, 5]), cumsum(i, axis = 0), cumsum(i, axis = 1)) }"),
    ("ufunc.reduceat", "x = np.linspace(0, 15, 16).reshape(4,4)\nnp.add.reduceat(np.arange(8),[0,4, 1,5, 2,6, 3,7])[::2], np.add.reduceat(x, [0, 3, 1, 2, 0]), np.multiply.reduceat(x, [0, 3], 1)",
     "{ let y = arange(8); let x = f64(arange(16)).reshape([4, 4]); let (a, b) = ([0, 3, 1, 2, 0], [3, 4, 2, 3, 4]); "
     "([sum(y[k:k + 4]) for k in 0..4], [sum(x[i, j] for i in a[k]..b[k]) for k in 0..5, j in 0..4], stack((prod(x[:, :3], axis = 1), x[:, 3]), axis = 1)) }"),
    # ---- sums, statistics
    ("cumsum", "a = np.array([[1,2,3], [4,5,6]])\nnp.cumsum(a), np.cumsum(a, dtype=float), np.cumsum(a,axis=0), np.cumsum(a,axis=1)",
     "{ let a = [[1, 2, 3], [4, 5, 6]]; let r = cumsum(flatten(a)); (r, f64(r), cumsum(a, axis = 0), cumsum(a, axis = 1)) }"),
    ("diff", "x = np.array([1, 2, 4, 7, 0])\ny = np.array([[1, 3, 6, 10], [0, 5, 6, 8]])\nnp.diff(x), np.diff(x, n=2), np.diff(y), np.diff(y, axis=0)",
     "{ let x = [1, 2, 4, 7, 0]; let y = [[1, 3, 6, 10], [0, 5, 6, 8]]; (diff(x), diff(diff(x)), diff(y), diff(y, axis = 0)) }"),
    ("ediff1d", "x = np.array([1, 2, 4, 7, 0])\nnp.ediff1d(x), np.ediff1d(x, to_begin=-99, to_end=np.array([88, 99])), np.ediff1d([[1, 2, 4], [1, 6, 24]])",
     "{ let d = diff([1, 2, 4, 7, 0]); (d, concat(([-99], d, [88, 99])), diff(flatten([[1, 2, 4], [1, 6, 24]]))) }"),
    ("gradient", "f = np.array([1, 2, 4, 7, 11, 16], dtype=float)\nx = np.array([0., 1., 1.5, 3.5, 4., 6.], dtype=float)\n"
     "np.gradient(f), np.gradient(f, 2), np.gradient(f, x), np.gradient(np.array([[1, 2, 6], [3, 4, 5]], dtype=float))",
     "{ let f: f64[6] = [1.0, 2.0, 4.0, 7.0, 11.0, 16.0]; (gradient(f), gradient(f, 2.0), gradient(f, f64([0.0, 1.0, 1.5, 3.5, 4.0, 6.0])), "
     "gradient(f64([[1.0, 2.0, 6.0], [3.0, 4.0, 5.0]]))) }"),
    ("trapz", "trapz = getattr(np, 'trapezoid', None) or np.trapz\ntheta = np.linspace(0, 2 * np.pi, num=1000, endpoint=True)\na = np.arange(6).reshape(2, 3)\n"
     "trapz([1,2,3]), trapz([1,2,3], x=[8,6,4]), trapz(np.cos(theta), x=np.sin(theta)), trapz(a, axis=0), trapz(a, axis=1)",
     "{ let t: f64[1000] = f64(arange(1000)) * (2.0 * pi / 999.0); let a = arange(6).reshape([2, 3]); "
     "(trapezoid([1, 2, 3]), trapezoid([1, 2, 3], f64([8.0, 6.0, 4.0])), trapezoid(cos(t), sin(t)), trapezoid(a, axis = 0), trapezoid(a, axis = 1)) }"),
    ("average", "data = np.arange(6).reshape((3, 2))\nnp.average(np.arange(1, 11), weights=np.arange(10, 0, -1)), np.average(data, axis=1, weights=[1./4, 3./4]),"
     " np.average(data, axis=1, keepdims=True)",
     "{ let d = f64(arange(6)).reshape([3, 2]); (average(f64(arange(1, 11)), f64(arange(10, 0, -1))), average(d, [0.25, 0.75], axis = 1), average(d, axis = 1, keep = true)) }"),
    ("cov", "x = np.array([[0, 2], [1, 1], [2, 0]]).T\nnp.cov(x), np.cov([-2.1, -1,  4.3], [3,  1.1,  0.12])",
     "(cov([[0, 2], [1, 1], [2, 0]].T), cov(f64([-2.1, -1.0, 4.3]), f64([3.0, 1.1, 0.12])))"),
    ("percentile", "a = np.array([[10, 7, 4], [3, 2, 1]])\nnp.percentile(a, 50), np.percentile(a, 50, axis=0), np.percentile(a, 50, axis=1, keepdims=True)",
     "{ let a = [[10, 7, 4], [3, 2, 1]]; (percentile(a, 50), percentile(a, 50, axis = 0), percentile(a, 50, axis = 1, keep = true)) }"),
    ("nanmedian", "a = np.array([[10.0, 7, 4], [3, 2, 1]])\na[0, 1] = np.nan\nnp.median(a), np.nanmedian(a), np.nanmedian(a, axis=0), np.median(a, axis=1)",
     "{ var a: f64[2, 3] = [[10.0, 7.0, 4.0], [3.0, 2.0, 1.0]]; a[0, 1] = nan; (median(a), nanmedian(a), nanmedian(a, axis = 0), median(a, axis = 1)) }"),
    ("nanargmax", "a = np.array([[np.nan, 4], [2, 3]])\nnp.argmax(a), np.nanargmax(a), np.nanargmax(a, axis=0), np.nanargmax(a, axis=1)",
     "{ let a: f64[2, 2] = [[nan, 4.0], [2.0, 3.0]]; (argmax(a), nanargmax(a), nanargmax(a, axis = 0), nanargmax(a, axis = 1)) }"),
    ("ptp", "x = np.array([[4, 9, 2, 10],\n              [6, 9, 7, 12]])\nnp.ptp(x, axis=1), np.ptp(x, axis=0), np.ptp(x)",
     "{ let x = [[4, 9, 2, 10], [6, 9, 7, 12]]; (ptp(x, axis = 1), ptp(x, axis = 0), ptp(x)) }"),
    ("bincount", "w = np.array([0.3, 0.5, 0.2, 0.7, 1., -0.6])\nx = np.array([0, 1, 1, 2, 2, 2])\nnp.bincount(np.array([0, 1, 1, 3, 2, 1, 7])), np.bincount(x,  weights=w)",
     "{ let w: f64[6] = [0.3, 0.5, 0.2, 0.7, 1.0, -0.6]; (bincount([0, 1, 1, 3, 2, 1, 7], 8), totals([0, 1, 1, 2, 2, 2], 3, w)) }"),
    ("histogram", "a = np.arange(5)\nhist, bin_edges = np.histogram(a, density=True)\nnp.histogram([1, 2, 1], bins=[0, 1, 2, 3]),"
     " np.histogram(np.arange(4), bins=np.arange(5), density=True), np.histogram([[1, 2, 1], [1, 0, 1]], bins=[0,1,2,3]), hist, np.sum(hist * np.diff(bin_edges))",
     "{ let (h, edges) = histogram(arange(5), 10, density = true); (histogram([1, 2, 1], [0, 1, 2, 3]), histogram(arange(4), arange(5), density = true), "
     "histogram([[1, 2, 1], [1, 0, 1]], [0, 1, 2, 3]), h, sum(h * diff(edges))) }"),
    ("digitize", "x = np.array([1.2, 10.0, 12.4, 15.5, 20.])\nbins = np.array([0, 5, 10, 15, 20])\nnp.digitize(x,bins,right=True), np.digitize(x,bins,right=False)",
     "{ let (x, b): (f64[5], f64[5]) = ([1.2, 10.0, 12.4, 15.5, 20.0], [0.0, 5.0, 10.0, 15.0, 20.0]); (digitize(x, b, right = true), digitize(x, b)) }"),
    ("apply_along_axis", "b = np.array([[1,2,3], [4,5,6], [7,8,9]])\nf = lambda a: (a[0] + a[-1]) * 0.5\n"
     "np.apply_along_axis(f, 0, b), np.apply_along_axis(f, 1, b), np.apply_along_axis(sorted, 1, np.array([[8,1,7], [4,3,9], [5,2,6]])), np.apply_along_axis(np.diag, -1, b)",
     "{ let b = arange(1, 10).reshape([3, 3]); let f = |a| f64(a[0] + a[-1]) * 0.5; (vmap(f, axes = 1)(b), vmap(f)(b), sort([[8, 1, 7], [4, 3, 9], [5, 2, 6]], axis = 1), vmap(diag)(b)) }"),
    # ---- sorting, sets
    ("lexsort", "a = [1,5,1,4,3,4,4]\nb = [9,4,0,4,0,2,1]\nnp.lexsort((b,a))", "lexsort(([9, 4, 0, 4, 0, 2, 1], [1, 5, 1, 4, 3, 4, 4]))"),
    ("searchsorted", "np.searchsorted([1,2,3,4,5], 3), np.searchsorted([1,2,3,4,5], 3, side='right'), np.searchsorted([1,2,3,4,5], [-10, 10, 2, 3])",
     '{ let a = [1, 2, 3, 4, 5]; (searchsorted(a, 3), searchsorted(a, 3, side = "right"), searchsorted(a, [-10, 10, 2, 3])) }'),
    ("unique", "a = np.array([1, 2, 6, 4, 2, 3, 2])\nvalues, counts = np.unique(a, return_counts=True)\nnp.unique(a, return_inverse=True), counts, np.repeat(values, counts),"
     " np.unique(np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]]), axis=0)",
     "{ let (u, inverse, counts) = unique([1, 2, 6, 4, 2, 3, 2]); (u, inverse, counts, repeat(u, counts = counts), unique_rows([[1, 0, 0], [1, 0, 0], [2, 3, 4]])[0]) }"),
    ("union1d", "from functools import reduce\nnp.union1d([-1, 0, 1], [-2, 0, 2]), reduce(np.union1d, ([1, 3, 4, 3], [3, 1, 2, 1], [6, 3, 4, 2]))",
     "(unique(concat(([-1, 0, 1], [-2, 0, 2])))[0], unique(concat(([1, 3, 4, 3], [3, 1, 2, 1], [6, 3, 4, 2])))[0])"),
    ("intersect1d", "np.intersect1d([1, 3, 4, 3], [3, 1, 2, 1])", "{ let a = [1, 3, 4, 3]; unique(a[isin(a, [3, 1, 2, 1])])[0] }"),
    ("setdiff1d", "a = np.array([1, 2, 3, 2, 4, 1])\nb = np.array([3, 4, 5, 6])\nnp.setdiff1d(a, b)", "{ let a = [1, 2, 3, 2, 4, 1]; unique(a[isin(a, [3, 4, 5, 6], invert = true)])[0] }"),
    ("setxor1d", "a = np.array([1, 2, 3, 2, 4])\nb = np.array([2, 3, 5, 7, 5])\nnp.setxor1d(a,b)",
     "{ let (u, n) = (unique([1, 2, 3, 2, 4])[0], unique([2, 3, 5, 7, 5])[0]); let (v, _, count) = unique(concat((u, n))); v[count == 1] }"),
    ("isin", "element = 2*np.arange(4).reshape((2, 2))\ntest_elements = [1, 2, 4, 8]\nmask = np.isin(element, test_elements)\nmask, element[mask], np.nonzero(mask)",
     "{ let e = 2 * arange(4).reshape([2, 2]); let m = isin(e, [1, 2, 4, 8]); (m, e[m], nonzero(m)) }"),
    # ---- polynomials
    ("poly", "np.poly((0, 0, 0)), np.poly((-1./2, 0, 1./2))", "(polyfromroots(f64([0.0, 0.0, 0.0])), polyfromroots(f64([-0.5, 0.0, 0.5])))"),
    ("roots", "coeff = [3.2, 2, 1]\nnp.roots(coeff)", "linalg.roots(f64([3.2, 2.0, 1.0]))"),
    ("polydiv", "x = np.array([3.0, 5.0, 2.0])\ny = np.array([2.0, 1.0])\nnp.polydiv(x, y)", "polydiv(f64([3.0, 5.0, 2.0]), f64([2.0, 1.0]))"),
    ("polymul", "np.polymul([1, 2, 3], [9, 5, 1])", "convolve([1, 2, 3], [9, 5, 1])"),
    ("polyfit", "x = np.array([0.0, 1.0, 2.0, 3.0,  4.0,  5.0])\ny = np.array([0.0, 0.8, 0.9, 0.1, -0.8, -1.0])\nz = np.polyfit(x, y, 3)\nz, np.polyval(z, 0.5), np.polyval(z, 10)",
     "{ let z = linalg.polyfit(f64(arange(6)), f64([0.0, 0.8, 0.9, 0.1, -0.8, -1.0]), 3); (z, polyval(z, 0.5), polyval(z, 10.0)) }"),
    # ---- products
    ("einsum", "a = np.arange(25).reshape(5,5)\nb = np.arange(5)\nc = np.arange(6).reshape(2,3)\n"
     "np.einsum('ii', a), np.einsum('ii->i', a), np.einsum('ij->i', a), np.einsum('ji', c), np.einsum('i,i', b, b), np.einsum('ij,j', a, b), np.einsum('i,j', np.arange(2)+1, b)",
     '{ let a = arange(25).reshape([5, 5]); let b = arange(5); let c = arange(6).reshape([2, 3]); (einsum("ii->", a), einsum("ii->i", a), einsum("ij->i", a), '
     'einsum("ij->ji", c), einsum("i,i->", b, b), einsum("ij,j->i", a, b), einsum("i,j->ij", arange(2) + 1, b)) }'),
    ("einsum (tensors)", "a = np.arange(60.).reshape(3,4,5)\nb = np.arange(24.).reshape(4,3,2)\nnp.einsum('ijk,jil->kl', a, b)",
     '{ let a = f64(arange(60)).reshape([3, 4, 5]); let b = f64(arange(24)).reshape([4, 3, 2]); einsum("ijk,jil->kl", a, b) }'),
    ("tensordot", "a = np.arange(60.).reshape(3,4,5)\nb = np.arange(24.).reshape(4,3,2)\nnp.tensordot(a,b, axes=([1,0],[0,1]))",
     "tensordot(f64(arange(60)).reshape([3, 4, 5]), f64(arange(24)).reshape([4, 3, 2]), axes = ((1, 0), (0, 1)))"),
    ("kron", "np.kron([1,10,100], [5,6,7]), np.kron(np.eye(2), np.ones((2,2)))", "(kron([1, 10, 100], [5, 6, 7]), kron(eye(2, f64), ones([2, 2])))"),
    ("cross", "x = np.array([[1,2,3], [4,5,6]])\ny = np.array([[4,5,6], [1,2,3]])\nnp.cross([1, 2, 3], [4, 5, 6]), np.cross(x, y)",
     "(cross([1, 2, 3], [4, 5, 6]), cross([[1, 2, 3], [4, 5, 6]], [[4, 5, 6], [1, 2, 3]]))"),
    ("inner", "a = np.arange(24).reshape((2,3,4))\nb = np.arange(4)\nnp.inner(a, b), np.inner(np.arange(2).reshape((1,1,2)), np.arange(6).reshape((3,2)))",
     "(arange(24).reshape([2, 3, 4]) @ arange(4), arange(2).reshape([1, 1, 2]) @ arange(6).reshape([3, 2]).T)"),
    ("vdot", "a = np.array([1+2j,3+4j])\nb = np.array([5+6j,7+8j])\nnp.vdot(a, b), np.vdot(b, a)",
     "{ let (a, b): (c128[2], c128[2]) = ([1.0 + 2i, 3.0 + 4i], [5.0 + 6i, 7.0 + 8i]); (sum(conj(a) * b), sum(conj(b) * a)) }"),
    ("convolve", "np.convolve([1, 2, 3], [0, 1, 0.5]), np.convolve([1,2,3],[0,1,0.5], 'same'), np.convolve([1,2,3],[0,1,0.5], 'valid')",
     '{ let (a, b): (f64[3], f64[3]) = ([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]); (convolve(a, b), convolve(a, b, "same"), convolve(a, b, "valid")) }'),
    ("correlate", "np.correlate([1, 2, 3], [0, 1, 0.5]), np.correlate([1, 2, 3], [0, 1, 0.5], 'same'), np.correlate([1, 2, 3], [0, 1, 0.5], 'full')",
     '{ let (a, b): (f64[3], f64[3]) = ([1.0, 2.0, 3.0], [0.0, 1.0, 0.5]); (correlate(a, b), correlate(a, b, "same"), correlate(a, b, "full")) }'),
    # ---- linear algebra
    ("linalg.norm", "LA = np.linalg\na = np.arange(9) - 4\nb = a.reshape((3, 3))\nLA.norm(a), LA.norm(b, 'fro'), LA.norm(a, np.inf), LA.norm(b, np.inf), LA.norm(b, -np.inf),"
     " LA.norm(b, 1), LA.norm(b, 2), LA.norm(a, 3)",
     '{ let a = f64(arange(9) - 4); let b = a.reshape([3, 3]); (norm(a), norm(b, ord = "fro"), norm(a, ord = inf), norm(b, ord = inf), norm(b, ord = -inf), '
     'norm(b, ord = 1), linalg.matrix_norm(b, 2), norm(a, ord = 3)) }'),
    ("linalg.norm (axis)", "LA = np.linalg\nc = np.array([[ 1, 2, 3],\n              [-1, 1, 4]])\nm = np.arange(8).reshape(2,2,2)\n"
     "LA.norm(c, axis=0), LA.norm(c, axis=1), LA.norm(c, ord=1, axis=1), LA.norm(m, axis=(1,2))",
     "{ let c: f64[2, 3] = [[1.0, 2.0, 3.0], [-1.0, 1.0, 4.0]]; (norm(c, axis = 0), norm(c, axis = 1), norm(c, ord = 1, axis = 1), norm(f64(arange(8)).reshape([2, 2, 2]), axis = (1, 2))) }"),
    ("linalg.matrix_power", "i = np.array([[0, 1], [-1, 0]])\nnp.linalg.matrix_power(i, 3), np.linalg.matrix_power(i, 0), np.linalg.matrix_power(i, -3)",
     "{ let i = [[0, 1], [-1, 0]]; (linalg.matrix_power(i, 3), linalg.matrix_power(i, 0), linalg.matrix_power(f64(i), -3)) }"),
    ("linalg.det", "a = np.array([ [[1, 2], [3, 4]], [[1, 2], [2, 1]], [[1, 3], [3, 1]] ])\nnp.linalg.det(np.array([[1, 2], [3, 4]])), np.linalg.det(a)",
     "{ let a: f64[3, 2, 2] = [[[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 3.0], [3.0, 1.0]]]; (linalg.det(a[0]), linalg.det(a)) }"),
    ("linalg.slogdet", "np.linalg.det(np.eye(500) * 0.1), tuple(np.linalg.slogdet(np.eye(500) * 0.1))",
     "{ let m = eye(500, f64) * 0.1; (linalg.det(m), linalg.slogdet(m)) }"),
    ("linalg.inv", "a = np.array([[[1., 2.], [3., 4.]], [[1, 3], [3, 5]]])\nnp.linalg.inv(a)", "linalg.inv(f64([[[1.0, 2.0], [3.0, 4.0]], [[1.0, 3.0], [3.0, 5.0]]]))"),
    ("linalg.solve", "a = np.array([[1, 2], [3, 5]])\nb = np.array([1, 2])\nx = np.linalg.solve(a, b)\nx, np.allclose(np.dot(a, x), b)",
     "{ let a: f64[2, 2] = [[1.0, 2.0], [3.0, 5.0]]; let b: f64[2] = [1.0, 2.0]; let x = linalg.solve(a, b); (x, allclose(a @ x, b)) }"),
    ("linalg.lstsq", "x = np.array([0, 1, 2, 3])\ny = np.array([-1, 0.2, 0.9, 2.1])\nA = np.vstack([x, np.ones(len(x))]).T\nm, c = np.linalg.lstsq(A, y, rcond=None)[0]\nA, m, c",
     "{ let a = stack((f64(arange(4)), ones([4])), axis = 1); let x = linalg.lstsq(a, f64([-1.0, 0.2, 0.9, 2.1])); (a, x[0], x[1]) }"),
    ("linalg.qr", "A = np.array([[0, 1], [1, 1], [1, 1], [2, 1]])\nb = np.array([1, 2, 2, 3])\nq, r = np.linalg.qr(A)\np = np.dot(q.T, b)\nnp.dot(np.linalg.inv(r), p)",
     "{ let (q, r) = linalg.qr(f64([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0], [2.0, 1.0]])); linalg.inv(r) @ (q.T @ f64([1.0, 2.0, 2.0, 3.0])) }"),
    ("linalg.eig", "w, v = np.linalg.eig(np.array([[1, -1], [1, 1]]))\nw, v", "linalg.eig(f64([[1.0, -1.0], [1.0, 1.0]]))"),
    ("linalg.cond", "a = np.array([[1, 0, -1], [0, 1, 0], [1, 0, 1]])\nLA = np.linalg\nLA.cond(a), min(LA.svd(a, compute_uv=False))*min(LA.svd(LA.inv(a), compute_uv=False))",
     "{ let a: f64[3, 3] = [[1.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]; (linalg.cond(a), min(linalg.svd(a)[1]) * min(linalg.svd(linalg.inv(a))[1])) }"),
    ("linalg.matrix_rank", "I=np.eye(4); I[-1,-1] = 0.\nnp.linalg.matrix_rank(np.eye(4)), np.linalg.matrix_rank(I)",
     "{ var i = eye(4, f64); i[-1, -1] = 0.0; (linalg.matrix_rank(eye(4, f64)), linalg.matrix_rank(i)) }"),
    # ---- Fourier transforms
    ("fft.fft", "np.fft.fft(np.exp(2j * np.pi * np.arange(8) / 8)), np.fft.fft([0, 1, 0, 0])",
     "(fft(cis(f64(arange(8)) * (2.0 * pi / 8.0))), fft(f64([0.0, 1.0, 0.0, 0.0])))"),
    ("fft.rfft", "np.fft.rfft([0, 1, 0, 0]), np.fft.irfft([1, -1j, -1])", "(rfft(f64([0.0, 1.0, 0.0, 0.0])), irfft(c128([1.0 + 0i, -1i, -1.0 + 0i])))"),
    ("fft.fftfreq", "np.fft.fftfreq(8, d=0.1), np.fft.fftshift(np.fft.fftfreq(10, 0.1)), np.fft.fftshift(np.fft.fftfreq(9, d=1./9).reshape(3, 3), axes=(1,))",
     "(fftfreq(8, f64(0.1)), fftshift(fftfreq(10, f64(0.1))), fftshift(fftfreq(9, f64(1.0) / 9.0).reshape([3, 3]), axis = 1))"),
    ("fft.fft2", "a = np.mgrid[:5, :5][0]\nnp.fft.fft2(a)", "fft2([f64(i) + 0.0 * f64(j) for i in 0..5, j in 0..5])"),
    ("fft.fftn", "a = np.mgrid[:3, :3, :3][0]\nnp.fft.fftn(a, axes=(1, 2))", "fftn([f64(i) for i in 0..3, j in 0..3, k in 0..3], axes = (1, 2))"),
]


def value(lines):
    """What the last expression of an example gives after its statements."""
    tree = compile(lines, "example", "exec", flags=0x400)  # ast.PyCF_ONLY_AST
    scope = {"np": np}
    last = tree.body.pop()
    exec(compile(tree, "example", "exec"), scope)
    tree.body = [last]
    return eval(lines.split("\n")[-1] if last.lineno == last.end_lineno else "\n".join(lines.split("\n")[last.lineno - 1:]), scope)


def run(oracle):
    cases = [Case(text, {}, lambda lines=lines: value(lines), TIMES) for _, lines, text in EXAMPLES]
    for first in range(0, len(cases), PROGRAM):
        part = cases[first:first + PROGRAM]
        for options in (["--threads", "2"], ["--interp"]):
            oracle.count_cases(len(part), run_cases(oracle, part, options))
