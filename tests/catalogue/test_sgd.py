"""SGD in all its flavours, against formulas written out row by row with plain numbers."""

import math

import numpy as np
import pytest
from helpers.cases import said

import orfit_bench as ob
from orfit_bench.catalogue.methods.sgd import METHOD
from orfit_bench.catalogue.shared.losses import LOSSES, MARGINS

DELTA, TAU, EPSILON, STEP, RIDGE = 0.75, 0.25, 0.5, 0.25, 0.125
SHAPES = {"delta": DELTA, "tau": TAU, "epsilon": EPSILON}


def slope(loss, y, f):
    """l'(y, f) for one target and one prediction."""
    e = y - f
    return {
        "square": lambda: f - y,
        "absolute": lambda: float(f > y) - float(f < y),
        "huber": lambda: min(max(f - y, -DELTA), DELTA),
        "hinge": lambda: -y if y * f < 1 else 0.0,
        "logistic": lambda: -y / (1 + math.exp(y * f)),
        "epsilon_insensitive": lambda: 0.0 if abs(e) <= EPSILON else math.copysign(1.0, -e),
        "quantile": lambda: -TAU if e > 0 else 1 - TAU if e < 0 else 0.0,
    }[loss]()


slopes = np.vectorize(slope, otypes=[float])


def weights(learner, name="w"):
    return learner.state()[name].values


def targets(loss, shape, seed=1):
    y = np.random.default_rng(seed).standard_normal(shape)
    return np.where(y > 0, 1.0, -1.0) if loss in MARGINS else y


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return rng.standard_normal((12, 4)), rng.standard_normal((4, 3))


# ---------------------------------------------------------------------- the step


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_is_the_mean_subgradient_for_each_output(loss, dtype, data):
    X, w = data
    Y, at = targets(loss, (12, 3)), {"loss": loss, "step_size": STEP, "ridge": RIDGE, "batch_size": 4, **SHAPES}
    learner = ob.create("sgd", initial_weights=w, dtype=dtype, **at).partial_fit(X, Y)
    for i in (0, 4, 8):
        S = slopes(loss, Y[i : i + 4], X[i : i + 4] @ w)
        w = w - STEP * (sum(np.outer(x, s) for x, s in zip(X[i : i + 4], S, strict=True)) / 4 + RIDGE * w)
    assert weights(learner).dtype == dtype
    np.testing.assert_allclose(weights(learner), w, atol=1e-14 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_on_a_model_sums_over_outputs_and_averages_over_rows(loss, data, cubic):
    """With momentum the gradients are those at the look-ahead, not at w."""
    X, Y, w0 = data[0][:9, :3] / 2, targets(loss, (9, 2)), data[1].ravel()[:6] / 3
    settings = {"loss": loss, "step_size": STEP, "momentum": 0.5, "ridge": RIDGE, "batch_size": 3, **SHAPES}
    learner = ob.create("sgd", model=cubic, initial_weights=w0, **settings)
    w = before = w0
    for i in (0, 3, 6):
        learner.partial_fit(X[i : i + 3], Y[i : i + 3])
        v, g = w + 0.5 * (w - before), np.zeros(6)
        for x, y in zip(X[i : i + 3], Y[i : i + 3], strict=True):
            for gradient, t, f in zip(cubic.jacobian(v, x), y, cubic.predict(v, x[None])[0], strict=True):
                g += gradient * slope(loss, t, f) / 3
        before, w = w, v - STEP * (g + RIDGE * v)
        np.testing.assert_allclose(weights(learner)[:, 0], w, atol=1e-13)


KINKS = [
    ("absolute", 1.0, 1.0),
    ("quantile", -2.0, -2.0),
    ("epsilon_insensitive", 1.0, 0.5),
    ("epsilon_insensitive", 1.0, 1.5),
    ("hinge", 1.0, 1.0),
    ("hinge", -1.0, -1.0),
]


@pytest.mark.parametrize(("loss", "y", "f"), KINKS)
def test_at_a_kink_nothing_moves_and_beside_it_the_full_slope(loss, y, f):
    def moved(start):
        learner = ob.create("sgd", loss=loss, step_size=STEP, initial_weights=[start], **SHAPES)
        return weights(learner.partial_fit([[1.0]], [y]))[0, 0] - start

    assert moved(f) == 0
    for beside in (f - 1e-9, f + 1e-9):
        assert moved(beside) == pytest.approx(-STEP * slope(loss, y, beside))


def test_quantile_slopes_on_both_sides():
    learner = ob.create("sgd", loss="quantile", tau=0.25, step_size=1.0)
    assert weights(learner.partial_fit([[1.0]], [5.0]))[0, 0] == 0.25
    assert weights(learner.partial_fit([[1.0]], [-5.0]))[0, 0] == 0.25 - 0.75


@pytest.mark.parametrize("y", [-1.0, 1.0])
@pytest.mark.parametrize("margin", [50.0, 1e3, 1e300])
def test_logistic_is_stable_for_large_margins(margin, y):
    sure = ob.create("sgd", loss="logistic", step_size=1.0, initial_weights=[y * margin]).partial_fit([[1.0]], [y])
    assert weights(sure)[0, 0] == y * margin
    wrong = ob.create("sgd", loss="logistic", step_size=1.0, initial_weights=[-y * margin])
    assert weights(wrong.partial_fit([[1.0]], [y]))[0, 0] == -y * margin + y


def test_slopes_of_logistic_keep_their_digits_where_they_are_small():
    learner = ob.create("sgd", loss="logistic", step_size=1.0, initial_weights=[0.0, 100.0])
    moved = weights(learner.partial_fit([[1.0, 1.0]], [1.0]))[0, 0]
    assert moved == pytest.approx(math.exp(-100), rel=1e-12)


def test_margins_are_predicted(data):
    X = data[0]
    y = np.where(X[:, 0] > 0, 1, -1)
    for loss in MARGINS:
        margins = ob.create("sgd", loss=loss, step_size=0.5).partial_fit(np.tile(X, (20, 1)), np.tile(y, 20)).predict(X)
        assert (np.sign(margins) == y).all()
        assert len(set(margins)) > 2


# ---------------------------------------------------------------------- momentum


def test_momentum_is_nesterovs_and_the_first_beta_acts_on_nothing(data):
    X, y, w0 = data[0], data[1][:, 0], data[1][:, 1]
    y = np.resize(y, 12)
    for momentum, betas in (
        (0.5, [0.5] * 12),
        ({"sequence": {"values": [0.9, 0.0, 0.3, 0.6]}}, [0.9, 0.0, 0.3, *[0.6] * 9]),
        ({"power": {"eta0": 0.8, "power": 0.5}}, 0.8 / np.sqrt(np.arange(1, 13))),
        ({"slide": {"B": 1.0, "G": 2.0}}, 0.5 / np.sqrt(np.arange(1, 13))),
        ({"constant": {"value": 0.25}}, [0.25] * 12),
    ):
        learner = ob.create("sgd", step_size=0.1, momentum=momentum, initial_weights=w0)
        w, before = w0, None
        for x, t, beta in zip(X, y, betas, strict=True):
            v = w if before is None else w + beta * (w - before)
            before, w = w, v + 0.1 * (t - x @ v) * x
            np.testing.assert_allclose(weights(learner.partial_fit(x[None], [t]))[:, 0], w, atol=1e-13)
            np.testing.assert_allclose(weights(learner, "previous")[:, 0], before, atol=1e-13)


def test_fields_are_there_only_where_they_are_used(data):
    def fields(**settings):
        return set(ob.create("sgd", **settings).partial_fit(data[0], data[0][:, 0]).state()) - {
            "pending_X",
            "pending_y",
        }

    assert fields() == {"w"}
    assert fields(momentum={"power": {"eta0": 0.0, "power": 1.0}}) == {"w"}
    assert fields(momentum={"sequence": {"values": [0.0, 0.0, 0.1]}}) == {"w", "previous"}
    for averaging in ("uniform", "tail", "weighted"):
        assert fields(averaging=averaging) == {"w", "average", "average_weight"}


# ---------------------------------------------------------------------- averages

AVERAGED = [
    {"averaging": "uniform"},
    {"averaging": "tail", "tail_start": 4},
    {"averaging": "tail", "tail_start": 1},
    {"averaging": "weighted", "weights": {"sequence": {"values": [1.0, 2.0, 5.0]}}},
    {"averaging": "weighted", "weights": {"power": {"eta0": 3.0, "power": 1.0}}},
    {"averaging": "weighted", "weights": {"slide": {"B": 1.0, "G": 4.0}}},
    {"averaging": "weighted", "weights": 0.5},
]


def weight(settings, t):
    """a_t, written out."""
    kind, weights = settings["averaging"], settings.get("weights")
    if kind != "weighted":
        return float(t >= settings.get("tail_start", 1))
    if isinstance(weights, float):
        return weights
    return {
        "sequence": lambda: [1.0, 2.0, 5.0][min(t, 3) - 1],
        "power": lambda: 3.0 / t,
        "slide": lambda: 1 / (4 * math.sqrt(t)),
    }[next(iter(weights))]()


@pytest.mark.parametrize("settings", AVERAGED, ids=said)
@pytest.mark.parametrize("more", [{}, {"batch_size": 3, "momentum": 0.5, "ridge": 0.1, "loss": "huber"}], ids=said)
def test_predictions_use_the_average_of_the_iterates_that_took_a_step(settings, more, data):
    """The steps themselves do not: w is what it is without averaging."""
    X, w0 = data
    Y, size = targets("square", (12, 3)), more.get("batch_size", 1)
    plain = ob.create("sgd", step_size=0.1, initial_weights=w0, **more)
    learner = ob.create("sgd", step_size=0.1, initial_weights=w0, **more, **settings)
    iterates, a = [], []
    for t, i in enumerate(range(0, 12, size), start=1):
        mean = np.average(iterates, axis=0, weights=a) if sum(a) else w0 if t == 1 else weights(plain)
        told = learner.prequential(X[i : i + size], Y[i : i + size])  # as predict would have said before
        np.testing.assert_allclose(told, X[i : i + size] @ mean, atol=1e-13)
        iterates.append(w0 if t == 1 else weights(plain))
        a.append(weight(settings, t))
        plain.partial_fit(X[i : i + size], Y[i : i + size])
        np.testing.assert_array_equal(weights(learner), weights(plain))
        if sum(a):
            np.testing.assert_allclose(weights(learner, "average"), np.average(iterates, axis=0, weights=a), atol=1e-14)
        assert weights(learner, "average_weight") == pytest.approx(sum(a))
        want = np.average(iterates, axis=0, weights=a) if sum(a) else weights(plain)
        np.testing.assert_allclose(learner.predict(X), X @ want, atol=1e-13)


@pytest.mark.parametrize("settings", AVERAGED, ids=said)
def test_predictions_of_a_model_use_the_average(settings, data, cubic):
    X, y, w0 = data[0][:, :3] / 2, targets("square", 12), data[1].ravel()[:3] / 3
    learner = ob.create("sgd", model=cubic, step_size=0.1, momentum=0.5, initial_weights=w0, **settings)
    asked = learner.copy().partial_fit(X[:0], y[:0])
    told = learner.prequential(X, y)
    for i in range(12):
        np.testing.assert_array_equal(told[i : i + 1], asked.predict(X[i : i + 1]))
        asked.partial_fit(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(asked.predict(X), cubic.predict(weights(asked, "average")[:, 0], X)[:, 0])


def test_a_prediction_before_a_step_on_a_model_is_not_that_of_the_look_ahead(data, cubic):
    X, y = data[0][:, :3] / 2, targets("square", 12)
    learner = ob.create("sgd", model=cubic, step_size=0.1, momentum=0.9)
    asked = learner.copy().partial_fit(X[:0], y[:0])
    told = learner.prequential(X, y)
    for i in range(12):
        np.testing.assert_array_equal(told[i : i + 1], asked.predict(X[i : i + 1]))
        asked.partial_fit(X[i : i + 1], y[i : i + 1])


# ---------------------------------------------------------------------- projection


def test_the_ball_is_that_of_all_outputs_together(data):
    X, w0 = data
    Y = 10 * targets("square", (12, 3))
    free = weights(ob.create("sgd", step_size=0.1, initial_weights=w0).step(X, Y))
    held = weights(ob.create("sgd", step_size=0.1, initial_weights=w0, radius=1.0).step(X, Y))
    assert np.linalg.norm(free) > 1
    np.testing.assert_allclose(held, free / np.linalg.norm(free), rtol=1e-14)
    wide = weights(ob.create("sgd", step_size=0.1, initial_weights=w0, radius=1e3).step(X, Y))
    np.testing.assert_array_equal(wide, free)  # inside nothing is touched


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_weights_never_leave_the_ball(size, dtype, data):
    X, w0 = data[0], size * data[1]  # the start lies outside
    learner = ob.create("sgd", step_size=0.5, initial_weights=w0, radius=size, loss="absolute", dtype=dtype)
    for i in range(12):
        learner.partial_fit(X[i : i + 1], size * targets("square", (12, 3))[i : i + 1])
        norm = np.linalg.norm(weights(learner).astype(float) / size)
        assert norm < 1 + 4 * np.finfo(dtype).eps
    assert weights(learner).dtype == dtype


def test_projection_of_weights_whose_square_overflows():
    learner = ob.create("sgd", step_size=1.0, radius=5e200).partial_fit([[3e200, 4e200]], [1.0])
    np.testing.assert_allclose(weights(learner)[:, 0], [3e200, 4e200])
    learner = ob.create("sgd", step_size=1.0, radius=5.0).partial_fit([[3e200, 4e200]], [1.0])
    np.testing.assert_allclose(weights(learner)[:, 0], [3, 4])
    learner = ob.create("sgd", step_size=1.0, radius=5.0).partial_fit([[1.5e308, -1.5e308]], [1.0])  # the norm too
    np.testing.assert_allclose(weights(learner)[:, 0], np.array([5, -5]) / np.sqrt(2))
    tiny = ob.create("sgd", step_size=1.0, radius=5e-300).partial_fit([[3e-200, 4e-200]], [1.0])
    np.testing.assert_allclose(weights(tiny)[:, 0], [3e-300, 4e-300])


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize("loss", MARGINS)
def test_targets_of_a_margin_are_minus_one_and_one(loss, data, cubic, same_state):
    X, good = data[0], targets(loss, 12)
    bad = good.copy()
    bad[[7, 9]] = 0.5, 0.0
    message = rf"y: row 7 holds 0.5: with loss='{loss}' sgd expects every y to be -1 or 1"
    for settings in ({}, {"batch_size": 5}, {"model": cubic}):
        learner = ob.create("sgd", loss=loss, **settings).partial_fit(X[:7], good[:7])
        before = learner.copy()
        for call in (learner.partial_fit, learner.prequential, learner.step):
            if call == learner.step and learner.pending:
                continue
            with pytest.raises(ValueError, match=message):
                call(X, bad)
            same_state(learner, before)
        with pytest.raises(ValueError, match=r"y: row 1 holds 2\.0"):
            learner.partial_fit(X[:2], [1, 2])
        same_state(learner, before)
    fresh = ob.create("sgd", loss=loss)
    with pytest.raises(ValueError, match=r"row 3 holds 0\.0"):
        fresh.partial_fit(X[:4], np.array([[1.0, 1], [-1, 1], [1, -1], [1, 0]]))
    with pytest.raises(AttributeError):
        _ = fresh.n_features_in_
    fresh.partial_fit(X[:0], good[:0]).partial_fit(X, good.astype(int))
    assert fresh.n_samples_seen_ == 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "sqaure"}, "loss='sqaure': want one of square"),
        ({"tau": 0.0}, r"tau=0.0: want a number in \(0, 1\)"),
        ({"tau": 1.0}, "tau=1.0"),
        ({"delta": 0.0}, "delta=0.0"),
        ({"epsilon": -1.0}, "epsilon=-1.0"),
        ({"momentum": 1.0}, r"momentum=1.0: want a number in \[0, 1\)"),
        ({"momentum": {"sequence": {"values": [0.5, -0.1]}}}, "momentum=.* one is -0.1"),
        ({"averaging": "mean"}, "averaging='mean'"),
        ({"tail_start": 0}, "tail_start=0"),
        ({"weights": 0.0}, "weights=0.0"),
        ({"weights": {"sequence": {"values": [1.0, 0.0]}}}, "weights=.* one is 0.0"),
        ({"ridge": -1.0}, "ridge=-1.0"),
        ({"radius": 0.0}, r"radius=0.0: want a number in \(0, inf\) or None"),
        ({"batch_size": 0}, "batch_size=0"),
    ],
    ids=lambda v: said(v) if isinstance(v, dict) else "",
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        ob.create("sgd", **settings)


@pytest.mark.parametrize(
    "more", [{}, {"momentum": 0.5}, *AVERAGED, {"batch_size": 2, "averaging": "uniform"}], ids=said
)
def test_a_huge_step_diverges_and_keeps_the_last_good_state(more, data, cubic, same_state):
    X, y = np.tile(data[0], (60, 1)), np.tile(targets("square", 12), 60)
    for model in ("linear", cubic):
        learner = ob.create("sgd", step_size=1e10, model=model, **more)
        X_, y_ = (X[:, :3], y) if model is cubic else (X, y)
        with pytest.raises(ob.DivergedError) as info:
            learner.partial_fit(X_, y_)
        n = learner.n_samples_seen_
        assert 1 < info.value.step == n // more.get("batch_size", 1) + 1
        same_state(learner, ob.create("sgd", step_size=1e10, model=model, **more).partial_fit(X_[:n], y_[:n]))
        assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


def test_a_sum_of_weights_that_overflows_is_refused(data, same_state):
    X, y = data[0], targets("square", 12)
    learner = ob.create("sgd", averaging="weighted", weights=1e308)
    with pytest.raises(ob.DivergedError, match="diverged at step 2"):
        learner.partial_fit(X, y)
    same_state(learner, ob.create("sgd", averaging="weighted", weights=1e308).partial_fit(X[:1], y[:1]))


def test_weights_that_underflow_leave_the_average_alone(data):
    X, y = data[0], targets("square", 12)
    weights_ = {"power": {"eta0": 1.0, "power": 2000.0}}
    learner = ob.create("sgd", averaging="weighted", weights=weights_, initial_weights=np.ones(4)).partial_fit(X, y)
    np.testing.assert_array_equal(weights(learner, "average")[:, 0], np.ones(4))  # all the weight is a_1's
    none = ob.create("sgd", averaging="weighted", weights=1e-60, dtype="float32").partial_fit(X, y)
    np.testing.assert_allclose(none.predict(X), X @ weights(none)[:, 0], rtol=1e-5)


# ---------------------------------------------------------------------- merging


def test_merging_is_the_mean_by_rows_and_by_weights(data, same_state):
    X, y = data[0], targets("square", 12)
    settings = {"step_size": 0.1, "momentum": 0.5, "averaging": "tail", "tail_start": 3}
    a, b = (ob.create("sgd", **settings).partial_fit(X[i], y[i]) for i in (slice(0, 8), slice(8, 12)))
    one, other = a.copy(), b.copy()
    a.merge(b)
    for name in ("w", "previous"):
        np.testing.assert_allclose(weights(a, name), (8 * weights(one, name) + 4 * weights(other, name)) / 12)
    assert weights(a, "average_weight") == 6 + 2
    np.testing.assert_allclose(weights(a, "average"), (6 * weights(one, "average") + 2 * weights(other, "average")) / 8)
    assert (a.n_samples_seen_, a.state().attrs["t"]) == (12, 8)
    same_state(b, other)
    unbegun = ob.create("sgd", **settings).partial_fit(X[:2], y[:2])
    short = unbegun.copy().merge(unbegun)
    np.testing.assert_array_equal(short.predict(X), X @ weights(short)[:, 0])
    np.testing.assert_allclose(weights(unbegun.merge(one), "average"), weights(one, "average"))


def test_averaging_learners_weighs_their_averages(data):
    """A learner that has not begun to average has no say in the average."""
    X, y = data[0], targets("square", 12)
    settings = {"step_size": 0.1, "averaging": "tail", "tail_start": 5}
    a, b = (ob.create("sgd", **settings).partial_fit(X[:n], y[:n]) for n in (8, 3))
    w, average = (weights(a) + weights(b)) / 2, weights(a, "average")
    ob.average([a, b])
    for learner in (a, b):
        np.testing.assert_allclose(weights(learner), w)
        np.testing.assert_allclose(weights(learner, "average"), average)
        assert weights(learner, "average_weight") == 2
    fresh = [ob.create("sgd", **settings).partial_fit(X[:2], y[:2]) for _ in range(2)]
    ob.average(fresh)
    np.testing.assert_array_equal(weights(fresh[0], "average"), 0)


# ---------------------------------------------------------------------- the batch solution

LINEAR = [
    {"step_size": {"power": {"eta0": 0.3, "power": 0.5}}},
    {"step_size": 0.1, "momentum": {"sequence": {"values": [0.9, 0.0, 0.3, 0.8]}}},
    {"step_size": 0.1, "ridge": 0.5},
    {"step_size": {"sequence": {"values": [0.1, 0.2, 0.05]}}, "batch_size": 5},
    {"step_size": 0.1, "batch_size": 3, "ridge": 0.2, "momentum": 0.9, "averaging": "uniform"},
]


@pytest.mark.parametrize("settings", LINEAR, ids=said)
def test_the_batch_solution_of_all_that_is_linear(settings, data):
    X, w0 = data
    Y = targets("square", (12, 3))
    learner = ob.create("sgd", initial_weights=w0, **settings).partial_fit(X, Y).flush()
    np.testing.assert_allclose(
        METHOD.theory.batch(X, Y, w0, learner.settings), weights(learner), rtol=1e-11, atol=1e-13
    )


@pytest.mark.parametrize("settings", [{"loss": "huber"}, {"radius": 1.0}], ids=said)
def test_no_batch_solution_of_what_is_not(settings, data):
    assert (
        METHOD.theory.batch(data[0], targets("square", (12, 3)), data[1], ob.create("sgd", **settings).settings) is None
    )
