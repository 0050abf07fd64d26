"""Many rows of ridge regression in one call: as accurate as in chunks, and refused in the same cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.kernels.information import add_many_rows

N, D = 80, 4
BAD = {"NaN": np.nan, "infinity": np.inf, "overflow": 1e200}


def make_rows(value: float | None = None) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((N, D)), rng.standard_normal((N, 2))
    if value is not None:
        X[50, 2] = value
    return X, Y


def test_sums_are_those_of_the_products() -> None:
    (X, Y), L, m = make_rows(), np.eye(D), np.ones((D, 2))
    assert add_many_rows(L, m, X, Y)
    np.testing.assert_allclose(np.tril(L), np.tril(np.eye(D) + X.T @ X), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(m, 1 + X.T @ Y, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("bad", BAD)
def test_sums_that_are_not_finite_change_nothing(bad: str) -> None:
    (X, Y), L, m = make_rows(BAD[bad]), np.eye(D), np.ones((D, 2))
    with np.errstate(all="ignore"):
        assert not add_many_rows(L, m, X, Y)
    np.testing.assert_array_equal(L, np.eye(D))
    np.testing.assert_array_equal(m, np.ones((D, 2)))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("bad", BAD)
def test_a_chunk_of_many_rows_is_refused_as_a_short_one_is(backend: str, bad: str) -> None:
    X, Y = make_rows(BAD[bad])
    many, few = (ob.create("ridge", backend=backend).partial_fit(X[:5], Y[:5]) for _ in range(2))
    messages = []
    for learner, first in ((many, 5), (few, 48)):
        if first > 5:
            learner.partial_fit(X[5:first], Y[5:first])
        with pytest.raises((ValueError, ob.DivergedError)) as refused:
            learner.partial_fit(X[first:], Y[first:])
        messages.append((type(refused.value), str(refused.value).replace(f"row {50 - first}", "row 50")))
    assert messages[0][0] is messages[1][0]
    if bad == "overflow":  # the rows before it are learned
        assert many.n_samples_seen_ == few.n_samples_seen_ == 50
        assert messages[0] == messages[1]
        np.testing.assert_allclose(many.array("moment"), few.array("moment"), rtol=1e-12)
    else:
        assert many.n_samples_seen_ == 5
