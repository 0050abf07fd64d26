"""How a method learns rows that have weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Rule = Literal["errors", "noise", "repetitions"]


@dataclass(frozen=True, slots=True)
class Weighting:
    """What a method does with the weight of a row.

    Without forgetting, an integer weight k counts as k copies of the row.

    Parameters
    ----------
    rule : {"errors", "noise", "repetitions"}
        "errors": the weight multiplies the squared error of the row; the learner multiplies row and target by the
        square root of the weight. "noise": the weight divides the variance of the observation. "repetitions": the row
        is learned as often as the integer part of the weight says; the fraction that remains is a step with this
        fraction of the step size.
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
