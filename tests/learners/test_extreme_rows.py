"""Learners of random rows, of which some are zero, repeated, tiny, or as large as numbers can be."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

TRIALS = 40
"""Learners of each method, settings and dtype."""
PATIENCE = 60
"""Seconds after which a call hangs: the process ends with the place."""
Settings = list[dict[str, Any]]
SUBSPACES: Settings = [{"n_components": k, "batch_size": size} for k, size in ((1, 1), (4, 3))]
SETTINGS: dict[str, Settings] = {
    "rls": [{}, {"form": "square_root"}, {"forgetting_factor": 0.9, "forgetting": "directional"}, {"ridge": 0}],
    "kalman": [{}, {"form": "square_root"}, {"observation_noise": 0.0}, {"transition": 0.9}],
    "orfit": [{"memory": 3, "summary": summary} for summary in ("ipca", "largest", "latest", "random")],
    "apa": [{"projection_order": order} for order in (1, 4, 6)],
    **dict.fromkeys(("oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"), SUBSPACES),
}
METHODS = [*SETTINGS, "class_rls", "greedy", "icl", "lms", "nlms", "ogd", "ridge", "sgd", "softmax"]


@pytest.fixture(autouse=True)
def ends_a_call_that_hangs() -> Iterator[None]:
    yield
    faulthandler.cancel_dump_traceback_later()


def extreme(shape: tuple[int, int], dtype: str, rng: np.random.Generator) -> Any:
    """Rows, of which up to three are replaced."""
    largest = float(np.finfo(dtype).max)
    X = rng.standard_normal(shape)
    for i in rng.integers(shape[0], size=rng.integers(4)):
        match rng.integers(5):
            case 0:
                X[i] = largest
            case 1:
                X[i, rng.integers(shape[1])] = rng.choice([-1, 0.5, 1]) * largest
            case 2:
                X[i] = rng.standard_normal(shape[1]) * (largest ** rng.uniform() / 8)
            case 3:
                X[i] = X[rng.integers(shape[0])]
            case _:
                X[i] *= float(np.finfo(dtype).tiny)
    return np.clip(X, -largest, largest).astype(dtype)


def learn(learner: Any, dtype: str, rng: np.random.Generator) -> None:
    """Learn a few rows, or refuse them."""
    X = extreme((int(rng.integers(1, 9)), 4), dtype, rng)
    y = extreme((len(X), 1), dtype, rng)[:, 0]
    labels, supervised = learner.method.traits.labels, learner.method.traits.supervised
    arguments = (X, (y > 0).astype(int) if labels else y) if supervised else (X,)
    verb = "step" if rng.random() < 0.3 and hasattr(learner, "step") else "partial_fit"
    with suppress(ob.DivergedError, ValueError, TypeError):  # TypeError: the method has no rule for a block
        getattr(learner, verb)(*arguments)


def check_finite(learner: Any) -> None:
    """All numbers of the state must be finite, but weights that are solved for, whose solution may overflow."""
    for name, a in learner.state().data_vars.items():
        solved = learner.method.state.solution and name == learner.method.state.weights
        assert solved or a.dtype.kind != "f" or np.isfinite(a.values).all(), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", METHODS)
def test_extreme_rows_are_learned_or_refused(method: str, backend: str) -> None:
    rng = np.random.default_rng(0)
    for settings, dtype, _ in product(SETTINGS.get(method, [{}]), ("float64", "float32"), range(TRIALS)):
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        one, other = (ob.create(method, backend=backend, dtype=dtype, **settings) for _ in range(2))
        for learner in (one, other):
            for _ in range(3):
                learn(learner, dtype, rng)
                if learner.live_state is not None:
                    check_finite(learner)
        with suppress(ValueError):  # nothing was learned, or the sum overflows
            one.merge(other)
        if one.live_state is not None:
            check_finite(one)
