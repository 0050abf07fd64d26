"""Subspace methods: merging and averaging."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.subspaces import FREE, METHODS, ORTHONORMAL, X, basis, digits, loss, off_inverse, projection

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


def pair(method: str, split: int = 6, **settings: Any) -> tuple[Any, Any]:
    return tuple(ob.create(method, **settings).partial_fit(part) for part in (X[:split], X[split:]))


@pytest.mark.parametrize("method", METHODS)
def test_merging_counts_rows_and_leaves_the_other(method: str, same_state: Same) -> None:
    a, b = pair(method)
    before = b.copy()
    a.merge(b)
    same_state(b, before)
    assert (a.n_samples_seen_, a.state().attrs["t"]) == (9, 6)
    C = a.partial_fit(X).components_
    np.testing.assert_allclose(C @ C.T, np.eye(2), atol=1e-13)
    same_state(ob.create(method).merge(b), b)  # into a learner without rows
    same_state(b.merge(ob.create(method)), before)


@pytest.mark.parametrize("method", METHODS)
def test_learners_that_cannot_be_merged_are_refused(method: str, same_state: Same) -> None:
    a = ob.create(method).partial_fit(X)
    before = a.copy()
    for other, message in (
        (ob.create("rls").partial_fit(X, X[:, 0]), "differ in method"),
        (ob.create(method, n_components=3).partial_fit(X), "n_components is 2 and 3"),
        (ob.create(method, dtype="float32").partial_fit(X), "differ in dtype"),
        (ob.create(method).partial_fit(X[:, :3]), "differ in features"),
    ):
        with pytest.raises(ValueError, match=message):
            a.merge(other)
        same_state(a, before)
    waiting = ob.create(method, batch_size=2).partial_fit(X[:3])
    with pytest.raises(ValueError, match="has pending rows"):
        waiting.merge(ob.create(method, batch_size=2).partial_fit(X[:2]))


def test_incremental_pca_merges_exactly_while_the_rank_allows(same_state: Same) -> None:
    rows = X[:, :2] @ np.random.default_rng(13).standard_normal((2, 6))
    a, b = (ob.create("incremental_pca", n_components=3).partial_fit(part) for part in (rows[:5], rows[5:]))
    a.merge(b)
    want = np.linalg.svd(rows, compute_uv=False)[:3]
    want[2] = 0
    np.testing.assert_allclose(a.state()["singular_values"], want, rtol=1e-13, atol=0)
    np.testing.assert_allclose(projection(basis(a)), projection(rows.T), atol=1e-13)
    assert not basis(a)[:, 2].any()


def test_merged_incremental_pca_is_the_best_of_both_bases() -> None:
    a, b = pair("incremental_pca")
    kept = [basis(one) * one.array("singular_values") for one in (a, b)]
    values, V = np.linalg.eigh(sum(C @ C.T for C in kept))
    a.merge(b)
    np.testing.assert_allclose(a.state()["singular_values"] ** 2, values[:1:-1], rtol=1e-13)
    np.testing.assert_allclose(projection(basis(a)), V[:, 2:] @ V[:, 2:].T, atol=1e-13)


@pytest.mark.parametrize("method", FREE)
def test_free_bases_merge_to_their_mean_by_rows(method: str) -> None:
    settings = {"step_size": 0.1, "initial_basis": np.eye(4)[:, :2] + 0.2}
    a, b = pair(method, **settings)
    mean = (6 * basis(a) + 3 * basis(b)) / 9
    np.testing.assert_allclose(basis(a.merge(b)), mean, rtol=1e-14)
    if method == "implicit_krasulina":
        assert off_inverse(a) < 1e-13
        assert off_inverse(a.partial_fit(X[:1])) < 1e-13


@pytest.mark.parametrize("method", FREE)
def test_free_bases_average_in_rounds(method: str) -> None:
    """Eq. (18) with equal weights; each learner keeps its step count and continues separately."""
    learners = [ob.create(method, step_size=0.1, initial_basis=np.eye(4)[:, :2]).partial_fit(X[i::3]) for i in range(3)]
    learners[2].partial_fit(X)
    mean = np.mean([basis(learner) for learner in learners], axis=0)
    ob.average(learners)
    assert [learner.state().attrs["t"] for learner in learners] == [3, 3, 12]
    for learner in learners:
        np.testing.assert_allclose(basis(learner), mean, rtol=1e-14)
    learners[0].partial_fit(X)
    np.testing.assert_allclose(basis(learners[1]), mean, rtol=1e-14)
    if method == "implicit_krasulina":
        assert max(map(off_inverse, learners)) < 1e-13


@pytest.mark.parametrize("method", FREE)
def test_learners_averaged_in_rounds_beat_each_of_them(method: str) -> None:
    """Krasulina paper, Distributed Setting, on real digits: six learners, averaged every 20 rows of each."""
    rows = digits()
    learners = [ob.create(method, n_components=5) for _ in range(6)]
    for lo in range(0, 1200, 120):
        for j, learner in enumerate(learners):
            learner.partial_fit(rows[lo + j : lo + 120 : 6])
        alone = [loss(learner, rows) for learner in learners]
        ob.average(learners)
    assert loss(learners[0], rows) < min(alone)
    assert loss(learners[0], rows) < loss(ob.create(method, n_components=5).partial_fit(rows), rows)


@pytest.mark.parametrize("method", [*ORTHONORMAL, "incremental_pca"])
def test_bases_whose_columns_mean_nothing_have_no_average(method: str, same_state: Same) -> None:
    a, b = pair(method)
    before = a.copy()
    with pytest.raises(ValueError, match=f"{method}: an average of its states is not defined"):
        ob.average([a, b])
    same_state(a, before)


@pytest.mark.parametrize("method", ORTHONORMAL)
def test_orthonormal_bases_merge_to_the_leading_directions_of_both_projections(method: str) -> None:
    a, b = pair(method, step_size=0.1)
    values, V = np.linalg.eigh((6 * projection(basis(a)) + 3 * projection(basis(b))) / 9)
    assert values[2] - values[1] > 0.1  # there is a best plane
    C = basis(a.merge(b))
    np.testing.assert_allclose(C @ C.T, V[:, 2:] @ V[:, 2:].T, atol=1e-13)
    np.testing.assert_allclose(C.T @ C, np.eye(2), atol=1e-14)


@pytest.mark.parametrize("method", ORTHONORMAL)
def test_signs_and_rotations_do_not_matter_to_a_merge(method: str) -> None:
    """Unlike a plain mean of C, which is zero if one learner has -C."""
    from dataclasses import replace

    from orfit_bench.state.merging import side

    rule = ob.methods()[method].combine.merge.rule
    a, b = (side(learner.rule, learner.live_state) for learner in pair(method, step_size=0.1))
    turn = np.linalg.qr(np.random.default_rng(14).standard_normal((2, 2)))[0]
    turned = replace(b, fields={"basis": -b.fields["basis"] @ turn})
    one, other = (rule(a, it, {"n_components": 2})["basis"] for it in (b, turned))
    np.testing.assert_allclose(projection(one), projection(other), atol=1e-14)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_merged_pca_has_as_many_components_as_the_rows_have_directions(backend: str, dtype: str) -> None:
    sine = np.asarray(ob.delay_line(np.sin(0.1 * np.arange(400)), 8))[8:]  # of rank 2
    one, a, b = (
        ob.create("incremental_pca", n_components=4, backend=backend, dtype=dtype).partial_fit(part)
        for part in (sine, sine[:200], sine[200:])
    )
    assert a.merge(b).components_.shape == one.components_.shape == (2, 8)
    assert a.array("singular_values")[2:].tolist() == [0, 0]
