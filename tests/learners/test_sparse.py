"""Sparse rows: learned like dense ones by methods that change nothing where a row is zero; refused by all others."""

from __future__ import annotations

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import orfit_bench as ob

rng = np.random.default_rng(0)
N, D = 300, 40
X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.1)
X[7] = 0
y = X @ rng.standard_normal(D)
CSR = sparse.csr_array(X)
LABELS = rng.integers(0, 3, N)
LABELS[:60] %= 2  # one class appears later
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lms": ("lms", {"step_size": {"power": {"eta0": 0.2, "power": 0.5}}}),
    "nlms": ("nlms", {}),
    "one_step_sgd": ("one_step_sgd", {}),
    "sgd": ("sgd", {"step_size": 0.1}),
    "huber": ("sgd", {"step_size": 0.1, "loss": "huber"}),
    "initial weights": ("lms", {"step_size": 0.1, "initial_weights": np.ones(D)}),
    "float32": ("nlms", {"dtype": "float32"}),
    "ridge": ("ridge", {"ridge": 0.5}),
}
ROWS = [0, 1, 2, 60, 61, 200, N]
"""The ends of the chunks."""


@pytest.mark.parametrize("backend", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("case", LEARNERS)
def test_sparse_rows_are_learned_as_dense_ones(case: str, outputs: int | None, backend: str) -> None:
    name, settings = LEARNERS[case]
    if "initial_weights" in settings and outputs:
        settings = settings | {"initial_weights": np.ones((D, outputs))}
    Y = y if outputs is None else np.column_stack([y, -2 * y])
    dense, found = (ob.create(name, backend=backend, **settings) for _ in range(2))
    tolerance = 1e-12 if dense.dtype == float else 1e-4
    for a, b in itertools.pairwise(ROWS):
        before = dense.prequential(X[a:b], Y[a:b])
        np.testing.assert_allclose(found.prequential(CSR[a:b], Y[a:b]), before, atol=tolerance)
    np.testing.assert_allclose(found.state()["w"], dense.state()["w"], atol=tolerance)
    np.testing.assert_allclose(found.predict(CSR), dense.predict(X), atol=tolerance)
    assert found.n_samples_seen_ == N
    assert found.state().attrs["t"] == N
    found.partial_fit(X[:3], Y[:3])  # dense rows may follow
    dense.partial_fit(CSR[:3], Y[:3])
    np.testing.assert_allclose(found.predict(X), dense.predict(X), atol=tolerance)


@pytest.mark.parametrize("backend", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_labels_of_sparse_rows_are_learned_as_those_of_dense_ones(dtype: str, backend: str) -> None:
    dense, found = (ob.create("softmax", backend=backend, dtype=dtype, step_size=0.3) for _ in range(2))
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    for a, b in itertools.pairwise(ROWS):
        scores = dense.prequential(X[a:b], LABELS[a:b])
        np.testing.assert_allclose(found.prequential(CSR[a:b], LABELS[a:b]), scores, atol=tolerance)
    np.testing.assert_allclose(found.array("w"), dense.array("w"), atol=tolerance)
    np.testing.assert_array_equal(found.array("seen"), dense.array("seen"))
    np.testing.assert_array_equal(found.predict(CSR), dense.predict(X))
    np.testing.assert_allclose(found.predict_proba(CSR), dense.predict_proba(X), atol=tolerance)
    with pytest.raises(TypeError, match="sample_weight: sparse rows have no weights"):
        found.partial_fit(CSR, LABELS, sample_weight=np.ones(N))


@pytest.mark.parametrize("rows", [1, 3])
def test_sums_of_products_are_added_in_the_columns_in_use(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orfit_bench.learners.sparse.FEW_COLUMNS", 0)
    monkeypatch.setattr("orfit_bench.learners.sparse.MANY_ENTRIES", 0)
    monkeypatch.setattr("orfit_bench.learners.sparse.CALL", (5 * rows) ** 2)
    dense, found = (ob.create("ridge", backend="numpy") for _ in range(2))
    for a, b in itertools.pairwise(ROWS):
        found.partial_fit(CSR[a:b], y[a:b])
        found.predict(CSR[:1])  # solves for the weights in between
    dense.partial_fit(X, y)
    for name in ("information", "moment"):
        np.testing.assert_allclose(found.array(name), dense.array(name), atol=1e-12)
    np.testing.assert_allclose(found.predict(CSR), dense.predict(X), atol=1e-12)
    huge = CSR.copy()
    huge.data[huge.indptr[100]] = 1e200
    with pytest.raises(ob.DivergedError) as info:
        found.partial_fit(huge, y)
    assert (info.value.row, found.n_samples_seen_) == (100, N + 100)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_arrays_and_matrices_with_entries_in_any_order(make: Any) -> None:
    entries = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3, 0, 3, 1]), np.array([0, 3, 4])
    given = make(entries, shape=(2, 5))  # the third column twice in a row
    learner = ob.create("lms", backend="numpy", step_size=0.1).partial_fit(given, [1.0, 2.0])
    expected = ob.create("lms", backend="numpy", step_size=0.1).partial_fit(given.toarray(), [1.0, 2.0])
    np.testing.assert_allclose(learner.predict(np.eye(5)), expected.predict(np.eye(5)), atol=1e-15)
    np.testing.assert_array_equal(given.indices, entries[1])  # the input is unchanged


def test_the_cost_depends_on_the_entries_that_are_not_zero() -> None:
    wide = sparse.random_array((200, 1_000_000), density=2e-5, rng=rng, format="csr")
    learner = ob.create("lms", backend="numpy", step_size=0.1).partial_fit(wide[:0], np.empty(0))
    tracemalloc.start()
    learner.partial_fit(wide, np.ones(200))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e6  # one dense row alone would take 8 MB
    assert np.count_nonzero(learner.array("w")) > 1000


REFUSED: list[tuple[str, dict[str, Any], Any, type[Exception], str]] = [
    ("rls", {}, CSR, TypeError, r"X: got sparse rows, which rls does not take: .* in all columns; pass X.toarray\(\)"),
    ("apa", {}, CSR, TypeError, "X: got sparse rows, which apa does not take"),
    ("kalman", {}, CSR, TypeError, "X: got sparse rows, which kalman does not take"),
    ("class_rls", {}, CSR, TypeError, r"X: got sparse rows, .*X.toarray\(\)"),
    ("oja", {}, CSR, TypeError, r"X: got sparse rows, .*X.toarray\(\)"),
    ("sgd", {"momentum": 0.5}, CSR, TypeError, "sgd does not take: with momentum a step needs all columns"),
    ("sgd", {"batch_size": 4}, CSR, TypeError, "with batch_size a step needs"),
    ("softmax", {"ridge": 0.1}, CSR, TypeError, "softmax does not take: with ridge a step needs all columns"),
    ("ridge", {"forgetting_factor": 0.9}, CSR, TypeError, "with a forgetting_factor a step needs all columns"),
    ("lms", {}, CSR.astype(np.int64) + sparse.csr_array(([2**53 + 1], ([0], [0])), CSR.shape), ValueError, "rounded"),
    ("lms", {"model": ob.MLP((2,))}, CSR, TypeError, "for the linear model only"),
    ("lms", {}, CSR.tocsc(), TypeError, r"X: got a sparse array in the format csc, want csr: pass X.tocsr\(\)"),
    ("lms", {}, CSR * 1j, TypeError, "X: got a sparse array of dtype complex128, want real numbers"),
]


@pytest.mark.parametrize(("method", "settings", "rows", "error", "message"), REFUSED)
def test_what_cannot_be_learned_is_refused(
    method: str, settings: dict[str, Any], rows: Any, error: type[Exception], message: str
) -> None:
    learner = ob.create(method, backend="numpy", **settings)
    with pytest.raises(error, match=message):
        learner.partial_fit(*([rows] if method == "oja" else [rows, LABELS if method == "softmax" else y]))
    assert learner.n_samples_seen_ == 0


def test_wrong_rows_are_named() -> None:
    learner = ob.create("lms", backend="numpy").partial_fit(CSR, y)
    before = learner.state()
    bad = CSR.copy()
    bad.data[5] = np.nan
    row = int(np.searchsorted(bad.indptr, 5, "right")) - 1
    with pytest.raises(ValueError, match=rf"X\[{row}, {bad.indices[5]}\] is nan in float64 \(row {row}, column"):
        learner.partial_fit(bad, y)
    with pytest.raises(ValueError, match="X: got 39 columns, want 40 as in the first call"):
        learner.predict(CSR[:, :39])
    with pytest.raises(TypeError, match="A: got sparse rows"):
        ob.create("sgd", backend="numpy").step(CSR, y)
    with pytest.raises(ValueError, match="y: got 3 rows, want 300"):
        learner.partial_fit(CSR, y[:3])
    assert learner.state().identical(before)


BAD_INDICES = np.array([0, 1, 7, 2])
FORMATS: dict[str, tuple[dict[str, Any], str]] = {
    "too large": ({"indices": BAD_INDICES}, r"X.indices\[2\]: got column 7 in row 1, want 0 to 2"),
    "negative": ({"indices": BAD_INDICES - 1}, r"X.indices\[0\]: got column -1 in row 0, want 0 to 2"),
    "decreasing": ({"indptr": np.array([0, 3, 2, 4])}, r"X.indptr: got 2 after 3 \(row 1\), want no decrease"),
    "first": ({"indptr": np.array([1, 2, 3, 4])}, "X.indptr: got 4 entries from 1 on, want 4 from 0 on, for 3 rows"),
    "short": ({"indptr": np.array([0, 2, 4])}, "X.indptr: got 3 entries from 0 on, want 4 from 0 on"),
    "beyond": ({"indptr": np.array([0, 2, 3, 5])}, "X.indptr: got 5 at its end, but there are 4 indices and 4 data"),
    "of doubles": ({"indices": np.arange(4.0)}, r"X.indices: got shape \(4,\) of float64, want integers"),
}


@pytest.mark.parametrize("case", FORMATS)
@pytest.mark.parametrize("method", ["lms", "softmax"])
def test_indices_out_of_range_are_refused_before_anything_uses_them(case: str, method: str) -> None:
    parts, message = FORMATS[case]
    bad = sparse.csr_array((np.ones(4), np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4])), shape=(3, 3))
    for name, values in parts.items():
        setattr(bad, name, values)
    learner: Any = ob.create(method, backend="numpy").partial_fit(np.eye(3), [0, 1, 1])
    before = learner.state()
    for call in (learner.partial_fit, learner.prequential, lambda X, _: learner.predict(X)):
        with pytest.raises(ValueError, match=message):
            call(bad, [0, 1, 1])
    with pytest.raises(ValueError, match=message):
        ob.create(method, backend="numpy").partial_fit(bad, [0, 1, 1])
    assert learner.state().identical(before)
    np.testing.assert_array_equal(getattr(bad, next(iter(parts))), next(iter(parts.values())))


def test_entries_after_the_last_row_are_not_read() -> None:
    longer = sparse.csr_array(np.diag([1.0, 2.0]))
    longer.data, longer.indices = np.array([1.0, 2.0, np.nan]), np.array([0, 1, 9])
    found = ob.create("lms", backend="numpy").partial_fit(longer, [1.0, 2.0])
    dense = ob.create("lms", backend="numpy").partial_fit(np.diag([1.0, 2.0]), [1.0, 2.0])
    np.testing.assert_array_equal(found.predict(np.eye(2)), dense.predict(np.eye(2)))
    assert longer.indices[2] == 9


def test_divergence_names_the_row_and_keeps_the_rows_before() -> None:
    huge = CSR.copy()
    row = 100
    huge.data[huge.indptr[row] : huge.indptr[row + 1]] = 1e200
    dense, found = (ob.create("lms", backend="numpy", step_size=0.1) for _ in range(2))
    for learner, rows in ((dense, huge.toarray()), (found, huge)):
        with pytest.raises(ob.DivergedError) as info:
            learner.partial_fit(rows, np.where(np.arange(N) == row, 1e200, y))
        assert (info.value.row, info.value.step) == (row, row + 1)
    assert found.n_samples_seen_ == dense.n_samples_seen_ == row
    np.testing.assert_allclose(found.predict(X), dense.predict(X), atol=1e-12)


def test_a_learner_that_learns_in_another_thread_refuses_sparse_rows() -> None:
    learner = ob.create("lms", backend="numpy").partial_fit(CSR, y)
    before = learner.copy()
    learner.live_state.permit.pop()  # like a thread that learns
    with pytest.raises(RuntimeError, match="learning in another thread"):
        learner.partial_fit(CSR, y)
    learner.live_state.permit.append(None)
    assert learner.to_bytes() == before.to_bytes()


def test_a_learner_whose_kernel_was_interrupted_in_sparse_rows_refuses_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = ob.create("lms", backend="numpy").partial_fit(CSR, y)
    learn, calls = learner.rule.kernel.learn, iter(range(10))

    def interrupted(*given: Any) -> int:
        if next(calls) == 1:  # the second block
            raise KeyboardInterrupt
        return int(learn(*given))

    monkeypatch.setattr(learner.rule.kernel, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.partial_fit(CSR, y)
    for call in (lambda: learner.predict(X), lambda: learner.partial_fit(CSR, y)):
        with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
            call()
