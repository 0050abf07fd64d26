"""RLS reports lost digits: it is exact until a warning, and refuses rows before its numbers are wrong."""

import warnings

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.catalogue.shared.least_squares import weighted_rows as weighted


def gaussian(rng, n, d):
    return rng.standard_normal((n, d))


def zero_column(rng, n, d):
    X = rng.standard_normal((n, d))
    X[:, 2] = 0
    return X


def rank_deficient(rng, n, d):
    return rng.standard_normal((n, d // 2)) @ rng.standard_normal((d // 2, d))


def three_rows_repeated(rng, n, d):
    return rng.standard_normal((3, d))[np.arange(n) % 3]


def late_column(rng, n, d):
    X = rng.standard_normal((n, d))
    X[: n - 50, 2] = 0
    return X


def exact(X, y, ff, ridge=1.0):
    """The weighted ridge solution, from the rows that still have weight."""
    kept = min(len(X), int(80 / (1 - ff))) if ff < 1 else len(X)
    A, b = weighted(X[-kept:], y[-kept:, None], ridge * ff ** (len(X) - kept), ff)
    return np.linalg.lstsq(A, b, rcond=None)[0][:, 0]


def follow(make, d, ff, n, dtype="float64", chunk=50):
    """Learn until the end or an error; the worst error of predictions before the first warning, and the messages."""
    rng = np.random.default_rng(0)
    X = make(rng, n, d).astype(dtype).astype(float)
    y = (X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)).astype(dtype).astype(float)
    learner, stated, worst = ob.create("rls", forgetting_factor=ff, dtype=dtype), [], 0.0
    for i in range(0, n, chunk):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                learner.partial_fit(X[i : i + chunk], y[i : i + chunk])
            except ob.DivergedError:
                stated.append("error")
            stated += ["warning"] * len(caught)
        if "error" in stated:
            break
        if not stated and i % (n // 10) < chunk:
            seen = X[max(0, i - 20) : i + chunk]
            gap = abs(seen @ exact(X[: i + chunk], y[: i + chunk], ff) - learner.predict(seen)).max()
            worst = max(worst, float(gap / abs(y).max()))
    return worst, sorted(stated, reverse=True), learner


@pytest.mark.parametrize(("d", "ff"), [(10, 0.99), (100, 0.9), (20, 0.5), (10, 1.0), (10, 1.05)])
def test_exciting_rows_stay_exact_without_a_word(d, ff):
    worst, stated, _ = follow(gaussian, d, ff, n=5_000)
    assert stated == []
    assert worst < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(("d", "ff"), [(10, 0.99), (100, 0.9), (1000, 0.99)])
def test_exciting_rows_stay_exact_through_a_hundred_thousand(d, ff):
    n = 100_000 if d < 1000 else 10_000
    worst, stated, _ = follow(gaussian, d, ff, n)
    assert stated == []
    assert worst < 1e-10


@pytest.mark.parametrize(
    ("make", "d", "ff", "n"),
    [
        (zero_column, 10, 0.9, 10_000),
        (rank_deficient, 10, 0.99, 10_000),
        (rank_deficient, 40, 0.9, 10_000),
        (three_rows_repeated, 10, 0.99, 10_000),
        (gaussian, 300, 0.9, 1_000),
    ],
    ids=lambda v: getattr(v, "__name__", v),
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_wind_up_gets_one_warning_and_then_the_error(make, d, ff, n, dtype):
    worst, stated, learner = follow(make, d, ff, n, dtype, chunk=5)
    assert stated == ["warning", "error"]
    assert worst < (5e-7 if dtype == "float64" else 2e-3)
    assert np.isfinite(learner.array("P")).all()


def test_a_column_that_wakes_late_is_refused_rather_than_wrong():
    _, stated, learner = follow(late_column, 10, 0.99, n=10_000)
    assert stated[-1] == "error"
    assert np.isfinite(learner.predict(np.ones((1, 10)))).all()


def test_warning_names_the_remedies():
    rng = np.random.default_rng(0)
    X = rank_deficient(rng, 2_000, 10)
    with pytest.warns(ob.AccuracyWarning, match="forgetting factor nearer 1, a larger ridge, fewer features"):
        ob.create("rls", forgetting_factor=0.99).partial_fit(X, X[:, 0])


def test_long_streams_do_not_underflow():
    """The printed recursion is wrong by 1e39 here, since it carries ff^t (thesis, eq. 2.3)."""
    worst, stated, _ = follow(gaussian, 5, 0.9, n=20_000)
    assert stated == []
    assert worst < 1e-13


@pytest.mark.parametrize("curvature", [-0.5, -1e-7])
def test_a_pivot_that_lost_its_sign_is_refused(curvature):
    """In exact arithmetic s = ff + x'P x is never below ff."""
    state = ob.create("rls").partial_fit(np.eye(3), np.ones(3)).state()
    state["P"].values[0, 0] = curvature
    learner = ob.restore(state)
    with pytest.raises(ob.DivergedError):
        learner.partial_fit([[1.0, 0.0, 0.0]], [1.0])
    assert learner.state().identical(state)


@pytest.mark.parametrize(("ff", "energy", "says"), [(0.1, 1e10, True), (0.1, 1e9, False), (1.0, 1e14, True)])
def test_row_much_larger_than_the_prior(ff, energy, says):
    """After a step x'P x has an error of eps s / ff; without forgetting this is a warning, not a refusal."""
    learner = ob.create("rls", forgetting_factor=ff)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.partial_fit([[np.sqrt(energy), 0.0]], [1.0])
    assert bool(caught) == says


def test_a_row_that_leaves_no_digit_is_refused():
    with pytest.raises(ob.DivergedError):
        ob.create("rls").partial_fit([[1e9, 0.0]], [1.0])
