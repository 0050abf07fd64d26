"""Rows, learners and competitors shared by the comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import orfit_bench as ob
from benchmarks import baselines
from benchmarks.peers.timing import Case

Array = np.ndarray[Any, Any]
Comparison = tuple[str, list[Case], float]
"""The name, the cases with ours first, and the target: the time of the fastest other case, relative to ours."""
CHUNK = 256


class Absent(NamedTuple):
    """A competitor that cannot be measured here, with the reason."""

    reason: str


def peer(name: str, make: Callable[[], Callable[[], object]]) -> tuple[str, Any]:
    """A competitor: what `make` returns is timed; it is absent if its package is not installed."""
    try:
        return name, make()
    except ImportError as error:
        return name, Absent(f"not installed ({error})")


def absent(name: str, reason: str) -> tuple[str, Any]:
    """A competitor that no package offers."""
    return name, Absent(reason)


def regression(n: int, d: int) -> tuple[Array, Array]:
    """Rows of unit length on average, and a linear function of them with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    return X, X @ rng.standard_normal(d) + 0.01 * rng.standard_normal(n)


def chunks(n: int) -> Iterator[slice]:
    """The chunks of n rows."""
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))


def in_chunks(method: str, X: Array, y: Array, backend: str = "numba", **settings: Any) -> Case:
    """Our learner, in chunks, with the prediction before each step if the method predicts.

    It continues to learn the same rows; a learner that stores rows starts again.
    """
    kept = ob.create(method, backend=backend, **settings)

    def learn() -> None:
        learner = ob.create(method, backend=backend, **settings) if method in ("icl", "orfit") else kept
        for part in chunks(len(X)):
            learner.partial_fit(X[part]) if method in SUBSPACES else learner.prequential(X[part], y[part])

    return "orfit_bench", learn


def plain_numpy(method: str, X: Array, y: Array, **settings: Any) -> Case:
    """Some ten lines of NumPy (benchmarks/baselines.py), from the state in which our learner starts."""
    blank = ob.create(method, backend="numpy", **settings)
    blank.partial_fit(*((X[:0],) if method in SUBSPACES else (X[:0], y[:0])))
    start = {name: np.array(a.values) for name, a in blank.state().data_vars.items()}
    p = SimpleNamespace(**{k: getattr(v, "value", v) for k, v in blank.settings.items()})
    flat = ("w", "mean", "targets")
    rule = getattr(baselines, "lms" if method == "sgd" else method)

    def learn() -> None:
        rule(SimpleNamespace(**{k: a[:, 0].copy() if k in flat else a.copy() for k, a in start.items()}), X, y, p)

    return "plain NumPy", learn


SUBSPACES = ("oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca")
STEPS: dict[str, dict[str, Any]] = {
    "lms": {"step_size": 0.1},
    "nlms": {"step_size": 0.5},
    "sgd": {"step_size": 0.1},
    "rls": {},
    "oja": {"step_size": 0.01},
    "krasulina": {"step_size": 0.01},
    "sanger": {"step_size": 0.001},
    "implicit_krasulina": {"step_size": 0.01},
    "incremental_pca": {},
}
"""Settings of each method."""
