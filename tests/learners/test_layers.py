"""gp and owm, which learn layer by layer: chunks, states, formulas beyond the laws, and models that are refused."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.cases import SEQUENCE
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.models.activations import ACTIVATIONS

Same = Callable[[ob.Learner, ob.Learner], None]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("gp", {"step_size": 0.1}),
    ("gp", {"rank": 2}),
    ("gp", {"rank": 99, "step_size": SEQUENCE}),
    ("owm", {}),
    ("owm", {"forgetting_factor": 0.9, "ridge": 0.5}),
    ("owm", {"forgetting_factor": 1.1, "step_size": SEQUENCE}),
]
NETWORKS = [ob.MLP(()), ob.MLP((4,), "relu"), ob.MLP((3, 5), bias=False), ob.MLP((3, 2, 3), "elu")]


def names(case: Any) -> str:
    return " ".join([case[0], *(f"{k}={v}" for k, v in case[1].items())])


def matrices(learner: Any) -> list[Any]:
    """The layers' matrices."""
    w = learner.state()["w"].values[:, 0]
    shapes = learner.model.shapes(learner.n_features_in_, learner.live_state.sizes.n_outputs)
    ends = np.cumsum([n * m for n, m in shapes])
    return [w[end - n * m : end].reshape(n, m) for (n, m), end in zip(shapes, ends, strict=True)]


def network_rows(n: int, d: int = 3, outputs: int = 1, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, outputs)) / 2


# ---------------------------------------------------------------------- a stream may be cut, moved, scaled


@st.composite
def streams(draw: st.DrawFn) -> tuple[Any, Any, list[slice], str, ob.Model]:
    """X, y, the slices of a cut into chunks, a dtype, a network."""
    n, d = draw(st.integers(0, 9)), draw(st.integers(1, 6))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X, y = rng.standard_normal((n, d)), rng.standard_normal(shape) / 4
    for i in draw(st.lists(st.integers(0, n - 1), max_size=2)) if n else ():
        X[i] = draw(st.sampled_from([0.0, X[0], 1e-3 * X[-1]]))  # rows of zeros, rows that depend on others
    cuts = sorted(draw(st.lists(st.integers(0, n), max_size=6)))
    pieces = [slice(lo, hi) for lo, hi in zip([0, *cuts], [*cuts, n], strict=True)]
    return X, y, pieces, draw(st.sampled_from(["float64", "float32"])), draw(st.sampled_from(NETWORKS))


@pytest.mark.parametrize("case", CASES, ids=names)
@given(stream=streams())
@settings(max_examples=60)
def test_cuts_do_not_matter(case: tuple[str, dict[str, Any]], stream: Any, same_state: Same) -> None:
    """Bit for bit, states and predictions; each prediction is that of just before the row's step."""
    X, y, pieces, dtype, model = stream
    whole, cut, alone = (ob.create(case[0], model=model, dtype=dtype, **case[1]) for _ in range(3))
    told = whole.prequential(X, y)
    np.testing.assert_array_equal(np.concatenate([cut.prequential(X[piece], y[piece]) for piece in pieces]), told)
    same_state(cut, whole)
    alone.partial_fit(X[:0], y[:0])
    for i in range(len(X)):
        np.testing.assert_array_equal(alone.predict(X[i : i + 1]), told[i : i + 1])
        alone.partial_fit(X[i : i + 1], y[i : i + 1])
    same_state(alone, whole)
    assert told.shape == y.shape
    assert {a.dtype for a in (told, *whole.state().variables.values())} == {np.dtype(dtype)}
    assert whole.n_samples_seen_ == len(X)


@pytest.mark.parametrize("way", ["copy", "restore", "load"])
@pytest.mark.parametrize("moment", [None, 0, 1, 5])
@pytest.mark.parametrize("case", CASES, ids=names)
def test_goes_on_exactly_there(case: Any, moment: int | None, way: str, same_state: Same, tmp_path: Path) -> None:
    X, Y = network_rows(9, outputs=2)
    learner, n = ob.create(case[0], model=ob.MLP((4,)), **case[1]), moment or 0
    if moment is not None:
        learner.partial_fit(X[:n], Y[:n])
    learner.save(tmp_path / "s.npz")
    again = {
        "copy": lambda **_: learner.copy(),
        "restore": lambda **m: ob.restore(learner.state(), **m),
        "load": lambda **m: ob.load(tmp_path / "s.npz", **m),
    }[way]
    if way != "copy":
        for wrong, got in (({}, "linear"), ({"model": ob.MLP((5,))}, r"mlp\(5; tanh\)")):
            with pytest.raises(ValueError, match=rf"belongs to the model 'mlp\(4; tanh\)', got '{got}': pass model="):
                again(**wrong)
    other = again(model=ob.MLP((4,)))
    same_state(other, learner)
    other.partial_fit(X[n:], Y[n:])
    if moment is not None:
        with pytest.raises(AssertionError, match="differs"):
            same_state(other, learner)  # the first one has not moved
    same_state(other, learner.partial_fit(X[n:], Y[n:]))


@pytest.mark.parametrize("case", CASES, ids=names)
def test_single_precision_is_near_double(case: Any) -> None:
    X, Y = network_rows(12, d=4)
    one, two = (ob.create(case[0], model=ob.MLP((5,)), dtype=t, **case[1]) for t in ("float32", "float64"))
    np.testing.assert_allclose(one.partial_fit(X, Y).predict(X), two.partial_fit(X, Y).predict(X), atol=1e-4)


@pytest.mark.parametrize("case", CASES, ids=names)
def test_the_layout_of_the_input_does_not_matter(case: Any, same_state: Same) -> None:
    X, Y = network_rows(8, d=4, outputs=2)
    want = ob.create(case[0], model=ob.MLP((3,)), **case[1]).partial_fit(X, Y)
    wide = np.full((16, 8), np.nan)
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    for rows in (np.asfortranarray(X), wide[::2, ::2], frozen, X.tolist()):
        same_state(ob.create(case[0], model=ob.MLP((3,)), **case[1]).partial_fit(rows, Y), want)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e6])
@pytest.mark.parametrize("case", CASES, ids=names)
def test_rows_of_any_size(case: Any, scale: float) -> None:
    """tanh saturates: large rows are learned by the upper layers, tiny ones by the biases; nothing is lost or NaN."""
    X, Y = network_rows(6)
    learner = ob.create(case[0], model=ob.MLP((4,)), random_state=2, **case[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.AccuracyWarning)  # such rows are large beside owm's prior, and it says so
        learner.partial_fit(scale * X, Y)
    assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())
    assert learner.n_samples_seen_ == 6


def test_names_and_dimensions_of_a_state() -> None:
    X, Y = network_rows(4, d=6, outputs=2)
    gp = ob.create("gp", rank=5, model=ob.MLP((3,))).partial_fit(X, Y).state()
    assert {name: (a.dims, a.shape) for name, a in gp.variables.items() if not name.startswith("pending")} == {
        "w": (("parameter", "output"), (7 * 3 + 4 * 2, 1)),
        "basis_1": (("direction_1", "input_1"), (5, 7)),
        "basis_2": (("direction_2", "input_2"), (4, 4)),
        "singular_values_1": (("direction_1",), (5,)),
        "singular_values_2": (("direction_2",), (4,)),
    }
    owm = ob.create("owm", model=ob.MLP((3,), bias=False)).partial_fit(X, Y).state()
    assert {name: a.dims for name, a in owm.variables.items() if name.startswith(("P", "digits"))} == {
        "P_1": ("input_1", "input_1_2"),
        "P_2": ("input_2", "input_2_2"),
        "precision_lost": (),
    }
    assert owm["P_2"].shape == (3, 3)


# ---------------------------------------------------------------------- gp


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
            w = learner.partial_fit(x[None], y[None]).state()["w"].values[:, 0]
            assert ((learner.predict(x[None]) - y) ** 2).sum() < ((before - y) ** 2).sum()
            features.append([*model.layers(w, x), learner.predict(x[None])[0]])
        for x, was in zip(X, features, strict=True):
            for a, b in zip([*model.layers(w, x), learner.predict(x[None])[0]], was, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-12)


def test_gp_on_full_layers_stands_still_and_a_rank_sets_it_free() -> None:
    """Survey, after Theorem 6: once the features span all of a layer's inputs its projection is zero."""
    X, Y = network_rows(20, d=3)
    for rank, moves in ((None, False), (2, True)):
        learner = ob.create("gp", model=ob.MLP((3,)), step_size=0.1, rank=rank).partial_fit(X, Y)
        was = matrices(learner)
        for old, new in zip(was, matrices(learner.partial_fit(X[:3], 1e8 * Y[:3])), strict=True):
            gap = abs(new - old).max()
            assert gap > 1 if moves else gap < 1e-13  # a projection that is done once leaves eps 1e8


def test_gp_of_low_rank_steps_off_the_directions_it_kept() -> None:
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
    """Orthonormal rows in use, zeros behind them; what depends on earlier inputs fills none, but counts in Sigma."""
    X, Y = network_rows(7, d=5)
    X[0], X[4], X[5] = 0, X[2] + X[3], 0
    learner = ob.create("gp", model=ob.MLP((), bias=False)), ob.create("gp", model=ob.MLP((), bias=False), rank=4)
    for i, used in enumerate([0, 1, 2, 3, 3, 3, 4]):
        for it in learner:
            U = it.partial_fit(X[i : i + 1], Y[i : i + 1]).state()["basis_1"].values
            np.testing.assert_allclose(U @ U.T, np.diag(np.arange(len(U)) < used), atol=1e-14)
        np.testing.assert_allclose(
            learner[1].state()["singular_values_1"][:used], np.linalg.svd(X[: i + 1])[1][:used], atol=1e-14
        )


def test_gp_takes_in_what_layers_give_after_the_step() -> None:
    x, y = network_rows(1, d=3)
    model = ob.MLP((4,))
    learner = ob.create("gp", model=model, step_size=0.3).partial_fit(x[:0], y[:0])
    before = model.layers(learner.state()["w"].values[:, 0], x[0])[1]
    after = model.layers(learner.partial_fit(x, y).state()["w"].values[:, 0], x[0])[1]
    direction = learner.state()["basis_2"].values[0]
    np.testing.assert_allclose(abs(direction @ after), np.linalg.norm(after))
    assert abs(direction @ before) < np.linalg.norm(before) * (1 - 1e-6)


@pytest.mark.parametrize("rank", [None, 2])
def test_features_that_overflow_are_not_remembered(rank: int | None) -> None:
    """They belong to weights at which the next step cannot be finite; the state stays finite."""
    net, calls = ob.MLP((3,)), []

    def layers(w: Any, x: Any) -> Any:
        calls.append(0)
        first, second = net.layers(w, x)
        return first, second * np.inf if len(calls) > 2 else second

    X, Y = network_rows(3)
    learner = ob.create("gp", model=replace(net, layers=layers), rank=rank).partial_fit(X, Y)
    assert np.isfinite(learner.state()["basis_2"]).all()
    assert learner.state()["basis_1"].values.any(axis=1).sum() == 3 - (rank == 2)
    assert learner.state()["basis_2"].values.any(axis=1).sum() == 1


# ---------------------------------------------------------------------- owm


@pytest.mark.parametrize("ff", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("outputs", [1, 3])
def test_owm_on_one_layer_is_rls(outputs: int, ff: float) -> None:
    """With step 1, on rows with the constant of the bias last; P too."""
    X, Y = network_rows(12, d=3, outputs=outputs)
    X[3:6, 0] = X[5:7, 2] = 0
    A, w0 = np.column_stack([X, np.ones(12)]), np.random.default_rng(1).standard_normal((4, outputs))
    rls = ob.create("rls", ridge=0.3, forgetting_factor=ff, initial_weights=w0).partial_fit(A, Y).state()
    owm = ob.create("owm", model=ob.MLP(()), step_size=1.0, ridge=0.3, forgetting_factor=ff, initial_weights=w0.ravel())
    owm.partial_fit(X, Y)
    np.testing.assert_allclose(matrices(owm)[0], rls["w"], atol=1e-13)
    np.testing.assert_allclose(owm.state()["P_1"], rls["P"], atol=1e-13)


def test_owm_leaves_a_layer_alone_that_takes_in_nothing() -> None:
    """A dead layer without bias: its matrix stays, its P only forgets."""
    X, Y = network_rows(3)
    w = np.concatenate([-np.ones(3), [2.0]])
    learner = ob.create("owm", model=ob.MLP((1,), "relu", bias=False), initial_weights=w, forgetting_factor=0.5)
    learner.partial_fit(abs(X), Y)
    np.testing.assert_array_equal(learner.state()["w"].values[:, 0], w)
    np.testing.assert_allclose(learner.state()["P_2"], 8)


def test_owm_says_that_digits_go_and_then_refuses() -> None:
    """A layer that always takes in the same winds up in its other directions."""
    learner = ob.create("owm", model=ob.MLP((3,)), forgetting_factor=0.5)
    X, y = np.ones((2000, 2)), np.full(2000, 0.1)
    said = "a layer's P are lost: .* narrower layers"
    with pytest.warns(ob.AccuracyWarning, match=said), pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(X, y)
    assert learner.n_samples_seen_ == info.value.row > 20
    assert learner.state()["precision_lost"] == 1
    assert all(np.isfinite(a.values).all() for a in learner.state().variables.values())


def test_owm_refuses_a_p_that_would_overflow() -> None:
    """A feature that is always zero takes nothing from its entry of P, which doubles with every row."""
    learner = ob.create("owm", model=ob.MLP((2,), bias=False), forgetting_factor=0.5)
    X, Y = network_rows(1100)
    X[:, 1] = 0
    with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(X, Y)
    assert 1000 < info.value.row < 1025
    assert np.isfinite(learner.state()["P_1"]).all()


def test_owm_changes_all_layers_or_none(same_state: Same) -> None:
    """The second layer's P has no digits left: the first one's must not have moved either."""
    X, Y = network_rows(4)
    state = ob.create("owm", model=ob.MLP((2,))).partial_fit(X, Y).state()
    state["P_2"].values[:] *= -1e3
    learner = ob.restore(state, model=ob.MLP((2,)))
    with pytest.raises(ob.DivergedError):
        learner.partial_fit(X[:1], Y[:1])
    same_state(learner, ob.restore(state, model=ob.MLP((2,))))


# ---------------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("method", ["gp", "owm"])
def test_a_step_that_would_not_be_finite_is_refused(method: str, same_state: Same) -> None:
    X, Y = network_rows(6)
    Y[2:] *= 1e3
    learner = ob.create(method, model=ob.MLP((4,)), step_size={"sequence": {"values": [0.1, 0.1, 1e308, 0.1]}})
    twin = learner.copy().partial_fit(X[:2], Y[:2])
    with pytest.raises(ob.DivergedError, match=f"{method} diverged at step 3, row 2") as info:
        learner.partial_fit(X, Y)
    assert (info.value.step, info.value.row) == (3, 2)
    same_state(learner, twin)


@pytest.mark.parametrize("method", ["gp", "owm"])
def test_models_without_layers_are_refused(method: str, cubic: ob.Model) -> None:
    message = rf"{method} learns layer by layer, which the model '{{}}' does not tell apart: pass model=orfit_bench.MLP"
    for model, name in ((None, "linear"), ("linear", "linear"), (cubic, "cubic")):
        with pytest.raises(ValueError, match=message.format(name)):
            ob.create(method, **({} if model is None else {"model": model}))
    with pytest.raises(ValueError, match=message.format(r"mlp\(2; tanh\)")):
        ob.create(method, model=replace(ob.MLP((2,)), shapes=None))
    with pytest.raises(TypeError, match="learns row by row and has no rule for a block"):
        ob.create(method, model=ob.MLP()).step([[1.0]], [1.0])


NET = ob.MLP((2,))
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "matrices too small": (
        {"shapes": lambda d, c: ((d, 2), (2, c))},
        r"its layers' matrices, of shapes \(\(3, 2\), \(2, 2\)\), have 10 entries, but it has 14 parameters",
    ),
    "no tuple": ({"layers": lambda w, x: None}, "layers(w, x) returned NoneType, want a tuple of 2"),
    "one layer too few": ({"layers": lambda w, x: NET.layers(w, x)[:1]}, "layers(w, x) returned 1 arrays"),
    "no constant": (
        {"layers": lambda w, x: (x, NET.layers(w, x)[1])},
        r"layers(w, x)\[0\] returned shape \(3,\), dtype float64, want real numbers of shape \(4,\)",
    ),
    "constant first": (
        {"layers": lambda w, x: (np.append(1, x), NET.layers(w, x)[1])},
        r"layers(w, x)\[0\] and jacobian(w, x) do not agree: an output's gradient by this layer's 4 x 2 matrix",
    ),
    "before the activation": (
        {"layers": lambda w, x: (NET.layers(w, x)[0], np.arctanh(np.minimum(NET.layers(w, x)[1], 0.999)))},
        r"layers(w, x)\[1\] and jacobian(w, x) do not agree",
    ),
    "matrices in Fortran order": (
        {"jacobian": lambda w, x: transposed(NET.jacobian(w, x))},
        r"layers(w, x)\[0\] and jacobian(w, x) do not agree",
    ),
    "texts": ({"layers": lambda w, x: (np.array(["a"] * 4), np.ones(3))}, r"layers(w, x)\[0\] returned"),
}


def transposed(J: Any) -> Any:
    """The gradients of a 4 x 2 and a 3 x 2 matrix, each turned."""
    first, second = J[:, :8].reshape(-1, 4, 2), J[:, 8:].reshape(-1, 3, 2)
    return np.concatenate([a.swapaxes(1, 2).reshape(len(J), -1) for a in (first, second)], axis=1)


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("method", ["gp", "owm"])
def test_layers_that_do_not_fit_the_model_are_refused(method: str, case: str, same_state: Same) -> None:
    """On the first row, with the learner as it was before."""
    parts, message = WRONG[case]
    X, Y = network_rows(2, outputs=2)
    learner = ob.create(method, model=replace(NET, name="mine", **parts))
    with pytest.raises(ValueError, match="model 'mine': " + message.replace("(w, x)", r"\(w, x\)")):
        learner.partial_fit(X, Y)
    same_state(learner, ob.create(method, model=replace(NET, name="mine", **parts)))


@pytest.mark.parametrize("case", CASES, ids=names)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_layered_model_of_ones_own(case: Any, dtype: str) -> None:
    """A network written by hand, its functions all in float64, learns as the one that ships."""

    def split(w: Any) -> tuple[Any, Any]:
        return w[:9].reshape(3, 3).astype(float), w[9:, None].astype(float)

    def taken_in(w: Any, x: Any) -> Any:
        return [x.astype(float), np.tanh(x @ split(w)[0])]

    def jacobian(w: Any, x: Any) -> Any:
        _, h = taken_in(w, x)
        return np.concatenate([np.outer(x, split(w)[1][:, 0] * (1 - h**2)).ravel(), h])[None]

    def predict(w: Any, X: Any) -> Any:
        return np.tanh(X @ split(w)[0]) @ split(w)[1]

    mine = ob.Model("mine", predict, jacobian, 12, shapes=lambda d, c: ((3, 3), (3, 1)), layers=taken_in)
    X, Y = network_rows(6)
    w0 = np.random.default_rng(5).standard_normal(12)
    own, shipped = (
        ob.create(case[0], model=m, dtype=dtype, initial_weights=w0, **case[1]).partial_fit(X, Y).state()
        for m in (mine, ob.MLP((3,), bias=False))
    )
    for name, a in own.variables.items():
        assert a.dtype == dtype
        if not name.startswith("basis"):  # whose rows may differ in sign
            np.testing.assert_allclose(a, shipped[name], rtol=1e-10 if dtype == "float64" else 1e-3, atol=1e-6)


@pytest.mark.parametrize("method", ["gp", "owm"])
def test_a_spoiled_layer_is_refused(method: str) -> None:
    X, Y = network_rows(4)
    state = ob.create(method, model=NET).partial_fit(X, Y).state()
    field = "basis" if method == "gp" else "P"
    with pytest.raises(ValueError, match=f"the array '{field}_2' is missing"):
        ob.restore(state.drop_vars(f"{field}_2"), model=NET)
    state[f"{field}_1"].values[0, 0] = np.nan
    with pytest.raises(ValueError, match=f"'{field}_1' holds numbers that are not finite"):
        ob.restore(state, model=NET)


# ---------------------------------------------------------------------- merging


def drawn(n):
    """Rows (n, 4) and targets (n,)."""
    rng = np.random.default_rng(5)
    return rng.standard_normal((n, 4)), rng.standard_normal(n)


def apart(method, n=12, **settings):
    """Two learners of the same start that saw the first and the last rows, and all rows."""
    X, y = drawn(n)
    w = np.linspace(-0.5, 0.5, 4 * 3 + 3 + 3 + 1)
    made = [ob.create(method, model=ob.MLP((3,)), initial_weights=w, **settings) for _ in range(2)]
    third = n // 3
    return made[0].partial_fit(X[:third], y[:third]), made[1].partial_fit(X[third:], y[third:]), third / n


@pytest.mark.parametrize("settings", [{}, {"rank": 2}], ids=str)
def test_merged_gp_spans_what_both_took_in(settings):
    a, b, share = apart("gp", 3, **settings)
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
    a.partial_fit(*drawn(2))


def test_merged_owm_counts_what_both_took_in():
    a, b, share = apart("owm", ridge=2.0, forgetting_factor=0.9)
    before, other = a.state(), b.state()
    state = a.merge(b).state()
    np.testing.assert_allclose(state["w"], share * before["w"] + (1 - share) * other["w"], rtol=1e-12)
    for P in ("P_1", "P_2"):
        L_a, L_b = (np.linalg.inv(s[P].values) for s in (before, other))
        want = 0.9**8 * (L_a - 2 * np.eye(len(L_a))) + L_b
        np.testing.assert_allclose(state[P].values @ want, np.eye(len(L_a)), atol=1e-12)
        np.testing.assert_array_equal(state[P].values, state[P].values.T)
    a.partial_fit(*drawn(2))
