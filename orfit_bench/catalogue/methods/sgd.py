"""SGD: steps against a (sub)gradient of one of eight losses, with momentum, averaging, mini-batches and projection.

At a kink of a loss the subgradient used is 0: absolute and quantile at e = 0, epsilon_insensitive at
|e| = epsilon, hinge at the margin y f = 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws.sgd import LAWS
from orfit_bench.catalogue.shared.cross_entropy import softmax
from orfit_bench.catalogue.shared.declarations import STEP_SIZE, WEIGHTS
from orfit_bench.catalogue.shared.losses import CROSS_ENTROPY, LOSSES, MARGINS
from orfit_bench.catalogue.shared.merging import weighted_mean
from orfit_bench.catalogue.shared.probabilities import logistic_probabilities
from orfit_bench.catalogue.shared.recursions import gradient_steps, momentum_steps
from orfit_bench.spec.arrays import to_host
from orfit_bench.spec.merge import Combine, Merge, Side
from orfit_bench.spec.method import KernelSpec, Method
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.state import Array, Field, Settings, Sizes, StateSpec
from orfit_bench.spec.theory import Cost, Theory
from orfit_bench.spec.types import Choice, Integer, Number, NumberOrSchedule
from orfit_bench.spec.weighting import Weighting


def batch(X: Array, Y: Array, w0: Array, settings: Any) -> Array | None:
    """The end of the run for the loss e^2 / 2 without projection, from the triangular system of its errors.

    The averages have no effect on w.
    """
    if settings["loss"] != "square" or settings["radius"] is not None or not len(X):
        return None
    t = np.arange(1, -(-len(X) // settings["batch_size"]) + 1)
    steps, momentum = settings["step_size"](t), settings["momentum"](t)
    if not momentum.any() and not settings["ridge"] and settings["batch_size"] == 1:
        return gradient_steps(X, Y, w0, steps)
    w: Array = momentum_steps(X, Y, w0, steps, momentum, settings["ridge"], settings["batch_size"])[0][-1]
    return w


def validate_rows(settings: Settings, steps: int, X: Array, Y: Array, is_step: bool, linear: bool) -> None:
    """Require y in {-1, 1} for losses of the margin y f, and rows of probabilities for the cross-entropy."""
    if settings["loss"] == CROSS_ENTROPY:
        _require_distributions(to_host(Y))
    if settings["loss"] not in MARGINS:
        return
    Y = to_host(Y)
    bad = (Y != 1) & (Y != -1)
    if bad.any():
        row = int(bad.any(axis=1).argmax())
        raise ValueError(
            f"y: row {row} holds {float(Y[row][bad[row]][0])}: with loss={settings['loss']!r} sgd expects every y to "
            f"be -1 or 1 (it predicts the margin, whose sign is the label)"
        )


def _require_distributions(Y: Array) -> None:
    """Require two columns or more, and in each row numbers >= 0 whose sum is 1 up to rounding errors of float32."""
    with np.errstate(over="ignore"):
        bad = (Y < 0).any(axis=1) | (abs(Y.sum(axis=1) - 1) > 1e-5) | (Y.shape[1] < 2)
    if bad.any():
        row = int(bad.argmax())
        holds = ", ".join(f"{value:.6g}" for value in Y[row, :5].tolist()) + ", ..." * (Y.shape[1] > 5)
        raise ValueError(
            f"y: row {row} holds {holds}: with loss={CROSS_ENTROPY!r} sgd expects a column for each class, and in "
            f"every row the probabilities of the classes, such as a 1 and zeros; the method softmax takes labels"
        )


def _probabilities(predictions: Array, settings: Settings) -> Array | None:
    """The probabilities of the classes; None if the loss does not model them."""
    if settings["loss"] == CROSS_ENTROPY:
        return softmax(predictions)
    return logistic_probabilities(predictions) if settings["loss"] == "logistic" else None


def prediction_weights(s: Any, settings: Settings) -> Array:
    """The weights used for predictions: the average, once it exists."""
    w: Array = s.average if settings["averaging"] != "none" and s.average_weight.real > 0 else s.w
    return w


def merge(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """The means of w and the previous iterate by rows, and of the averages by their weights, which add up."""
    names = [name for name in ("w", "previous") if name in a.fields]
    merged = weighted_mean(a, b, *names)
    if "average" in a.fields:
        one, other = (side.fields["average_weight"].real for side in (a, b))
        both = (one * a.fields["average"] + other * b.fields["average"]) / max(one + other, np.finfo(float).tiny)
        merged |= {"average": both, "average_weight": one + other}
    return merged


def _averages(settings: Settings) -> bool:
    return bool(settings["averaging"] != "none")


def _has_momentum(settings: Settings) -> bool:
    return any(settings["momentum"].extremes())


def needs_dense_rows(settings: Settings) -> str:
    """The reason why a step changes weights of features that are zero; empty if it does not."""
    causes = {
        "momentum": _has_momentum(settings),
        "ridge": settings["ridge"] > 0,
        "radius": settings["radius"] is not None,
        "averaging": _averages(settings),
        "batch_size": settings["batch_size"] > 1,
    }
    given = [name for name, is_given in causes.items() if is_given]
    return f"with {given[0]} a step needs all columns" if given else ""


def _flops(s: Settings, z: Sizes) -> float:
    more = 4 * _averages(s) + 3 * _has_momentum(s) + 2 * (s["ridge"] > 0) + 3 * (s["radius"] is not None)
    return float((4 + more) * z["parameter"] * z["output"])


def _floats(s: Settings, z: Sizes) -> float:
    return z["parameter"] + (2 + 2 * _averages(s) + 2 * _has_momentum(s)) * z["parameter"] * z["output"]


POWER = {"power": {"eta0": 0.3, "power": 0.8}}


def batch_memory(settings: Settings, sizes: Sizes) -> float:
    """Bytes of square matrices of rows and steps and of all iterates; 0 without momentum, ridge and batches."""
    n, steps = sizes["row"], -(-sizes["row"] // settings["batch_size"])
    if not (_has_momentum(settings) or settings["ridge"] or settings["batch_size"] > 1):
        return 0.0
    return 8.0 * float(3 * n**2 + 4 * steps**2 + steps * sizes["feature"] * sizes["output"])


METHOD = Method(
    name="sgd",
    summary="stochastic (sub)gradient descent with one of eight losses, momentum, averaging, mini-batches and "
    "projection",
    use_when="You need a loss other than the squared error (robust, quantile, binary labels or classes), weight decay, "
    "momentum, averaged iterates or mini-batches, at O(d) operations per row.",
    avoid_when="The loss is the squared error on a linear model and d is moderate: rls reaches the exact minimum "
    "without a step size. The step cannot be tuned: convergence depends on it and on the scaling of the features.",
    formulas="v <- w + beta (w - previous w); in the first step v = w\n"
    "w <- Proj(v - step (mean over the step's rows of x l'(y, x'v) + ridge v)), Proj on |w| <= radius\n"
    "minimizes the mean of l(y, x'w) plus ridge/2 |w|^2\n"
    "predictions: x'w, or x' sum a_j w_j / sum a_j over the w_j at which steps were taken\n"
    "l(y, f) with e = y - f, and the subgradient used at its kink:\n"
    "  square               e^2 / 2\n"
    "  absolute             |e|; 0 at e = 0\n"
    "  huber                e^2 / 2 up to |e| = delta, beyond it delta |e| - delta^2 / 2\n"
    "  hinge                max(0, 1 - y f), y in {-1, 1}; 0 at y f = 1\n"
    "  logistic             log(1 + exp(-y f)), y in {-1, 1}\n"
    "  epsilon_insensitive  max(0, |e| - epsilon); 0 at |e| = epsilon\n"
    "  quantile             tau e above, (tau - 1) e below; 0 at e = 0\n"
    "  cross_entropy        -sum_k y_k log q_k, q_k = exp(f_k) / sum_j exp(f_j), y the probabilities of the classes",
    source="slides, SGD beyond least square to SGD convergence (corrected: steps against the gradient, and means "
    "divided by the sum of the weights)",
    settings=(
        Setting(
            "loss",
            Choice((*LOSSES, CROSS_ENTROPY)),
            "square",
            "the loss to minimize; `orfit-bench list sgd` shows the formulas",
        ),
        Setting("delta", Number(0, closed="neither"), 1.0, "huber: errors larger than this count linearly"),
        Setting("tau", Number(0, 1, closed="neither"), 0.5, "quantile: the quantile to predict"),
        Setting("epsilon", Number(0), 0.1, "epsilon_insensitive: errors up to this cost nothing"),
        STEP_SIZE,
        Setting(
            "momentum",
            NumberOrSchedule(0, 1, closed="left"),
            0.0,
            "beta, the fraction of the last change of w by which the gradient looks ahead (Nesterov)",
        ),
        Setting(
            "averaging",
            Choice(("none", "uniform", "tail", "weighted")),
            "none",
            "which average of the iterates is used for predictions",
        ),
        Setting("tail_start", Integer(1), 1, "tail: the first step whose iterate enters the average"),
        Setting(
            "weights", NumberOrSchedule(0, closed="neither"), 1.0, "weighted: a_t, the weight of w_t in the average"
        ),
        Setting("ridge", Number(0), 0.0, "coefficient of the penalty ridge/2 |w|^2 added to the mean loss"),
        Setting("batch_size", Integer(1), 1, "number of rows whose gradients are averaged in one step"),
        Setting(
            "radius",
            Number(0, closed="neither"),
            None,
            "after each step w is projected onto the ball of this Frobenius norm; None does not project",
            optional=True,
        ),
    ),
    examples=(
        {
            "loss": "huber",
            "delta": 0.3,
            "step_size": 0.1,
            "momentum": 0.5,
            "ridge": 0.1,
            "averaging": "uniform",
            "tail_start": 4,
        },
        {"loss": "absolute", "step_size": 0.1, "radius": 0.1, "averaging": "tail", "tail_start": 4},
        {"loss": "quantile", "tau": 0.3, "step_size": 0.1, "averaging": "weighted", "weights": POWER},
        {"loss": "epsilon_insensitive", "epsilon": 0.3, "momentum": 0.5, "step_size": 0.1},
        {"step_size": 0.1, "batch_size": 3, "averaging": "weighted", "weights": POWER, "momentum": 0.3},
        {"loss": CROSS_ENTROPY, "step_size": 0.1, "ridge": 0.1},
        {"loss": CROSS_ENTROPY, "step_size": 0.1, "batch_size": 2, "momentum": 0.5, "averaging": "uniform"},
        {"step_size": 0.1, "batch_size": 4, "ridge": 0.1, "averaging": "tail", "tail_start": 2, "radius": 0.2},
    ),
    state=StateSpec(
        (
            WEIGHTS,
            Field("previous", WEIGHTS.dims, "the weights before the last step", when=_has_momentum, role="weights"),
            Field(
                "average",
                WEIGHTS.dims,
                "weighted mean of the iterates at which gradients were evaluated",
                when=_averages,
                role="weights",
            ),
            Field("average_weight", (), "sum of their weights", when=_averages),
        ),
        prediction_weights=prediction_weights,
        probabilities=_probabilities,
    ),
    kernel=KernelSpec(
        has_complex_form=lambda settings: settings["loss"] == "square",
        weighting=Weighting("repetitions"),
        models=True,
        blocks=True,
        lookahead=True,
        needs_targets=True,
        needs_dense_rows=needs_dense_rows,
        validate_rows=validate_rows,
    ),
    theory=Theory(laws=LAWS, batch=batch, batch_memory=batch_memory, cost=Cost(flops=_flops, floats=_floats)),
    combine=Combine(
        Merge("averaged", "the mean of the weights, weighted by the number of rows; averages by their weights", merge),
        averages=("w", "previous", "average", "average_weight"),
        average_weights={"average": "average_weight"},
    ),
)
