"""Blocks of rows in coordinates of their span: the coordinates, and the result of learning a block in them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench_cupy import _reduced_coordinates

from .conftest import IN_PLACE, cupy

D = 60
CASES = [
    ("lms", {"step_size": 0.01}),
    ("nlms", {}),
    ("one_step_sgd", {}),
    ("sgd", {"step_size": 0.01, "momentum": 0.5}),
    ("sgd", {"step_size": 0.01, "batch_size": 3}),
    ("apa", {"projection_order": 3}),
    ("icl", {"memory": 30}),
    ("ogd", {"step_size": 0.01}),
    ("orfit", {"memory": 5}),
    ("orfit", {"memory": 5, "summary": "latest"}),
    ("rls", {"forgetting_factor": 0.0}),
    ("oja", {"n_components": 3}),
    ("krasulina", {"n_components": 3}),
    ("sanger", {"n_components": 3}),
    ("implicit_krasulina", {"n_components": 3}),
    ("incremental_pca", {"n_components": 3}),
]
ENTRIES = st.integers(-3, 3).map(float) | st.floats(-1e3, 1e3)


def on_device(a):
    return IN_PLACE.asarray(np.asarray(a, float))


def close(got, want, eps=1e-12):
    np.testing.assert_allclose(got, want, rtol=0, atol=eps * max(abs(want).max(initial=0), 1e-300))


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(ENTRIES, min_size=7, max_size=7), min_size=1, max_size=9),
    st.lists(st.integers(-30, 30), min_size=9, max_size=9),
    st.integers(0, 2),
)
def test_coordinates_are_those_of_the_rows(rows, exponents, copies):
    M = np.array(rows)[: 9 - copies] * 10.0 ** np.array(exponents[: min(len(rows), 9 - copies)])[:, None]
    M = np.concatenate([M, M[:copies]])
    span = _reduced_coordinates.subspace_of(on_device(M), M @ M.T)
    size = np.linalg.norm(M, axis=1)
    back = span.vectors(span.C).get()
    assert (np.linalg.norm(back - M, axis=1) <= 1e-13 * size).all()
    close(np.linalg.norm(span.C, axis=1), size)
    assert (abs(span.C @ span.C.T - M @ M.T) <= 1e-13 * np.outer(size, size) + 1e-300).all()


@pytest.mark.parametrize("d", [8, 30, 31, 200])
def test_reflections_by_panels_span_the_same(monkeypatch, d):
    M = np.random.default_rng(0).standard_normal((7, d))
    M[3], M[5] = M[2], 0
    monkeypatch.setattr(_reduced_coordinates, "LARGE_BYTES", 0)
    span = _reduced_coordinates.subspace_by_reflections(on_device(M))
    assert span.C.shape == (7, 7)
    close(span.vectors(span.C).get(), M, 1e-14)
    Q = span.vectors(np.eye(7)).get()
    close(Q @ Q.T, np.eye(7), 1e-14)


def test_reflections_hold_one_more_array_than_they_are_given(monkeypatch):
    M = on_device(np.random.default_rng(0).standard_normal((20, 20_000)))
    M[1] = M[0]
    monkeypatch.setattr(_reduced_coordinates, "LARGE_BYTES", 0)
    before = cupy.get_default_memory_pool().used_bytes()
    IN_PLACE.memory()
    span = _reduced_coordinates.subspace_by_reflections(M)
    assert IN_PLACE.memory() - before < 1.3 * M.nbytes
    del span


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_rows_whose_squares_leave_the_floats_are_not_moderate(scale):
    M = np.ones((3, 7))
    M[1] *= scale
    with np.errstate(over="ignore"):
        assert _reduced_coordinates.safe_prefix(on_device(M), M @ M.T, np.ones((2, 1))) == 1


@pytest.mark.parametrize(("dtype", "target"), [("float64", 1e-285), ("float32", 1e-36)])
def test_targets_whose_quotients_leave_the_floats_are_not_moderate(dtype, target):
    M = on_device(np.ones((3, 7), dtype))
    for y, prefix in ((target, 1), (0.0, 3)):
        assert _reduced_coordinates.safe_prefix(M, 7 * np.ones((3, 3), dtype), np.array([[1], [y]], dtype)) == prefix


def drawn(seed=0, n=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, D))
    X[5], X[9] = X[4], 0  # a repeated row, and one of zeros
    X[20:25] = X[15:20] + 1e-5 * X[20:25]  # nearly dependent
    return X, X @ rng.standard_normal(D) + 0.1 * rng.standard_normal(n)


def taught(method, backend, given, X, y, cuts=(0, 1, 17, 40)):
    """The learner and its predictions before each row."""
    learner, predictions = ob.create(method, backend=backend, **given), []
    for begin, end in pairwise(cuts):
        if learner.method.kind == "subspace":
            learner.partial_fit(X[begin:end])
        else:
            predictions.append(learner.backend.asnumpy(learner.prequential(X[begin:end], y[begin:end])))
    return learner, np.concatenate(predictions) if predictions else np.zeros(0)


def same(mine, other, eps=1e-9):
    """Compare entries, or the span if only that matters."""
    a, b = mine.state(), other.state()
    for field in mine.rule.layout(mine.live_state.sizes).fields:
        got, want = a[field.name].values, b[field.name].values
        if field.compared == "span":
            axis = next(i for i, dim in enumerate(field.dims) if dim.startswith(("feature", "parameter")))
            got, want = (v @ np.linalg.pinv(v) for v in (np.swapaxes(v, 0, axis) for v in (got, want)))
        if field.compared in ("span", "entries"):
            np.testing.assert_allclose(got, want, rtol=0, atol=eps * max(abs(want).max(initial=0), 1e-300))


@pytest.mark.parametrize("rows", [3, 256])
@pytest.mark.parametrize(("method", "given"), CASES, ids=str)
def test_blocks_leave_what_rows_leave(in_place, monkeypatch, method, given, rows):
    monkeypatch.setattr(_reduced_coordinates, "ROWS", rows)
    X, y = drawn()
    (mine, predictions), (other, want) = (taught(method, backend, given, X, y) for backend in (in_place, "numpy"))
    close(predictions, want, 1e-9)
    same(mine, other)


def test_weights_that_shrink_keep_their_digits(in_place):
    given = {"step_size": 0.01, "radius": 1e-9, "initial_weights": np.ones(D)}
    (mine, _), (other, _) = (taught("sgd", backend, given, *drawn()) for backend in (in_place, "numpy"))
    same(mine, other)


@pytest.mark.parametrize("method", ["sgd", "orfit", "krasulina", "rls", "kalman"])
def test_a_state_goes_from_backend_to_backend(in_place, method):
    X, y = drawn()
    learner = ob.create(method)
    parts = ["numpy", in_place, "numba", in_place, "numpy"]
    for backend, rows in zip(parts, np.split(np.arange(40), 5), strict=True):
        learner = ob.restore(learner.state(), backend=backend)
        learner.partial_fit(X[rows], *([] if method == "krasulina" else [y[rows]]))
    together = ob.create(method).partial_fit(X, *([] if method == "krasulina" else [y]))
    same(learner, together)
