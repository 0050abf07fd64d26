"""Chunks of 256 rows with the result of every row: packages, plain compiled loops and the limit of the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np

import orfit_bench as ob
from benchmarks.limits import LIMITS
from benchmarks.peers import loops
from benchmarks.peers.data import (
    CHUNK,
    STEPS,
    SUBSPACES,
    Array,
    Comparison,
    absent,
    chunks,
    in_chunks,
    peer,
    plain_numpy,
    regression,
)
from benchmarks.peers.one_sample import pyroomacoustics, vowpal_wabbit
from benchmarks.peers.timing import Case
from benchmarks.performance import best_of
from orfit_bench.bench import roofline


def padasip(name: str, X: Array, y: Array, **settings: Any) -> Callable[[], object]:
    """A filter of padasip, called with one chunk at a time."""
    from padasip import filters

    def learn() -> None:
        learner = getattr(filters, name)(n=X.shape[1], w="zeros", **settings)
        for part in chunks(len(X)):
            learner.run(y[part], X[part])

    return learn


def compiled_loop(method: str, X: Array, y: Array) -> Case:
    """The rule as one writes it for Numba, without checks, for the same chunks."""
    d, out = X.shape[1], np.empty(CHUNK)

    def learn() -> None:
        w, P = np.zeros(d), np.eye(d)
        for part in chunks(len(X)):
            if method == "rls":
                loops.rls(P, w, X[part], y[part], out)
            else:
                loops.lms(w, X[part], y[part], 0.1, out)

    return "compiled loop", learn


@cache
def rates() -> roofline.Roofline:
    """The rates of the machine: the best of all measurements, since load can only slow it down."""
    now, before = roofline.measure(), roofline.load()
    return best_of(now, before) if before else now


def at_the_limit(method: str, X: Array, **letters: int) -> tuple[str, float]:
    """The seconds that the rows take at the limit, which is computed."""
    flops, floats = LIMITS[method](d=X.shape[1], c=1, **letters)
    size = 8 * (X.shape[1] ** 2 if method == "rls" else X.shape[1] * (1 + letters.get("m", 0)))
    return "limit", len(X) * rates().seconds(flops, 8 * floats, size, "float64")


def comparisons() -> Iterator[Comparison]:
    """The cells of the question, with their targets."""
    for d in (16, 128, 784):
        X, y = regression(4096, d)
        for method, name in (("lms", "FilterLMS"), ("nlms", "FilterNLMS")):
            step = STEPS[method]["step_size"]
            other = peer("padasip", lambda X=X, y=y, name=name, step=step: padasip(name, X, y, mu=step))
            yield f"chunks, {method}, d = {d}", [in_chunks(method, X, y, **STEPS[method]), other], 10.0
        other = peer("Vowpal Wabbit", lambda X=X, y=y: vowpal_wabbit(X, y))
        yield f"chunks, sgd, d = {d}", [in_chunks("sgd", X, y, **STEPS["sgd"]), other], 10.0
        X, y = X[: 4096 if d < 500 else 512], y[: 4096 if d < 500 else 512]
        other = peer("pyroomacoustics", lambda X=X, y=y: pyroomacoustics(X, y))
        yield f"chunks, rls, d = {d}", [in_chunks("rls", X, y), other], 10.0
    X, y = regression(512, 784)
    authors = absent("the authors' code", "a repository without a licence, no package")
    for method in SUBSPACES:
        for k in (5, 20, 50):
            settings = {"n_components": k, **STEPS[method]}
            cases = [in_chunks(method, X, y, **settings), plain_numpy(method, X, y, **settings), authors]
            yield f"chunks, {method}, d = 784, k = {k}", cases, 10.0
    X, y = regression(4096, 16)
    for method in ("lms", "sgd", "rls"):
        cases = [in_chunks(method, X, y, **STEPS[method]), compiled_loop(method, X, y)]
        yield f"compiled loop, {method}, d = 16", cases, 0.7
    X, y = regression(CHUNK, 784)
    for method in ("lms", "sgd", "rls"):
        share = 0.75 if method == "rls" else 0.6
        yield f"limit, {method}, d = 784", [started(method, X, y, **STEPS[method]), at_the_limit(method, X)], share
    X, y = regression(6 * 64, 100_000)
    cases = [with_new_rows("orfit", X, y, 64, memory=10), at_the_limit("orfit", X[:64], m=10)]
    yield "limit, orfit, p = 100000, m = 10", cases, 0.6


def started(method: str, X: Array, y: Array, **settings: Any) -> Case:
    """Our learner, which has learned the rows before and learns them again in chunks."""
    learner = ob.create(method, backend="numba", **settings).partial_fit(X, y)
    return "orfit_bench", lambda: learner.prequential(X, y)


def with_new_rows(method: str, X: Array, y: Array, size: int, **settings: Any) -> Case:
    """Our learner, which learns the next `size` rows at each call: a method that remembers rows needs new ones."""
    parts = cycle(slice(i, i + size) for i in range(0, len(X), size))
    learner = ob.create(method, backend="numba", **settings).partial_fit(X[:size], y[:size])

    def learn() -> None:
        part = next(parts)
        learner.prequential(X[part], y[part])

    next(parts)
    return "orfit_bench", learn
