"""Gradient projection (gp): which features it remembers, and which directions it does not change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.networks import draw_rows, learned_separately, matrices, network_rows

import orfit_bench as ob
from orfit_bench.models.activations import ACTIVATIONS


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gp_forgets_no_feature_of_any_layer(activation: str, bias: bool) -> None:
    """Survey, Theorem 6; without a limit, and with a rank that is not reached."""
    X, Y = network_rows(8, d=12, outputs=2)
    model = ob.MLP((30, 30), activation, bias)
    for rank in (None, 8):
        learner, features = ob.create("gp", model=model, step_size=0.02, rank=rank), []
        for x, y in zip(X, Y, strict=True):
            before = learner.partial_fit(X[:0], Y[:0]).predict(x[None])
            w = learner.partial_fit(x[None], y[None]).array("w")[:, 0]
            assert ((learner.predict(x[None]) - y) ** 2).sum() < ((before - y) ** 2).sum()
            features.append([*model.layers(w, x), learner.predict(x[None])[0]])
        for x, was in zip(X, features, strict=True):
            for a, b in zip([*model.layers(w, x), learner.predict(x[None])[0]], was, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-12)


def test_gp_cannot_move_full_layers_of_unlimited_rank() -> None:
    """Survey, after Theorem 6: once the features span all of a layer's inputs its projection is zero."""
    X, Y = network_rows(20, d=3)
    for rank, moves in ((None, False), (2, True)):
        learner = ob.create("gp", model=ob.MLP((3,)), step_size=0.1, rank=rank).partial_fit(X, Y)
        was = matrices(learner)
        for old, new in zip(was, matrices(learner.partial_fit(X[:3], 1e8 * Y[:3])), strict=True):
            gap = abs(new - old).max()
            assert gap > 1 if moves else gap < 1e-13  # a projection that is done once leaves eps 1e8


def test_steps_of_gp_are_orthogonal_to_its_basis() -> None:
    X, Y = network_rows(9, d=4, outputs=2)
    learner = ob.create("gp", model=ob.MLP((5,)), step_size=0.1, rank=2).partial_fit(X[:8], Y[:8])
    state, old = learner.state(), matrices(learner)
    new = matrices(learner.partial_fit(X[8:], Y[8:]))
    for k in (0, 1):
        U = state[f"basis_{k + 1}"].values
        assert np.count_nonzero(state[f"singular_values_{k + 1}"]) == 2
        np.testing.assert_allclose(U @ U.T, np.eye(2), atol=1e-14)
        np.testing.assert_allclose(U @ (new[k] - old[k]), 0, atol=1e-15)
        assert abs(new[k] - old[k]).max() > 1e-3


def test_gp_fills_its_basis_row_by_row() -> None:
    """Orthonormal rows in use, then zeros; an input that depends on earlier ones adds no row, but counts in Sigma."""
    X, Y = network_rows(7, d=5)
    X[0], X[4], X[5] = 0, X[2] + X[3], 0
    learner = ob.create("gp", model=ob.MLP((), bias=False)), ob.create("gp", model=ob.MLP((), bias=False), rank=4)
    for i, used in enumerate([0, 1, 2, 3, 3, 3, 4]):
        for it in learner:
            U = it.partial_fit(X[i : i + 1], Y[i : i + 1]).array("basis_1")
            np.testing.assert_allclose(U @ U.T, np.diag(np.arange(len(U)) < used), atol=1e-14)
        np.testing.assert_allclose(
            learner[1].state()["singular_values_1"][:used], np.linalg.svd(X[: i + 1])[1][:used], atol=1e-14
        )


def test_gp_remembers_the_features_after_the_step() -> None:
    x, y = network_rows(1, d=3)
    model = ob.MLP((4,))
    learner = ob.create("gp", model=model, step_size=0.3).partial_fit(x[:0], y[:0])
    before = model.layers(learner.array("w")[:, 0], x[0])[1]
    after = model.layers(learner.partial_fit(x, y).array("w")[:, 0], x[0])[1]
    direction = learner.array("basis_2")[0]
    np.testing.assert_allclose(abs(direction @ after), np.linalg.norm(after))
    assert abs(direction @ before) < np.linalg.norm(before) * (1 - 1e-6)


@pytest.mark.parametrize("rank", [None, 2])
def test_features_that_overflow_are_not_remembered(rank: int | None) -> None:
    """Their products are not finite, nor would the next step at such weights be. The state stays finite."""
    net, calls = ob.MLP((3,)), []

    def layers(w: Any, x: Any) -> Any:
        calls.append(0)
        first, second = net.layers(w, x)
        return first, second * 1e308 if len(calls) in (4, 6) else second  # after the second step and the third

    X, Y = network_rows(3)
    learner = ob.create("gp", model=replace(net, name="own", layers=layers), rank=rank).partial_fit(X, Y)
    assert np.isfinite(learner.state()["basis_2"]).all()
    assert learner.array("basis_1").any(axis=1).sum() == 3 - (rank == 2)
    assert learner.array("basis_2").any(axis=1).sum() == 1


@pytest.mark.parametrize("settings", [{}, {"rank": 2}], ids=str)
def test_merged_gp_spans_the_features_of_both(settings):
    a, b, share = learned_separately("gp", 3, **settings)
    before, other = a.state(), b.state()
    a.merge(b)
    state = a.state()
    np.testing.assert_allclose(state["w"], share * before["w"] + (1 - share) * other["w"], rtol=1e-12)
    for layer in ("1", "2"):
        U = state[f"basis_{layer}"].values
        full = U[U.any(axis=1)]
        np.testing.assert_allclose(full @ full.T, np.eye(len(full)), atol=1e-14)
        both = [
            s[f"basis_{layer}"].values * (s[f"singular_values_{layer}"].values[:, None] if settings else 1)
            for s in (before, other)
        ]
        values, V = np.linalg.svd(np.concatenate(both), full_matrices=False)[1:]
        V = V[values > 1e-8][: len(U)]
        np.testing.assert_allclose(full.T @ full, V.T @ V, atol=1e-13)
    assert (a.n_samples_seen_, state.attrs["t"]) == (3, 2)
    a.partial_fit(*draw_rows(2))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_small_directions_stay_protected_after_a_merge(dtype, backend):
    """A direction whose singular value is far below the largest one stays, if the rank has room for it."""
    large = 1e4 if dtype == "float32" else 1e9

    def learner(*rows):
        created = ob.create(
            "gp",
            model=ob.MLP((), bias=False),
            rank=2,
            step_size=1e-9,
            dtype=dtype,
            backend=backend,
            random_state=0,
        )
        return created.partial_fit(rows, np.ones(len(rows)))

    small = [0.0, 1.0, 0.0]
    merged = learner([large, 0, 0], small).merge(learner([large, 0, 0]))
    values = merged.array("singular_values_1")
    np.testing.assert_allclose(values, [large * np.sqrt(2), 1], rtol=1e-2)
    before = merged.predict([small])
    np.testing.assert_array_equal(merged.partial_fit([small], [1e9]).predict([small]), before)


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_a_merge_keeps_the_leading_directions(rank):
    rng = np.random.default_rng(rank)
    X = rng.standard_normal((20, 5)) * np.logspace(0, -2, 5)
    a, b = (
        ob.create("gp", model=ob.MLP((), bias=False), rank=rank, step_size=1e-9, backend="numpy").partial_fit(
            part, np.zeros(len(part))
        )
        for part in (X[:10], X[10:])
    )
    M = np.vstack([s.array("basis_1") * s.array("singular_values_1")[:, None] for s in (a, b)])
    values, V = np.linalg.svd(M, full_matrices=False)[1:]
    merged, k = a.merge(b), min(rank, 5)
    np.testing.assert_allclose(merged.array("singular_values_1")[:k], values[:k], rtol=1e-12)
    U = merged.array("basis_1")[:k]
    np.testing.assert_allclose(U.T @ U, V[:k].T @ V[:k], atol=1e-10)
    np.testing.assert_allclose(U @ U.T, np.eye(k), atol=1e-14)
