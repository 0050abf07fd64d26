"""Subspace methods: starts, invalid rows and calls, the limits of floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from helpers.subspaces import METHODS, ORTHONORMAL, STEPPED, X, basis, off_inverse, positive_qr, projection

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]


@pytest.mark.parametrize("method", ORTHONORMAL)
def test_a_rotated_start_spans_the_same_ever_after(method: str) -> None:
    """C Q in place of C gives the same span: no direction within the span is preferred."""
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((2, 2)))[0]
    start = np.random.default_rng(6).standard_normal((4, 2))
    one, other = (ob.create(method, initial_basis=C).partial_fit(X) for C in (start, positive_qr(start) @ turn))
    np.testing.assert_allclose(projection(basis(one)), projection(basis(other)), atol=1e-14)


@pytest.mark.parametrize("method", STEPPED)
def test_starts_are_drawn_from_random_state(method: str, same_state: Same) -> None:
    one, again, other = (ob.create(method, random_state=seed).partial_fit(X[:0]) for seed in (0, 0, 1))
    same_state(one, again)
    C = basis(one)
    assert not np.allclose(projection(C), projection(basis(other)))
    drawn = basis(ob.create("sanger").partial_fit(X[:0])) / 1e-4
    np.testing.assert_allclose(C, positive_qr(drawn) if method in ORTHONORMAL else 1e-4 * drawn, rtol=1e-13)


def test_a_small_start_is_a_gaussian_of_scale_1e_4() -> None:
    C = basis(ob.create("implicit_krasulina", n_components=50).partial_fit(np.zeros((0, 80)))) / 1e-4
    assert abs(C.mean()) < 4 / np.sqrt(C.size)
    assert abs(C.std() - 1) < 4 / np.sqrt(2 * C.size)


@pytest.mark.parametrize("method", STEPPED)
def test_initial_basis_is_the_start(method: str, same_state: Same) -> None:
    given = np.random.default_rng(11).standard_normal((4, 2))
    learner = ob.create(method, initial_basis=given)
    want = positive_qr(given) if method in ORTHONORMAL else given.copy()
    given[:] = 0  # the learner has a copy of its own
    learner.partial_fit(X[:0])
    np.testing.assert_allclose(basis(learner), want, rtol=1e-14)
    same_state(ob.restore(learner.state()), learner)
    same_state(ob.create(method, initial_basis=[[1, 0], [0, 2]]), ob.create(method, initial_basis=np.diag([1.0, 2.0])))


BAD_BASES = {
    "transposed": (np.ones((2, 4)), r"got shape \(2, 4\), want \(features, n_components\) = \(4, 2\)"),
    "a vector": (np.ones(4), r"got shape \(4,\), want"),
    "a number": (1.0, r"got shape \(\), want"),
    "dependent": (np.ones((4, 2)), "got rank 1, want 2"),
    "zeros": (np.zeros((4, 2)), "got rank 0, want 2"),
    "nearly dependent": (np.eye(4)[:, [0, 0]] + 1e-9 * np.eye(4)[:, [1, 2]], "got rank 1, want 2"),
}


@pytest.mark.parametrize("method", STEPPED)
@pytest.mark.parametrize("case", BAD_BASES)
def test_invalid_bases_are_refused(case: str, method: str) -> None:
    bad, message = BAD_BASES[case]
    learner = ob.create(method, initial_basis=bad)
    for call in (learner.partial_fit, learner.step):
        with pytest.raises(ValueError, match=f"initial_basis: {message}"):
            call(X)
        with pytest.raises(AttributeError):
            _ = learner.n_features_in_
    with pytest.raises(ValueError, match=r"initial_basis=.*all finite"):
        ob.create(method, initial_basis=[[np.nan, 0.0]] * 4)


@pytest.mark.parametrize("method", METHODS)
def test_more_components_than_features_are_refused(method: str) -> None:
    learner = ob.create(method, n_components=5)
    for rows in (X, X[:0]):
        with pytest.raises(ValueError, match="X: got 4 columns, want at least n_components=5"):
            learner.partial_fit(rows)
    with pytest.raises(ValueError, match="A: got 4 columns, want at least"):
        learner.step(X)
    assert learner.partial_fit(np.ones((2, 5))).n_features_in_ == 5


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "X", lambda learner, rows: learner.partial_fit(rows)
    yield "A", lambda learner, rows: learner.step(rows)
    yield "X", lambda learner, rows: learner.transform(rows)


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "complex": (X + 0j, TypeError, "dtype complex128, want real numbers"),
    "objects": (X.astype(object), TypeError, "dtype object, want real numbers"),
    "masked": (np.ma.masked_array(X), TypeError, "masked array"),
    "None": (None, TypeError, "got NoneType"),
    "one row flat": (X[0], ValueError, r"got shape \(4,\), want 2 dimensions"),
    "three dimensions": (X[None], ValueError, r"got shape \(1, 9, 4\), want 2 dimensions"),
    "ragged": ([[1.0, 2.0, 3.0, 4.0], [1.0]], ValueError, "rows of unequal length"),
    "nan": (np.where(np.arange(4) == 2, np.nan, X), ValueError, r"\[0, 2\] is nan \(row 0, column 2; 9 such"),
    "inf": (np.where(np.arange(4) == 1, np.inf, X), ValueError, r"\[0, 1\] is inf"),
    "fewer features": (X[:, :3], ValueError, "got 3 columns, want 4 as in the first call"),
}


@pytest.mark.parametrize("method", ["oja", "incremental_pca"])
@pytest.mark.parametrize("case", BAD)
def test_invalid_rows_are_refused(case: str, method: str, same_state: Same) -> None:
    bad, error, message = BAD[case]
    for learner in (ob.create(method, batch_size=2), ob.create(method, batch_size=2).partial_fit(X[:3])):
        before, fresh = learner.copy(), learner.n_samples_seen_ == 0
        if fresh and case == "fewer features":
            continue
        for name, call in list(calls())[: 2 if fresh else 3]:
            with pytest.raises((error, ValueError) if learner.pending else error, match="rows are pending|" + name):
                call(learner, bad)
            same_state(learner, before)
    with pytest.raises(error, match=message):
        ob.create(method).partial_fit(X).step(bad)


@pytest.mark.parametrize("method", METHODS)
def test_invalid_calls_are_refused(method: str, same_state: Same) -> None:
    learner = ob.create(method)
    for call in (lambda: learner.components_, lambda: learner.transform(X), lambda: learner.inverse_transform(X)):
        with pytest.raises(ValueError, match=f"{method} has seen no chunk yet"):
            call()
    before = learner.partial_fit(X).copy()
    with pytest.raises(ValueError, match="Z: got 4 columns, want 2, one for each row of components_"):
        learner.inverse_transform(X)
    with pytest.raises(ValueError, match=r"Z: got shape \(2,\), want 2 dimensions"):
        learner.inverse_transform(np.ones(2))
    with pytest.raises(ValueError, match="A: got no rows"):
        learner.step(X[:0])
    with pytest.raises(ValueError, match=f"{method} has none; "):
        ob.create(method, initial_weights=np.ones(4))
    with pytest.raises(TypeError, match=r"n_components=2\.0"):
        ob.create(method, n_components=2.0)
    with pytest.raises(ValueError, match="n_components=0"):
        ob.create(method, n_components=0)
    same_state(learner, before)


HUGE = {"float64": 1e200, "float32": 1e30}


@pytest.mark.parametrize("dtype", HUGE)
@pytest.mark.parametrize("method", STEPPED)
def test_a_step_that_leaves_the_floats_is_not_applied(method: str, dtype: str, same_state: Same) -> None:
    rows = X.copy()
    rows[4] *= HUGE[dtype]
    for first in (0, 3):  # in the first step of a learner and later
        learner = ob.create(method, dtype=dtype).partial_fit(X[:first])
        with pytest.raises(ob.DivergedError, match=f"{method} diverged at step 5, row {4 - first}") as info:
            learner.partial_fit(rows[first:])
        assert (info.value.step, learner.n_samples_seen_) == (5, 4)
        same_state(learner, ob.create(method, dtype=dtype).partial_fit(X[:4]))
    with pytest.raises(ob.DivergedError):
        ob.create(method, dtype=dtype).partial_fit(rows[4:5])


def test_incremental_pca_takes_all_that_its_singular_values_can_hold(same_state: Same) -> None:
    learner = ob.create("incremental_pca").partial_fit(1e200 * X)
    small = ob.create("incremental_pca").partial_fit(X)
    np.testing.assert_allclose(projection(basis(learner)), projection(basis(small)), atol=1e-13)
    before = learner.copy()
    with pytest.raises(ob.DivergedError):
        learner.step(np.full((9, 4), 1e308))
    same_state(learner, before)


@pytest.mark.parametrize("method", ORTHONORMAL)
def test_a_step_that_drowns_the_other_directions_is_refused(method: str, same_state: Same) -> None:
    """C + step y y'C is finite, but its second direction would be only rounding."""
    learner = ob.create(method, step_size=1.0).partial_fit(X)
    before = learner.copy()
    with pytest.raises(ob.DivergedError, match="too few digits"):
        learner.partial_fit(1e9 * X[:1])
    same_state(learner, before)
    learner.partial_fit(1e5 * X[:1])
    np.testing.assert_allclose(learner.components_ @ learner.components_.T, np.eye(2), atol=1e-14)


def test_implicit_krasulina_learns_huge_rows() -> None:
    """Its step is bounded: a row of any size that squares to a number moves C by at most sqrt(step) |r| / 2."""
    learner = ob.create("implicit_krasulina").partial_fit(X)
    before = basis(learner)
    C = basis(learner.partial_fit(1e100 * X[:1]))
    assert np.linalg.norm(C - before) < 10 * np.linalg.norm(before)
    np.testing.assert_allclose(projection(C) @ X[0], X[0], atol=1e-12)  # the row is in the span now
    assert off_inverse(learner) < 1e-12


def test_implicit_krasulina_refuses_a_row_whose_energy_overflows(same_state: Same) -> None:
    """The energy of x overflows, that of the residual does not: the gain would be 0."""
    learner = ob.create("implicit_krasulina").partial_fit(X)
    before = learner.copy()
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(1e153 * X[:1])
    same_state(learner, before)
    C = basis(learner.step(1e153 * X[:2]))  # a block does not need this energy
    np.testing.assert_allclose(projection(C) @ X[:2].T, X[:2].T, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e140])
@pytest.mark.parametrize("method", ["implicit_krasulina", "incremental_pca"])
def test_the_subspace_does_not_depend_on_the_scale(method: str, scale: float) -> None:
    """Rows multiplied by a number and a step divided by its square give the same subspace."""

    def learned(scale: float) -> Any:
        more = {} if method == "incremental_pca" else {"step_size": 0.01 / scale**2, "initial_basis": np.eye(4)[:, :2]}
        return projection(basis(ob.create(method, **more).partial_fit(scale * X)))

    np.testing.assert_allclose(learned(scale), learned(1.0), atol=1e-12)


@pytest.mark.parametrize("place", range(6))
def test_incremental_pca_learns_or_refuses_a_row_near_the_largest_number(place):
    """A decomposition of a matrix that overflows may never end."""
    X = np.random.default_rng(place).standard_normal((6, 5))
    X[place], X[place, place % 5] = 0, np.finfo(float).max
    learner = ob.create("incremental_pca", backend="numpy", n_components=2)
    with np.errstate(all="ignore"), suppress(ob.DivergedError):
        learner.partial_fit(X)
    assert np.isfinite(learner.array("basis") * learner.array("singular_values")).all()


def test_a_merge_that_overflows_is_refused():
    learner = ob.create("incremental_pca", backend="numpy", n_components=2).partial_fit([[3.0, 4.0], [4.0, -3.0]])
    state = learner.state()
    state["singular_values"].values[:] = np.finfo(float).max
    state["basis"].values[:] = 1.5
    with pytest.raises(ValueError, match=r"cannot be merged here: the product .* overflows"):
        learner.merge(ob.restore(state))
