"""Backends on libraries of the Python array API standard: array-api-strict, and PyTorch if it is installed."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.array_api import borrowed_kernels, example

import orfit_bench as ob
from orfit_bench.conformance import conform

METHODS = ("lms", "nlms", "rls", "oja")
QUICK = ("dtype_is_preserved", "arrays_have_backend_type", "any_order_of_operations")
OTHER_PATHS = ("components_have_the_signs_of_the_basis", "weights_count_in_any_chunks", "changed_sizes_are_refused")


@pytest.mark.parametrize("method", METHODS)
def test_host_and_kit_use_the_standard_only(method: str) -> None:
    pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    with example("strict"):
        report = conform(method, backends=["strict"], dtypes=["float32"], only=QUICK + OTHER_PATHS)
    assert report.passed, str(report)


def test_arrays_of_the_backend_are_taken_and_checked() -> None:
    xp = pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    rows = np.arange(6.0).reshape(3, 2)
    with example("strict"):
        learner, other = (ob.create("lms", backend="strict") for _ in range(2))
        learner.partial_fit(xp.asarray(rows), xp.asarray([1.0, 2.0, 3.0]))
        other.partial_fit(rows, [1.0, 2.0, 3.0])
        assert learner.state().equals(other.state())
        with pytest.raises(ValueError, match=r"X\[1, 0\] is nan"):
            learner.partial_fit(xp.asarray([[0.0, 1.0], [np.nan, 1.0]]), xp.asarray([0.0, 1.0]))
        with pytest.raises(TypeError, match=r"of dtype .*complex128, want real numbers"):
            learner.partial_fit(xp.asarray([[1j, 1.0]]), xp.asarray([0.0]))
        with pytest.raises(ValueError, match="overflows float32"):
            ob.create("lms", backend="strict", dtype="float32").partial_fit(xp.asarray([[1e300]]), xp.asarray([0.0]))


@pytest.mark.parametrize("method", ["greedy", "sgd", "softmax", "gp", "owm", "kalman"])
def test_host_uses_the_standard_only_for_other_methods(method: str) -> None:
    pytest.importorskip("array_api_strict")
    with borrowed_kernels():
        report = conform(method, backends=["strict"], dtypes=["float32"], only=QUICK[:2])
    assert report.passed, str(report)


def test_first_block_without_prior_uses_the_standard_only() -> None:
    pytest.importorskip("array_api_strict")
    with borrowed_kernels():
        learner = ob.create("rls", backend="strict", ridge=0.0).step(np.eye(2), [1.0, 2.0])
        np.testing.assert_allclose(learner.array("w")[:, 0], [1.0, 2.0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("model", [None, ob.MLP((3,))], ids=["linear", "mlp"])
@pytest.mark.parametrize("form", ["covariance", "square_root"])
def test_filters_use_the_standard_only(form: str, model: ob.Model | None, dtype: str) -> None:
    pytest.importorskip("array_api_strict")
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    y[3] = np.nan
    moves = {"model": model} if model else {"transition": 0.9}
    with borrowed_kernels():
        found = []
        for backend in ("numpy", "strict"):
            learner = ob.create("kalman", backend=backend, process_noise=0.1, form=form, dtype=dtype, **moves)
            learner = learner.partial_fit(X[:4], y[:4]).step(X[:3], y[:3], observation_noise=[1.0, 2.0, 3.0])
            control = np.full((4, learner.array("mean").size), 0.1)
            learner = learner.partial_fit(X[4:8], y[4:8], control=control)
            learner = learner.partial_fit(X[:2], y[:2], sample_weight=[0.0, 2.0])
            smoothed, answers = learner.smooth(X[8:], y[8:]), learner.predict(X, return_std=True)
            moments = smoothed["mean"].values, smoothed["covariance"].values, learner.array("covariance")
            found.append([*map(np.from_dlpack, answers), *moments, learner.log_likelihood(X[8:], y[8:])])
    for of_numpy, of_strict in zip(*found, strict=True):
        np.testing.assert_array_equal(of_strict, of_numpy)  # both compute with the same kernel


@pytest.mark.integration
def test_all_checks_use_the_standard_only() -> None:
    pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    with example("strict"):
        report = conform("lms", backends=["strict"], dtypes=["float64"])
    assert report.passed, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(ob.methods()))
def test_all_checks_use_the_standard_only_for_every_method(method: str) -> None:
    pytest.importorskip("array_api_strict")
    with borrowed_kernels():
        report = conform(method, backends=["strict"], dtypes=["float64"])
    assert report.passed, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("backend", ["strict", "torch"])
def test_example_conforms(backend: str, method: str) -> None:
    pytest.importorskip("array_api_compat")
    pytest.importorskip("torch" if backend == "torch" else "array_api_strict")
    with example(backend):
        report = conform(method, backends=[backend])
    assert report.passed, str(report)
