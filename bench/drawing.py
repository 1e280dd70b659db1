"""What random cases are drawn from: sizes that nobody planned."""
import math


def uneven(rng, low, high):
    return max(1, int(math.exp(rng.uniform(math.log(low), math.log(high)))))


def shape_of(rng, rank, elements, least=2):
    """A shape of `rank` axes and about so many elements, none of them planned."""
    weights = [rng.uniform(0.3, 1.7) for _ in range(rank)]
    total = sum(weights)
    return tuple(max(least, round(elements ** (w / total) * rng.uniform(0.85, 1.15))) for w in weights)


def axes_text(axes):
    return str(axes[0]) if len(axes) == 1 else "(" + ", ".join(map(str, axes)) + ")"


def elements_of(rng):
    return uneven(rng, 2e5, 4e6) if rng.random() < 0.8 else uneven(rng, 3e3, 2e5)


def floating(rng):
    return rng.choice(["f32"] * 5 + ["f64"])


def any_type(rng):
    return rng.choice(["f32", "f32", "f32", "f64", "i32", "i64", "u8"])


def values_of(dtype):
    return "normal" if dtype[0] == "f" else "below 100"
