"""Learners of subspaces: their rules against dense formulas, their state anywhere, what they are handed, merging."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from helpers.cases import SEQUENCE

import orfit_bench as ob
from orfit_bench.learners.subspace import Subspace

Same = Callable[[ob.Learner, ob.Learner], None]

METHODS = ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
ORTHONORMAL, FREE = METHODS[:2], METHODS[2:4]
STEPPED = ORTHONORMAL + FREE

X = np.random.default_rng(0).standard_normal((9, 4)) * [3.0, 2.0, 1.0, 0.5]
X.flags.writeable = False


def basis(learner: ob.Learner) -> Any:
    return learner.state()["basis"].values.astype(float)


def projection(C: Any) -> Any:
    return C @ np.linalg.pinv(C)


def loss(learner: Subspace, X: Any) -> float:
    """The compression loss (2)."""
    return float(((X - learner.inverse_transform(learner.transform(X))) ** 2).sum() / len(X))


def test_all_subspace_methods_are_tested_here() -> None:
    assert sorted(METHODS) == sorted(name for name, m in ob.methods().items() if m.kind == "subspace")


# ---------------------------------------------------------------------- the rules


def positive_qr(C: Any) -> Any:
    Q, R = np.linalg.qr(C)
    return Q * np.sign(np.diag(R))


def dense_step(method: str, C: Any, A: Any, step: float) -> Any:
    """The rules as they are printed, with dense inverses."""
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
def test_any_shape_will_do(method: str, k: int, shape: tuple[int, int]) -> None:
    """Also k = d, where the subspace is everything."""
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


def test_the_moment_of_orthonormalisation_does_not_matter_to_oja_but_to_krasulina() -> None:
    rows, step = np.random.default_rng(3).standard_normal((30, 6)), 0.1
    start = positive_qr(np.random.default_rng(4).standard_normal((6, 2)))
    for method, differs in (("oja", False), ("krasulina", True)):
        C = start
        for y in rows:
            C = C - step * np.outer((C @ (C.T @ y) if method == "krasulina" else 0) - y, y @ C)
        learner = ob.create(method, step_size=step, initial_basis=start).partial_fit(rows)
        gap = abs(projection(C) - projection(basis(learner))).max()
        assert (gap > 1e-2) if differs else (gap < 1e-13)


@pytest.mark.parametrize("method", ORTHONORMAL)
def test_a_rotated_start_spans_the_same_ever_after(method: str) -> None:
    """C Q in place of C gives C_new Q': no direction within the span is preferred."""
    turn = np.linalg.qr(np.random.default_rng(5).standard_normal((2, 2)))[0]
    start = np.random.default_rng(6).standard_normal((4, 2))
    one, other = (ob.create(method, initial_basis=C).partial_fit(X) for C in (start, positive_qr(start) @ turn))
    np.testing.assert_allclose(projection(basis(one)), projection(basis(other)), atol=1e-14)


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
    """A flush of one row goes by (13), a batch that repeats a row by (12): the mean of two equal rows is that row."""
    start = np.random.default_rng(8).standard_normal((4, 2))
    by_row = ob.create("implicit_krasulina", initial_basis=start, batch_size=2).partial_fit(X[:1]).flush()
    by_batch = ob.create("implicit_krasulina", initial_basis=start).step(X[[0, 0]])
    np.testing.assert_allclose(basis(by_row), basis(by_batch), rtol=1e-13)
    np.testing.assert_allclose(by_row.state()["inverse"], by_batch.state()["inverse"], rtol=1e-12)


def test_incremental_pca_is_scikit_learns_on_centred_rows_that_it_can_hold() -> None:
    decomposition = pytest.importorskip("sklearn.decomposition")
    rows = np.random.default_rng(9).standard_normal((40, 5)) * [5.0, 4.0, 3.0, 2.0, 1.0]
    rows -= rows.mean(axis=0)
    want = decomposition.PCA(n_components=5).fit(rows)
    learner = ob.create("incremental_pca", n_components=5, batch_size=7).partial_fit(rows).flush()
    np.testing.assert_allclose(learner.state()["singular_values"], want.singular_values_, rtol=1e-13)
    np.testing.assert_allclose(abs(learner.components_ @ want.components_.T), np.eye(5), atol=1e-13)


@pytest.mark.parametrize("method", STEPPED)
def test_defaults_learn_standardised_rows(method: str) -> None:
    """Each comes near the least compression loss on rows of variance 1."""
    rng = np.random.default_rng(10)
    rows = rng.standard_normal((2000, 20)) / np.sqrt(np.arange(1, 21)) @ np.linalg.qr(rng.standard_normal((20, 20)))[0]
    rows /= rows.std(axis=0)
    least = (np.linalg.svd(rows, compute_uv=False)[2:] ** 2).sum() / len(rows)
    fresh, learned = ob.create(method).partial_fit(rows[:0]), ob.create(method).partial_fit(rows)
    assert loss(fresh, rows) > 1.2 * least
    assert loss(learned, rows) < 1.05 * least


# ---------------------------------------------------------------------- starts


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
def test_a_given_basis_is_where_it_starts(method: str, same_state: Same) -> None:
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
def test_a_basis_that_is_none_is_refused_and_nothing_begins(case: str, method: str) -> None:
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


def test_incremental_pca_fills_its_basis_as_directions_come() -> None:
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


def test_incremental_pca_drops_a_direction_that_is_rounding_beside_the_others() -> None:
    learner = ob.create("incremental_pca").partial_fit([[0, 0, 1e-20], [1e-20, 0, 0]])
    assert learner.components_.shape == (2, 3)
    learner.partial_fit([[1, 2, 0]])
    np.testing.assert_allclose(abs(learner.components_), [[5**-0.5, 2 * 5**-0.5, 0]], atol=1e-15)
    np.testing.assert_allclose(learner.state()["singular_values"], [5**0.5, 0], rtol=1e-15)


# ---------------------------------------------------------------------- cuts, waiting rows, the state anywhere


def test_the_inverse_is_renewed_wherever_the_stream_is_cut(same_state: Same) -> None:
    rows = np.random.default_rng(12).standard_normal((1003, 3))
    whole, cut = (ob.create("implicit_krasulina", step_size=0.1) for _ in range(2))
    whole.partial_fit(rows)
    for lo, hi in ((0, 999), (999, 1000), (1000, 1001), (1001, 1003)):
        cut = ob.restore(cut.partial_fit(rows[lo:hi]).state())
    same_state(cut, whole)


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


# ---------------------------------------------------------------------- what a caller hands in


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
def test_bad_rows_are_refused_and_change_nothing(case: str, method: str, same_state: Same) -> None:
    bad, error, message = BAD[case]
    for learner in (ob.create(method, batch_size=2), ob.create(method, batch_size=2).partial_fit(X[:3])):
        before, fresh = learner.copy(), learner.n_samples_seen_ == 0
        if fresh and case == "fewer features":
            continue
        for name, call in list(calls())[: 2 if fresh else 3]:
            with pytest.raises((error, ValueError) if learner.pending else error, match="rows wait|" + name):
                call(learner, bad)
            same_state(learner, before)
    with pytest.raises(error, match=message):
        ob.create(method).partial_fit(X).step(bad)


@pytest.mark.parametrize("method", METHODS)
def test_wrong_calls(method: str, same_state: Same) -> None:
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


# ---------------------------------------------------------------------- the edge of the floats


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_rows_of_zeros_move_nothing(method: str, dtype: str) -> None:
    learner = ob.create(method, dtype=dtype).partial_fit(np.zeros((3, 4)))
    assert learner.state().attrs["t"] == 3
    C = basis(learner.partial_fit(X))
    learner.partial_fit(np.zeros((3, 4))).step(np.zeros((2, 4)))
    np.testing.assert_allclose(basis(learner), C, rtol=0, atol=4 * np.finfo(dtype).eps * abs(C).max())
    assert learner.state().attrs["t"] == 16


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
    """C + step y y'C is finite, but its second direction would be rounding alone."""
    learner = ob.create(method, step_size=1.0).partial_fit(X)
    before = learner.copy()
    with pytest.raises(ob.DivergedError, match="too few digits"):
        learner.partial_fit(1e9 * X[:1])
    same_state(learner, before)
    learner.partial_fit(1e5 * X[:1])
    np.testing.assert_allclose(learner.components_ @ learner.components_.T, np.eye(2), atol=1e-14)


def test_implicit_krasulina_takes_huge_rows_in_its_stride() -> None:
    """Its step is bounded: a row of any size that squares to a number moves C by at most sqrt(step) |r| / 2."""
    learner = ob.create("implicit_krasulina").partial_fit(X)
    before = basis(learner)
    C = basis(learner.partial_fit(1e100 * X[:1]))
    assert np.linalg.norm(C - before) < 10 * np.linalg.norm(before)
    np.testing.assert_allclose(projection(C) @ X[0], X[0], atol=1e-12)  # the row is in the span now
    assert off_inverse(learner) < 1e-12


def test_implicit_krasulina_skips_no_row_in_silence(same_state: Same) -> None:
    """The energy of x overflows, that of the residual does not: the gain would be 0."""
    learner = ob.create("implicit_krasulina").partial_fit(X)
    before = learner.copy()
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(1e153 * X[:1])
    same_state(learner, before)
    C = basis(learner.step(1e153 * X[:2]))  # a block has no such energy
    np.testing.assert_allclose(projection(C) @ X[:2].T, X[:2].T, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e140])
@pytest.mark.parametrize("method", ["implicit_krasulina", "incremental_pca"])
def test_scale_is_no_matter(method: str, scale: float) -> None:
    """Rows times a number, the step over its square: the same subspace."""

    def learned(scale: float) -> Any:
        more = {} if method == "incremental_pca" else {"step_size": 0.01 / scale**2, "initial_basis": np.eye(4)[:, :2]}
        return projection(basis(ob.create(method, **more).partial_fit(scale * X)))

    np.testing.assert_allclose(learned(scale), learned(1.0), atol=1e-12)


# ---------------------------------------------------------------------- long streams


def digits() -> Any:
    return ob.streams()["digits_pca"].load().X


def ill_conditioned(n: int = 1200, d: int = 30) -> Any:
    left, right = (np.linalg.qr(np.random.default_rng(n).standard_normal((size, d)))[0] for size in (n, d))
    return (left * np.geomspace(1, 1e-6, d)) @ right.T


def off_inverse(learner: ob.Learner) -> float:
    """How far the kept inverse is from that of C."""
    state = learner.state()
    pseudo = np.linalg.pinv(state["basis"].values.astype(float))
    want = pseudo @ pseudo.T
    return float(abs(state["inverse"].values - want).max() / abs(want).max())


def check_kept_inverse(n: int, make: Callable[[], Any], step: float) -> None:
    rows = make()
    learner = ob.create("implicit_krasulina", n_components=10, step_size=step)
    for lo in range(0, n, len(rows)):
        learner.partial_fit(rows[: min(len(rows), n - lo)])
    assert learner.state().attrs["t"] % 1000 == 0  # as long after a recomputation as can be
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
def test_orfit_renews_the_basis_that_it_rotates(dtype: str) -> None:
    """Each of the 97 steps between renewals may cost two roundings; without any, 12,000 steps cost ten times that."""
    data = ob.streams()["digits"].load()
    learner = ob.create("orfit", memory=10, dtype=dtype)
    for _ in range(10):
        learner.partial_fit(data.X, data.y[:, 0])
    U = basis(learner)
    assert abs(U @ U.T - np.eye(10)).max() < 2 * 97 * np.finfo(dtype).eps


# ---------------------------------------------------------------------- merging


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
    same_state(ob.create(method).merge(b), b)  # into one that has seen nothing
    same_state(b.merge(ob.create(method)), before)


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_merged(method: str, same_state: Same) -> None:
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
    with pytest.raises(ValueError, match="rows wait"):
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


def test_incremental_pca_merges_to_the_best_of_what_both_kept() -> None:
    a, b = pair("incremental_pca")
    kept = [basis(one) * one.state()["singular_values"].values for one in (a, b)]
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
    """Eq. (18) with equal weights; each learner keeps its step count and goes on alone."""
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
    """Against a plain mean of C, which vanishes where one learner holds -C."""
    from dataclasses import replace

    from orfit_bench.state.merging import side

    rule = ob.methods()[method].combine.merge.rule
    a, b = (side(learner.rule, learner.live_state) for learner in pair(method, step_size=0.1))
    turn = np.linalg.qr(np.random.default_rng(14).standard_normal((2, 2)))[0]
    turned = replace(b, fields={"basis": -b.fields["basis"] @ turn})
    one, other = (rule(a, it, {"n_components": 2})["basis"] for it in (b, turned))
    np.testing.assert_allclose(projection(one), projection(other), atol=1e-14)


# ---------------------------------------------------------------------- the stream of k-PCA


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
