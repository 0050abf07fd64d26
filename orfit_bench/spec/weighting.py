"""How a method learns rows that have weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

Rule = Literal["errors", "noise", "repetitions"]


def forgets_by_name(settings: Mapping[str, Any]) -> bool:
    """Whether a forgetting_factor other than 1, or a process_noise, reduces the weight of earlier rows."""
    return settings.get("forgetting_factor", 1) != 1 or bool(np.any(settings.get("process_noise", 0)))


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
    forgets : callable, optional
        forgets(settings) returns whether later rows reduce the weight of earlier ones. Default: whether the setting
        forgetting_factor is not 1, or process_noise not zero.
    """

    rule: Rule
    sums: tuple[str, ...] = ()
    forgets: Callable[[Mapping[str, Any]], bool] = forgets_by_name

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
