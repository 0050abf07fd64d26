"""Laws as checks: each law of a method is measured on several data sets, and the worst deviation is its result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.catalogue.laws.equalities import EQUALITIES
from orfit_bench.catalogue.laws.theorems import THEOREMS
from orfit_bench.conformance.check import MAX_USEFUL_BOUND, Check, Deviation, Violation, worst
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.data_sets import data_sets_of, draw_rows
from orfit_bench.errors import AccuracyWarning, DivergedError, with_place
from orfit_bench.learners.arguments import is_complex
from orfit_bench.learners.factory import create
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Equality, Law, Measured, Rows, bound


class LawCase(NamedTuple):
    """A law with the methods that it involves: one, two for an equality, or none for a theorem."""

    methods: tuple[str, ...]
    law: Law

    @property
    def name(self) -> str:
        """The methods as one string."""
        return " = ".join(self.methods) or "(no learner)"

    def absence(self, backend: str) -> str:
        """The reason why the law cannot be measured on a backend; empty if it can."""
        known = registry()
        if missing := [name for name in self.methods if name not in known.methods]:
            return f"no method {missing[0]!r} is installed"
        needed = self.law.numbers
        for name in self.methods:
            reason = known.absence(backend, name)
            if not reason and needed == "complex":
                reason = known.capabilities(backend, name).get("complex", "it has no complex form")
            if reason:
                return f"{name}: {reason}"
        return ""


def cases(method: str | None = None) -> list[LawCase]:
    """All laws: of each method, of each equality, and those without a learner; or only those that involve a method."""
    of_methods = [LawCase((m.name,), law) for m in registry().methods.values() for law in m.theory.laws]
    found = dict.fromkeys([*of_methods, *edges().values(), *(LawCase((), law) for law in THEOREMS)])
    return [case for case in found if method is None or method in case.methods]


def edges() -> dict[Equality, LawCase]:
    """The equalities, each with its law."""
    return {e: LawCase((e.one,) if e.batch else (e.one, e.other), e.law) for e in EQUALITIES}


def law_checks(method: str) -> list[Check]:
    """The laws that involve a method, as checks of the kit."""
    return [
        Check(
            f"law_{case.law.name}",
            case.law.claim,
            partial(check_law, case),
            needs=partial(_absence, case),
            all_variants=False,
            numbers=case.law.numbers,
        )
        for case in cases(method)
    ]


def check_law(case: LawCase, context: CheckContext) -> Deviation:
    """The worst deviation of a law over its data sets; Violation if none of them is conclusive."""
    found = worst(
        measure_law(case, name, context.backend.name, context.dtype, context.seed) for name in data_sets_of(case.law)
    )
    if found.inconclusive:
        raise Violation(f"inconclusive on every data set: {found.inconclusive}")
    return found._replace(of=f"data set {found.of!r}")


def _absence(case: LawCase, context: CheckContext) -> str:
    return case.absence(context.backend.name)


def measure_law(
    case: LawCase,
    data_set: str,
    backend: str = "numpy",
    dtype: str = "float64",
    seed: int = 0,
    create: Callable[..., Any] = create,
) -> Deviation:
    """Measure a law on one data set.

    Parameters
    ----------
    case : LawCase
        The law and its methods.
    data_set : str
        One of `data_sets_of(case.law)`.
    backend, dtype, seed
        Those of the learners; the seed also draws the rows. For a law of complex numbers, a real dtype stands for the
        complex dtype of its precision.
    create : callable
        Creates the learners, by default `orfit_bench.create`.

    Returns
    -------
    Deviation
        The deviation on the data set; inconclusive if the law guarantees nothing for it in this dtype.

    Raises
    ------
    DivergedError, ValueError
        If a learner refuses rows for which the law guarantees a result.
    """
    law, refusal = case.law, None
    dtype = dtype if case.methods else "float64"  # a theorem without a learner has no dtype
    if law.numbers == "complex" and not is_complex(dtype):
        dtype = np.result_type(dtype, np.complex64).name
    rows = draw_rows(data_set, law.shape, dtype, seed)
    where = f"in the law {law.name} of {case.name} on {backend}, {dtype}, data set {data_set!r}"
    make = partial(create, backend=backend, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        try:
            found = _measured(law, partial(make, *case.methods) if len(case.methods) == 1 else make, rows)
        except (DivergedError, ValueError) as error:
            refusal, found = error, Measured(float("inf"), len(rows.X), float(np.linalg.cond(rows.X)))
        except Exception as error:
            error.add_note(where)
            raise
    allowed = bound(dtype, found.n, found.condition, law.exponent)
    inconclusive = _inconclusive(law, rows, dtype, allowed)
    if refusal and not inconclusive:
        refusal.add_note(where)
        raise refusal
    return Deviation(found.deviation, allowed, data_set, inconclusive, found.wrong)


def _measured(law: Law, create: Callable[..., Any], rows: Rows) -> Measured:
    """The return value of the author's function. Raises TypeError if it is not a Measured."""
    found = law.check(create, rows)
    if not isinstance(found, Measured):
        got = "None" if found is None else type(found).__name__
        raise TypeError(f"{with_place(law.check)} returned {got}, want Measured(deviation, n, condition)")
    return found


def _inconclusive(law: Law, rows: Rows, dtype: str, allowed: float) -> str:
    """The reason why the law guarantees nothing for these rows in this dtype; empty if it does."""
    limit = float(np.finfo(dtype).eps) ** -0.5
    if law.shape == "wide" and np.linalg.cond(rows.X) > limit:
        return f"the condition number is above {limit:.0e}, so in {dtype} such rows count as dependent"
    return f"the bound leaves no correct digit in {dtype}" if allowed > MAX_USEFUL_BOUND else ""
