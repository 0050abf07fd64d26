"""Helpers for tests of Kalman filters: rows, targets, and the inputs that can come with rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
VARYING = ("transition", "process_noise", "observation_noise")
NAN = np.nan


def frozen(a: Any) -> Any:
    a = np.asarray(a)
    a.flags.writeable = False
    return a


def spd(rng: np.random.Generator, *shape: int) -> Any:
    A = rng.standard_normal((*shape, shape[-1]))
    return A @ np.swapaxes(A, -1, -2) / shape[-1] + 0.1 * np.eye(shape[-1])


def scene(n: int = 9, d: int = 3, seed: int = 0, outputs: int | None = None) -> tuple[Any, Any, dict[str, Any]]:
    """Read-only X, y with missing targets in every seventh row, and all inputs that can come with the rows."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n if outputs is None else (n, outputs))
    y[4::7] = NAN
    F = 0.9 * np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    varying = {"transition": F, "process_noise": 0.1 * spd(rng, n, d), "observation_noise": rng.uniform(0.1, 2, n)}
    return frozen(X), frozen(y), {name: frozen(a) for name, a in varying.items()}


def cut(varying: dict[str, Any], rows: slice) -> dict[str, Any]:
    return {name: a[rows] for name, a in varying.items()}


def moments(learner: ob.Learner) -> tuple[Any, Any]:
    state = learner.state()
    return state["mean"].values, state["covariance"].values


def refused(learner: ob.Learner, act: Callable[[Any], Any], error: type[Exception], message: str, same: Same) -> None:
    before = learner.copy()
    with pytest.raises(error, match=message):
        act(learner)
    same(learner, before)


def stated(act: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught]


def pendulum(w: Any) -> Any:
    """A nonlinear motion of three numbers."""
    return np.stack([w[0] + 0.1 * w[1], w[1] - 0.1 * np.sin(w[0]), 0.9 * w[2] * w[0]])


def slope(w: Any) -> Any:
    """The Jacobian of the pendulum."""
    return np.array([[1, 0.1, 0], [-0.1 * np.cos(w[0]), 1, 0], [0.9 * w[2], 0, 0.9 * w[0]]], w.dtype)


def steps_without_warning(learner: ob.Learner, A: Any, Y: Any, **varying: Any) -> bool:
    """Learn the rows A of one time step; False if they are refused, or learned with a warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            learner.step(A, Y, **varying)
        except ob.DivergedError:
            return False
    return not caught


X, y, GIVEN = scene()
