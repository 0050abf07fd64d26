"""Networks that learn labels: softmax regression on a nonlinear model, whose classes may appear at any row."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import orfit_bench as ob

BACKENDS = [name for name in ("numpy", "numba") if ob.backends()[name].available]
rng = np.random.default_rng(0)
X = rng.standard_normal((240, 3))
LABELS = np.array(["far", "left", "right"])[np.where(np.abs(X[:, 0]) > 1, 0, np.where(X[:, 0] > 0, 2, 1))]
NET = ob.MLP((12,), "tanh")


def learned(backend="numpy", model=NET, **more):
    return ob.create("softmax", backend=backend, model=model, step_size=0.1, **more)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_network_separates_classes_that_no_linear_model_does(backend):
    learners = [learned(backend), learned(backend, "linear")]
    for learner in learners:
        for _ in range(25):
            learner.partial_fit(X, LABELS)
    network, linear = (float(np.mean(learner.predict(X) == LABELS)) for learner in learners)
    assert network > 0.9 > 0.7 > linear  # 0.975 and 0.55
    q, scores = learners[0].predict_proba(X), learners[0].decision_function(X)
    np.testing.assert_allclose(np.log(q / q[:, :1]), scores - scores[:, :1], rtol=1e-9, atol=1e-11)
    assert learners[0].predict_one(X[0]) == learners[0].predict(X[:1])[0]


@pytest.mark.parametrize("model", [NET, ob.MLP((4, 5), "relu"), ob.MLP((), bias=False)], ids=lambda m: m.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_classes_may_appear_anywhere(backend, model):
    order = np.argsort(LABELS, kind="stable")
    at_once = learned(backend, model).partial_fit(X[order], LABELS[order])
    cuts = learned(backend, model).partial_fit(X[:0], [])
    assert cuts.decision_function(X).shape == (240, 0)
    for part in np.split(order, [0, 1, 2, 90, 200]):
        cuts = cuts.partial_fit(X[part], LABELS[part])
    assert cuts.classes_.tolist() == at_once.classes_.tolist()
    np.testing.assert_allclose(cuts.array("w"), at_once.array("w"), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(cuts.array("seen"), at_once.array("seen"))


def test_a_learner_of_a_network_is_carried_and_merged():
    a, b = learned().partial_fit(X[:120], LABELS[:120]), learned(random_state=0)
    b = b.partial_fit(X[120:], LABELS[120:])
    again = pickle.loads(pickle.dumps(a))
    np.testing.assert_array_equal(again.partial_fit(X, LABELS).predict(X), a.copy().partial_fit(X, LABELS).predict(X))
    assert ob.restore(a.state()).state().identical(a.state())
    source = [b.classes_.tolist().index(label) for label in a.classes_]
    mean = (a.array("w")[:, 0] + NET.with_outputs(b.array("w")[:, 0], 3, source)) / 2
    np.testing.assert_allclose(a.merge(b).array("w")[:, 0], mean, rtol=1e-13)


def test_a_model_of_fixed_outputs_needs_all_classes_at_once(same_state):
    fixed = replace(NET, name="fixed", with_outputs=None)
    learner = learned(model=fixed).partial_fit(X, LABELS)
    before = learner.copy()
    with pytest.raises(ValueError, match=r"y: 'up' is a new class, but the model 'fixed' has an output for each of"):
        learner.partial_fit(X[:2], ["far", "up"])
    same_state(learner, before)
    assert np.mean(learner.partial_fit(X[:9], LABELS[:9]).predict(X) == LABELS) > 0.5


def test_a_merge_refuses_fixed_outputs_in_another_order(same_state):
    fixed = replace(NET, name="fixed", with_outputs=None)
    order = np.argsort(LABELS, kind="stable")[::-1]
    a = learned(model=fixed).partial_fit(X, LABELS)
    b = learned(model=fixed).partial_fit(X[order], LABELS[order])
    assert a.classes_.tolist() != b.classes_.tolist()
    before = a.copy()
    with pytest.raises(ValueError, match=r"the model 'fixed' has its outputs in the order .*, want the order"):
        a.merge(b)
    same_state(a, before)


@pytest.mark.parametrize("labels", [[], ["up", "far"]])
def test_fixed_outputs_without_steps_take_any_classes(labels, same_state):
    fixed = replace(NET, name="fixed", with_outputs=None)
    known = learned(model=fixed).partial_fit(X[:20], ["far", "up"] * 10)
    new = learned(model=fixed).partial_fit(X[: len(labels)], labels, sample_weight=np.zeros(len(labels)))
    for merged in (known.copy().merge(new), new.copy().merge(known)):
        np.testing.assert_array_equal(merged.array("w"), known.array("w"))
        assert merged.classes_.tolist() == ["far", "up"]
        assert merged.n_samples_seen_ == 20 + len(labels)
    later = new.copy().partial_fit(X[:20], ["far", "up"] * 10)
    np.testing.assert_array_equal(later.predict(X[:20]), known.predict(X[:20]))


def test_a_diverging_row_leaves_the_classes_before_it():
    rows = np.vstack([X[:40], np.full((1, 3), 1e300)])
    labels = [*LABELS[:40].tolist(), "new"]
    learner = ob.create("softmax", model=ob.MLP((4,), "relu"), backend="numpy", step_size=1e10)
    with pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(rows, labels)
    n = info.value.row
    assert n == learner.n_samples_seen_ > 0
    assert learner.classes_.tolist() == list(dict.fromkeys(labels[:n]))


@pytest.mark.parametrize("seed", range(3))
def test_other_outputs_of_a_network_keep_their_scores(seed):
    net = ob.MLP((4,), "elu", bias=bool(seed % 2))
    draw = np.random.default_rng(seed).standard_normal
    w = net.start(draw, 3, 2)
    moved = net.with_outputs(w, 3, [1, -1, 0])
    F, G = net.predict(w, X), net.predict(moved, X)
    np.testing.assert_allclose(G, np.stack([F[:, 1], 0 * F[:, 0], F[:, 0]], axis=1), rtol=1e-13, atol=1e-15)
    assert net.with_outputs(w, 3, []).shape == (w.size - (4 + seed % 2) * 2,)


ODD = {
    "shape": ({"with_outputs": lambda w, d, s: np.ones(2)}, r"with_outputs\(w, d, source\): got shape \(2,\), want \("),
    "nan": ({"with_outputs": lambda w, d, s: np.nan * NET.with_outputs(w, d, s)}, r"source\)\[0\] is nan"),
}


@pytest.mark.parametrize("later", [False, True], ids=["first class", "later class"])
@pytest.mark.parametrize("case", ODD)
def test_wrong_parameters_of_more_outputs_name_the_function(case, later, same_state):
    change, message = ODD[case]
    calls = []

    def with_outputs(w, d, source):
        calls.append(0)
        return (change["with_outputs"] if len(calls) > later else NET.with_outputs)(w, d, source)

    learner = learned(model=replace(NET, name="own", with_outputs=with_outputs))
    if later:
        learner.partial_fit(X[:2], ["far", "far"])
    before = learner.copy()
    with pytest.raises(ValueError, match=f"^model 'own': .*{message}"):
        learner.partial_fit(X[:3], ["far", "left", "right"])
    same_state(learner, before)


def test_a_wrong_start_is_not_handed_on():
    with pytest.raises(ValueError, match=r"^start of model 'own': got shape \(2,\), want \("):
        learned(model=replace(NET, name="own", start=lambda draw, d, c: draw(2))).partial_fit(X[:2], ["far", "left"])
