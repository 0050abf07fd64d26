"""A law: a theorem of the sources as a function that measures how far a learner is from it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import DTypeLike, NDArray

from orfit_bench.spec.arrays import to_host

Array = NDArray[Any]
Shape = Literal["tall", "wide", "own"]
Numbers = Literal["real", "complex"]


class Rows(NamedTuple):
    """Data that a law may learn from.

    Parameters
    ----------
    X : array, shape (n, d)
        Rows in double precision.
    y : array, shape (n,)
        Their targets.
    seed : int
        A seed for more data.
    """

    X: Array
    y: Array
    seed: int


class Measured(NamedTuple):
    """How far a learner is from a law.

    Parameters
    ----------
    deviation : float
        The relative difference from what the theorem states.
    n : int
        The number of rows learned.
    condition : float
        The condition number of the problem that was solved.
    wrong : int
        For a claim that either holds or does not: the number of cases in which it does not hold.
    """

    deviation: float
    n: int
    condition: float
    wrong: int = 0


def measure_claim(wrong: int, rows: Rows) -> Measured:
    """Measure a claim that either holds or does not.

    Parameters
    ----------
    wrong : int
        The number of cases in which it does not hold.
    rows : Rows
        The rows of the law.

    Returns
    -------
    Measured
        An infinite deviation if the claim fails in any case, else 0.

    Examples
    --------
    >>> import numpy as np
    >>> measure_claim(0, Rows(np.ones((5, 1)), np.ones(5), seed=0)).deviation
    0.0
    """
    return Measured(math.inf if wrong else 0.0, len(rows.X), 1.0, int(wrong))


@dataclass(frozen=True, slots=True)
class Law:
    """An executable theorem.

    Parameters
    ----------
    check : callable
        check(create, rows) trains learners from `create(**settings)`, which have the method, backend and dtype under
        test, and compares them with the result of an independent algorithm. It returns a `Measured`. The first line of
        its docstring states the claim.
    source : str
        The document and the theorem or equation.
    exponent : int
        The power of the condition number in the rounding error that the method is allowed.
    shape : {"tall", "wide", "own"}
        The rows that it needs: n > d, n < d and independent, or those that it generates from the seed.
    numbers : {"real", "complex"}
        The numbers of rows and learners. A law of complex ones is checked on kernels with COMPLEX = True.
    """

    check: Callable[[Callable[..., Any], Rows], Measured]
    source: str
    exponent: int
    shape: Shape = "tall"
    numbers: Numbers = "real"

    def __post_init__(self) -> None:
        """Refuse an unknown shape or kind of numbers, and a law without a claim."""
        if self.shape not in get_args(Shape):
            raise ValueError(f"law {self.name!r}: shape {self.shape!r}, want one of {', '.join(get_args(Shape))}")
        if self.numbers not in get_args(Numbers):
            raise ValueError(f"law {self.name!r}: numbers {self.numbers!r}, want real or complex")
        if not (self.check.__doc__ or "").strip() and sys.flags.optimize < 2:  # `python -OO` removes docstrings
            raise ValueError(f"law {self.name!r}: its function has no docstring that states the claim")

    @property
    def name(self) -> str:
        """The function's name."""
        return self.check.__name__

    @property
    def claim(self) -> str:
        """The first line of the function's docstring; the function's name if Python has removed docstrings."""
        return (self.check.__doc__ or self.name).strip().splitlines()[0]


@dataclass(frozen=True, slots=True)
class Equality:
    """An edge of the map: two methods, or a method and a batch solution, that agree under the settings in `when`.

    The law's check gets `create(method, **settings)`; that of an edge to a batch solution is a law of the method `one`.
    """

    one: str
    other: str
    when: str
    law: Law
    batch: bool = False
    """Whether `other` is a batch solution instead of a method."""


SAFETY_FACTOR = 8.0
"""Constant of the bound: rounding errors of d-long sums, which grow like sqrt(d) for the sizes the laws use."""


def bound(dtype: DTypeLike, n: int, condition: float, exponent: int) -> float:
    """Return the allowed rounding error, c eps cond^k sqrt(n).

    Parameters
    ----------
    dtype : dtype
        The dtype of the learner.
    n : int
        The number of roundings, usually of rows.
    condition : float
        The condition number of the problem.
    exponent : int
        The power k of the condition number, see `Law`.

    Returns
    -------
    float
        The largest relative deviation that rounding explains: a random walk of n roundings, amplified by the solve.

    Notes
    -----
    A product of complex numbers has a relative error of up to sqrt(5) eps (Brent, Percival and Zimmermann 2007).

    Examples
    --------
    >>> bound("float64", 100, 10.0, 1) < 1e-12 < bound("float32", 100, 10.0, 1)
    True
    """
    eps = np.finfo(dtype).eps * (np.sqrt(5) if np.dtype(dtype).kind == "c" else 1)
    return float(SAFETY_FACTOR * eps * condition**exponent * np.sqrt(n))


def nan_max(*deviations: float) -> float:
    """Return the largest of several deviations.

    Parameters
    ----------
    *deviations : float
        At least one.

    Returns
    -------
    float
        Infinite if one of them is NaN, which max() might ignore.

    Examples
    --------
    >>> nan_max(1.0, 2.0), nan_max(1.0, float("nan"))
    (2.0, inf)
    """
    return float("inf") if np.isnan(deviations).any() else float(max(deviations))


def to_numpy64(a: object) -> Any:
    """Copy an array to host memory in double precision: float64, or complex128 if it is complex."""
    array = to_host(a)
    return np.asarray(array, complex if array.dtype.kind == "c" else float)


def deviation(got: object, want: object) -> float:
    """Return the relative deviation max |got - want| / max |want|.

    Parameters
    ----------
    got, want : array_like
        Arrays of any backend; got is compared with want.

    Returns
    -------
    float
        Infinite if `got` is not finite or has another shape; absolute if `want` is zero.

    Examples
    --------
    >>> deviation([1.0, 2.0], [1.0, 4.0]), deviation([1.0], [1.0, 2.0])
    (0.5, inf)
    """
    a, b = to_numpy64(got), to_numpy64(want)
    if a.shape != b.shape or not np.isfinite(a).all():
        return float("inf")
    scale = float(abs(b).max(initial=0.0))
    return float(abs(a - b).max(initial=0.0)) / (scale or 1.0)
