"""The coordinates of rows: a center and a spread for each column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orfit_bench.state.coordinates import Change

Array = np.ndarray[Any, Any]


def refuse_overflow(X: Array, found: Array) -> None:
    """Raise ValueError unless all numbers found from the entries of rows X (n, d) are finite."""
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0].tolist()
        entry = f"X[{row}, {column}] = {X[row, column]}"
        raise ValueError(f"{entry} overflows when it is standardized: drop or clip it, or scale the column")


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rows x (d,) as (x - center) / spread."""

    center: Array
    spread: Array
    varied: Array
    """Whether a column had varied; one that had not has the spread 1, and no row has determined its weight."""

    def rows(self, X: Array) -> Array:
        """Rows X (n, d) in these coordinates."""
        with np.errstate(over="ignore"):  # infinite numbers are refused when the rows are learned or predicted
            return np.asarray((X - self.center) / self.spread)

    def to(self, other: Coordinates) -> Change:
        """The change that turns rows in these coordinates into rows in the other ones."""
        return Change(self.spread / other.spread, (self.center - other.center) / other.spread)

    def with_spread(self, known: Coordinates, later: Coordinates) -> Coordinates:
        """Take the later spread for columns that had not varied in `known`: rows there are zeros with any spread."""
        return replace(self, spread=np.where(known.varied, self.spread, later.spread))

    def to_dict(self) -> dict[str, Any]:
        """The coordinates as numbers and lists, which JSON keeps exactly."""
        saved = {"center": self.center.real.tolist(), "spread": self.spread.tolist(), "varied": self.varied.tolist()}
        return saved | ({"imaginary_center": self.center.imag.tolist()} if np.iscomplexobj(self.center) else {})

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Coordinates:
        """The coordinates that `to_dict` saved."""
        center = np.array(saved["center"], float)
        if "imaginary_center" in saved:
            center = center + 1j * np.array(saved["imaginary_center"], float)
        return cls(center, np.array(saved["spread"], float), np.array(saved["varied"], bool))
