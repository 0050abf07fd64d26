"""Pipelines whose learners follow the moments: exact in chunks, merged, after shifts, against a batch solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import orfit_bench as ob
from orfit_bench.learners.rule import Rule
from orfit_bench.state.coordinates import RULES, Change

rng = np.random.default_rng(1)
N, CUT = 700, 300
X = rng.standard_normal((N, 4))
X[400:] = X[400:] * [3, 20, 0.1, 1] + [10, 50, -3, 0]  # the moments shift within a part
X = X * [1e-3, 1, 1e4, 1] + [5, -2e3, 1e5, 0]
X[:, 3] = 0.1  # a constant column
Y = ((X - [5, -2e3, 1e5, 0]) / [1e-3, 1, 1e4, 1]) @ rng.standard_normal((4, 2)) + [7, -1] + rng.standard_normal((N, 2))
y = Y[:, 0]
REVERSED = np.r_[CUT:N, :CUT]

EXACT: list[tuple[str, dict[str, Any]]] = [
    ("ridge", {"ridge": 0.5}),
    ("ridge", {"ridge": 0.5, "forgetting_factor": 0.99}),
    ("ridge", {"ridge": 0.5, "forgetting_factor": 1.01}),
    ("rls", {"ridge": 0.5}),
    ("rls", {"ridge": 0.5, "forgetting_factor": 0.99}),
    ("rls", {"ridge": 0.5, "form": "square_root"}),
    ("rls", {"ridge": 0.5, "form": "square_root", "forgetting_factor": 0.99}),
    ("kalman", {"initial_covariance": 2.0}),
    ("kalman", {"initial_covariance": 2.0, "form": "square_root"}),
]


def make(method: str, dtype: str = "float64", backend: str = "numpy", **settings: Any) -> Any:
    return ob.pipeline("standardize", "intercept", ob.create(method, backend=backend, dtype=dtype, **settings))


def in_chunks(pipeline: Any, rows: Any, targets: Any, size: int, **given: Any) -> Any:
    for i in range(0, len(rows), size):
        part = {name: value[i : i + size] for name, value in given.items()}
        pipeline.partial_fit(rows[i : i + size], targets[i : i + size], **part)
    return pipeline


def moments(rows: Any, weights: Any = None) -> tuple[Any, Any]:
    """Mean and standard deviation, 1 where a column is constant."""
    mean = np.average(rows, axis=0, weights=weights)
    std = np.sqrt(np.average(np.abs(rows - mean) ** 2, axis=0, weights=weights))
    return mean, np.where(std > 1e-12 * np.abs(mean), std, 1.0)


def batch(
    rows: Any, targets: Any, ridge: float, prior: tuple[Any, Any], weights: Any = None, ff: float = 1.0, w0: Any = 0.0
) -> Any:
    """The raw weights of least squares, all rows at once, with a prior in given coordinates, by an SVD."""
    Z = np.column_stack([(rows - prior[0]) / prior[1], np.ones(len(rows))])
    n, p = Z.shape
    root = np.sqrt((np.ones(n) if weights is None else weights) * ff ** np.arange(n - 1, -1, -1))
    A = np.vstack([root[:, None] * Z, np.sqrt(ridge * ff**n) * np.eye(p)])
    T = targets.reshape(n, -1)
    b = np.vstack([root[:, None] * T, np.zeros((p, T.shape[1]))])
    w = np.linalg.lstsq(A, b, rcond=None)[0]
    raw = w[:-1] / prior[1][:, None]
    return np.vstack([raw, w[-1:] - prior[0] @ raw])


def answers(w: Any, rows: Any) -> Any:
    return rows @ w[:-1] + w[-1]


def close(got: Any, want: Any, tol: float = 1e-9) -> None:
    want = np.asarray(want).reshape(np.shape(got))
    assert np.abs(got - want).max() <= tol * np.abs(want).max()


@pytest.mark.parametrize(("method", "settings"), EXACT, ids=str)
@pytest.mark.parametrize("targets", [y, Y], ids=["one", "several"])
def test_chunks_merges_and_the_batch_solution_agree(method: str, settings: dict[str, Any], targets: Any) -> None:
    ff = settings.get("forgetting_factor", 1.0)
    for rows, t in ((X, targets), (X[REVERSED], targets[REVERSED])):
        cut = CUT if rows is X else N - CUT
        single = make(method, **settings).partial_fit(rows, t)
        want = batch(rows, t, 0.5, moments(rows[:64]), ff=ff)
        close(single.predict(rows), answers(want, rows))
        close(in_chunks(make(method, **settings), rows, t, 37).predict(rows), single.predict(rows))
        first = in_chunks(make(method, **settings), rows[:cut], t[:cut], 50)
        merged = first.merge(make(method, **settings).partial_fit(rows[cut:], t[cut:]))
        close(merged.predict(rows), answers(want, rows))
        assert merged.n_samples_seen_ == N
        more = rng.standard_normal((20, 4)) + rows[:20]
        for p in (merged, single):
            p.partial_fit(more, t[:20])
        close(merged.predict(rows), single.predict(rows))


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", ["ridge", "rls"])
def test_single_precision_agrees_to_its_digits(method: str, backend: str) -> None:
    single = make(method, "float32", backend, ridge=0.5).partial_fit(X, y)
    merged = make(method, "float32", backend, ridge=0.5).partial_fit(X[:CUT], y[:CUT])
    merged.merge(make(method, "float32", backend, ridge=0.5).partial_fit(X[CUT:], y[CUT:]))
    want = answers(batch(X, y, 0.5, moments(X[:64])), X)
    close(single.predict(X), want, 2e-4)
    close(merged.predict(X), want, 2e-4)
    assert merged.learner.dtype == np.float32


def test_small_parts_have_the_prior_of_both() -> None:
    for method in ("ridge", "rls", "kalman"):
        settings = {"ridge": 0.5} if method != "kalman" else {"initial_covariance": 2.0}
        for cut in (1, 2, 30):
            rows = X[380:440]
            a = make(method, **settings).partial_fit(rows[:cut], y[380 : 380 + cut])
            b = make(method, **settings).partial_fit(rows[cut:], y[380 + cut : 440])
            want = answers(batch(rows, y[380:440], 0.5, moments(rows)), rows)
            close(a.copy().merge(b).predict(rows), want)
            close(b.copy().merge(a).predict(rows), want)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 16, 63, 64, 65, 200])
def test_the_prior_moves_until_it_settles(count: int) -> None:
    rows, t = rng.standard_normal((count, 2)), rng.standard_normal(count)
    rows[:2] = np.array([[1, -1], [-1, 1]])[:count]
    prior = moments(rows[: 64 if count >= 64 else 8]) if count >= 8 else (rows[0], np.ones(2))
    for method in ("ridge", "rls"):
        close(make(method, ridge=0.5).partial_fit(rows, t).weights(), batch(rows, t, 0.5, prior))


def test_centred_rows_without_a_scale() -> None:
    rows = X[:, :3] / [1e-3, 1, 1e4]
    for method in ("ridge", "rls"):
        steps = ob.Standardizer(scale=False), "intercept"
        single = ob.pipeline(*steps, ob.create(method, ridge=0.5)).partial_fit(rows, y)
        a, b = (
            ob.pipeline(*steps, ob.create(method, ridge=0.5)).partial_fit(rows[s], y[s])
            for s in (slice(CUT), slice(CUT, N))
        )
        want = answers(batch(rows, y, 0.5, (moments(rows[:64])[0], np.ones(3))), rows)
        close(single.predict(rows), want)
        close(a.merge(b).predict(rows), want)


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
    changed = p.copy().flush().merge(make(method, **settings)) if not p.pending else p.copy()  # of no rows
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


def test_weights_of_rows_count_as_repetitions() -> None:
    rows, t = X[:, :3], y
    weights = rng.integers(0, 4, N).astype(float)
    weights[:3] = [0, 0, 2]
    kept = weights > 0
    for method in ("ridge", "rls"):
        single = make(method, ridge=1e-6).partial_fit(rows, t, sample_weight=weights)
        np.testing.assert_allclose(single.transforms[0].mean_, np.average(rows, axis=0, weights=weights), rtol=1e-12)
        assert single.transforms[0].count == weights.sum()
        close(
            in_chunks(make(method, ridge=1e-6), rows, t, 9, sample_weight=weights).predict(rows), single.predict(rows)
        )
        repeated = np.repeat(np.arange(N), weights.astype(int))
        close(
            make(method, ridge=1e-6).partial_fit(rows[repeated], t[repeated]).predict(rows), single.predict(rows), 1e-6
        )
        without = make(method, ridge=1e-6).partial_fit(rows[kept], t[kept], sample_weight=weights[kept])
        close(without.predict(rows), single.predict(rows))
        a = make(method, ridge=0.5).partial_fit(rows[:CUT], t[:CUT], sample_weight=weights[:CUT])
        b = make(method, ridge=0.5).partial_fit(rows[CUT:], t[CUT:], sample_weight=weights[CUT:])
        both = make(method, ridge=0.5).partial_fit(rows, t, sample_weight=weights)
        close(a.merge(b).predict(rows), both.predict(rows))
    nothing = make("rls").partial_fit(rows[:5], t[:5], sample_weight=np.zeros(5))
    assert nothing.transforms[0].count == 0
    close(nothing.partial_fit(rows, t).predict(rows), make("rls").partial_fit(rows, t).predict(rows))


def test_a_negative_weight_takes_a_row_back() -> None:
    p = make("ridge", ridge=0.5).partial_fit(X, y)
    prior = moments(X[:64])
    p.partial_fit(X[500:], y[500:], sample_weight=-np.ones(200))
    close(p.predict(X), answers(batch(X[:500], y[:500], 0.5, prior), X), 1e-7)
    np.testing.assert_allclose(p.transforms[0].mean_, X[:500].mean(axis=0), rtol=1e-9)
    before = p.to_bytes()
    with pytest.raises(ValueError, match=r"sample_weight: after row 499"):
        p.partial_fit(X[:500], y[:500], sample_weight=-np.ones(500))
    assert p.to_bytes() == before


def test_a_column_that_varies_late_has_the_prior_of_its_scale() -> None:
    rows = X[:, :3].copy()
    rows[:150, 1] = 3.0
    rows[150:, 1] = 3e3 + 1e3 * rng.standard_normal(N - 150)
    for method in ("ridge", "rls"):
        single = make(method, ridge=1e-3).partial_fit(rows, y)
        close(in_chunks(make(method, ridge=1e-3), rows, y, 13).predict(rows), single.predict(rows))
        mean, std = moments(rows[:64])
        std[1] = moments(rows[:151])[1][1]
        close(single.predict(rows), answers(batch(rows, y, 1e-3, (mean, std)), rows), 1e-8)


def test_complex_rows() -> None:
    Xc = X[:, :3] + 1j * X[::-1, :3] * [2, 0.1, -3]
    yc = (Xc - Xc.mean(axis=0)) / Xc.std(axis=0) @ [1, 1j, -2] + 3j
    for method, settings in EXACT[:7]:
        single = make(method, "complex128", **settings).partial_fit(Xc, yc)
        a, b = (make(method, "complex128", **settings).partial_fit(Xc[s], yc[s]) for s in (slice(CUT), slice(CUT, N)))
        close(a.merge(b).predict(Xc), single.predict(Xc))
        ff = settings.get("forgetting_factor", 1.0)
        close(single.predict(Xc), answers(batch(Xc, yc, 0.5, moments(Xc[:64]), ff=ff), Xc))


def test_classes_of_both_parts_are_kept() -> None:
    labels = np.array(["a", "b", "c", "d"])[np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))]
    first, second = np.isin(labels, ["a", "b"]), np.isin(labels, ["c", "d"])
    a, b = (make("class_rls", ridge=0.5).partial_fit(X[part], labels[part]) for part in (first, second))
    order = np.r_[np.flatnonzero(first), np.flatnonzero(second)]
    single = make("class_rls", ridge=0.5)
    scores = single.prequential(X[order], labels[order])
    assert scores.shape == (N, 4)
    a.merge(b)
    assert list(a.classes_) == list(single.classes_)
    close(a.decision_function(X), single.decision_function(X))
    close(a.predict_proba(X), single.predict_proba(X))


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
    a = make("rls").partial_fit(pd.DataFrame(X, columns=list("abcd")), y)
    empty = make("rls").merge(a)
    np.testing.assert_array_equal(empty.predict(X), a.predict(X))
    assert list(empty.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(a.copy().merge(make("rls")).predict(X), a.predict(X))
    for other, message in (
        (ob.create("rls"), "got Regressor"),
        (make("rls").partial_fit(X[:, :2], y), "names|columns"),
        (make("rls").partial_fit(pd.DataFrame(X, columns=list("abce")), y), "names"),
        (make("rls", ridge=2.0).partial_fit(pd.DataFrame(X, columns=list("abcd")), y), "ridge"),
        (ob.pipeline("standardize", ob.create("rls")), "differ in their steps"),
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


def test_a_warning_that_is_an_error_comes_after_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*arguments: object) -> None:
        raise ob.AccuracyWarning("half of the digits")

    for steps in (("standardize", "intercept"), ("standardize",)):
        p = ob.pipeline(*steps, ob.create("rls", backend="numpy")).partial_fit(X[:70], y[:70])
        with monkeypatch.context() as patch:
            patch.setattr(Rule, "warn_of_lost_precision", warn)
            with pytest.raises(ob.AccuracyWarning, match="half of the digits"):
                p.partial_fit(X[70:75], y[70:75])
        assert p.transforms[0].count == p.n_samples_seen_ == 75
        close(p.predict(X), ob.pipeline(*steps, ob.create("rls")).partial_fit(X[:75], y[:75]).predict(X))


def test_the_history_of_weights_is_that_of_rows_as_they_come() -> None:
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    p, parts = make("rls", ridge=0.5), make("rls", ridge=0.5)
    history = p.weight_history(table, Y, every=150)
    assert history.dims == ("row", "parameter", "output")
    assert history.coords["parameter"].values.tolist() == ["a", "b", "c", "intercept"]
    assert history.coords["row"].values.tolist() == [150, 300, 450, 600]
    for i, w in enumerate(history.values):
        parts.partial_fit(table[150 * i : 150 * i + 150], Y[150 * i : 150 * i + 150])
        close(parts.weights(), w)
        close(parts.predict(X[:, :3]), answers(w, X[:, :3]))
    assert p.n_samples_seen_ == N
    one = make("lms", step_size=0.01).weight_history(X[:4, :3], y[:4], every=2)
    assert one.shape == (2, 4)
    assert make("lms").weight_history(X[:4, :3], y[:4], every=5).shape == (0, 4)
    before = p.to_bytes()
    with pytest.raises(ValueError, match="every=0"):
        p.weight_history(table, Y, every=0)
    wrong = Y.copy()
    wrong[400] = np.nan
    with pytest.raises(ValueError, match="nan"):
        p.weight_history(table, wrong, every=150)
    assert p.to_bytes() == before
    with pytest.raises(TypeError, match="class_rls have none"):
        make("class_rls").weight_history(X, np.where(y > 0, "a", "b"))


def test_single_rows_of_all_kinds() -> None:
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    p, twin = make("ridge"), make("ridge")
    p.partial_fit(table, y)
    twin.partial_fit(table, y)
    p.learn_one({"c": X[0, 2], "a": X[0, 0], "b": X[0, 1]}, y[0], sample_weight=2.0)
    twin.partial_fit(table[:1], y[:1], sample_weight=[2.0])
    assert p.predict_one(table.iloc[5]) == p.predict(table[5:6])[0] == twin.predict(table[5:6])[0]
    labels = make("class_rls").learn_one(X[0], "a").learn_one(X[1], "b").learn_one(X[2], "a")
    assert list(labels.classes_) == ["a", "b"]
    assert labels.predict_one(X[1]) == "b"
    kalman = make("kalman").partial_fit(X, y, observation_noise=np.linspace(1, 2, N))
    plain = make("ridge", ridge=1.0).partial_fit(X, y, sample_weight=1 / np.linspace(1, 2, N))
    close(kalman.predict(X), plain.predict(X), 1e-4)  # their priors settle in moments with and without weights
    close(kalman.log_likelihood(X[:9], y[:9]), kalman.copy().log_likelihood(pd.DataFrame(X[:9]), y[:9]))
    mean, std = plain.predict(X[:9], return_std=True)
    assert (std > 1).all()
    assert mean.shape == (9,)
    sgd = make("sgd", batch_size=4).partial_fit(X[:6], y[:6])
    assert sgd.pending == 2


def test_targets_of_all_kinds_are_cut_where_the_coordinates_move() -> None:
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    want = make("rls").partial_fit(X, Y).predict(X)
    frame = pd.DataFrame(Y, columns=["u", "v"])
    for targets in (Y.tolist(), frame, polars.from_pandas(frame), pyarrow.Table.from_pandas(frame)):
        close(make("rls").partial_fit(X, targets).predict(X), want)
    for targets in (y.tolist(), frame["u"], polars.Series(y), pyarrow.array(y)):
        close(make("rls").partial_fit(X, targets).predict(X), want[:, 0])


def test_what_was_saved_before_coordinates_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    p = make("rls").partial_fit(X[:100], y[:100])
    state = p.state()
    header = json.loads(state.attrs["pipeline"])
    del header["position"]
    again = ob.restore(state.assign_attrs(pipeline=json.dumps(header)))
    close(again.position.current.center, p.transforms[0].mean_)
    assert np.isfinite(again.partial_fit(X[100:], y[100:]).predict(X)).all()
