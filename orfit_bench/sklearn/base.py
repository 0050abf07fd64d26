"""Common base of all estimators: parameters, learner and pickling."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from orfit_bench.errors import DivergedError
from orfit_bench.learners.advice import about_estimator
from orfit_bench.learners.factory import create
from orfit_bench.learners.restoring import from_bytes
from orfit_bench.models import MLP
from orfit_bench.spec import Method, Transition
from orfit_bench.spec.model import LINEAR, Model, as_transition

Array = Any
OWN = ("fit_intercept", "center", "whiten", "model", "backend", "random_state")
"""Parameters of estimators that are not settings of their methods."""
SWITCHES = {"fit_intercept", "center", "whiten"}
"""Parameters that are True or False."""
LATER = ("whiten",)
"""Parameters that can change after the first rows, since learning does not depend on them."""


class StreamingEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator around a learner; classes for the methods are generated from their declarations."""

    method: ClassVar[Method]
    learner_: Any
    _fitted: ClassVar[tuple[str, ...]] = ("learner_",)
    """Attributes that exist after `fit`."""

    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in self.get_params(deep=False).items() if name not in OWN}

    def _model(self, parameters: Mapping[str, Any]) -> Model:
        """The model to fit with these parameters; methods that learn layer by layer need one with layers."""
        model: Model | None = parameters.get("model")
        return model or (MLP() if self.method.state.layered else LINEAR)

    @contextmanager
    def _as_before_after_errors(self, learner: Any = None) -> Iterator[None]:
        """Context that restores all attributes after an error, and the learner by a copy if one is given."""
        before = {**vars(self), **({"learner_": learner} if learner else {})}
        try:
            yield
        except BaseException:
            self.__dict__.update(before)
            for name in vars(self).keys() - before.keys():
                delattr(self, name)
            raise

    def _begin_learner(self) -> None:
        """Create a learner with the current parameters, which it keeps."""
        parameters, seed = self.get_params(deep=False), self.random_state
        self._check_switches()
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31)
        model = self._model(parameters)
        self.learner_ = create(
            self.method.name, backend=self.backend, random_state=int(seed), model=model, **self._settings()
        )
        self._parameters = parameters

    def _check_switches(self) -> None:
        """Raise TypeError for a parameter that is neither True nor False and must be one of them."""
        parameters = self.get_params(deep=False)
        for name in SWITCHES & set(parameters):
            if not isinstance(parameters[name], (bool, np.bool_)):
                raise TypeError(f"{name}={parameters[name]!r}: want True or False")

    def _check_parameters(self) -> None:
        """Raise ValueError if parameters were changed after the first rows, since learning would ignore the change."""
        for name, value in self.get_params(deep=False).items():
            if name not in LATER and not _is_equal(value, kept := self._parameters[name]):
                raise ValueError(
                    f"{name} was {reprlib.repr(kept)} when the first rows were learned, and is {reprlib.repr(value)} "
                    f"now: partial_fit continues with the parameters of the first rows; call fit to learn with "
                    f"others, or set {name} back"
                )

    def _learn(self, *rows: Array, sample_weight: Array = None) -> None:
        """Learn rows with their targets. Raises ValueError if learning diverges, like estimators of scikit-learn."""
        self._check_parameters()
        try:
            self.learner_.partial_fit(*rows, sample_weight=sample_weight)
        except DivergedError as error:
            raise ValueError(str(error)) from error

    def _check_is_fitted(self) -> None:
        check_is_fitted(self, "learner_")

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned since the last `fit`."""
        self._check_is_fitted()
        return int(self.learner_.n_samples_seen_)

    if not TYPE_CHECKING:  # types know that there is no such attribute

        def __getattr__(self, name: str) -> Any:
            """Explain which object has a missing attribute, or let the property raise its own AttributeError."""
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)
            own = type(self).__name__
            if name == "feature_names_in_":
                raise AttributeError(f"{own} has no {name}: it exists after fitting to a table", name=name)
            if name in self._fitted and "learner_" not in vars(self):
                raise NotFittedError(f"this {own} is not fitted yet and has no {name}: call fit or partial_fit")
            if advice := about_estimator(self.method, name):
                raise AttributeError(f"{own} has no {name}: {advice}", name=name, obj=self)
            return object.__getattribute__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "learner_" in state:
            state["learner_"] = state["learner_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "learner_" in state:
            model, transition = self._model(self._parameters), as_transition(self._parameters.get("transition"))
            self.learner_ = from_bytes(
                state["learner_"],
                model=None if model is LINEAR else model,
                transition=transition if isinstance(transition, Transition) else None,
            )


def _is_equal(value: Any, other: Any) -> bool:
    """Whether two unchecked parameters are equal: they have the same type; arrays are compared by elements."""
    if value is other:
        return True
    try:
        return type(value) is type(other) and bool(np.all(value == other)) and np.shape(value) == np.shape(other)
    except (TypeError, ValueError):  # they cannot be compared
        return False


def checked_weights(sample_weight: Array, rows: int, first: bool) -> Array:
    """Weights (n,): finite, nonnegative, and not all zero in the first call; a number is the weight of every row."""
    given = np.full(rows, sample_weight) if np.isscalar(sample_weight) else sample_weight
    try:
        given = np.asarray(given, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight: want numbers ({error})") from None
    weights = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight: got shape {weights.shape}, want ({rows},), one weight for each row")
    if (weights < 0).any():
        raise ValueError("sample_weight: negative values are not allowed, want weights >= 0")
    if first and not weights.any():
        raise ValueError("sample_weight: all weights are zero, want one that is positive")
    return weights
