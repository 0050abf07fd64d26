"""Steps of SGD: subgradients of every loss, momentum and the projection onto a ball."""

import math

import numpy as np
import pytest
from helpers.sgd import targets, weights

import orfit_bench as ob
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


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", LOSSES)
def test_step_is_the_mean_subgradient_of_each_output(loss, dtype, data):
    X, w = data
    Y, at = targets(loss, (12, 3)), {"loss": loss, "step_size": STEP, "ridge": RIDGE, "batch_size": 4, **SHAPES}
    learner = ob.create("sgd", initial_weights=w, dtype=dtype, **at).partial_fit(X, Y)
    for i in (0, 4, 8):
        S = slopes(loss, Y[i : i + 4], X[i : i + 4] @ w)
        w = w - STEP * (sum(np.outer(x, s) for x, s in zip(X[i : i + 4], S, strict=True)) / 4 + RIDGE * w)
    assert weights(learner).dtype == dtype
    np.testing.assert_allclose(weights(learner), w, atol=1e-14 if dtype == "float64" else 1e-5)


@pytest.mark.parametrize("more", [{}, {"momentum": 0.5}, {"radius": 1e38}, {"averaging": "uniform"}, {"batch_size": 2}])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_gradient_that_overflows_is_scaled_by_the_step_size_first(outputs, backend, more):
    """The gradient is -1e40, the step 1e-10 times as much; float32 ends at 3e38."""
    if backend == "numba":
        pytest.importorskip("numba")
    X, Y = np.full((2, 1), 1e20), np.full((2, outputs), 1e20)
    learner = ob.create("sgd", backend=backend, dtype="float32", step_size=1e-10, **more)
    learner.step(X, Y) if more.get("batch_size") else learner.partial_fit(X[:1], Y[:1])
    np.testing.assert_allclose(weights(learner), np.full((1, outputs), 1e30), rtol=1e-6)
    if not more.get("batch_size"):
        fleet = ob.fleet("sgd", 2, backend=backend, dtype="float32", step_size=1e-10, **more)
        fleet.partial_fit(np.full((2, 1, 1), 1e20), np.full((2, 1, outputs), 1e20))
        np.testing.assert_allclose(fleet[1].array("w"), np.full((1, outputs), 1e30), rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_step_on_a_model_sums_over_outputs_and_averages_over_rows(loss, data, cubic):
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
def test_subgradient_is_zero_at_a_kink_and_full_next_to_it(loss, y, f):
    def moved(start):
        learner = ob.create("sgd", loss=loss, step_size=STEP, initial_weights=[start], **SHAPES)
        return weights(learner.partial_fit([[1.0]], [y]))[0, 0] - start

    assert moved(f) == 0
    for neighbour in (f - 1e-9, f + 1e-9):
        assert moved(neighbour) == pytest.approx(-STEP * slope(loss, y, neighbour))


def test_slopes_of_the_quantile_loss():
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


def test_small_slopes_of_the_logistic_loss_are_accurate():
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


def test_momentum_is_that_of_nesterov_with_first_beta_zero(data):
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


def test_radius_bounds_the_norm_of_all_outputs_together(data):
    X, w0 = data
    Y = 10 * targets("square", (12, 3))
    free = weights(ob.create("sgd", step_size=0.1, initial_weights=w0).step(X, Y))
    held = weights(ob.create("sgd", step_size=0.1, initial_weights=w0, radius=1.0).step(X, Y))
    assert np.linalg.norm(free) > 1
    np.testing.assert_allclose(held, free / np.linalg.norm(free), rtol=1e-14)
    wide = weights(ob.create("sgd", step_size=0.1, initial_weights=w0, radius=1e3).step(X, Y))
    np.testing.assert_array_equal(wide, free)  # nothing changes inside the ball


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_weights_never_leave_the_ball(size, dtype, data):
    X, w0 = data[0], size * data[1]  # the start is outside
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
    learner = ob.create("sgd", step_size=1.0, radius=5.0).partial_fit([[1.5e308, -1.5e308]], [1.0])  # so does the norm
    np.testing.assert_allclose(weights(learner)[:, 0], np.array([5, -5]) / np.sqrt(2))
    tiny = ob.create("sgd", step_size=1.0, radius=5e-300).partial_fit([[3e-200, 4e-200]], [1.0])
    np.testing.assert_allclose(weights(tiny)[:, 0], [3e-300, 4e-300])
