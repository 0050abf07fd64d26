"""Protocols: the number of passes and of learners, and the preprocessing of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

CHUNK = 1024
"""Largest number of rows per call: large enough to hide the overhead of a call."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a stream is learned.

    Parameters
    ----------
    passes : int
        Number of passes over the stream.
    learners : int
        Number M of learners that share the rows: learner j learns rows j, j + M, ...
    round : int, optional
        Rows per learner between two averages of all learners; by default one pass. The last round may be shorter.
    standardise : bool
        Whether rows are standardized by the running moments of their columns, as by `orfit_bench.Standardizer`.
    intercept : bool
        Whether a column of ones is added to the rows.

    Raises
    ------
    ValueError, TypeError
        If a number is not a positive integer, or if there is a round but only one learner.

    Examples
    --------
    >>> Protocol(learners=4, round=10).name
    '4 learners averaged every 10 rows'
    """

    passes: int = 1
    learners: int = 1
    round: int | None = None
    standardise: bool = False
    intercept: bool = False

    def __post_init__(self) -> None:
        for name in ("passes", "learners", "round"):
            value = getattr(self, name)
            if value is None and name == "round":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name}={value!r}: want an integer >= 1")
            if value < 1:
                raise ValueError(f"{name}={value}: want an integer >= 1")
        for name in ("standardise", "intercept"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name}={getattr(self, name)!r}: want true or false")
        if self.round is not None and self.learners == 1:
            raise ValueError(f"round={self.round}: a round requires at least 2 learners")

    @property
    def name(self) -> str:
        """A short description."""
        parts = [f"{self.passes} passes" if self.passes > 1 else "1 pass"]
        if self.learners > 1:
            every = "pass" if self.round is None else "row" if self.round == 1 else f"{self.round} rows"
            shared = f"{self.learners} learners averaged every {every}"
            parts = [*parts[: self.passes > 1], shared]
        parts += ["standardized"] * self.standardise + ["intercept"] * self.intercept
        return ", ".join(parts)

    def chunks(self, n: int, stops: Iterable[int] = ()) -> Iterator[tuple[int, int, bool]]:
        """Yield the chunks [a, b) of a pass of n rows, cut at `stops`, and whether a round ends at b."""
        block = n if self.round is None else self.round * self.learners
        inner = {*range(CHUNK, n, CHUNK), *range(block, n, block), *(s for s in stops if 0 < s < n)}
        for a, b in pairwise([0, *sorted(inner), n]):
            yield a, b, b % block == 0 or b == n
