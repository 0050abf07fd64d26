"""The data sets on which the laws are measured."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.learners.arguments import is_complex
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Law, Rows
from orfit_bench.spec.law import to_numpy64

Array = NDArray[Any]
WIDE, TALL = (20, 40), (300, 12)
"""Numbers of rows and features: fewer rows than features, and more."""
OWN = "its own"
"""The data set of a law that creates its rows itself."""


def gaussian(n: int, d: int, rng: np.random.Generator) -> Array:
    """Independent normal numbers."""
    return rng.standard_normal((n, d))


def digits(n: int, d: int, rng: np.random.Generator) -> Array:
    """Real images drawn at random: the d pixels of largest variance, with a little noise to break ties."""
    images: Array = registry().streams["digits"].load().X
    varying = np.argsort(-images.var(axis=0))[:d]
    return images[rng.permutation(len(images))[:n]][:, varying] + 0.01 * rng.standard_normal((n, d))


def conditioned(condition: float, n: int, d: int, rng: np.random.Generator) -> Array:
    """Rows with singular values from 1 down to 1 / condition."""
    k = min(n, d)
    left, right = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (n, d))
    rows: Array = (left * np.geomspace(1, 1 / condition, k)) @ right.T
    return rows


DATA_SETS: dict[str, Callable[[int, int, np.random.Generator], Array]] = {
    "gaussian": gaussian,
    "digits": digits,
    "condition 1e2": partial(conditioned, 1e2),
    "condition 1e6": partial(conditioned, 1e6),
}


def data_sets_of(law: Law) -> tuple[str, ...]:
    """The names of the data sets on which the law is measured."""
    return (OWN,) if law.shape == "own" else tuple(DATA_SETS)


def draw_rows(data_set: str, shape: str, dtype: str, seed: int = 0) -> Rows:
    """Rows of a data set, rounded to the dtype so that the learner and the exact solution use the same numbers."""
    rng = np.random.default_rng(seed)
    n, d = WIDE if shape == "wide" else TALL
    X, y = _draw_linear(DATA_SETS.get(data_set, gaussian), n, d, rng)
    if is_complex(dtype):
        imaginary = _draw_linear(DATA_SETS.get(data_set, gaussian), n, d, rng)
        X, y = X + 1j * imaginary[0], y + 1j * imaginary[1]
    return Rows(to_numpy64(X.astype(dtype)), to_numpy64(y.astype(dtype)), seed)


def _draw_linear(draw: Callable[[int, int, np.random.Generator], Array], n: int, d: int, rng: Any) -> tuple[Any, Any]:
    """Real rows, and noisy linear targets."""
    X = draw(n, d, rng)
    return X, X @ rng.standard_normal(d) + 0.1 * X.std() * rng.standard_normal(n)
