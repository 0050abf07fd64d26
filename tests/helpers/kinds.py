"""A small method of each kind, so that the benchmark is tested with every kind, whatever is installed.

The kernels are as short as possible; they are neither fast nor guarded against overflow.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from helpers.methods import declare

import orfit_bench as ob
from orfit_bench.spec import Combine, Field, Integer, InverseGram, Matrix, MatrixOrTransition, NumberOrSchedule, Setting

STEP = Setting("step_size", NumberOrSchedule(0, closed="neither"), 0.05, "the step")
WEIGHTS = Field("w", ("parameter", "output"), "weights")


# ---------------------------------------------------------------------- labels: LMS on one-hot targets


def labels_learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        if out is not None:
            out[i] = x @ s.w
        s.w[...] += p.step_size[i] * np.outer(x, y - x @ s.w)
    return len(X)


def labels_batch(X: Any, Y: Any, w0: Any, settings: Any) -> Any:
    """The weights after the same steps, with one matrix product per row."""
    steps = settings["step_size"](np.arange(1, len(X) + 1))
    for x, y, step in zip(X, Y, steps, strict=True):
        w0 = (np.eye(len(x)) - step * np.outer(x, x)) @ w0 + step * np.outer(x, y)
    return w0


LABELS = declare("my_labels", WEIGHTS, kind="classification", settings=(STEP,), theory={"batch": labels_batch})

# ---------------------------------------------------------------------- subspaces: Oja's rule


def orthonormal(C: Any) -> Any:
    Q, R = np.linalg.qr(C)
    return Q * np.copysign(1, np.diagonal(R))


def oja_learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for x, step in zip(X, p.step_size, strict=True):
        s.basis[...] = orthonormal(s.basis + step * np.outer(x, x @ s.basis))
    return len(X)


BASIS = Field(
    "basis",
    ("feature", "n_components"),
    "orthonormal columns",
    start=lambda settings, sizes, draw: orthonormal(draw((sizes["feature"], sizes["n_components"]))),
)
SUBSPACE = declare(
    "my_subspace",
    BASIS,
    kind="subspace",
    settings=(Setting("n_components", Integer(1), 2, "k"), STEP),
    combine=Combine(averages=("basis",), derive=lambda fields, settings: {"basis": orthonormal(fields["basis"])}),
)

# ---------------------------------------------------------------------- filters: a random walk's


def filter_update(s: Any, J: Any, E: Any, p: Any) -> bool:
    K = s.covariance @ J.T @ np.linalg.inv(J @ s.covariance @ J.T + p.observation_noise)
    s.mean[...] += K @ E
    s.covariance[...] -= K @ J @ s.covariance
    return True


def filter_transit(s: Any, mean: Any, p: Any) -> None:
    F = np.eye(len(mean)) if p.transition is None else p.transition
    s.mean[...] = mean
    s.covariance[...] = F @ s.covariance @ F.T + (0 if p.process_noise is None else p.process_noise)


def filter_learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i, (x, y) in enumerate(zip(X[:, None], Y[:, None], strict=True)):
        here = p.at(i)
        if here.t > 1:
            filter_transit(s, s.mean if here.transition is None else here.transition @ s.mean, here)
        if out is not None:
            out[i] = x @ s.mean
        if not np.isnan(y).any():
            filter_update(s, x, y - x @ s.mean, here)
    return len(X)


def still_rows(X: Any, settings: Any) -> Any:
    """A with P = (A'A)^-1 for a state that does not move and starts with covariance I."""
    return None if settings["process_noise"].any() else np.vstack([X / np.sqrt(settings["observation_noise"]), one(X)])


def still_batch(X: Any, Y: Any, w0: Any, settings: Any) -> Any:
    """Ridge regression with the variance of the noise."""
    R = settings["observation_noise"]
    return None if settings["process_noise"].any() else np.linalg.solve(X.T @ X + R * one(X), X.T @ Y)


def one(X: Any) -> Any:
    return np.eye(X.shape[1])


MOTION = (
    Setting("transition", MatrixOrTransition(), 1.0, "F"),
    Setting("process_noise", Matrix(covariance=True), 0.01, "Q"),
    Setting("observation_noise", Matrix(covariance=True), 0.1, "R"),
    Setting("initial_mean", Matrix(), None, "mean", optional=True),
    Setting("initial_covariance", Matrix(covariance=True), 1.0, "P"),
)
FILTER = declare(
    "my_filter",
    Field("mean", ("parameter", "output"), "mean"),
    Field("covariance", ("parameter", "parameter"), "P", start=lambda s, z, draw: np.eye(z["parameter"])),
    Field("moved", (), "1 once the state may have moved"),
    kind="filter",
    settings=(*MOTION, STEP),
    state={"weights": "mean"},
    theory={"batch": still_batch, "inverse_gram": InverseGram("covariance", still_rows)},
)

# ---------------------------------------------------------------------- layers: a step for each by its inputs' size


def layers_update(s: Any, J: Any, E: Any, p: Any) -> bool:
    s.w[...] += p.step_size[0] * J.T @ E
    for i, inputs in enumerate(p.inputs, start=1):
        getattr(s, f"seen_{i}")[...] += inputs.sum(axis=0)
    return True


SEEN = Field("seen", ("input",), "sum of a layer's inputs", layered=True)
LAYERS = declare("my_layers", WEIGHTS, SEEN, settings=(STEP,))
"""A layered method, whose learners need a model with layers."""


class Kinds:
    """The plugin that supplies these methods on the numpy backend."""

    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def methods(self) -> Any:
        return [LABELS, SUBSPACE, FILTER, LAYERS]

    @ob.hookimpl
    def kernels(self) -> Any:
        filters = {"update": filter_update, "predict_step": filter_transit, "rts_smooth": lambda *arguments: None}
        offers = {
            "my_labels": SimpleNamespace(learn=labels_learn),
            "my_subspace": SimpleNamespace(learn=oja_learn),
            "my_filter": SimpleNamespace(learn=filter_learn, **filters),
            "my_layers": SimpleNamespace(update=layers_update),
        }
        return {("numpy", name): kernel for name, kernel in offers.items()}
