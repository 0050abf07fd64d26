"""How often the rows are learned, and by how many learners."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

CHUNK = 1024
"""Most rows handed out at once: large enough to hide the host's work a call, small beside any stream."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """`passes` E >= 1 over the stream, by M = `learners` >= 1 that share its rows: learner j gets rows j, j + M, ...

    With M > 1 a round is `round` rows of each learner, and the last round of a pass may be shorter; after every
    round `ob.average` gives all learners the mean of their weights. Without `round` a pass is one round.
    ValueError or TypeError for what is no positive integer, and for a round of a single learner.
    """

    passes: int = 1
    learners: int = 1
    round: int | None = None

    def __post_init__(self) -> None:
        for name in ("passes", "learners", "round"):
            value = getattr(self, name)
            if value is None and name == "round":
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name}={value!r}: want an integer >= 1")
            if value < 1:
                raise ValueError(f"{name}={value}: want an integer >= 1")
        if self.round is not None and self.learners == 1:
            raise ValueError(f"round={self.round}: one learner has no round; set learners to 2 or more")

    @property
    def name(self) -> str:
        """What it does, in a few words."""
        passes = f"{self.passes} passes" if self.passes > 1 else "1 pass"
        if self.learners == 1:
            return passes
        every = "pass" if self.round is None else "row" if self.round == 1 else f"{self.round} rows"
        shared = f"{self.learners} learners averaged every {every}"
        return shared if self.passes == 1 else f"{passes}, {shared}"

    def stretches(self, n: int, stops: Iterable[int] = ()) -> Iterator[tuple[int, int, bool]]:
        """The n rows of one pass as stretches [a, b), each with whether a round ends at b; also cut at `stops`."""
        block = n if self.round is None else self.round * self.learners
        inner = {*range(CHUNK, n, CHUNK), *range(block, n, block), *(s for s in stops if 0 < s < n)}
        for a, b in pairwise([0, *sorted(inner), n]):
            yield a, b, b % block == 0 or b == n
