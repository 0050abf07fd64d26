"""Measure the laws of a method on a backend: deviation and bound, over rows of several kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.host.create import create
from orfit_bench.host.registry import registry
from orfit_bench.spec import Law, Measured, Method, Rows, bound

Array = NDArray[Any]
WIDE, TALL = (20, 40), (300, 12)
"""Rows and features: fewer rows than features, and more."""


class Finding(NamedTuple):
    """One law of one method, measured on one kind of rows."""

    method: str
    law: Law
    rows: str
    dtype: str
    measured: Measured
    bound: float
    void: str
    """Why the law promises nothing on these rows in this dtype; empty where it does."""

    def __str__(self) -> str:
        said = f"off by {self.measured.deviation:.1e}, allowed {self.bound:.1e}"
        where = f"{self.dtype}, rows {self.rows!r} (n = {self.measured.n}, condition {self.measured.condition:.0e})"
        return f"{self.method}, law {self.law.name}: {said}, {where}. {self.law.claim} [{self.law.source}]"

    @property
    def ratio(self) -> float:
        """Deviation over bound: the law holds while it is below 1."""
        return self.measured.deviation / self.bound


def gaussian(n: int, d: int, rng: np.random.Generator) -> Array:
    """Independent normal numbers."""
    return rng.standard_normal((n, d))


def digits(n: int, d: int, rng: np.random.Generator) -> Array:
    """Real images: the pixels that vary most, of images drawn at random, with a trace of noise against ties."""
    images: Array = registry().streams["digits"].load().X
    varying = np.argsort(-images.var(axis=0))[:d]
    return images[rng.permutation(len(images))[:n]][:, varying] + 0.01 * rng.standard_normal((n, d))


def conditioned(condition: float, n: int, d: int, rng: np.random.Generator) -> Array:
    """Singular values from 1 down to 1 / condition."""
    k = min(n, d)
    left, right = (np.linalg.qr(rng.standard_normal((size, k)))[0] for size in (n, d))
    rows: Array = (left * np.geomspace(1, 1 / condition, k)) @ right.T
    return rows


KINDS: dict[str, Callable[[int, int, np.random.Generator], Array]] = {
    "gaussian": gaussian,
    "digits": digits,
    "condition 1e2": partial(conditioned, 1e2),
    "condition 1e6": partial(conditioned, 1e6),
}


def rows(kind: str, shape: str, dtype: str, seed: int = 0) -> Rows:
    """Rows for a law, rounded to dtype so that learner and truth see the same numbers."""
    rng = np.random.default_rng(seed)
    n, d = WIDE if shape == "wide" else TALL
    X = KINDS[kind](n, d, rng)
    y = X @ rng.standard_normal(d) + 0.1 * X.std() * rng.standard_normal(n)
    return Rows(X.astype(dtype).astype(float), y.astype(dtype).astype(float), seed)


def measure(method: Method, law: Law, kind: str, backend: str = "numpy", dtype: str = "float64") -> Finding:
    """One law on one kind of rows. A learner may refuse (DivergedError, ValueError) where the law promises nothing."""
    data, refusal = rows(kind, law.shape, dtype), None
    where = f"in the law {law.name} of {method.name} on {backend}, {dtype}, rows {kind!r}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        try:
            found = law.check(partial(create, method.name, backend=backend, dtype=dtype), data)
        except (DivergedError, ValueError) as error:
            refusal, found = error, Measured(float("inf"), len(data.X), float(np.linalg.cond(data.X)))
        except Exception as error:
            error.add_note(where)
            raise
    allowed = bound(dtype, found.n, found.condition, law.exponent)
    void = _void(law, data, dtype, allowed)
    if refusal and not void:
        refusal.add_note(where)
        raise refusal
    return Finding(method.name, law, kind, dtype, found, allowed, void)


def _void(law: Law, data: Rows, dtype: str, allowed: float) -> str:
    most = float(np.finfo(dtype).eps) ** -0.5
    if law.shape == "wide" and np.linalg.cond(data.X) > most:
        return f"condition above {most:.0e}: in {dtype} such rows count as dependent"
    return f"its bound is above 1 in {dtype}" if allowed >= 1 else ""


def findings(backend: str = "numpy", dtype: str = "float64") -> Iterator[Finding]:
    """Every law of every method that the backend computes, on every kind of rows."""
    for method in registry().methods.values():
        if not registry().absence(backend, method.name):
            for law in method.laws:
                for kind in KINDS:
                    yield measure(method, law, kind, backend, dtype)


def table(found: list[Finding]) -> str:
    """The findings as text: deviation / bound for each kind of rows, void ones in brackets."""
    kinds = list(dict.fromkeys(f.rows for f in found))
    lines = [f"{'method':12} {'law':22} {'dtype':8}" + "".join(f"{kind:>22}" for kind in kinds)]
    for key in dict.fromkeys((f.method, f.law.name, f.dtype) for f in found):
        cells = [_cell(f) for f in found if (f.method, f.law.name, f.dtype) == key]
        lines.append(f"{key[0]:12} {key[1]:22} {key[2]:8}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def _cell(f: Finding) -> str:
    text = f"{f.measured.deviation:.1e} / {f.bound:.1e}"
    return f"({text})" if f.void else text
