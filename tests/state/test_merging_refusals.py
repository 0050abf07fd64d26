"""Merging: learners that cannot be merged are refused with the reason, and nothing changes."""

from dataclasses import replace

import numpy as np
import pytest
from conftest import make_rows
from helpers.cases import offering
from helpers.matrices import kahan_matrix
from helpers.merging import CUBIC, data, of
from helpers.methods import change

import orfit_bench as ob
from orfit_bench.catalogue.shared.merging import invert_spd
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Merge


def lms(X=None, y=None, **settings):
    if X is None:
        X, y = make_rows(5)
    return ob.create("lms", **settings).partial_fit(X, y)


REFUSED = {
    "another method": (lambda: (lms(), of("nlms")), "differ in method: lms and nlms"),
    "no learner": (lambda: (lms(), 3), "differ in method: lms and int"),
    "settings": (lambda: (lms(), lms(step_size=0.5)), "settings differ: step_size is"),
    "dtype": (lambda: (lms(), lms(dtype="float32")), "differ in dtype"),
    "features": (lambda: (lms(), lms(np.eye(2), [1, 2])), "differ in features"),
    "outputs": (lambda: (lms(np.eye(2), np.eye(2)), lms(np.eye(2), np.ones((2, 3)))), "differ in outputs"),
    "a vector": (lambda: (lms(np.eye(2), [1, 2]), lms(np.eye(2), [[1], [2]])), "differ in outputs"),
    "model": (lambda: (lms(), lms(model=CUBIC)), "differ in model"),
    "functions of a model": (
        lambda: (lms(model=CUBIC), lms(model=replace(CUBIC, predict=lambda w, X: CUBIC.predict(w, X)))),
        "cubic and cubic, which differ in predict: pass the same model to both learners",
    ),
    "start": (lambda: (lms(), lms(initial_weights=[0.0, 0, 1])), "started from different initial_weights"),
    "waiting here": (lambda: (of("orfit", batch_size=3), ob.create("orfit", batch_size=3)), "pending rows"),
    "waiting there": (lambda: (ob.create("orfit", batch_size=3), of("orfit", batch_size=3)), "pending rows"),
    "labels": (
        lambda: (of("class_rls"), ob.create("class_rls").partial_fit(np.eye(3), [1, 2, 3])),
        "labels are of different kinds: int, str",
    ),
    "memory": (lambda: (of("icl", memory=3), of("icl", memory=3)), "cannot be merged here: with memory=3 earlier"),
    "memory of orfit": (lambda: (of("orfit", memory=3), of("orfit", memory=3)), "with memory=3 earlier rows"),
    "a model": (lambda: (of("icl", model=CUBIC), of("icl", model=CUBIC)), "took gradients at different weights"),
    "rls on a model": (lambda: (of("rls", model=CUBIC), of("rls", model=CUBIC)), "took gradients at different"),
    "remembers": (
        lambda: (of("rls", forgetting_factor=1e40), of("rls", forgetting_factor=1e40)),
        "rls cannot be merged here: too few digits are left in the sum",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_learners_that_differ_are_refused(case, same_state):
    make, message = REFUSED[case]
    a, b = make()
    before = a.copy(), b.copy() if isinstance(b, ob.Learner) else None
    with pytest.raises(ValueError, match=message):
        a.merge(b)
    same_state(a, before[0])
    if before[1]:
        same_state(b, before[1])


@pytest.mark.parametrize("method", ["rls", "class_rls"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("wrong", ["negative", "singular", "rounding"])
def test_a_P_without_digits_is_refused(wrong, dtype, method, same_state):
    """A state that learning would have refused, on either side; no class of the other side is added."""
    X, y = data(method, 9, 3)
    a = ob.create(method, dtype=dtype).partial_fit(X, y)
    state = (
        ob.create(method, dtype=dtype).partial_fit(X, ["new"] * 9 if method in ("class_rls", "softmax") else y).state()
    )
    eps = np.finfo(dtype).eps
    state["P"].values[...] = 1 + np.diag([0, {"negative": -4.0, "singular": 0.0, "rounding": eps}[wrong], 1.0])
    b = ob.restore(state)
    before = a.copy(), b.copy()
    for one, other, which in ((a, b, "the other's P"), (b, a, "P")):
        with pytest.raises(ValueError, match=f"too few digits are left in {which}: to rounding it is not positive"):
            one.merge(other)
    same_state(a, before[0])
    same_state(b, before[1])


@pytest.mark.parametrize("n", [10, 20, 30])
def test_the_error_of_an_inverse_is_not_hidden_by_its_pivots(n):
    K = kahan_matrix(n)
    exact = np.linalg.inv(K) @ np.linalg.inv(K).T
    found, error = invert_spd(K.T @ K, np.finfo(float).eps, what="P")
    assert abs(found - exact).max() <= error * abs(exact).max()
    assert abs(found - exact).max() >= 1e-5 * error * abs(exact).max(), "an estimate of the error, no loose bound"


def test_a_method_without_a_merge_rule_is_refused(same_state):
    rule = change(ob.methods()["lms"], name="lms_alone", combine={"merge": None}, theory={"laws": ()})
    with declared(rule) as name:
        a, b = of(name), of(name)
        before = a.copy()
        with pytest.raises(ValueError, match="lms_alone has no rule for merging"):
            a.merge(b)
        same_state(a, before)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda a, b, s: {"w": a.fields["w"][:1]}, r"cannot be merged here: state: 'w' has shape \(1, 1\)"),
        (lambda a, b, s: {"w": a.fields["w"] * np.nan}, "'w' holds numbers that are not finite"),
        (lambda a, b, s: {"w": a.fields["w"] + 1e300}, "'w' holds numbers that are not finite"),
        (lambda a, b, s: 1 / 0, "division"),
        (lambda a, b, s: None, r"<lambda> \(test_merging_refusals.py:\d+\) returned None, want a dict of the merged"),
        (lambda a, b, s: {"w": 1j * a.fields["w"]}, "returned 'w' of dtype complex128, want numbers that float32 can"),
        (lambda a, b, s: {"w": a.fields["w"].astype(str)}, "returned 'w' of dtype <U32, want numbers"),
        (lambda a, b, s: {"w": np.full((3, 1), 10**400)}, "returned 'w' of dtype object, want numbers"),
        (lambda a, b, s: {"w": np.ma.masked_less(a.fields["w"], 0)}, "returned 'w' with masked values"),
        (lambda a, b, s: a.fields["w"], "returned ndarray, want a dict of the merged fields by name"),
    ],
)
def test_a_rule_that_fails_changes_nothing(rule, message, same_state):
    merge = Merge("averaged", "", rule)
    wrong = change(ob.methods()["lms"], name="lms_wrong", combine={"merge": merge}, theory={"laws": ()})
    with declared(wrong) as name:
        a, b = of(name, dtype="float32"), of(name, dtype="float32")
        before = a.copy()
        with pytest.raises((ValueError, ZeroDivisionError), match=message):
            a.merge(b)
        same_state(a, before)


def declared(method):
    """A method with the kernel of lms, for as long as the context lasts."""
    from contextlib import contextmanager

    class Plugin:
        SPEC_VERSION = (1, 0)

        @ob.hookimpl
        def methods(self):
            return [method]

        @ob.hookimpl
        def kernels(self):
            return {("numpy", method.name): registry().kernel("numpy", "lms")}

    @contextmanager
    def context():
        ob.register(Plugin(), "declared")
        try:
            yield method.name
        finally:
            ob.unregister("declared")

    return context()


def test_a_kind_of_merging_is_one_of_three():
    with pytest.raises(ValueError, match="kind 'rough', want one of exact, averaged, approximate"):
        Merge("rough", "", lambda a, b, s: {})


def test_learners_of_different_draws_are_averaged():
    a, b = (ob.create("lms", model=CUBIC, random_state=i).partial_fit(*make_rows(5, 3)) for i in (0, 1))
    mean = (a.array("w") + b.array("w")) / 2
    np.testing.assert_allclose(a.merge(b).array("w"), mean, rtol=1e-14)


def test_every_exact_merge_is_a_law():
    for method in ob.methods().values():
        exact = method.combine.merge is not None and method.combine.merge.kind == "exact"
        assert any(law.name == "merge_is_exact" for law in method.theory.laws) == exact, method.name


def test_learners_on_different_backends_are_not_averaged(same_state):
    ob.register(offering("twin", {"lms": registry().kernel("numpy", "lms")}), "twin")
    try:
        a, b = lms(), lms(backend="twin")
        before = a.copy()
        with pytest.raises(ValueError, match="the learners differ in backend"):
            ob.average([a, b])
        same_state(a, before)
    finally:
        ob.unregister("twin")


def test_differing_matrices_are_reported_by_shape():
    starts = (np.eye(60)[:, :2], np.eye(60)[:, 1:3])
    learners = [ob.create("sanger", backend="numpy", n_components=2, initial_basis=C) for C in starts]
    with pytest.raises(
        ValueError, match=r"initial_basis is <array of shape \(60, 2\)> and <array of shape \(60, 2\)>$"
    ):
        ob.average(learners)
