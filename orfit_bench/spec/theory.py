"""What is known about a method: its laws, the same result by other algorithms, and its cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from orfit_bench.spec.law import Law
from orfit_bench.spec.state import Array, Settings, Sizes


@dataclass(frozen=True, slots=True)
class Cost:
    """Least cost of one row on a linear model, to leading order, however rows are grouped into blocks.

    Throughput is compared with the limit that follows from it. `sizes` also holds "count", the used length of a growing
    dimension. A layered method states the cost of one layer, for which "parameter" is the number of entries of its
    matrix.
    """

    flops: Callable[[Settings, Sizes], float]
    """Floating-point operations."""
    floats: Callable[[Settings, Sizes], float]
    """Numbers that must be read or written."""


class InverseGram(NamedTuple):
    """A field that is the inverse (A'A)^-1 of a Gram matrix, and rows(X, settings) -> A (m, d).

    On a linear model A follows from all rows without the recursion; None if it is not known.
    """

    field: str
    rows: Callable[[Array, Settings], Array | None]


@dataclass(frozen=True, slots=True)
class Theory:
    """What is known about a method, for checks and reports.

    Parameters
    ----------
    cost : Cost
        Operations and memory traffic of one row.
    laws : tuple of Law
        Theorems that every backend is checked against.
    batch : callable, optional
        batch(X, Y, w0, settings) returns w (p, r) for all rows of real numbers at once, by an algorithm other than the
        recursion, or None if it does not apply.
    batch_memory : callable, optional
        batch_memory(settings, sizes) returns the bytes that `batch` allocates; sizes also has "row", the number of
        rows. Default: four copies of the rows.
    inverse_gram : InverseGram, optional
        A field to compare with a matrix computed from all rows.
    """

    cost: Cost
    laws: tuple[Law, ...] = ()
    batch: Callable[[Array, Array, Array, Settings], Array | None] | None = None
    inverse_gram: InverseGram | None = None
    batch_memory: Callable[[Settings, Sizes], float] | None = None

    def __post_init__(self) -> None:
        """Refuse laws of another type."""
        if not isinstance(self.laws, (tuple, list)):
            raise TypeError(f"theory: laws={self.laws!r}, want a tuple of Law(check, source, exponent)")
        if wrong := [law for law in self.laws if not isinstance(law, Law)]:
            raise TypeError(f"theory: a law is {wrong[0]!r}, want Law(check, source, exponent)")
