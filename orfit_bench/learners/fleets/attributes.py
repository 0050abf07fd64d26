"""The attributes of a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners.advice import FIXED, about_fleet, find_attribute, refuse_assignment
from orfit_bench.learners.factory import LEARNERS
from orfit_bench.learners.fleets.members import Members
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.learners.readiness import begun, usable


class Attributes:
    """Members and their joint state, with the public attributes of a fleet."""

    def __init__(self, members: Members, state: FleetState | None = None) -> None:
        if not isinstance(members, Members):
            raise TypeError(f"members: got {members!r}; create fleets with orfit_bench.fleet(method, N)")
        rule = members.shared
        self.method, self.backend, self.dtype = rule.method, rule.backend, rule.dtype
        self.permit: list[None] = [None]
        """Empty while a thread changes the fleet."""
        self.members, self.live_state = members, state  # the members' rules do not change afterwards

    if not TYPE_CHECKING:  # type checkers are to report unknown attributes

        def __getattr__(self, name: str) -> Any:
            """Raise an AttributeError that says what has the attribute, or that of the property."""
            return find_attribute(
                self, name, "fleet", lambda method, name: about_fleet(method, LEARNERS[method.kind][0], name)
            )

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse settings and attributes that follow from them: the members' rules would not change."""
            members = vars(self).get("members")
            if members is not None and (name in FIXED or name in members.shared.settings):
                refuse_assignment(self, name, members.shared.method)
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return self.members.size

    def __repr__(self) -> str:
        rows = int(self.n_samples_seen_.sum())
        return f"<fleet of {len(self)} {self.method.name}; {self.backend.name}, {self.dtype}, {rows} rows seen>"

    @property
    def n_features_in_(self) -> int:
        """Number of features d, once a chunk was seen."""
        if self.live_state is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self.live_state.sizes.n_features

    @property
    def feature_names_in_(self) -> np.ndarray[Any, Any]:
        """Names of the columns of X (d,), an array of objects, once rows came as a table; all members share them."""
        if self.live_state is None or not self.live_state.feature_names:
            raise AttributeError(
                "feature_names_in_ is known once the first rows have come as a table with named columns"
            )
        return np.array(self.live_state.feature_names, object)

    @property
    def n_samples_seen_(self) -> np.ndarray[Any, Any]:
        """Rows that each member has learned (N,)."""
        return np.zeros(len(self), np.int64) if self.live_state is None else self.live_state.n_samples.copy()

    # ------------------------------------------------------------------ for subclasses

    def _usable(self) -> FleetState | None:
        """The state. Raises RuntimeError if an interrupted kernel may have left it half written."""
        return usable(self.live_state, self.method.name)

    def _begun(self) -> FleetState:
        """The state. Raises ValueError before the first chunk."""
        return begun(self._usable(), self.method.name)
