"""What benchmarks/gpu.py measures: every method that computes anything, at sizes up to where the state fills some GB.

greedy is left out: it copies a label. gp and owm have a network with two layers of d, and are judged by the one between
them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.performance import moving
from orfit_bench.models import MLP

MANY = (10**3, 10**4, 10**5, 10**6)
SQUARE = (500, 1_000, 2_000, 4_096, 10_000)


class Case(NamedTuple):
    """A method and its sizes d; by `limit`, a name in benchmarks/limits.py."""

    limit: str
    widths: tuple[int, ...]
    settings: Callable[[int], dict[str, Any]]
    letters: dict[str, int]
    rows: int = 256
    """Of a chunk, at most."""
    vectors: int = 2
    """How many of length d the state has, with room for those of a block to be worked on; 0: it has d x d numbers."""

    @property
    def method(self) -> str:
        """Its name."""
        return self.limit.partition(",")[0]

    @property
    def layered(self) -> bool:
        """Whether d is the width of a network's layers."""
        return self.method in ("gp", "owm")

    def features(self, d: int) -> int:
        """Of a row."""
        return 64 if self.layered else d

    def bytes(self, d: int, n: int, item: int) -> int:
        """That a chunk of n rows needs: two copies of rows and vectors, or four matrices."""
        state = 4 * d * d if not self.vectors else 2 * self.vectors * d
        return item * (3 * n * self.features(d) + state)

    def chunk(self, d: int, item: int, room: int) -> int:
        """How many rows fit into so many bytes; less than 1 where nothing does."""
        return min(self.rows, (room - self.bytes(d, 0, item)) // (3 * item * self.features(d)))


def fixed(**settings: Any) -> Callable[[int], dict[str, Any]]:
    """The same settings for every size."""
    return lambda d: settings


def falling(**settings: Any) -> Callable[[int], dict[str, Any]]:
    """With a step that d features of variance 1 allow."""
    return lambda d: {"step_size": 0.1 / d, **settings}


def network(**settings: Any) -> Callable[[int], dict[str, Any]]:
    """With a network of two layers of d."""
    return lambda d: {"model": MLP((d, d)), "step_size": 0.1 / d, **settings}


ONE, K = {"c": 1}, {"k": 20}
CASES = [
    Case("lms", (*MANY, 10**7), falling(), ONE),
    Case("sgd", MANY, falling(), ONE),
    Case("nlms", MANY, fixed(), ONE),
    Case("one_step_sgd", MANY, fixed(), ONE),
    Case("apa", MANY, fixed(projection_order=16, step_size=0.5), {"b": 16} | ONE, vectors=18),
    Case("icl", MANY, fixed(memory=300), {"m": 300} | ONE, vectors=302),
    Case("ogd", MANY, falling(memory=300), {"m": 300} | ONE, vectors=302),
    Case("orfit", (*MANY, 10**7), fixed(memory=50), {"m": 50} | ONE, vectors=52),
    Case("rls", SQUARE, fixed(), ONE, vectors=0),
    Case("class_rls", SQUARE, fixed(), {"c": 10}, vectors=0),
    Case("kalman", SQUARE, fixed(observation_noise=0.1), ONE, vectors=0),
    Case("kalman, transition", (500, 1_000, 2_000, 4_096), moving, ONE, rows=8, vectors=0),
    Case("oja", MANY, falling(n_components=20), K, vectors=22),
    Case("krasulina", MANY, falling(n_components=20), K, vectors=22),
    Case("sanger", MANY, falling(n_components=20), K, vectors=22),
    Case("implicit_krasulina", MANY, falling(n_components=20), K, vectors=22),
    Case("incremental_pca", MANY, fixed(n_components=20), K, vectors=22),
    Case("gp", (300, 1_000, 3_000), network(rank=20), K, rows=16, vectors=0),
    Case("owm", (300, 1_000, 3_000), network(), {}, rows=16, vectors=0),
]


def data(case: Case, d: int, n: int, dtype: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Rows, and what goes with them: numbers, ten labels, or nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, case.features(d)), np.float32).astype(dtype)
    if "k" in case.letters and not case.layered:
        return (X,)
    return X, (np.arange(n) % 10 if case.method == "class_rls" else rng.standard_normal(n).astype(dtype))
