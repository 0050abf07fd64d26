"""Measure the laws of a method on a backend: deviation and bound, over rows of several kinds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.errors import AccuracyWarning
from orfit_bench.host.create import create
from orfit_bench.host.registry import registry
from orfit_bench.spec import Law, Method, Rows, bound

WIDE, TALL = (20, 40), (300, 12)
"""Rows and features: fewer rows than features, and more."""

CONDITION = 1e6


class Finding(NamedTuple):
    """One law of one method, measured on one kind of rows."""

    method: str
    law: Law
    rows: str
    dtype: str
    deviation: float
    bound: float
    condition: float

    @property
    def ratio(self) -> float:
        """Deviation over bound: the law holds while it is below 1."""
        return self.deviation / self.bound


def gaussian(n: int, d: int, rng: np.random.Generator) -> Any:
    """Independent normal numbers."""
    return rng.standard_normal((n, d))


def ill_conditioned(n: int, d: int, rng: np.random.Generator) -> Any:
    """Singular values from 1 down to 1 / CONDITION."""
    k = min(n, d)
    left, right = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (n, d))
    return (left * np.geomspace(1, 1 / CONDITION, k)) @ right.T


def digits(n: int, d: int, rng: np.random.Generator) -> Any:
    """Real images: the pixels that vary most, of images drawn at random, plus a trace of noise against ties."""
    images = registry().streams["digits"].load().X
    varying = np.argsort(-images.var(axis=0))[:d]
    return images[rng.permutation(len(images))[:n]][:, varying] + 0.01 * rng.standard_normal((n, d))


KINDS = {"gaussian": gaussian, "digits": digits, "ill-conditioned": ill_conditioned}


def rows(kind: str, shape: str, dtype: str, seed: int = 0) -> Rows:
    """Rows for a law, rounded to dtype so that learner and truth see the same numbers."""
    rng = np.random.default_rng(seed)
    n, d = WIDE if shape == "wide" else TALL
    X = KINDS[kind](n, d, rng)
    y = X @ rng.standard_normal(d) + 0.1 * X.std() * rng.standard_normal(n)
    return Rows(*(a.astype(dtype).astype(float) for a in (X, y)), seed)


def measure(method: Method, law: Law, kind: str, backend: str = "numpy", dtype: str = "float64") -> Finding:
    """One law on one kind of rows. Warnings of lost digits are part of what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        make = partial(create, method.name, backend=backend, dtype=dtype)
        found = law.check(make, rows(kind, law.shape, dtype))
    allowed = bound(dtype, found.n, found.condition, law.exponent)
    return Finding(method.name, law, kind, dtype, found.deviation, allowed, found.condition)


def findings(backend: str = "numpy", dtype: str = "float64") -> Iterator[Finding]:
    """Every law of every method that the backend computes, on every kind of rows."""
    for method in registry().methods.values():
        if not registry().absence(backend, method.name):
            for law in method.laws:
                for kind in KINDS:
                    yield measure(method, law, kind, backend, dtype)
