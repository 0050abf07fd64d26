"""Subspace methods: rules compared with dense formulas, coordinates, long streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.cases import SEQUENCE
from helpers.subspaces import (
    FREE,
    METHODS,
    ORTHONORMAL,
    STEPPED,
    X,
    basis,
    digits,
    loss,
    off_inverse,
    positive_qr,
    projection,
)

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


def test_all_subspace_methods_are_tested_here() -> None:
    assert sorted(METHODS) == sorted(name for name, m in ob.methods().items() if m.kind == "subspace")


def dense_step(method: str, C: Any, A: Any, step: float) -> Any:
    """The rules as printed, with dense inverses."""
    Y, N = A.T, len(A)
    if method == "oja":
        return positive_qr(C + step / N * Y @ Y.T @ C)
    if method == "krasulina":
        return positive_qr(C - step / N * (C @ C.T @ Y - Y) @ Y.T @ C)
    X = np.linalg.inv(C.T @ C) @ C.T @ Y
    if method == "sanger":
        return C - step / N * (C @ X - Y) @ X.T
    return (Y @ X.T / N + C / step) @ np.linalg.inv(X @ X.T / N + np.eye(len(X)) / step)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("method", STEPPED)
def test_steps_are_those_of_the_formulas_with_their_schedule(method: str, size: int) -> None:
    start = positive_qr(np.random.default_rng(1).standard_normal((4, 2)))
    learner = ob.create(method, step_size=SEQUENCE, batch_size=size, initial_basis=start)
    C, steps = start, SEQUENCE["sequence"]["values"]
    for t, lo in enumerate(range(0, 9, size)):
        C = dense_step(method, C, X[lo : lo + size], steps[min(t, 3)])
    np.testing.assert_allclose(basis(learner.partial_fit(X).flush()), C, rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(3, 7), (20, 3)], ids=["wide", "tall"])
@pytest.mark.parametrize("k", [1, 3], ids=["k=1", "k=3"])
@pytest.mark.parametrize("method", METHODS)
def test_components_are_orthonormal_for_rows_of_any_shape(method: str, k: int, shape: tuple[int, int]) -> None:
    """Also for k = d, where the subspace is the whole space."""
    n, d = shape
    rows = np.random.default_rng(2).standard_normal(shape)
    learner = ob.create(method, n_components=k).partial_fit(rows[:2]).step(rows[2:])
    components = learner.components_
    assert components.shape == (min(k, n), d)
    np.testing.assert_allclose(components @ components.T, np.eye(len(components)), atol=1e-14)
    np.testing.assert_allclose(components.T @ components, projection(basis(learner)), atol=1e-12)
    assert learner.transform(rows).shape == (n, len(components))
    if method not in FREE:
        np.testing.assert_allclose(components, basis(learner)[:, : len(components)].T, atol=1e-14)
    if k == d:
        np.testing.assert_allclose(learner.inverse_transform(learner.transform(rows)), rows, atol=1e-13)


def test_the_moment_of_orthonormalization_does_not_matter_to_oja_but_to_krasulina() -> None:
    rows, step = np.random.default_rng(3).standard_normal((30, 6)), 0.1
    start = positive_qr(np.random.default_rng(4).standard_normal((6, 2)))
    for method, differs in (("oja", False), ("krasulina", True)):
        C = start
        for y in rows:
            C = C - step * np.outer((C @ (C.T @ y) if method == "krasulina" else 0) - y, y @ C)
        learner = ob.create(method, step_size=step, initial_basis=start).partial_fit(rows)
        gap = abs(projection(C) - projection(basis(learner))).max()
        assert (gap > 1e-2) if differs else (gap < 1e-13)


def test_sanger_with_the_steps_of_the_implicit_rule_is_the_implicit_rule() -> None:
    start, step = np.random.default_rng(7).standard_normal((4, 2)), 0.3
    implicit, gains = ob.create("implicit_krasulina", step_size=step, initial_basis=start).partial_fit(X[:0]), []
    for y in X:
        x = np.linalg.pinv(basis(implicit)) @ y
        gains.append(step / (1 + step * x @ x))
        implicit.partial_fit(y[None])
    sanger = ob.create("sanger", step_size={"sequence": {"values": gains}}, initial_basis=start).partial_fit(X)
    np.testing.assert_allclose(basis(sanger), basis(implicit), rtol=1e-13)


def test_implicit_krasulina_takes_one_row_alike_by_both_equations() -> None:
    """A flush of one row uses (13), a batch that repeats a row (12): the mean of two equal rows is that row."""
    start = np.random.default_rng(8).standard_normal((4, 2))
    by_row = ob.create("implicit_krasulina", initial_basis=start, batch_size=2).partial_fit(X[:1]).flush()
    by_batch = ob.create("implicit_krasulina", initial_basis=start).step(X[[0, 0]])
    np.testing.assert_allclose(basis(by_row), basis(by_batch), rtol=1e-13)
    np.testing.assert_allclose(by_row.state()["inverse"], by_batch.state()["inverse"], rtol=1e-12)


def test_incremental_pca_equals_that_of_scikit_learn_on_centred_rows() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    rows = np.random.default_rng(9).standard_normal((40, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]
    rows -= rows.mean(axis=0)
    want = decomposition.PCA(n_components=5).fit(rows)
    learner = ob.create("incremental_pca", n_components=5, batch_size=7).partial_fit(rows).flush()
    np.testing.assert_allclose(learner.state()["singular_values"], want.singular_values_, rtol=1e-13)
    np.testing.assert_allclose(abs(learner.components_ @ want.components_.T), np.eye(5), atol=1e-13)


@pytest.mark.parametrize("method", STEPPED)
def test_defaults_learn_standardised_rows(method: str) -> None:
    """Each method comes near the least compression loss on rows of variance 1."""
    rng = np.random.default_rng(10)
    rows = rng.standard_normal((2000, 20)) / np.sqrt(np.arange(1, 21)) @ np.linalg.qr(rng.standard_normal((20, 20)))[0]
    rows /= rows.std(axis=0)
    least = (np.linalg.svd(rows, compute_uv=False)[2:] ** 2).sum() / len(rows)
    fresh, learned = ob.create(method).partial_fit(rows[:0]), ob.create(method).partial_fit(rows)
    assert loss(fresh, rows) > 1.2 * least
    assert loss(learned, rows) < 1.05 * least


def test_basis_of_incremental_pca_grows_with_the_rank() -> None:
    learner = ob.create("incremental_pca", n_components=3).partial_fit(X[:0])
    assert learner.components_.shape == (0, 4)
    assert learner.transform(X).shape == (9, 0)
    for rows, held in ((np.zeros((2, 4)), 0), (X[:1], 1), (2 * X[:1], 1), (X[1:2], 2), (X[:2], 2), (X[2:5], 3)):
        learner.partial_fit(rows)
        assert learner.components_.shape == (held, 4)
        state = learner.state()
        assert not state["basis"].values[:, held:].any()
        assert not state["singular_values"].values[held:].any()
        assert (np.diff(state["singular_values"].values) <= 0).all()


def test_incremental_pca_drops_directions_at_rounding_level() -> None:
    learner = ob.create("incremental_pca").partial_fit([[0, 0, 1e-20], [1e-20, 0, 0]])
    assert learner.components_.shape == (2, 3)
    learner.partial_fit([[1, 2, 0]])
    np.testing.assert_allclose(abs(learner.components_), [[5**-0.5, 2 * 5**-0.5, 0]], atol=1e-15)
    np.testing.assert_allclose(learner.state()["singular_values"], [5**0.5, 0], rtol=1e-15)


def test_the_inverse_is_renewed_wherever_the_stream_is_cut(same_state: Same) -> None:
    rows = np.random.default_rng(12).standard_normal((1003, 3))
    complete, cut = (ob.create("implicit_krasulina", step_size=0.1) for _ in range(2))
    complete.partial_fit(rows)
    for lo, hi in ((0, 999), (999, 1000), (1000, 1001), (1001, 1003)):
        cut = ob.restore(cut.partial_fit(rows[lo:hi]).state())
    same_state(cut, complete)


def test_names_and_dimensions() -> None:
    state = ob.create("implicit_krasulina", batch_size=4, initial_basis=np.eye(4)[:, :2]).partial_fit(X[:7]).state()
    assert {name: a.dims for name, a in state.variables.items()} == {
        "basis": ("feature", "n_components"),
        "inverse": ("n_components", "n_components_2"),
        "pending_X": ("waiting", "feature"),
        "pending_y": ("waiting", "target"),
        "setting_initial_basis": ("setting_initial_basis_row", "setting_initial_basis_column"),
    }
    assert (state.attrs["t"], state.attrs["n_samples_seen"], state["pending_y"].shape) == (1, 7, (3, 0))


@pytest.mark.parametrize("method", METHODS)
def test_transform_gives_coordinates_in_components(method: str) -> None:
    for dtype in ("float64", "float32"):
        learner = ob.create(method, dtype=dtype).partial_fit(X)
        Z = learner.transform(X)
        assert Z.dtype == dtype == learner.components_.dtype == learner.inverse_transform(Z).dtype
        np.testing.assert_array_equal(Z, X.astype(dtype) @ learner.components_.T)
        np.testing.assert_allclose(learner.inverse_transform(Z), X @ projection(basis(learner)), atol=1e-5)
        np.testing.assert_allclose(learner.transform(learner.inverse_transform(Z)), Z, atol=1e-5)
        assert learner.transform(X[:0]).shape == (0, 2)
        assert learner.inverse_transform(Z[:0]).shape == (0, 4)


def ill_conditioned(n: int = 1200, d: int = 30) -> Any:
    left, right = (np.linalg.qr(np.random.default_rng(n).standard_normal((size, d)))[0] for size in (n, d))
    return (left * np.geomspace(1, 1e-6, d)) @ right.T


def check_kept_inverse(n: int, make: Callable[[], Any], step: float) -> None:
    rows = make()
    learner = ob.create("implicit_krasulina", n_components=10, step_size=step)
    for lo in range(0, n, len(rows)):
        learner.partial_fit(rows[: min(len(rows), n - lo)])
    assert learner.state().attrs["t"] % 1000 == 0  # the last step before a recomputation
    assert 0 < off_inverse(learner) < 1e-10


@pytest.mark.parametrize("step", [1e-4, 1.0])
@pytest.mark.parametrize("make", [digits, ill_conditioned])
def test_the_kept_inverse_is_that_of_c(make: Callable[[], Any], step: float) -> None:
    check_kept_inverse(3000, make, step)


@pytest.mark.slow
@pytest.mark.parametrize("make", [digits, ill_conditioned])
def test_the_kept_inverse_is_that_of_c_after_100_000_rows(make: Callable[[], Any]) -> None:
    check_kept_inverse(100_000, make, 0.01)


def test_the_inverse_is_recomputed_every_thousand_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from orfit_bench_numpy import implicit_krasulina as kernel

    seen: list[int] = []
    steps, inverse_gram = [0], kernel.inverse_gram
    monkeypatch.setattr(kernel, "inverse_gram", lambda C: (seen.append(steps[0] + 1), inverse_gram(C))[1])
    learner = ob.create("implicit_krasulina")
    for steps[0] in range(2100):
        learner.partial_fit(X[:1] + 1e-3 * steps[0])
    assert seen == [1, 1001, 2001]
    learner.step(X)
    assert len(seen) == 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", [*ORTHONORMAL, "incremental_pca"])
def test_a_basis_stays_orthonormal_on_long_streams(method: str, dtype: str) -> None:
    rows = digits()
    learner = ob.create(method, n_components=10, dtype=dtype)
    for _ in range(4):
        learner.partial_fit(rows)
    C = basis(learner)
    assert abs(C.T @ C - np.eye(10)).max() < 64 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_orfit_reorthonormalizes_a_rotated_basis(dtype: str) -> None:
    """Each of the 97 steps between renewals may cost two roundings; without any, 12,000 steps cost ten times that."""
    data = ob.streams()["digits"].load()
    learner = ob.create("orfit", memory=10, dtype=dtype)
    for _ in range(10):
        learner.partial_fit(data.X, data.y[:, 0])
    U = basis(learner)
    assert abs(U @ U.T - np.eye(10)).max() < 2 * 97 * np.finfo(dtype).eps


def test_digits_for_pca_are_centred_by_the_rows_learned() -> None:
    data = ob.streams()["digits_pca"].load(n=300, seed=2)
    plain = ob.streams()["digits"].load(n=300, seed=2)
    mean = plain.X.mean(axis=0)
    for got, want in ((data.X, plain.X), (data.test[0], plain.test[0]), (data.validation[0], plain.validation[0])):
        np.testing.assert_array_equal(got, want - mean)
    assert abs(data.X.mean(axis=0)).max() < 1e-15
    assert abs(data.test[0].mean(axis=0)).max() > 1e-3
    assert data.y is data.test[1] is data.validation[1] is None
    learner = ob.create("oja")
    for chunk, y in data.chunks(64):
        learner.partial_fit(chunk, y)
    assert learner.n_samples_seen_ == 300


def test_explained_variance_is_that_of_batch_pca() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 6))
    X -= X.mean(axis=0)
    pca = ob.create("incremental_pca", backend="numpy", n_components=3)
    for rows in np.split(X, [1, 2, 30]):
        pca.partial_fit(rows)
    want = np.linalg.eigvalsh(np.cov(X.T))[::-1][:3]
    np.testing.assert_allclose(pca.explained_variance_, want, rtol=1e-10)
    merged = ob.create("incremental_pca", backend="numpy", n_components=3).partial_fit(X[:25])
    merged.merge(ob.create("incremental_pca", backend="numpy", n_components=3).partial_fit(X[25:]))
    np.testing.assert_allclose(merged.explained_variance_, want, rtol=1e-10)
    with pytest.raises(AttributeError, match=r"keeps no variances: orfit_bench.sklearn.ESTIMATORS..oja.. has"):
        ob.create("oja", backend="numpy", n_components=3).explained_variance_  # noqa: B018


def test_only_overflow_of_coordinates_gives_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    pca = ob.create("incremental_pca", backend="numpy", n_components=2).partial_fit([[1.0, 1.0], [1.0, -0.5]])
    with pytest.warns(RuntimeWarning, match="overflow"):
        pca.transform([[1.7e308, 1.7e308], [3.0, 4.0]])

    class Rows:
        def __matmul__(self, other: object) -> object:
            return np.inf * np.float64(0)  # sets the flag, as BLAS may for numbers that it does not return

    monkeypatch.setattr(pca, "_rows_to_predict", lambda X: Rows())
    assert np.isnan(pca.transform([[3.0, 4.0]]))
