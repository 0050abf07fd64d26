"""Complex rows whose modulus over- or underflows, nearly dependent ones, and those of pipelines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.spec import Stream

BACKENDS = pytest.mark.parametrize("backend", ["numpy", "numba"])
DTYPES = pytest.mark.parametrize("dtype", ["complex128", "complex64"])
LARGE = {"complex128": 1.5e308 + 1.5e308j, "complex64": 3e38 + 3e38j}
"""Finite numbers whose modulus overflows."""
SUBNORMAL = {"complex128": 1e-309 + 1e-309j, "complex64": 1e-39 + 1e-39j}


def draw(*shape: int) -> Any:
    rng = np.random.default_rng(3)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


@BACKENDS
@DTYPES
def test_apa_learns_rows_of_any_size(backend: str, dtype: str) -> None:
    apa = ob.create("apa", backend=backend, dtype=dtype, step_size=1.0)
    apa.partial_fit([[LARGE[dtype], 0, 0]], [1.0])
    np.testing.assert_allclose(apa.predict([[LARGE[dtype], 0, 0]]), 1, rtol=1e-5)
    for i in (1, 2):
        row = np.eye(3)[[i]]
        np.testing.assert_allclose(apa.partial_fit(row, [1.0]).predict(row), 1, rtol=1e-5)


@BACKENDS
@DTYPES
def test_apa_learns_subnormal_rows(backend: str, dtype: str) -> None:
    z = SUBNORMAL[dtype]
    apa = ob.create("apa", backend=backend, dtype=dtype, step_size=1.0, eps=0.0)
    apa.partial_fit([[1, 2], [2, 1]], [1, 1]).partial_fit([[z, 0]], [z])
    np.testing.assert_allclose(apa.predict([[1, 2], [2, 1]]), [1, 1], rtol=1e-6)


@BACKENDS
@pytest.mark.parametrize(("dtype", "near", "equal"), [("complex128", 1e-9, 1e-10), ("complex64", 1e-4, 1e-4)])
def test_rows_of_apa_count_as_dependent_whatever_eps_is(backend: str, dtype: str, near: float, equal: float) -> None:
    X, y = draw(24, 4), draw(24)
    X = X[:, :1] + near * X
    settings: Any = {"projection_order": 3, "step_size": 1.0, "eps": 0.5, "dtype": dtype}
    found = ob.create("apa", backend=backend, **settings).partial_fit(X, y).array("w")
    w = np.zeros(4, dtype)
    for t in range(len(X)):
        A, b = X[max(0, t - 2) : t + 1].astype(dtype), y[max(0, t - 2) : t + 1].astype(dtype)
        V, s, Wt = np.linalg.svd(A, full_matrices=False)
        gain = np.where(s > np.sqrt(np.finfo(dtype).eps) * s[0], s / (s**2 + 0.5), 0)
        w = w + (Wt.conj().T * gain) @ V.conj().T @ (b - A @ w)
    np.testing.assert_allclose(found[:, 0], w, rtol=equal, atol=equal * abs(w).max())


@BACKENDS
@DTYPES
@pytest.mark.parametrize("sizes", [LARGE, SUBNORMAL], ids=["large", "subnormal"])
def test_interpolation_learns_a_row_or_refuses_it(backend: str, dtype: str, sizes: dict[str, complex]) -> None:
    rls = ob.create("rls", backend=backend, dtype=dtype, forgetting_factor=0.0).partial_fit([[0, 1]], [1])
    before = rls.to_bytes()
    with pytest.raises(ob.DivergedError):
        rls.partial_fit([[sizes[dtype], 0]], [1.0])
    assert rls.to_bytes() == before


def test_the_first_block_of_rls_has_full_rank_if_its_modulus_overflows() -> None:
    rls = ob.create("rls", backend="numpy", dtype="complex128", ridge=0.0)
    with pytest.raises(ob.DivergedError):
        rls.step(LARGE["complex128"] * np.eye(2), [1, 1])


@BACKENDS
@DTYPES
def test_weights_of_sgd_are_projected_if_their_modulus_over_or_underflows(backend: str, dtype: str) -> None:
    sgd = ob.create("sgd", backend=backend, dtype=dtype, step_size=1.0, radius=1.0)
    sgd.partial_fit([[1, 0]], [LARGE[dtype]])
    np.testing.assert_allclose(sgd.array("w")[:, 0], [(1 + 1j) / 2**0.5, 0], rtol=1e-5)
    tiny = abs(SUBNORMAL[dtype])
    sgd = ob.create("sgd", backend=backend, dtype=dtype, step_size=1.0, radius=tiny / 10)
    w = sgd.partial_fit([[1, 1]], [tiny]).array("w")[:, 0].real
    np.testing.assert_allclose(w / (tiny / 10), 2**-0.5, rtol=1e-4)


def test_a_delay_line_takes_numbers_whose_modulus_overflows() -> None:
    z = LARGE["complex128"]
    assert ob.DelayLine(2, dtype="complex128").push(np.array(z))[0] == z
    assert ob.DelayLine(2, dtype="complex128", channels=2).push([z, 0])[0] == z
    with pytest.raises(ValueError, match="finite in complex64"):
        ob.DelayLine(2, dtype="complex64").push(np.array([1e39 + 0j]))


@BACKENDS
def test_interpolation_stays_exact_if_complex_coordinates_move(backend: str) -> None:
    X, y = draw(3, 3), draw(3)

    def learn(rows: slice) -> Any:
        rls = ob.create("rls", backend=backend, dtype="complex128", forgetting_factor=0.0)
        return ob.pipeline("standardize", "intercept", rls).partial_fit(X[rows], y[rows])

    np.testing.assert_allclose(learn(slice(3)).predict(X), y, atol=1e-12)
    np.testing.assert_allclose(learn(slice(2)).merge(learn(slice(2, 3))).predict(X), y, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_a_row_that_the_state_cannot_follow_is_named(dtype: str) -> None:
    X, y = draw(100, 3).real, draw(100).real
    pipeline = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", dtype=dtype))
    before = pipeline.partial_fit(X, y).to_bytes()
    with pytest.raises(ValueError, match=r"^X, row 28: the state of rls cannot follow the mean and the spread"):
        pipeline.partial_fit(np.concatenate([X[:28], 1e30 * X[28:]]), y)
    assert pipeline.to_bytes() == before


def test_messages_ask_a_learner_of_complex_numbers_for_complex_numbers() -> None:
    rls = ob.create("rls", backend="numpy", dtype="complex128")
    with pytest.raises(TypeError, match=r"want numbers: all of them are numbers, pass np.asarray\(X, complex\)"):
        rls.partial_fit(np.array([[1 + 1j, 2.0]], object), [1.0])
    with pytest.raises(TypeError, match=r"want numbers: X\[0, 1\] is of type str"):
        rls.partial_fit(np.array([[1j, "a"]], object), [1.0])
    with pytest.raises(TypeError, match=r"drop the column from the table, or learn complex numbers from arrays"):
        Stream.from_table(pd.DataFrame({"z": [1j, 2], "t": [1.0, 2]}), "t")
