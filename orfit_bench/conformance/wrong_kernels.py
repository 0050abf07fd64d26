"""Deliberately wrong kernels: a law or a batch solution that accepts all of them proves nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.conformance.inspection import WatchedKernel
from orfit_bench.learners.factory import learner_of
from orfit_bench.spec import Method
from orfit_bench.spec.arrays import copy_of, host_dtype, to_host

IDLE, LONG = {"does nothing": 0.0}, {"takes steps that are 1 % too long": 1.01}

COUNTED = frozenset({"output"})
"""Fields with no other dimensions are taken for counters of rows, or of the rows of each class.

A counter of opposite sign would make the learner refuse its rows, which shows nothing about a law.
"""

LEARN = 5
"""Number of arguments of `learn`, of which the last receives the predictions; `step` and `update` have fewer."""
LARGEST = 1e10
"""The largest weights to which a wrong learner steps, so that it does not overflow."""


def factors(method: Method) -> Mapping[str, float]:
    """The behaviour of the wrong learners of a method, and the factor of the change of their weights.

    The sign of a basis vector has no meaning, so a subspace uses half steps instead of steps of the opposite sign.
    """
    wrong = {"steps in the opposite direction": -1.0} if method.traits.supervised else {"takes half of each step": 0.5}
    return IDLE | wrong | LONG


class WrongKernel:
    """A kernel whose steps change the weights, or other fields, by `factor` times the change of the rule.

    Parameters
    ----------
    kernel : module
        The correct kernel.
    method : Method
        The method of the kernel.
    xp : module
        The namespace of its arrays.
    factor : float
        See `factors`. With 0, nothing else changes either.
    fields : sequence of str, optional
        The fields to change instead of the weights.
    """

    def __init__(self, kernel: Any, method: Method, xp: Any, factor: float, fields: Sequence[str] = ()) -> None:
        self._kernel, self._xp, self._factor = kernel, xp, factor
        weights = method.state.weights if method.traits.supervised else "basis"
        names = [field.name for field in method.state.fields]
        of_rows = [field.name for field in method.state.fields if set(field.dims) - COUNTED] or names
        self._fields = fields or (names if not factor else [weights] if weights in names else of_rows)

    def __getattr__(self, name: str) -> Any:
        if name == "for_network":  # networks then use `update`, which is wrong
            raise AttributeError(name)
        function = getattr(self._kernel, name)
        if name == "learn":
            return self._learn
        if name == "solve":
            return lambda s: self._solve(function(s))
        if name in ("step", "update", "move", "store"):
            return lambda s, *given: self._change(s, lambda: function(s, *given))
        return function

    def _learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        """Learn step by step, so that each prediction uses the wrong weights before it."""
        for i, row in enumerate(range(0, len(X), p.batch_size)):
            rows = slice(row, row + p.batch_size)
            part = (X[rows], Y[rows], p.at(i), None if out is None else out[rows])
            if self._change(s, lambda part=part: self._kernel.learn(s, *part)) < len(part[0]):  # type: ignore[misc]
                return row
        return len(X)

    def _change(self, s: Any, learn: Callable[[], Any]) -> Any:
        before = {name: copy_of(array, self._xp) for name, array in s._asdict().items() if self._is_wrong(name, array)}
        result = learn()
        for name, old in before.items():
            new = getattr(s, name)
            new[...] = old + self._factor * (new - old)
            # LAPACK may not return from an infinite matrix
            if math.prod(old.shape) and not np.abs(to_host(new)).max() < LARGEST:
                new[...] = old
        return result

    def _is_wrong(self, name: str, array: Any) -> bool:
        """Whether the array is a field with wrong changes; arrays of layered fields have a number after the name."""
        return host_dtype(array).kind in "fc" and (name in self._fields or name.rpartition("_")[0] in self._fields)

    def _solve(self, solution: tuple[Any, float]) -> tuple[Any, float]:
        weights, precision = solution
        return weights * self._factor, precision


def with_larger_predictions(learner: Any) -> Any:
    """A new learner with the same rule, whose predictions are 1 % too large, before steps and of `predict`."""
    (factor,) = LONG.values()
    rule, declared = learner.rule, learner.rule.method.state.predict

    def predict(s: Any, X: Any, settings: Any) -> Any:
        return factor * declared(s, X, settings)

    def call(function: Any, *given: Any) -> Any:
        result = function(*given)
        if len(given) == LEARN and (out := given[-1]) is not None:
            out[...] = factor * out
        return result

    method = replace(rule.method, state=replace(rule.method.state, predict=predict))
    return learner_of(replace(rule, method=method, kernel=WatchedKernel(rule.kernel, call)))
