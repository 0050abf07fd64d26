"""How a method learns rows that have weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Rule = Literal["errors", "noise", "repetitions"]


@dataclass(frozen=True, slots=True)
class Weighting:
    """What a method does with the weight of a row.

    A whole weight equals as many repetitions of the row, where nothing is forgotten.

    Parameters
    ----------
    rule : {"errors", "noise", "repetitions"}
        "errors": the weight multiplies the squared error of the row, so that the learner hands row and target to the
        kernel times the root of the weight. "noise": it divides the variance of the observation. "repetitions": the row
        is learned as often as the weight says, and the rest of a weight that is not whole is a step of that part of the
        step size.
    sums : tuple of str
        Fields that are sums over the rows, so that a row of negative weight is subtracted from them. Default: weights
        must not be negative.
    """

    rule: Rule
    sums: tuple[str, ...] = ()

    @property
    def repeats_rows(self) -> bool:
        """Whether a row is learned as often as its weight says."""
        return self.rule == "repetitions"

    @property
    def divides_noise(self) -> bool:
        """Whether a weight divides the variance of the observation."""
        return self.rule == "noise"

    def __post_init__(self) -> None:
        """Refuse a rule that no learner follows."""
        if self.rule not in get_args(Rule):
            raise ValueError(f"weighting: got the rule {self.rule!r}, want one of {', '.join(get_args(Rule))}")
