"""The attributes of a learner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners.advice import FIXED, about_learner, find_attribute, refuse_assignment
from orfit_bench.learners.permits import DISCARDED
from orfit_bench.learners.readiness import begun, usable
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.single_row import SingleRow
from orfit_bench.spec.setting import describe_value
from orfit_bench.state.state import LearnerState


class Attributes:
    """A rule and a state, with the public attributes of a learner."""

    def __init__(self, rule: Rule, state: LearnerState | None = None) -> None:
        """A learner before its first chunk, or one that continues from a state of this rule."""
        if not isinstance(rule, Rule):
            raise TypeError(f"rule: got {rule!r}, want a rule; create learners with orfit_bench.create(method)")
        self.rule = rule
        self.method, self.settings, self.backend, self.model = rule.method, rule.settings, rule.backend, rule.model
        self.dtype, self.random_state, self.initial_weights = rule.dtype, rule.random_state, rule.initial_weights
        self.permit: list[None] = [None] if state is None else state.permit
        """Empty while a thread changes the learner; shared with its state."""
        self._state = state
        self._single_row = self._find_single_row()

    @property
    def live_state(self) -> LearnerState | None:
        """The state itself, not a copy, for tools that inspect its arrays. None before the first chunk."""
        return self._usable()

    @live_state.setter
    def live_state(self, state: LearnerState | None) -> None:
        if state is not None:
            state.bound = state.bound_to_names = None  # they may be bound to the settings of another learner
        self._set_state(state)
        self._single_row = self._find_single_row()

    @property
    def pending(self) -> int:
        """Number of pending rows."""
        return self._state.pending.count if self._state else 0

    @property
    def n_features_in_(self) -> int:
        """Number of features d, known after the first chunk."""
        if self._state is None:
            raise AttributeError("n_features_in_ is known after the first call of partial_fit")
        return self._state.sizes.n_features

    @property
    def feature_names_in_(self) -> np.ndarray[Any, Any]:
        """Names of the columns of X (d,), an array of objects, once rows came as a table.

        Later tables may have the same columns in any order; other columns are refused.
        """
        if self._state is None or not self._state.feature_names:
            raise AttributeError(
                "feature_names_in_ is known once the first rows have come as a table with named columns"
            )
        return np.array(self._state.feature_names, object)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows seen, pending ones included."""
        return self._state.n_samples if self._state else 0

    @property
    def state_bytes(self) -> int:
        """Bytes of the arrays of the state, at their used length."""
        state = self._state
        if state is None:
            return 0
        waiting = self.pending * (state.sizes.n_features + state.sizes.n_outputs) * self.dtype.itemsize
        return self.rule.layout(state.sizes).bytes(state.arrays) + waiting

    def __repr__(self) -> str:
        settings = "".join(f", {k}={describe_value(v)}" for k, v in self.settings.items())
        model = "" if self.rule.is_linear else f"; {self.model.name}"
        place = f"{self.backend.name}, {self.dtype}"
        return f"<{self.method.name}{settings}{model}; {place}, {self.n_samples_seen_} rows seen>"

    if not TYPE_CHECKING:  # type checkers are to report unknown attributes

        def __getattr__(self, name: str) -> Any:
            """Raise an AttributeError that says what has the attribute, or that of the property."""
            return find_attribute(self, name, "learner", about_learner)

        def __setattr__(self, name: str, value: object) -> None:
            """Refuse settings and attributes that follow from them: the rule would not change."""
            if not name.startswith("_"):
                given = vars(self)
                if name in given.get("settings", ()) or (name in FIXED and name in given):
                    refuse_assignment(self, name, given["method"])
            object.__setattr__(self, name, value)

    # ------------------------------------------------------------------ for subclasses

    def _set_state(self, state: LearnerState | None) -> None:
        """Replace the state. A thread that still holds the previous one must not learn in it."""
        if self._state is not None and self._state is not state:
            self._state.permit = DISCARDED
        if state is not None and state.permit is not DISCARDED:
            self.permit = state.permit
        elif state is not None:
            state.permit = self.permit
        self._state = state

    def _replace_state(self, state: LearnerState | None) -> None:
        """Replace the state by one that this learner has made, in a call that holds the permit."""
        if state is not None:
            state.permit = self.permit
        self.live_state = state

    def _find_single_row(self) -> SingleRow | None:
        """The short path for one row per call; None without one, or if a row without names needs a warning."""
        state = self._state
        if state is None or state.needs_names:
            return None
        return self.rule.single_row(state.sizes)

    def _usable(self) -> LearnerState | None:
        """The state. Raises RuntimeError if an interrupted kernel may have left it half written."""
        return usable(self._state, self.method.name)

    def _begun(self) -> LearnerState:
        """The state. Raises ValueError before the first chunk."""
        return begun(self._usable(), self.method.name)
