"""Code shared by the experiments of the Krasulina paper: methods, steps chosen on a validation part, sweeps, losses."""

from __future__ import annotations

from functools import cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from orfit_bench import schedules
from orfit_bench.bench.error import ERRORS
from orfit_bench.errors import DivergedError
from orfit_bench.spec import Integer
from orfit_bench.spec.data import Array
from orfit_bench_papers import data
from orfit_bench_papers.procedure import Setup

METHODS = {
    "Oja": "oja",
    "Krasulina": "krasulina",
    "Incremental": "incremental_pca",
    "Sanger": "sanger",
    "Imp. Krasulina": "implicit_krasulina",
}
POWER = {"Oja": 0.9, "Krasulina": 0.9, "Sanger": 0.8, "Imp. Krasulina": 0.8}
"""The exponent gamma of the step eta_0 / t^gamma, as given in the text of the paper."""
GRID = {
    "Oja": (-2, 4),
    "Krasulina": (-2, 4),
    "Sanger": (-9, 4),
    "Imp. Krasulina": (-8, 6),
}
"""Powers of ten between which eta_0 is searched in half decades; for a start scaled by s, s^2 eta_0 is the same."""
SMALL = {"Sanger": 1e-4, "Imp. Krasulina": 1e-4}
"""Scale of the Gaussian start of these methods, as in the published scripts of the paper."""

COMPONENTS = Integer(1, 60)
"""The bundled digits have 61 directions: with all of them the loss of batch PCA is 0, and percentages are undefined."""


class Sweep(NamedTuple):
    """The record of one sweep over the rows."""

    loss: Array
    """(points,) mean compression loss on all rows; NaN after the rule has diverged."""
    seconds: Array
    """(points,) wall time of learning up to this point."""


@cache
def images(name: str) -> Array:
    """All rows, centred."""
    return data.centred(name)


@cache
def moment(name: str) -> Array:
    """The mean of x x' over all rows (d, d)."""
    X = images(name)
    return np.asarray(X.T @ X / len(X))


def batch_loss(name: str, k: int) -> float:
    """The smallest possible loss with k directions on these rows, that of batch PCA."""
    return float(np.linalg.eigvalsh(moment(name))[: len(moment(name)) - k].sum())


def loss_of(learner: Any, name: str) -> float:
    """Mean compression loss on all rows, tr((I - P) E[x x']), eq. (1), at a cost independent of the rows."""
    S, C = moment(name), learner.components_
    return float(np.trace(S) - ((C @ S) * C).sum())


def excess(loss: Any, batch: Any) -> Any:
    """The excess of the loss over that of batch PCA in percent."""
    return 100 * (loss - batch) / batch


def create_learner(setup: Setup, name: str, k: int, eta0: float, seed: int, unit: bool = False) -> Any:
    """A new learner for one of METHODS; with `unit`, Sanger's and the implicit rule start from an unscaled Gaussian."""
    settings: dict[str, Any] = {"step_size": schedules.power(eta0, POWER[name])} if name in POWER else {}
    if unit and name in SMALL:
        drawn = setup.create(METHODS[name], seed, n_components=k).partial_fit(images(setup.data)[:0])
        settings["initial_basis"] = drawn.array("basis") / SMALL[name]
    return setup.create(METHODS[name], seed, n_components=k, **settings)


def chosen(setup: Setup, name: str, k: int, unit: bool = False) -> float:
    """The eta_0 with the smallest loss on the last tenth of the rows after a sweep over the rest; 0 without steps."""
    return _chosen(setup.data, setup.backend, name, k, unit) if name in GRID else 0.0


@cache
def _chosen(data: str, backend: str, name: str, k: int, unit: bool) -> float:
    X, setup = images(data), Setup(data, backend, {})
    order = np.random.default_rng(0).permutation(len(X))
    held, rest = X[order[: len(X) // 10]], X[order[len(X) // 10 :]]
    lowest, highest = GRID[name]
    tried = np.logspace(lowest, highest, 2 * (highest - lowest) + 1)
    losses = [_validated(create_learner(setup, name, k, float(eta0), 0, unit), rest, held) for eta0 in tried]
    return float(tried[int(np.argmin(losses))])


def _validated(learner: Any, rest: Array, held: Array) -> float:
    try:
        return ERRORS["subspace"].mean(learner.partial_fit(rest), (held, None))
    except DivergedError:
        return np.inf


def swept(learner: Any, X: Array, name: str, seed: int, points: int = 1) -> Sweep:
    """One sweep over the rows X of the data `name` in the random order of this seed, measured after equal parts."""
    order = np.random.default_rng([seed, 1]).permutation(len(X))
    learner.partial_fit(X[:0])
    losses, seconds, spent = np.full(points, np.nan), np.full(points, np.nan), 0.0
    for i, part in enumerate(np.array_split(order, points)):
        rows = X[part]
        begin = perf_counter()
        try:
            learner.partial_fit(rows)
            learner.backend.synchronize()
        except DivergedError:
            break
        spent += perf_counter() - begin
        losses[i], seconds[i] = loss_of(learner, name), spent
    return Sweep(losses, seconds)


PRINTED: dict[str, dict[int, dict[tuple[str, float], tuple[float, float]]]] = {}
"""Table 1: from data set, k, and (method, factor of eta_0) to (loss, its standard deviation)."""
BATCH = {"mnist": {5: 35.16, 10: 26.95, 20: 18.74}, "cifar10": {5: 86.98, 10: 65.70, 20: 48.65}}
"""Table 1, first row."""
ROWS = {"mnist": 70_000, "cifar10": 60_000}
"""The number of images of each data set in the paper."""

_ROWS = """
Oja 0.1 35.79 0.38 29.78 0.38 21.55 0.25 116.26 2.58 66.81 0.58 58.28 0.65
Oja 1 35.19 0.05 26.98 0.02 18.80 0.03 87.28 0.43 65.90 0.01 48.86 0.05
Oja 10 35.29 0.01 27.08 0.01 19.01 0.01 87.22 0.04 67.68 0.13 50.36 0.13
Krasulina 0.1 35.78 0.37 29.92 0.37 21.44 0.24 116.86 2.58 66.76 0.65 57.62 0.65
Krasulina 1 35.17 0.00 26.96 0.01 18.79 0.02 87.04 0.52 65.90 0.01 48.87 0.05
Krasulina 10 35.30 0.01 27.09 0.01 19.02 0.02 87.17 0.04 67.87 0.16 50.56 0.15
Incremental 1 35.26 0.10 27.01 0.04 18.83 0.05 87.50 0.46 65.75 0.05 48.82 0.10
Sanger 0.1 39.09 0.78 30.61 0.48 22.03 0.23 90.74 1.84 70.70 2.18 54.04 0.95
Sanger 1 36.27 0.93 28.00 0.38 19.82 0.18 88.21 0.81 66.84 0.88 50.73 0.62
Sanger 10 42.36 1.62 34.48 0.95 25.50 0.46 99.78 3.69 77.88 2.62 60.21 1.08
Imp._Krasulina 0.1 35.17 0.01 26.96 0.01 18.78 0.02 87.00 0.00 65.75 0.05 48.75 0.03
Imp._Krasulina 1 35.17 0.01 26.97 0.03 18.77 0.02 87.01 0.00 65.78 0.09 48.74 0.04
Imp._Krasulina 10 35.17 0.01 26.98 0.05 18.77 0.01 87.02 0.04 65.74 0.01 48.76 0.03
"""

for _line in _ROWS.split("\n")[1:-1]:
    _name, _factor, *_numbers = _line.split()
    for _i, (_set, _k) in enumerate([(s, k) for s in ("mnist", "cifar10") for k in (5, 10, 20)]):
        _pair = float(_numbers[2 * _i]), float(_numbers[2 * _i + 1])
        PRINTED.setdefault(_set, {}).setdefault(_k, {})[_name.replace("_", " "), float(_factor)] = _pair
