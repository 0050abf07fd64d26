"""Measure the laws on a backend: deviation and bound, over rows of several kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.catalogue.laws.equalities import EQUALITIES
from orfit_bench.catalogue.laws.theorems import THEOREMS
from orfit_bench.conformance.check import NO_DIGIT
from orfit_bench.errors import AccuracyWarning, DivergedError
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Equality, Law, Measured, Method, Rows, bound

Array = NDArray[Any]
WIDE, TALL = (20, 40), (300, 12)
"""Rows and features: fewer rows than features, and more."""


class Finding(NamedTuple):
    """One law of one method (or of several that it compares), measured on one kind of rows."""

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


class Case(NamedTuple):
    """A law with those that it speaks of: a method, the two sides of an equality, or nobody (a theorem)."""

    methods: tuple[str, ...]
    law: Law

    @property
    def name(self) -> str:
        """Those it speaks of, as one text."""
        return " = ".join(self.methods) or "(no learner)"

    def absence(self, backend: str) -> str:
        """Why it cannot be measured on a backend; empty where it can."""
        known = registry()
        if missing := [name for name in self.methods if name not in known.methods]:
            return f"no method {missing[0]!r} is installed"
        return next((f"{name}: {reason}" for name in self.methods if (reason := known.absence(backend, name))), "")


def edges() -> dict[Equality, Case]:
    """The equalities, each with its law."""
    return {e: Case((e.one,) if e.batch else (e.one, e.other), e.law) for e in EQUALITIES}


def cases(method: str | None = None) -> list[Case]:
    """Every law: of every method, of every equality, of no learner; or all that speak of one method."""
    methods = [Case((m.name,), law) for m in registry().methods.values() for law in m.theory.laws]
    found = dict.fromkeys([*methods, *edges().values(), *(Case((), law) for law in THEOREMS)])
    return [case for case in found if method is None or method in case.methods]


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


OWN = "its own"
"""The kind of the rows of a law that makes them itself."""


def kinds(law: Law) -> tuple[str, ...]:
    """The kinds of rows that the law is measured on."""
    return (OWN,) if law.shape == "own" else tuple(KINDS)


def rows(kind: str, shape: str, dtype: str, seed: int = 0) -> Rows:
    """Rows for a law, rounded to dtype so that learner and truth see the same numbers."""
    rng = np.random.default_rng(seed)
    n, d = WIDE if shape == "wide" else TALL
    X = KINDS.get(kind, gaussian)(n, d, rng)
    y = X @ rng.standard_normal(d) + 0.1 * X.std() * rng.standard_normal(n)
    return Rows(X.astype(dtype).astype(float), y.astype(dtype).astype(float), seed)


def measure(method: Method, law: Law, kind: str, backend: str = "numpy", dtype: str = "float64") -> Finding:
    """One law of a method on one kind of rows: see `measured`."""
    return measured(Case((method.name,), law), kind, backend, dtype)


def measured(case: Case, kind: str, backend: str = "numpy", dtype: str = "float64", seed: int = 0) -> Finding:
    """One law on one kind of rows. A learner may refuse (DivergedError, ValueError) where the law promises nothing."""
    law, refusal = case.law, None
    dtype = dtype if case.methods else "float64"  # a theorem of no learner has no dtype of its own
    data = rows(kind, law.shape, dtype, seed)
    where = f"in the law {law.name} of {case.name} on {backend}, {dtype}, rows {kind!r}"
    make = partial(create, backend=backend, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        try:
            found = law.check(partial(make, *case.methods) if len(case.methods) == 1 else make, data)
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
    return Finding(case.name, law, kind, dtype, found, allowed, void)


def _void(law: Law, data: Rows, dtype: str, allowed: float) -> str:
    most = float(np.finfo(dtype).eps) ** -0.5
    if law.shape == "wide" and np.linalg.cond(data.X) > most:
        return f"condition above {most:.0e}: in {dtype} such rows count as dependent"
    return f"its bound leaves no digit in {dtype}" if allowed > NO_DIGIT else ""


def findings(backend: str = "numpy", dtype: str = "float64") -> Iterator[Finding]:
    """Every law that the backend has the kernels for, on every kind of rows."""
    for case in cases():
        if not case.absence(backend):
            for kind in kinds(case.law):
                yield measured(case, kind, backend, dtype)


def worst(found: list[Finding]) -> Finding:
    """The finding of largest deviation over bound among those that the law speaks of (all, where it does of none)."""
    return max([f for f in found if not f.void] or found, key=lambda f: f.ratio)


def table(found: list[Finding]) -> str:
    """The findings as text: deviation / bound for each kind of rows, void ones in brackets."""
    columns = list(dict.fromkeys(f.rows for f in found))
    lines = [f"{'method':26} {'law':25} {'dtype':8}" + "".join(f"{kind:>22}" for kind in columns)]
    for key in dict.fromkeys((f.method, f.law.name, f.dtype) for f in found):
        cells = {f.rows: _cell(f) for f in found if (f.method, f.law.name, f.dtype) == key}
        lines.append(f"{key[0]:26} {key[1]:25} {key[2]:8}" + "".join(f"{cells.get(c, ''):>22}" for c in columns))
    return "\n".join(line.rstrip() for line in lines)


def _cell(f: Finding) -> str:
    text = f"{f.measured.deviation:.1e} / {f.bound:.1e}"
    return f"({text})" if f.void else text
