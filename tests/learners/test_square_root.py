"""RLS that keeps a square root of the information, and directional forgetting."""

from fractions import Fraction

import numpy as np
import pytest

import orfit_bench as ob

BACKENDS = ["numpy", "numba"]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, X @ [1.0, -2.0, 0.5, 3.0] + 0.1 * rng.normal(size=60)


@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_at_condition_a_million(backend):
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(400, 4)) * np.geomspace(1, 1e-6, 4)).astype(np.float32)
    y = (X.astype(float) @ (np.ones(4) / np.geomspace(1, 1e-6, 4))).astype(np.float32)
    settings = {"ridge": 1e-12, "backend": backend, "dtype": "float32"}
    root = ob.create("rls", form="square_root", **settings).partial_fit(X, y)
    A, b = np.vstack([X.astype(float), 1e-6 * np.eye(4)]), np.append(y.astype(float), np.zeros(4))
    exact = X @ np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.abs(root.predict(X) - exact).max() < 1e-5
    with pytest.raises(ob.DivergedError):
        ob.create("rls", **settings).partial_fit(X, y)


def test_no_refusal_where_a_direction_is_forgotten(rows):
    X, y = rows
    X = np.tile(X * [1, 1, 1, 0], (200, 1))
    learner = ob.create("rls", backend="numpy", forgetting="directional", forgetting_factor=0.9)
    learner.partial_fit(X, np.tile(y, 200))
    assert learner.array("root")[3, 3] == 1.0
    with pytest.raises(ob.DivergedError), pytest.warns(ob.AccuracyWarning):
        ob.create("rls", backend="numpy", forgetting_factor=0.9).partial_fit(X, np.tile(y, 200))


@pytest.mark.parametrize("forgetting_factor", [1.0, 0.9])
def test_same_standard_deviations_and_likelihood(rows, forgetting_factor):
    X, y = rows
    a, b = (
        ob.create("rls", backend="numpy", form=form, forgetting_factor=forgetting_factor).partial_fit(X[:40], y[:40])
        for form in ("covariance", "square_root")
    )
    np.testing.assert_allclose(a.predict(X, return_std=True)[1], b.predict(X, return_std=True)[1], rtol=1e-12)
    np.testing.assert_allclose(a.log_likelihood(X[40:], y[40:]), b.log_likelihood(X[40:], y[40:]), rtol=1e-12)


def test_directional_forgetting_predicts_no_distribution(rows):
    learner = ob.create("rls", backend="numpy", forgetting="directional").partial_fit(*rows)
    with pytest.raises(ValueError, match="with directional forgetting, old rows have no common weight"):
        learner.predict(rows[0], return_std=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("forgetting_factor", [1.0, 0.95])
def test_merge_equals_all_rows(rows, backend, forgetting_factor):
    X, y = rows
    settings = {"form": "square_root", "forgetting_factor": forgetting_factor, "backend": backend}
    complete = ob.create("rls", **settings).partial_fit(X, y)
    merged = ob.create("rls", **settings).partial_fit(X[:25], y[:25])
    merged.merge(ob.create("rls", **settings).partial_fit(X[25:], y[25:]))
    np.testing.assert_allclose(merged.array("w"), complete.array("w"), rtol=1e-12)
    np.testing.assert_allclose(merged.array("root"), complete.array("root"), rtol=1e-11, atol=1e-12)


def test_merge_of_directional_forgetting_is_refused(rows):
    a, b = (ob.create("rls", forgetting="directional", forgetting_factor=0.9).partial_fit(*rows) for _ in range(2))
    with pytest.raises(ValueError, match="what one learner forgets depends on the rows of the other"):
        a.merge(b)


@pytest.mark.parametrize("backend", BACKENDS)
def test_fleet_equals_single_learners(rows, backend):
    X, y = rows
    settings = {"forgetting": "directional", "forgetting_factor": 0.9, "backend": backend}
    fleet = ob.fleet("rls", 3, **settings).partial_fit(X.reshape(3, 20, 4), y.reshape(3, 20))
    for i in range(3):
        single = ob.create("rls", **settings).partial_fit(X[20 * i : 20 * i + 20], y[20 * i : 20 * i + 20])
        np.testing.assert_array_equal(fleet[i].array("w"), single.array("w"))


@pytest.mark.parametrize("backend", BACKENDS)
def test_rows_of_little_information_forget_nothing(backend):
    learner = ob.create("rls", forgetting="directional", forgetting_factor=0.9, ridge=1.0, backend=backend)
    learner.partial_fit([[0.1, 0.0]] * 100, np.zeros(100))  # |x|^2 = 0.01 < (1 - 0.9) * 1
    np.testing.assert_allclose(learner.array("root")[0, 0] ** 2, 2.0)
    learner.partial_fit([[1.0, 0.0]], [0.0])
    np.testing.assert_allclose(learner.array("root")[0, 0] ** 2, 0.9 * 2.0 + 1.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_first_block_without_a_prior(rows, backend):
    X, y = rows
    learner = ob.create("rls", form="square_root", ridge=0.0, backend=backend)
    with pytest.raises(ValueError, match="the first block has rank 3"):
        learner.step(X[:3], y[:3])
    learner.step(X[:9], y[:9]).partial_fit(X[9:], y[9:])
    np.testing.assert_allclose(learner.array("w")[:, 0], np.linalg.lstsq(X, y, rcond=None)[0])


@pytest.mark.slow
def test_ten_million_rows_with_a_quarter_of_the_directions_unseen():
    rng = np.random.default_rng(2)
    d, n, tail, ff = 8, 10_000_000, 10_000, 0.9
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0][:, :6]  # the rows see 6 of 8 directions, none of them an axis
    learner = ob.create("rls", backend="numba", forgetting="directional", forgetting_factor=ff)
    parts = []
    for _ in range(n // tail):
        X = rng.normal(size=(tail, 6)) @ Q.T
        y = X @ np.arange(8.0) + rng.normal(size=tail)
        learner.partial_fit(X, y)
        parts = [(X, y)]
    (X, y), S = parts[0], np.eye(6)  # what is older than these rows is forgotten: 0.9^(10^4 / 6) is 1e-76
    L, w = S, np.zeros(6)
    for x, target in zip(X @ Q, y, strict=True):
        Lx = L @ x
        L = L - (1 - ff) * np.outer(Lx, Lx) / (x @ Lx) + np.outer(x, x)
        w = w + np.linalg.solve(L, x) * (target - x @ w)
    np.testing.assert_allclose(learner.array("w")[:, 0], Q @ w, rtol=1e-9, atol=1e-9)
    R = learner.array("root")
    unseen = np.linalg.qr(np.hstack([Q, rng.normal(size=(d, 2))]))[0][:, 6:]
    np.testing.assert_allclose(unseen.T @ R.T @ R @ unseen, np.eye(2), atol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("size", [1e8, 1e16, 1e30, 1e100])
@pytest.mark.parametrize("row", [[1, 1, 1, 1e-30], [1, 0, 0, 0], [0, 0, 1, 0]])
def test_a_row_of_any_size_leaves_the_others_their_digits(rows, backend, size, row):
    X, y = rows[0][:30], rows[1][:30]
    heavy = np.array([row]) * size
    learner = ob.create("rls", backend=backend, form="square_root").partial_fit(X, y).partial_fit(heavy, [1.0])
    want = exact_solution(np.vstack([X, heavy]), [*y, 1.0])
    np.testing.assert_allclose(learner.array("w")[:, 0], want, rtol=1e-9, atol=1e-14)


def exact_solution(X, y):
    """The solution w of (I + X'X) w = X'y in rational numbers, by elimination."""
    rows = [[Fraction(float(a)) for a in (*x, t)] for x, t in zip(X, y, strict=True)]
    d = X.shape[1]
    A = [[sum((r[i] * r[j] for r in rows), Fraction(int(i == j))) for j in range(d + 1)] for i in range(d)]
    for k in range(d):
        A[k] = [a / A[k][k] for a in A[k]]
        for i in set(range(d)) - {k}:
            A[i] = [a - A[i][k] * b for a, b in zip(A[i], A[k], strict=True)]
    return [float(a[d]) for a in A]


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("seed", "ff", "row"), [(2, 0.9, 361), (0, 0.95, 956)])
def test_pixels_that_return_together_after_a_long_time_are_marked(backend, seed, ff, row):
    """From this row on, predictions were off by up to 1e17 standard deviations, without a warning."""
    if backend == "numba":
        pytest.importorskip("numba")
    digits = ob.streams()["class_digits"].load()
    order = np.random.default_rng(seed).permutation(len(digits.X))[: row + 1]
    X, y = digits.X[order].astype("f4"), digits.y[order].astype("f4")
    learner = ob.create("rls", form="square_root", forgetting_factor=ff, dtype="float32", backend=backend)
    learner.partial_fit(X[:row], y[:row])
    exact = ob.create("rls", form="square_root", forgetting_factor=ff, backend=backend).partial_fit(X[:row], y[:row])
    mean, std = exact.predict(X[row:], return_std=True)
    assert abs(learner.predict(X[row:]) - mean) <= 1e-3 * std
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"):
        learner.partial_fit(X[row:], y[row:])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_a_row_whose_error_is_rounding_of_weights_is_marked(backend):
    """The weight of a feature is 1e9 after it was 0 for long, so that y - x'w has no digit of y in float32."""
    if backend == "numba":
        pytest.importorskip("numba")
    learner = ob.create("rls", form="square_root", forgetting_factor=0.9, dtype="float32", backend=backend)
    learner.partial_fit(np.eye(2), [1.0, 2.0])
    state = learner.state()
    state["w"][0], state["root"][0, 0] = 1e9, 1e-9  # all was forgotten about the first feature
    forgotten = ob.restore(state, backend=backend).partial_fit([[0.0, 1.0]], [3.0])
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"):
        forgotten.partial_fit([[1.0, 1.0]], [3.0])
    forgotten.partial_fit([[1.0, 1.0]] * 20, [3.0] * 20)  # the next rows mend the weight
    assert forgotten.predict([[1.0, 1.0]]) == pytest.approx(3.0, abs=0.1)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize(("dtype", "rows"), [("float64", 380), ("float32", 150)])
def test_a_feature_may_return_with_a_target_of_zero(backend, dtype, rows):
    if backend == "numba":
        pytest.importorskip("numba")
    settings = {"form": "square_root", "forgetting_factor": 0.9, "backend": backend, "dtype": dtype}
    learner = ob.create("rls", **settings).partial_fit([[0.0, 1.0]], [1.0])
    learner.partial_fit([[1.0, 0.0]] * rows, [1.0] * rows)
    np.testing.assert_allclose(learner.partial_fit([[0.0, 1.0]], [0.0]).predict(np.eye(2)), [1.0, 0.0], atol=1e-6)
    fast = ob.create("rls", **(settings | {"forgetting_factor": 1e-6})).partial_fit([[1.0], [1.0]], [1.0, 0.0])
    np.testing.assert_allclose(fast.predict([[1.0]]), 0.0, atol=1e-5)
