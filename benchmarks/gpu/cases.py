"""The cases for a device: every method that computes anything, up to states of some GB.

greedy is left out, since it only copies a label. gp and owm use a network with two layers of d units, and are evaluated
by the matrix between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.limits import LIMITS
from benchmarks.performance import moving
from orfit_bench.models import MLP

MANY = (10**3, 10**4, 10**5, 10**6)
SQUARE = (500, 1_000, 2_000, 4_096, 10_000)
DTYPES = ("float64", "float32")
SHIFT = 997
"""Offset between the starts of consecutive rows of data in one random series."""


class Case(NamedTuple):
    """A method and its sizes d; `limit` is a name in benchmarks/limits.py."""

    limit: str
    widths: tuple[int, ...]
    settings: Callable[[int], dict[str, Any]]
    letters: dict[str, int]
    rows: int = 256
    """Largest number of rows of a chunk."""
    vectors: int = 2
    """Number of vectors of length d in the state and the work space of a block; 0: the state has d x d numbers."""
    note: str = ""

    @property
    def name(self) -> str:
        """The name in the tables."""
        return f"{self.limit}, {self.note}" if self.note else self.limit

    @property
    def method(self) -> str:
        """The name of the method."""
        return self.limit.partition(",")[0]

    @property
    def layered(self) -> bool:
        """Whether d is the width of a network's layers."""
        return self.method in ("gp", "owm")

    def features(self, d: int) -> int:
        """The number of features of a row."""
        return 64 if self.layered else d

    def bytes(self, d: int, n: int, item: int) -> int:
        """Bytes needed for a chunk of n rows: three times the rows, and twice the vectors or four matrices."""
        state = 4 * d * d if not self.vectors else 2 * self.vectors * d
        return item * (3 * n * self.features(d) + state)

    def chunk(self, d: int, item: int, room: int) -> int:
        """The number of rows that fit into this number of bytes; less than 1 if none fit."""
        return min(self.rows, (room - self.bytes(d, 0, item)) // (3 * item * self.features(d)))

    def shrunk(self) -> Case:
        """The case with few features, for a trial."""
        return self._replace(widths=(20,), rows=4, settings=lambda d: small(self.settings(d)))


def small(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings that leave room for 20 features."""
    return {k: min(v, 10) if k in ("memory", "n_components", "rank") else v for k, v in settings.items()}


def fixed(**settings: Any) -> Callable[[int], dict[str, Any]]:
    """Settings that are the same for every size."""
    return lambda d: settings


def falling(**settings: Any) -> Callable[[int], dict[str, Any]]:
    """Settings with a step size that is stable for d features of variance 1."""
    return lambda d: {"step_size": 0.1 / d, **settings}


def network(**settings: Any) -> Callable[[int], dict[str, Any]]:
    """Settings with a network of two layers of d units."""
    return lambda d: {"model": MLP((d, d)), "step_size": 0.1 / d, **settings}


ONE, K = {"c": 1}, {"k": 20}
FIFTY = falling(n_components=50)
CASES = [
    Case("rls", SQUARE, fixed(), ONE, vectors=0),
    Case("orfit", (*MANY, 10**7), fixed(memory=50), {"m": 50} | ONE, vectors=52),
    Case("kalman", SQUARE, fixed(observation_noise=0.1), ONE, vectors=0),
    Case("implicit_krasulina", (3072,), FIFTY, {"k": 50}, vectors=52, note="50 components"),
    Case("kalman, transition", (500, 1_000, 2_000, 4_096), moving, ONE, rows=8, vectors=0),
    Case("class_rls", SQUARE, fixed(), {"c": 10}, vectors=0),
    Case("ridge", SQUARE, fixed(), ONE, vectors=0),
    Case("oja", MANY, falling(n_components=20), K, vectors=22),
    Case("implicit_krasulina", MANY, falling(n_components=20), K, vectors=22),
    Case("owm", (300, 1_000, 3_000), network(), {}, rows=16, vectors=0),
    Case("gp", (300, 1_000, 3_000), network(rank=20), K, rows=16, vectors=0),
    Case("icl", MANY, fixed(memory=300), {"m": 300} | ONE, vectors=302),
    Case("apa", MANY, fixed(projection_order=16, step_size=0.5), {"b": 16} | ONE, vectors=18),
    Case("lms", (*MANY, 10**7), falling(), ONE),
    Case("incremental_pca", MANY, fixed(n_components=20), K, vectors=22),
    Case("sanger", MANY, falling(n_components=20), K, vectors=22),
    Case("krasulina", MANY, falling(n_components=20), K, vectors=22),
    Case("ogd", MANY, falling(memory=300), {"m": 300} | ONE, vectors=302),
    Case("sgd", MANY, falling(), ONE),
    Case("softmax", MANY, falling(), {"c": 10}, vectors=0),
    Case("nlms", MANY, fixed(), ONE),
    Case("one_step_sgd", MANY, fixed(), ONE),
]
"""All cases, the most important first."""
FIRST = [
    ("rls", (1_000, 4_096)),
    ("orfit", (10**5, 10**6)),
    ("kalman", (1_000,)),
    ("implicit_krasulina, 50 components", (3072,)),
    ("kalman, transition", (1_000,)),
    ("class_rls", (1_000,)),
    ("oja", (10**5,)),
    ("owm", (1_000,)),
    ("gp", (1_000,)),
    ("icl", (10**5,)),
    ("apa", (10**5,)),
    ("lms", (10**4, 10**6)),
]
"""Cases and sizes that are measured first."""
LARGE = 10**6
"""Sizes with at least this many features are measured after all smaller sizes."""


def by_name() -> dict[str, Case]:
    """Every case."""
    return {case.name: case for case in CASES}


def sizes(all_cases: list[Case]) -> Iterator[tuple[Case, int, str]]:
    """Every case, size and dtype, the most useful for their time first."""
    first = dict(FIRST)
    found = [(case, d) for case in all_cases for d in case.widths]
    found.sort(key=lambda one: (one[1] not in first.get(one[0].name, ()), one[1] >= LARGE))  # otherwise keeps the order
    for dtype in DTYPES:
        yield from ((case, d, dtype) for case, d in found if d in first.get(case.name, ()))
    yield from ((case, d, dtype) for case, d in found if d not in first.get(case.name, ()) for dtype in DTYPES)


def limit_of(name: str, letters: dict[str, int]) -> tuple[float, float]:
    """The minimum of operations, and of numbers read or written, per row, from LIMITS with its parameters."""
    formula: Any = LIMITS[name]
    operations, numbers = formula(**{k: v for k, v in letters.items() if k in formula.__code__.co_varnames})
    return operations, numbers


def data(case: Case, d: int, n: int, dtype: str) -> tuple[NDArray[Any], ...]:
    """Rows and their targets: numbers, ten labels, or none. The rows are parts of one random series."""
    rng, features = np.random.default_rng(0), case.features(d)
    series = rng.standard_normal(features + SHIFT * n, np.float32).astype(dtype)
    X = np.stack([series[begin : begin + features] for begin in range(0, SHIFT * n, SHIFT)])
    if "k" in case.letters and not case.layered:
        return (X,)
    return X, (np.arange(n) % 10 if case.method in ("class_rls", "softmax") else rng.standard_normal(n).astype(dtype))
