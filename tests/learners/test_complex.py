"""Complex signals: batch solutions by other algorithms, the real problem of twice the size, and real input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import orfit_bench as ob
from orfit_bench.learners.regressor import Regressor

CASES: list[tuple[str, dict[str, Any]]] = [
    ("lms", {"step_size": 0.05}),
    ("lms", {"step_size": ob.schedules.power(eta0=0.1, power=0.5)}),
    ("nlms", {"step_size": 0.5, "eps": 1e-3}),
    ("apa", {"projection_order": 3, "step_size": 0.7, "eps": 1e-2}),
    ("rls", {"forgetting_factor": 0.98, "ridge": 0.1}),
    ("rls", {"forgetting_factor": 0.0}),
    ("ridge", {"forgetting_factor": 0.98, "ridge": 0.1}),
    ("ridge", {"ridge": 0.0}),
    ("sgd", {"step_size": 0.05, "ridge": 0.3}),
    ("sgd", {"step_size": 0.05, "radius": 0.5}),
]
METHODS = ["lms", "nlms", "apa", "rls", "ridge", "sgd"]
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "numba"])
NUMBERS = pytest.mark.parametrize(
    ("backend", "dtype"),
    [
        ("numpy", "complex128"),
        ("numpy", "complex64"),
        ("numba", "complex128"),
        pytest.param("numba", "complex64", marks=pytest.mark.slow),
    ],
)
EQUAL = {"complex128": 1e-11, "complex64": 2e-3}


def draw(n: int, d: int, outputs: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X, W, E = (rng.standard_normal((2, *shape)) for shape in ((n, d), (d, outputs), (n, outputs)))
    X, W, E = (a[0] + 1j * a[1] for a in (X, W, E))
    return X, X @ W + 0.1 * E


def weights(learner: Any) -> Any:
    return learner.array("w")


def create(method: str, settings: dict[str, Any], dtype: str = "complex128", **more: Any) -> Any:
    return ob.create(method, dtype=dtype, **settings, **more)


def recursion(method: str, p: dict[str, Any], X: Any, Y: Any) -> Any:
    """The weights after all rows: steps along the minimum-norm solution of the rows in view, or weighted equations."""
    n, d = X.shape
    if method in ("rls", "ridge"):
        ff, ridge = p.get("forgetting_factor", 1.0), p.get("ridge", 1.0)
        if ff == 0:
            return np.linalg.pinv(X) @ Y
        kept = np.sqrt(ff ** np.arange(n - 1, -1, -1))[:, None]
        A = np.vstack([kept * X, np.sqrt(ridge * ff**n) * np.eye(d)])
        return np.linalg.lstsq(A, np.vstack([kept * Y, np.zeros((d, Y.shape[1]))]))[0]
    w = np.zeros((d, Y.shape[1]), complex)
    for i in range(n):
        first = max(0, i + 1 - p.get("projection_order", 1))
        A, step = X[first : i + 1], p["step_size"]
        step = float(step(np.array([i + 1]))[0]) if callable(step) else step
        gram = np.einsum("ij,kj->ik", A, A.conj()) + p.get("eps", 0) * np.eye(len(A))
        gain = np.eye(1) if method in ("lms", "sgd") else np.linalg.inv(gram)
        errors = Y[first : i + 1] - np.einsum("ij,jk->ik", A, w)
        w = (1 - step * p.get("ridge", 0)) * w + step * np.einsum("ij,ik->jk", A.conj(), gain @ errors)
        w *= min(1, p.get("radius", np.inf) / np.linalg.norm(w))
    return w


@NUMBERS
@pytest.mark.parametrize(("method", "settings"), CASES)
def test_weights_follow_the_formulas(method: str, settings: dict[str, Any], backend: str, dtype: str) -> None:
    X, Y = draw(4 if settings.get("forgetting_factor") == 0 else 60, 5)
    learner = create(method, settings, dtype, backend=backend)
    predicted = learner.prequential(X, Y)
    want = recursion(method, settings, X, Y)
    assert weights(learner).dtype == predicted.dtype == dtype
    np.testing.assert_allclose(weights(learner), want, rtol=0, atol=EQUAL[dtype] * abs(want).max())
    np.testing.assert_allclose(learner.predict(X), X @ want, rtol=0, atol=EQUAL[dtype] * abs(Y).max())
    np.testing.assert_allclose(predicted[-1], X[-1] @ recursion(method, settings, X[:-1], Y[:-1]), rtol=0, atol=1e-2)


@BACKENDS
@pytest.mark.parametrize(("method", "settings"), [case for case in CASES if case[0] in ("rls", "ridge")])
def test_a_complex_problem_is_a_real_one_of_twice_the_size(method: str, settings: dict[str, Any], backend: str) -> None:
    if settings.get("ridge") == 0.0:
        settings = {"ridge": 1e-3}
    X, Y = draw(4 if settings.get("forgetting_factor") == 0 else 40, 5, outputs=1)
    rows = np.stack([np.hstack([X.real, -X.imag]), np.hstack([X.imag, X.real])], axis=1)  # (n, 2, 2d): one step each
    targets = np.stack([Y.real, Y.imag], axis=1)
    real = ob.create(method, backend="numpy", **settings)
    found = create(method, settings, backend=backend).partial_fit(X, Y)
    for A, b in zip(rows, targets, strict=True):
        real.step(A, b)
    w = weights(real)
    np.testing.assert_allclose(weights(found), w[:5] + 1j * w[5:], atol=1e-11)


@BACKENDS
@pytest.mark.parametrize(("method", "settings"), CASES)
def test_real_input_gives_the_real_method(method: str, settings: dict[str, Any], backend: str) -> None:
    X, Y = (a.real.copy() for a in draw(4 if settings.get("forgetting_factor") == 0 else 50, 5))
    real = ob.create(method, backend="numpy", **settings).partial_fit(X, Y)
    found = create(method, settings, backend=backend).partial_fit(X, Y)
    assert not weights(found).imag.any()
    np.testing.assert_allclose(weights(found).real, weights(real), rtol=1e-10, atol=1e-12)


@NUMBERS
@pytest.mark.parametrize(("method", "settings"), CASES)
def test_any_chunking_and_every_way_to_keep_a_state(
    method: str, settings: dict[str, Any], backend: str, dtype: str, tmp_path: Path
) -> None:
    X, y = draw(5 if settings.get("forgetting_factor") == 0 else 30, 6, outputs=1)
    X, y = X.astype(dtype), y[:, 0].astype(dtype)
    all_rows, parts = (create(method, settings, dtype, backend=backend) for _ in range(2))
    all_rows.partial_fit(X, y)
    for i, (x, target) in enumerate(zip(X, y, strict=True)):
        parts = parts.learn_one(x, target) if i % 2 else parts.partial_fit(X[i : i + 1], y[i : i + 1])
        if i == min(9, len(X) - 2):
            parts.save(tmp_path / "a.npz")
            parts = ob.restore(ob.from_bytes(ob.load(tmp_path / "a.npz").to_bytes()).copy().state(), backend=backend)
    assert parts.dtype == dtype
    scale = abs(weights(all_rows)).max()
    np.testing.assert_allclose(weights(parts), weights(all_rows), rtol=0, atol=EQUAL[dtype] * scale)
    np.testing.assert_allclose(parts.predict_one(X[0]), all_rows.predict(X[:1])[0], rtol=100 * EQUAL[dtype])


@pytest.mark.parametrize(("method", "settings"), [case for case in CASES if case[0] in ("rls", "ridge")])
def test_merging_is_exact(method: str, settings: dict[str, Any]) -> None:
    X, y = draw(4 if settings.get("forgetting_factor") == 0 else 40, 5, outputs=1)
    cut = len(X) // 2
    one, other, both = (create(method, settings) for _ in range(3))
    merged = one.partial_fit(X[:cut], y[:cut]).merge(other.partial_fit(X[cut:], y[cut:]))
    np.testing.assert_allclose(weights(merged), weights(both.partial_fit(X, y)), rtol=1e-9, atol=1e-10)


def test_averages_and_merged_means() -> None:
    X, y = draw(20, 3)
    one, other = (create("lms", {"step_size": 0.01}).partial_fit(X[i::2], y[i::2]) for i in (0, 1))
    want = (weights(one) + weights(other)) / 2
    np.testing.assert_allclose(weights(one.copy().merge(other)), want, rtol=1e-13)
    ob.average([one, other])
    np.testing.assert_allclose(weights(other), want, rtol=1e-13)


@pytest.mark.parametrize("method", ["rls", "ridge"])
def test_integer_weights_are_repeated_rows(method: str) -> None:
    X, y = draw(20, 3)
    counts = np.arange(20) % 3
    weighted = create(method, {}).partial_fit(X, y, sample_weight=counts)
    repeated = create(method, {}).partial_fit(np.repeat(X, counts, axis=0), np.repeat(y, counts, axis=0))
    np.testing.assert_allclose(weights(weighted), weights(repeated), rtol=1e-10)


@BACKENDS
def test_the_covariance_of_rls_stays_hermitian(backend: str) -> None:
    X, y = draw(300, 6)
    P = create("rls", {"forgetting_factor": 0.99}, backend=backend).partial_fit(X, y).array("P")
    np.testing.assert_array_equal(P, P.conj().T)
    assert np.linalg.eigvalsh(P).min() > 0


def test_initial_weights_and_weight_history() -> None:
    X, y = draw(10, 3, outputs=1)
    w0 = np.array([1j, 2.0, 1 - 1j])
    learner = create("nlms", {}, initial_weights=w0).partial_fit(X[:0], y[:0])
    np.testing.assert_array_equal(learner.predict(np.eye(3))[:, 0], w0)
    history = learner.weight_history(X, y)
    assert history.dtype == complex
    np.testing.assert_array_equal(history[-1].values, weights(learner))


@BACKENDS
@pytest.mark.parametrize("method", METHODS)
def test_refused_input_changes_nothing(method: str, backend: str) -> None:
    X, y = draw(8, 3)
    learner = create(method, {}, backend=backend).partial_fit(X, y)
    before = weights(learner)
    for bad in (complex(np.nan, 0), complex(0, np.nan), complex(0, np.inf)):
        rows = X.copy()
        rows[2, 1] = bad
        with pytest.raises(ValueError, match=r"X\[2, 1\] is"):
            learner.partial_fit(rows, y)
        with pytest.raises(ValueError, match=r"x|X"):
            learner.learn_one(rows[2], y[2])
    np.testing.assert_array_equal(weights(learner), before)
    with pytest.raises(TypeError, match=r"X: got ndarray of dtype complex128, want real numbers \(a learner created"):
        ob.create(method).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"X\[0, 0\] = .* overflows complex64: scale it or take complex128"):
        create(method, {}, "complex64", backend=backend).partial_fit(X * 1e60, y)


@pytest.mark.parametrize("averaging", ["uniform", "tail"])
def test_averages_momentum_and_batches_of_sgd(averaging: str) -> None:
    X, y = draw(40, 3)
    chosen: dict[str, Any] = {"averaging": averaging, "tail_start": 3, "momentum": 0.5, "batch_size": 4}
    learner = create("sgd", chosen, step_size=0.05).partial_fit(X, y)
    w = before = np.zeros((3, 2), complex)
    path = []
    for t in range(10):
        A, b = X[4 * t : 4 * t + 4], y[4 * t : 4 * t + 4]
        path.append(w)
        v = w + 0.5 * (w - before)
        before, w = w, v + 0.05 * np.mean([np.outer(a.conj(), e) for a, e in zip(A, b - A @ v, strict=True)], axis=0)
    want = np.mean(path if averaging == "uniform" else path[2:], axis=0)
    np.testing.assert_allclose(learner.predict(X), X @ want, rtol=1e-10)
    twice = learner.copy().merge(learner)
    np.testing.assert_allclose(twice.predict(X), X @ want, rtol=1e-10)
    ob.average([twice, learner])
    np.testing.assert_allclose(learner.predict(X), X @ want, rtol=1e-10)


def test_sparse_rows() -> None:
    X, y = draw(12, 5)
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0
    sparse, dense = (create("lms", {"step_size": 0.1}).partial_fit(rows, y) for rows in (csr_array(X), X))
    np.testing.assert_allclose(weights(sparse), weights(dense), rtol=1e-12)


def test_what_has_no_complex_form_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"greedy has no complex form; these methods have one: apa, implicit_krasulina, .*rls, sanger"
    ):
        ob.create("greedy", dtype="complex128")
    with pytest.raises(TypeError, match=r"lms on the model 'mlp.*' has no complex form"):
        ob.create("lms", dtype="complex128", model=ob.MLP((2,)))
    with pytest.raises(TypeError, match=r"sgd has no complex form with these settings: .*loss='huber'"):
        ob.create("sgd", dtype="complex128", loss="huber")
    X, y = draw(4, 2)
    learner = ob.create("rls", dtype=complex).partial_fit(X, y)
    with pytest.raises(TypeError, match="distributions of complex predictions"):
        learner.predict(X, return_std=True)
    with pytest.raises(TypeError, match="distributions of complex predictions"):
        learner.log_likelihood(X, y)


@BACKENDS
def test_a_step_that_overflows_is_refused(backend: str) -> None:
    learner = create("lms", {"step_size": 1.0}, backend=backend).partial_fit([[1.0]], [1j])
    with pytest.raises(ob.DivergedError):
        learner.partial_fit([[1e200j]], [1e200])
    assert weights(learner)[0, 0] == 1j


@BACKENDS
@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_nlms_removes_the_error_of_rows_whose_square_overflows_or_underflows(backend: str, size: float) -> None:
    x = size * np.array([[3.0 - 1j, 1j, 0.5]])
    learner = create("nlms", {"step_size": 1.0, "eps": 0.0}, backend=backend).partial_fit(x, [2 - 1j])
    np.testing.assert_allclose(learner.predict(x), [2 - 1j], rtol=1e-12)
    assert np.array_equal(learner.copy().partial_fit(0 * x, [1j]).predict(x), learner.predict(x))


@BACKENDS
def test_imprecise_steps_of_rls_are_refused_and_warned_of_as_real_ones(backend: str) -> None:
    """Rows along one direction wind up the covariance along the other."""
    x, counts = np.array([[1.0 + 1j, 1.0 - 1j]]), []
    for rows, number, on in ((x, "complex128", backend), (abs(x), "float64", "numpy")):
        learner = ob.create("rls", backend=on, forgetting_factor=0.5, dtype=number)
        with pytest.warns(ob.AccuracyWarning):
            learner.partial_fit(rows[[0] * 40], np.ones(40))
        with pytest.raises(ob.DivergedError):
            learner.partial_fit(rows[[0] * 200], np.ones(200))
        counts.append(learner.n_samples_seen_)
    assert abs(counts[0] - counts[1]) <= 2


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_single_rows_with_complex_numbers_take_the_short_path(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    X, y = (a.astype(dtype) for a in draw(6, 3, outputs=1))
    targets = [*y[:3, 0], complex(y[3, 0]), y[4, 0], 2.0]
    learner, plain = (create("rls", {}, dtype).partial_fit(X[:1], y[:1, 0]) for _ in range(2))
    for x, t in zip(X, targets, strict=True):
        plain.partial_fit(x[None], np.array([t], dtype))
    monkeypatch.setattr(Regressor, "_update", None)  # disables the general path
    for x, t in zip(X, targets, strict=True):
        learner.learn_one(x, t)
    np.testing.assert_array_equal(weights(learner), weights(plain))
    monkeypatch.undo()
    for bad in (complex(np.nan, 0), complex(0, np.inf)):
        with pytest.raises(ValueError, match="y"):
            learner.learn_one(X[0], bad)
    np.testing.assert_array_equal(weights(learner), weights(plain))


@pytest.mark.slow
@pytest.mark.parametrize("forgetting_factor", [1.0, 0.999])
@pytest.mark.parametrize(("backend", "n"), [("numpy", 50_000), ("numba", 1_000_000)])
def test_long_streams_stay_at_the_batch_solution(backend, n, forgetting_factor):
    """Three outputs, condition 100; the batch solution is that of the triangular factor of all weighted rows."""
    d, block, root = 8, 1000, forgetting_factor**0.5
    mix = np.linalg.qr(draw(d, d)[0])[0] * np.logspace(0, -2, d) @ np.linalg.qr(draw(d, d, seed=1)[0])[0]
    learner = create("rls", {"forgetting_factor": forgetting_factor, "ridge": 1e-3}, backend=backend)
    R, Z = 1e-3**0.5 * np.eye(d, dtype=complex), np.zeros((d, 3), complex)
    weight = root ** np.arange(block - 1, -1, -1.0)[:, None]
    for begin in range(0, n, block):
        X, Y = draw(block, d, outputs=3, seed=begin)
        X = X @ mix
        learner.partial_fit(X, Y)
        Q, R = np.linalg.qr(np.concatenate([root**block * R, weight * X]))
        Z = Q.conj().T @ np.concatenate([root**block * Z, weight * Y])
    want = np.linalg.solve(R, Z)
    np.testing.assert_allclose(weights(learner), want, atol=1e-11 * np.abs(want).max())
