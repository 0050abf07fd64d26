"""The coordinates of rows: a center and a spread for each column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from orfit_bench.learners.pipelines.saved_values import check_keys, read_complex, read_numbers
from orfit_bench.state.coordinates import Change

Array = np.ndarray[Any, Any]


def refuse_overflow(X: Array, found: Array) -> None:
    """Raise ValueError unless all numbers found from the entries of rows X (n, d) are finite."""
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0].tolist()
        entry = f"X[{row}, {column}] = {X[row, column]}"
        if not np.isfinite(X[row, column]):
            raise ValueError(f"{entry} is not finite: drop or replace it")
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
        check_keys(saved, {"center", "spread", "varied"}, {"imaginary_center"})
        center, spread = read_complex(saved, "center", saved["center"]), read_numbers(saved, "spread", above=0)
        varied = saved["varied"]
        if not (isinstance(varied, list) and all(type(one) is bool for one in varied)):
            raise TypeError(f"varied: got {varied!r}, want a list of true and false")
        if not len(center) == len(spread) == len(varied):
            raise ValueError(f"got {len(center)} centers, {len(spread)} spreads and {len(varied)} marks, want as many")
        return cls(center, spread, np.array(varied))
