"""Tuples and random keys: in, out, in structs and lists."""

import copy
import pickle

from common import Case, np, tl


class Tuples(Case):
    SOURCE = '''
        struct Held { pair: (f64, i8), w: f32[2] }
        fn parts(x: f32[n]) -> (f32[n], (f32, (i64, str))) = (x, (sum(x), (len(x), "a")))
        fn single(x: f32) -> (f32,) = (x,)
        fn joined(p: (f32[n], (f64, i8))) -> f64 = f64(sum(p[0])) + p[1][0] + f64(p[1][1])
        fn first(p) = p[0]
        fn same(p) = p
        fn total<T>(x: T[..s]) -> T = sum(x)
        fn pairs(n: i64) -> List<(f32, i64)> = list((0.5, k) for k in 0..n)
        fn seconds(xs: List<(f32, i64)>) -> i64 = sum([x[1] for x in xs])
        fn of_held(h: Held, by: (i64, (Held, str))) -> (Held, (Held, f64)) = (h, (by[1][0], h.pair[0] + by[1][0].pair[0]))
        fn loss(w: f32[n], x: f32[n]) -> (f32, (i64, f32[n])) = (sum(w * w * x), (len(w), w * x))
    '''

    def test_results(self):
        x = np.array([1, 2], np.float32)
        y, (s, (n, t)) = self.p.parts(x)
        self.same(y, x)
        self.assertEqual((s, n, t), (3, 2, "a"))
        self.assertEqual(self.p.single(2.0), (2,))
        self.assertEqual(self.p.parts.start(x).result()[1][1], (2, "a"))
        self.assertEqual(self.p.parts.result_type(x), "(f32[x.shape[0]], (f32, (i64, str)))")
        self.assertEqual(self.p.pairs(2), [(0.5, 0), (0.5, 1)])

    def test_arguments(self):
        x = np.array([1, 2], np.float32)
        self.assertEqual(self.p.joined((x, (0.25, -3))), 0.25)
        self.assertEqual(self.p.joined(p=([1, 2], (np.float64(0.25), np.int8(-3)))), 0.25)
        self.same(self.p.first((x, 1)), x)
        y, (n, z) = self.p.same((x, (1, 2.5)))
        self.same(y, x)
        self.assertEqual((n, z), (1, 2.5))
        self.same(self.p.same(self.p.parts(x))[0], x)
        self.assertEqual(self.p.seconds([(1, 2), (0.5, 3)]), 5)
        self.assertEqual(self.p.seconds(self.p.pairs(20)), 190)
        self.assertEqual(self.p.seconds([]), 0)
        self.assertEqual(self.p.total((1.5, 2)), 3.5)  # a tensor is asked for
        self.same(self.p.same([1, 2]), [1, 2])

    def test_wrong(self):
        x = np.ones(2, np.float32)
        for wrong in ((x, 1), (x, (1.0,)), (x, (1.0, 2, 3)), (x, (1.0, 300)), (x, (1.0, "a")), (x.astype(float), (1.0, 2)),
                      (x, (1.0, None)), x, 3, ()):
            with self.subTest(str(wrong)), self.assertRaises((TypeError, OverflowError)):
                self.p.joined(wrong)
        with self.assertRaises((TypeError, ValueError)):
            self.p.same(())
        loop, deep = [], 1.0
        loop.append(loop)
        for _ in range(10000):
            deep = (deep,)
        for wrong in ((loop,), deep, [deep]):
            with self.assertRaises((TypeError, ValueError)):
                self.p.same(wrong)

    def test_structs(self):
        h = self.p.Held(pair=(0.5, 3), w=[1, 2])
        self.assertEqual(h.pair, (0.5, 3))
        self.assertEqual(h.with_(pair=(1, 2)).pair, (1, 2))
        self.assertEqual(pickle.loads(pickle.dumps(h)).pair, (0.5, 3))
        first, (second, total) = self.p.of_held(h, (1, (h, "a")))
        self.assertIsInstance(second, self.p.Held)
        self.assertEqual((first.pair, total), ((0.5, 3), 1))

    def test_aux(self):
        w, x = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
        ((value, (n, y)), gradient) = self.p.function("value_and_grad(loss, aux = true)", like="loss")(w, x)
        self.assertEqual((value, n), (19, 2))
        self.same(y, w * x)
        self.same(gradient, 2 * w * x)

    def test_tensors(self):
        t = tl.tensor(np.array([1, 2], np.float32))
        y, (s, _) = self.p.parts(t)
        self.assertIsInstance(y, tl.Tensor)
        self.assertEqual((y.tolist(), s.item()), ([1, 2], 3))
        self.assertEqual(self.p.joined((y, (0.0, 1))).item(), 4)


class Keys(Case):
    SOURCE = '''
        struct State { k: key, n: i64 }
        fn seed(n: i64) -> key = key(n)
        fn seeds(n: i64, m: i64) -> key[m] = split(key(n), m)
        fn drawn(k: key) -> f32[3] = normal(k, [3])
        fn any(k) = normal(k, [3])
        fn rows(ks: key[n]) -> f32[n, 2] = [uniform(k, [2])[j] for k in ks, j in 0..2]
        fn state(n: i64) -> State = State(k = key(n), n = n)
        fn both(p: (key, i64)) -> f32[3] = normal(p[0], [3]) + f32(p[1])
    '''

    def test_round_trip(self):
        k = self.p.seed(7)
        self.assertEqual((type(k), k.dtype, k.shape), (tl.Tensor, "key", ()))
        for way in (k, 7, pickle.loads(pickle.dumps(k)), copy.deepcopy(k), tl.tensor(7, "key"), np.uint64(7), np.int64(7), np.int32(7),
                    np.uint32(7), np.int8(7)):
            self.same(self.p.drawn(way), self.p.drawn(k))
        self.same(self.p.any(k), self.p.drawn(k))
        self.assertFalse(np.array_equal(self.p.drawn(8), self.p.drawn(7)))
        self.assertIn("key", repr(k))
        self.assertEqual(self.p.drawn(tl.tensor(2**64 - 1, "key")).tolist(), self.p.drawn(2**64 - 1).tolist())

    def test_arrays(self):
        ks = self.p.seeds(7, 4)
        self.assertEqual((ks.dtype, ks.shape), ("key", (4,)))
        rows = self.p.rows(ks)
        for way in (ks.numpy(), ks.numpy().view(np.int64), ks.tolist(), pickle.loads(pickle.dumps(ks)), tl.tensor(ks.numpy(), "key")):
            self.same(self.p.rows(way), rows)
        self.assertEqual(ks.numpy().dtype, np.uint64)

    def test_in_values(self):
        s = self.p.state(7)
        self.same(self.p.drawn(s.k), self.p.drawn(7))
        for made in (self.p.State(k=s.k, n=1), self.p.State(k=7, n=1), pickle.loads(pickle.dumps(s)), s.with_(n=2)):
            self.same(self.p.drawn(made.k), self.p.drawn(7))
        self.same(self.p.both((7, 0)), self.p.drawn(7))
        self.same(self.p.both((s.k, 0)), self.p.drawn(7))

    def test_wrong(self):
        for wrong in (7.0, "7", None, np.float32(7), [1.5], 2**64):
            with self.subTest(str(wrong)), self.assertRaises((TypeError, OverflowError)):
                self.p.drawn(wrong)
        with self.assertRaises(TypeError):
            tl.tensor([1.5], "key")
        with self.assertRaises(OverflowError):
            tl.tensor(-1, "key")
