"""Complex subspaces: the real problem of twice the size, the eigenvectors of X^H X, and real input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

METHODS = ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
K = 2
START = np.random.default_rng(1).standard_normal((5, K))


def draw(n: int, d: int = 5, rank: int = 5, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    Z, V = (a[0] + 1j * a[1] for a in (rng.standard_normal((2, n, rank)), rng.standard_normal((2, rank, d))))
    return Z * np.geomspace(2, 0.5, rank) @ np.linalg.qr(V.T)[0].T


def create(method: str, dtype: str = "complex128", backend: str = "numpy", **settings: Any) -> Any:
    chosen = {"n_components": K, "step_size": 0.05, "initial_basis": START} | settings
    if method == "incremental_pca":
        chosen = {name: value for name, value in chosen.items() if name not in ("step_size", "initial_basis")}
    return ob.create(method, dtype=dtype, backend=backend, **chosen)


def basis(learner: Any) -> Any:
    return learner.array("basis")


def projector(C: Any) -> Any:
    return C @ np.linalg.pinv(C)


def as_real(A: Any) -> Any:
    """The real matrix of twice the size that multiplies, adds and transposes as A does."""
    return np.block([[A.real, -A.imag], [A.imag, A.real]])


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("method", METHODS)
def test_a_complex_problem_is_a_real_one_of_twice_the_size(method: str, dtype: str) -> None:
    X = draw(40)
    found = create(method, dtype).partial_fit(X[:0])
    real = create(method, "float64", n_components=2 * K, step_size=0.1, initial_basis=as_real(basis(found)))
    lo = 0
    for size in (1, 3, 1, 2) * 5:  # rows of a step: their mean is half of that of the real rows
        found.step(X[lo : lo + size])
        real.step(as_real(X[lo : lo + size]))
        lo += size
    exact = 1e-10 if dtype == "complex128" else 1e-3
    np.testing.assert_allclose(as_real(projector(basis(found))), projector(basis(real)), atol=exact)
    if method in ("sanger", "implicit_krasulina"):
        np.testing.assert_allclose(as_real(basis(found)), basis(real), atol=exact * abs(basis(real)).max())
    assert basis(found).dtype == found.components_.dtype == dtype


@pytest.mark.parametrize("method", METHODS)
def test_components_are_the_leading_eigenvectors(method: str) -> None:
    X = draw(600, rank=K)
    learner = create(method).partial_fit(X)
    values, V = np.linalg.eigh(X.conj().T @ X)
    C = learner.components_
    np.testing.assert_allclose(C @ C.conj().T, np.eye(K), atol=1e-13)
    np.testing.assert_allclose(C.conj().T @ C, V[:, -K:] @ V[:, -K:].conj().T, atol=2e-2)
    np.testing.assert_allclose(learner.transform(X), X @ C.conj().T, atol=1e-13)
    np.testing.assert_allclose(learner.inverse_transform(learner.transform(X)), X @ C.conj().T @ C, atol=1e-13)
    if method == "incremental_pca":
        np.testing.assert_allclose(learner.inverse_transform(learner.transform(X)), X, atol=1e-12)
        np.testing.assert_allclose(learner.array("singular_values"), values[: -K - 1 : -1] ** 0.5, rtol=1e-12)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("method", METHODS)
def test_real_input_gives_the_real_method(method: str, batch_size: int) -> None:
    X = draw(42).real.copy()
    real, found = (create(method, dtype, batch_size=batch_size).partial_fit(X) for dtype in ("float64", "complex128"))
    assert not basis(found).imag.any()
    np.testing.assert_allclose(basis(found).real, basis(real), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_any_chunking_and_every_way_to_keep_a_state(method: str, tmp_path: Path) -> None:
    X = draw(31)
    all_rows, parts = (create(method, batch_size=2) for _ in range(2))
    all_rows.partial_fit(X)
    for i in range(0, 31, 3):
        parts = parts.partial_fit(X[i : i + 3]) if i % 2 else parts.learn_one(X[i]).partial_fit(X[i + 1 : i + 3])
        if i == 9:
            parts.save(tmp_path / "a.npz")
            parts = ob.restore(ob.from_bytes(ob.load(tmp_path / "a.npz").to_bytes()).copy().state(), backend="numpy")
    assert parts.dtype == "complex128"
    assert parts.pending == 1
    np.testing.assert_array_equal(basis(parts), basis(all_rows))


def test_merging_is_exact_up_to_the_rank() -> None:
    X = draw(40, rank=K)
    one, other, both = (create("incremental_pca") for _ in range(3))
    merged = one.partial_fit(X[:15]).merge(other.partial_fit(X[15:]))
    np.testing.assert_allclose(projector(basis(merged)), projector(basis(both.partial_fit(X))), atol=1e-12)
    for name in ("oja", "krasulina"):
        C = [basis(create(name).partial_fit(X[i::2])) for i in (0, 1)]
        found = create(name).partial_fit(X[::2]).merge(create(name).partial_fit(X[1::2]))
        want = np.linalg.eigh(sum(projector(c) for c in C))[1][:, -K:]
        np.testing.assert_allclose(projector(basis(found)), projector(want), atol=1e-12)


def test_refused_input_changes_nothing() -> None:
    X = draw(8)
    learner = create("oja").partial_fit(X)
    before = basis(learner)
    X[2, 1] = complex(0, np.nan)
    with pytest.raises(ValueError, match=r"X\[2, 1\] is"):
        learner.partial_fit(X)
    np.testing.assert_array_equal(basis(learner), before)
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(X[:1] * 1e200)
    with pytest.raises(TypeError, match="want real numbers"):
        ob.create("oja").partial_fit(X[:2])


@pytest.mark.skipif(not ob.backends()["numba"].available, reason="Numba is not installed")
@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("method", METHODS)
def test_numba_learns_complex_rows_by_the_rule_of_the_reference(method: str, dtype: str) -> None:
    X = draw(40)
    for batch_size in (1, 4) if method != "incremental_pca" else (1,):
        sizes = {} if batch_size == 1 else {"batch_size": batch_size}
        reference, found = (create(method, dtype, backend=b, **sizes) for b in ("numpy", "numba"))
        for part in (X[:1], X[1:2], X[2:40]):
            reference, found = reference.partial_fit(part), found.partial_fit(part)
        np.testing.assert_array_equal(basis(found), basis(reference))
        assert found.transform(X).dtype == dtype


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_the_implicit_rule_follows_the_recursion_from_its_small_start(dtype: str) -> None:
    rng = np.random.default_rng(0)
    X = ((rng.standard_normal((900, 4)) + 1j * rng.standard_normal((900, 4))) * [1, 1, 1, 3]).astype("complex64")
    learner = create("implicit_krasulina", dtype, n_components=1, initial_basis=None).partial_fit(X[:0])
    C = basis(learner).astype(complex)
    for y in X.conj().astype(complex):
        x = np.linalg.pinv(C) @ y
        C = C - 0.05 / (1 + 0.05 * np.vdot(x, x).real) * np.outer(C @ x - y, x.conj())
    found = basis(learner.partial_fit(X.astype(dtype)))
    np.testing.assert_allclose(found, C, atol=(1e-11 if dtype == "complex128" else 1e-3) * abs(C).max())


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
def test_variances_of_complex_rows_are_real(dtype: str) -> None:
    Z = draw(40)
    pca = create("incremental_pca", dtype=dtype).partial_fit(Z)
    variances = pca.explained_variance_
    assert variances.dtype == np.finfo(dtype).dtype
    np.testing.assert_allclose(variances, np.linalg.svd(Z, compute_uv=False)[:K] ** 2 / 39, rtol=0.1)
