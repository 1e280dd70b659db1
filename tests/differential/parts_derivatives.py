"""Functions of f64 whose gradient is compared with differences of the twin: with branches, loops, early returns, subscripts, updates, masks and comprehensions."""
from __future__ import annotations

from tree import *


class Derivatives:
    def derivative_case(self) -> Case:
        for k in range(self.pick([0, 0, 1])):
            self.helpers.append(self.smooth_helper(f"{self.name}_h{k}"))
        n = self.rng.randint(1, 3)
        names = self.rng.sample(["a", "b", "c", "d", "x", "y"], n)
        kinds = [self.pick(["f64", "f64", Tensor("f64", ("n",)), Tensor("f64", ("n",)), Tensor("f64", (3,)), Tensor("f64", ("m", "n")), "i64", "bool"]) for _ in names]
        kinds[self.rng.randrange(n)] = self.pick(["f64", Tensor("f64", ("n",))])
        params = list(zip(names, kinds))
        saved = self.enter("f64", params, self.pick([25, 50, 80]))
        body = self.body("f64")
        effects = self.leave(saved)
        main = Function(self.name, [(p, t, None) for p, t in params], "f64", body, effects=effects)
        smooth = [k for k, t in enumerate(kinds) if elem_of(t) == "f64"]
        at = sorted(self.rng.sample(smooth, self.rng.randint(1, len(smooth))))
        return Case(self.seed, self.topic, list(self.structs), self.helpers + [main], self.arguments(main), kind="grad " + " ".join(map(str, at)))

    def smooth_helper(self, name):
        while True:
            f = self.helper(name)
            if not f.recursive:  # recursion is refused under `grad`
                return f
