"""Unlearning rows that are large compared with the others: weights equal those without them, or there is a warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

TRIALS = 1_500
LARGEST = {"float64": 8, "float32": 4}
"""The largest decimal exponent of the size of rows that are unlearned."""


def deviation(rng: np.random.Generator, dtype: str) -> tuple[str, float]:
    """The outcome for a random learner, and the largest deviation relative to the largest prediction."""
    d, (few, many) = int(rng.integers(1, 6)), (int(n) for n in rng.integers(1, 40, 2))
    columns, size = 10.0 ** rng.integers(-3, 4, d), 10.0 ** rng.integers(-2, LARGEST[dtype] + 1)
    kept, new = ((rng.standard_normal((n, d)) * columns).astype(dtype) for n in (few, 5))
    large = (rng.standard_normal((many, d)) * columns * size).astype(dtype)
    w, ridge = rng.standard_normal(d) / columns, float(rng.choice([1e-6, 1.0, 0.0 if few > d else 1.0]))

    def learner(dtype: str) -> Any:
        targets = (kept @ w + 0.1 * np.cos(np.arange(few))).astype(dtype)
        return ob.create("ridge", backend="numpy", dtype=dtype, ridge=ridge).partial_fit(kept.astype(dtype), targets)

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found, targets = learner(dtype).partial_fit(large, large @ w), (large @ w).astype(dtype)
        try:
            for rows in np.array_split(np.arange(many), rng.integers(1, many + 1)):
                found.partial_fit(large[rows], targets[rows], sample_weight=-np.ones(len(rows)))
        except ValueError:  # rows that count as never seen, since others left only rounding
            return "refused", 0.0
        got = found.predict(new)
        warned = bool(given)
        want = learner("float64").predict(new.astype(float))
    if not np.diagonal(found.array("information")).all():  # exactly the value without any rows
        return "nothing left", 0.0
    return "warned" if warned else "fine", float(abs(got - want).max() / max(abs(want).max(), 0.1))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", LARGEST)
def test_unlearned_rows_leave_the_weights_of_the_others(dtype: str) -> None:
    rng, outcomes = np.random.default_rng(0), []
    for _ in range(TRIALS):
        outcome, error = deviation(rng, dtype)
        assert outcome != "fine" or error < 32 * np.finfo(dtype).eps ** 0.5
        outcomes.append(outcome)
    assert outcomes.count("fine") > TRIALS / 4
