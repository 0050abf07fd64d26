"""What happens when the coordinates of a pipeline move, and what cannot follow them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.pipelines import CUT, EXACT, N, X, close, make, moments, y

import orfit_bench as ob
from orfit_bench.state.coordinates import RULES, Change

rng = np.random.default_rng(2)


def test_a_row_far_away_moves_the_coordinates() -> None:
    rows = np.vstack([rng.standard_normal((90, 1)), [[1e4]], rng.standard_normal((9, 1))])
    t = rows[:, 0] * 2 + 1
    lms = make("lms", step_size=0.1)
    lms.partial_fit(rows[:90], t[:90])
    before = lms.weights()
    answer = lms.predict([[1e4]])
    prequential = lms.prequential(rows[90:91], t[90:91])
    np.testing.assert_allclose(prequential, answer, rtol=1e-12)
    assert np.abs(lms.learner.array("w")).max() < 1e7
    w, (mean, std) = lms.weights(), moments(rows[:91])
    z = np.array([(1e4 - mean[0]) / std[0], 1.0])  # at most sqrt(90): a step of bounded size
    assert z[0] < np.sqrt(90)
    step = 0.1 * (t[90] - answer[0]) * z
    want = before[:, 0] + [step[0] / std[0], step[1] - step[0] * mean[0] / std[0]]
    np.testing.assert_allclose(w[:, 0], want, rtol=1e-9)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("verb", ["learn_one", "partial_fit", "prequential"])
@pytest.mark.parametrize("size", [1e20, 1e100])
def test_a_refused_row_moves_nothing(backend: str, verb: str, size: float) -> None:
    p, n = make("rls", backend=backend).partial_fit(X[:70], y[:70]), 0 if verb == "learn_one" else 5
    row, before = np.full((1, X.shape[1]), size), p.copy()
    before.partial_fit(X[70 : 70 + n], y[70 : 70 + n])
    rows, targets = np.vstack([X[70 : 70 + n], row, X[75:80]]), np.hstack([y[70 : 70 + n], 1, y[75:80]])
    with pytest.raises(ob.DivergedError, match="outliers") as caught:
        p.learn_one(row[0], 1.0) if verb == "learn_one" else getattr(p, verb)(rows, targets)
    assert caught.value.row == n
    assert p.to_bytes() == before.to_bytes()
    assert p.partial_fit(X, y).to_bytes() == before.partial_fit(X, y).to_bytes()


def test_a_refused_row_is_the_first() -> None:
    p = make("lms", step_size=1e308)
    with pytest.raises(ob.DivergedError):
        p.partial_fit(X[:1], [1e300])
    assert (p.n_samples_seen_, p.transforms[0].count) == (0, 0)


def test_a_refused_batch_moves_nothing_and_takes_its_pending_rows() -> None:
    steps = ob.schedules.sequence([0.01] * 17 + [100.0])
    p = make("sgd", step_size=steps, batch_size=4).partial_fit(X[:71], y[:71])
    moved = p.weights()
    with pytest.raises(ob.DivergedError):
        p.partial_fit(np.full((1, X.shape[1]), 1e30), [1e308])
    assert (p.pending, p.n_samples_seen_) == (0, 68)
    close(p.weights(), moved)


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("lms", {"step_size": 0.02}),
        ("nlms", {}),
        ("apa", {"projection_order": 3}),
        ("one_step_sgd", {}),
        ("sgd", {"step_size": 0.02, "batch_size": 7, "momentum": 0.5, "averaging": "uniform"}),
        ("softmax", {}),
        ("class_rls", {}),
        ("icl", {}),
        ("rls", {"forgetting_factor": 0.0}),
        ("ogd", {}),
        *EXACT,
    ],
    ids=str,
)
def test_a_move_changes_no_prediction(method: str, settings: dict[str, Any]) -> None:
    labels = method in ("softmax", "class_rls")
    t = np.where(y > np.median(y), "high", "low") if labels else y
    p = make(method, **settings).partial_fit(X[:200], t[:200])
    ask = p.decision_function if labels else p.predict
    before = ask(X)
    p.partial_fit(X[:0], t[:0])
    changed = p.copy().flush().merge(make(method, **settings)) if not p.pending else p.copy()  # without rows
    np.testing.assert_array_equal((changed.decision_function if labels else changed.predict)(X), before)
    position = p.position.moved(p.learner, ob.Standardizer().learn(X[300:])[0].coordinates())
    rows = np.column_stack([position.rows(X, p.transforms[0]), np.ones(N)])
    close((p.learner.decision_function if labels else p.learner.predict)(rows), before)


def test_steps_are_chunk_invariant_and_merge_as_a_mean_of_functions() -> None:
    for method, settings in (("lms", {"step_size": 0.02}), ("sgd", {"step_size": 0.02, "batch_size": 7})):
        single = make(method, **settings)
        scores = single.prequential(X, y)
        parts = make(method, **settings)
        close(np.concatenate([parts.prequential(X[i : i + 11], y[i : i + 11]) for i in range(0, N, 11)]), scores)
        close(parts.predict(X), single.predict(X))
        a, b = (make(method, **settings).partial_fit(X[s], y[s]).flush() for s in (slice(CUT), slice(CUT, N)))
        mean = (CUT * a.predict(X) + (N - CUT) * b.predict(X)) / N
        close(a.merge(b).predict(X), mean)


@pytest.mark.parametrize(
    ("steps", "learner", "reason"),
    [
        (("standardize",), {"method": "rls"}, "without an intercept"),
        (("standardize", "standardize", "intercept"), {"method": "rls"}, "without an intercept behind the only"),
        (("standardize", "intercept"), {"method": "sgd", "model": ob.MLP([3])}, "nonlinear model"),
        (("standardize", "intercept"), {"method": "orfit", "memory": 2}, "memory|role"),
        (("standardize", "intercept"), {"method": "kalman", "process_noise": 0.1}, "moves between the rows"),
        (
            ("standardize", "intercept"),
            {"method": "rls", "forgetting": "directional", "forgetting_factor": 0.9},
            "directional",
        ),
        ((ob.Standardizer(scale=False),), {"method": "incremental_pca", "n_components": 1}, "without an intercept"),
    ],
    ids=str,
)
def test_what_cannot_follow_is_not_merged(steps: Any, learner: dict[str, Any], reason: str) -> None:
    def one(part: slice) -> Any:
        p = ob.pipeline(*steps, ob.create(backend="numpy", **learner))
        return p.partial_fit(X[part]) if learner["method"] == "incremental_pca" else p.partial_fit(X[part], y[part])

    a, b = one(slice(20)), one(slice(20, 40))
    before = a.to_bytes()
    with pytest.raises(ValueError, match=reason):
        a.merge(b)
    assert a.to_bytes() == before
    with pytest.raises(TypeError, match=reason):
        a.weights()
    empty = ob.pipeline(*steps, ob.create(backend="numpy", **learner))
    if learner["method"] == "sgd":  # has a rule for merging, and nothing in the other is lost
        assert empty.merge(a).n_samples_seen_ == 20
    assert a.to_bytes() == before


def test_merges_with_no_rows_and_with_others() -> None:
    table = pd.DataFrame(X, columns=list("abcd"))
    a = make("rls").partial_fit(table, y)
    empty = make("rls").merge(a)
    np.testing.assert_array_equal(empty.predict(table), a.predict(table))
    assert list(empty.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(a.copy().merge(make("rls")).predict(table), a.predict(table))
    for other, message in (
        (ob.create("rls"), "got Regressor"),
        (make("rls").partial_fit(X[:, :2], y), "names|columns"),
        (make("rls").partial_fit(pd.DataFrame(X, columns=list("abce")), y), "names"),
        (make("rls", ridge=2.0).partial_fit(pd.DataFrame(X, columns=list("abcd")), y), "ridge"),
        (ob.pipeline("standardize", ob.create("rls")), "differ in their steps"),
        (ob.pipeline(ob.Standardizer(scale=False), "intercept", make("rls").learner), "one standardizer scales"),
    ):
        before = a.to_bytes()
        with pytest.raises(ValueError, match=message):
            a.merge(other)
        assert a.to_bytes() == before
    plain = [ob.pipeline("intercept", ob.create("ridge")).partial_fit(X[s], y[s]) for s in (slice(99), slice(99, N))]
    single = ob.pipeline("intercept", ob.create("ridge")).partial_fit(X, y)
    close(plain[0].merge(plain[1]).predict(X), single.predict(X), 1e-6)


@pytest.mark.parametrize("role", sorted(RULES))
def test_roles_follow_from_their_definitions(role: str) -> None:
    p = 4
    change = Change(rng.uniform(0.5, 2, p - 1), rng.standard_normal(p - 1))
    M = np.eye(p)
    M[:-1, :-1], M[-1, :-1] = np.diag(change.scale), change.shift
    rows, inverse = rng.standard_normal((9, p)), np.linalg.inv(M)
    L = rows.T @ rows
    P, R = np.linalg.inv(L), np.linalg.cholesky(L).T
    S = np.linalg.cholesky(P)
    moved = inverse @ P @ inverse.T
    given, want = {
        "rows": (rows, rows @ M),
        "basis": (np.linalg.qr(rows[:2].T)[0].T, None),
        "weights": (rows.T, inverse @ rows.T),
        "moment": (rows.T, M.T @ rows.T),
        "covariance": (P, moved),
        "covariance_root": (S, np.linalg.cholesky(moved)),
        "variances": (np.diagonal(P), np.diagonal(inverse @ np.diag(np.diagonal(P)) @ inverse.T)),
        "information": (np.tril(L), np.tril(M.T @ L @ M)),
        "information_root": (R, np.linalg.cholesky(M.T @ L @ M).T),
    }[role]
    got = RULES[role](change, given)
    if want is None:
        np.testing.assert_allclose(got @ got.T, np.eye(2), atol=1e-12)
        assert np.linalg.matrix_rank(np.vstack([got, given @ M]), tol=1e-9) == 2
    else:
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
