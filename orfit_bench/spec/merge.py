"""How learners that saw different rows become one: merging two states, averaging several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from orfit_bench.spec.state import Array, Settings

MergeKind = Literal["exact", "averaged", "approximate"]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two learners of a merge.

    Parameters
    ----------
    fields : mapping of str to array
        Its fields in host memory, in double precision; growing fields are cut to their used length.
    start : mapping of str to array
        The same fields before the first row.
    steps, rows : int
        The steps that it has done, and the rows that it has learned.
    eps : float
        The rounding of the dtype in which the learner keeps the fields.
    """

    fields: Mapping[str, Array]
    start: Mapping[str, Array]
    steps: int
    rows: int
    eps: float


def _never(settings: Settings, linear: bool) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Merge:
    """How two states become one.

    Parameters
    ----------
    kind : {"exact", "averaged", "approximate"}
        Whether the result is that of learning b's rows after a's, the mean of the weights by rows seen, or an
        approximation of the first that `summary` describes.
    summary : str
        The description for users.
    rule : callable
        rule(a, b, settings) returns the merged fields, given two `Side`; fields that it leaves out keep the values of
        a. It raises ValueError if too few digits would be left.
    refuses : callable, optional
        refuses(settings, linear) returns why learners with these settings, on a linear model or not, cannot be merged,
        or an empty string.
    """

    kind: MergeKind
    summary: str
    rule: Callable[[Side, Side, Settings], dict[str, Array]]
    refuses: Callable[[Settings, bool], str] = _never

    def __post_init__(self) -> None:
        """Refuse another kind."""
        if self.kind not in get_args(MergeKind):
            raise ValueError(f"merge: kind {self.kind!r}, want one of {', '.join(get_args(MergeKind))}")


@dataclass(frozen=True, slots=True)
class Combine:
    """How learners of a method that saw different rows are combined.

    Parameters
    ----------
    merge : Merge, optional
        How `a.merge(b)` joins two states. Default: it is refused.
    averages : tuple of str
        Fields that `average` replaces by their mean. Every field with dimensions must be among them or be computed by
        `derive`, since averaged learners continue alike. Default: none, and learners cannot be averaged.
    average_weights : mapping of str to str
        Maps an averaged field to the 0-d field that weights it in the mean: for a running mean, its sum of weights.
    derive : callable, optional
        derive(fields after `average`, settings) returns the fields that follow from the averaged ones, in host memory.
    """

    merge: Merge | None = None
    averages: tuple[str, ...] = ()
    average_weights: Mapping[str, str] = field(default_factory=dict)
    derive: Callable[[Mapping[str, Array], Settings], dict[str, Array]] | None = None

    def __post_init__(self) -> None:
        """Refuse weights of a field that is not averaged."""
        if not isinstance(self.average_weights, Mapping):
            raise TypeError(f"combine: average_weights={self.average_weights!r}, want a mapping")
        if alone := [name for name in self.average_weights if name not in self.averages]:
            raise ValueError(f"combine: {alone[0]!r} has a weight in averages, but is not among {self.averages}")

    @property
    def names(self) -> set[str]:
        """The fields that averages read."""
        return {*self.averages, *self.average_weights.values()}
