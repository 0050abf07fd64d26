"""Merging: how the states of two learners that saw different rows become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
KINDS = ("exact", "averaged", "approximate")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: its fields in host memory, float64, growing ones cut to what is used."""

    fields: Mapping[str, Array]
    start: Mapping[str, Array]
    """The same fields before the first row."""
    steps: int
    rows: int
    eps: float
    """The rounding of the dtype that the fields are kept in."""


def _never(settings: Mapping[str, Any], linear: bool) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Merge:
    """rule(a, b, settings) -> the merged fields; those it leaves out stay a's. ValueError where digits are lacking.

    kind says what comes out: "exact", as if b's rows had followed a's; "averaged", the mean of the weights by rows
    seen; "approximate", something near to the first that `summary` describes.
    """

    kind: str
    summary: str
    rule: Callable[[Side, Side, Mapping[str, Any]], dict[str, Array]]
    refuses: Callable[[Mapping[str, Any], bool], str] = _never
    """refuses(settings, linear): why this cannot be had under these settings or on such a model; empty where it can."""

    def __post_init__(self) -> None:
        """Refuse another kind."""
        if self.kind not in KINDS:
            raise ValueError(f"merge: kind {self.kind!r}, want one of {', '.join(KINDS)}")
