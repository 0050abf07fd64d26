"""Settings of `create`: invalid ones are refused with a message that names them, similar types are converted."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers.inputs import METHODS, X, y

import orfit_bench as ob
from orfit_bench.sklearn import ESTIMATORS

MASKED = np.ma.masked_array(np.eye(2), np.eye(2) > 0)
INVALID_SETTINGS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"method": "orift"}, ValueError, "no method 'orift'. Did you mean 'orfit'[?] Known: "),
    ({"method": "zzzz"}, ValueError, "no method 'zzzz'. Known: "),
    ({"method": None}, TypeError, "method=None: want a name"),
    ({"method": "lms", "backend": "nunpy"}, ValueError, "no backend 'nunpy'. Did you mean 'numpy'[?]"),
    ({"method": "lms", "backend": ["numpy"]}, TypeError, "backend=.*: want a name"),
    ({"method": "lms", "stepsize": 0.1}, TypeError, "lms has no setting 'stepsize'. Did you mean 'step_size'[?]"),
    ({"method": "nlms", "mu": 0.1}, TypeError, "nlms has no setting 'mu'. Did you mean 'step_size'[?]"),
    ({"method": "rls", "lam": 0.9}, TypeError, "rls has no setting 'lam'. Did you mean 'forgetting_factor'[?]"),
    ({"method": "rls", "lambda_": 0.9}, TypeError, "Did you mean 'forgetting_factor'[?]"),
    ({"method": "rls", "delta": 0.1}, TypeError, "Did you mean 'ridge'[?]"),
    ({"method": "apa", "delta": 0.1}, TypeError, "Did you mean 'eps'[?]"),
    ({"method": "apa", "order": 4}, TypeError, "Did you mean 'projection_order'[?]"),
    ({"method": "oja", "learning_rate": 1.0}, TypeError, "Did you mean 'step_size'[?]"),
    ({"method": "greedy", "mu": 0.1}, TypeError, "greedy has no setting 'mu'. Known: none"),
    ({"method": "orfit", "zzzz": 1}, TypeError, "orfit has no setting 'zzzz'. Known: batch_size, memory, summary"),
    ({"method": "greedy", "memory": 1}, TypeError, "greedy has no setting 'memory'. Known: none"),
    ({"method": "rls", "ridge": "1"}, TypeError, r"ridge='1': want a number in \[0, inf\)"),
    ({"method": "rls", "ridge": None}, TypeError, "ridge=None"),
    ({"method": "rls", "ridge": [1.0]}, TypeError, "ridge="),
    ({"method": "rls", "ridge": 1j}, TypeError, "ridge=1j"),
    ({"method": "rls", "ridge": True}, TypeError, "ridge=True"),
    ({"method": "rls", "ridge": np.True_}, TypeError, "ridge="),
    ({"method": "rls", "ridge": -1e-9}, ValueError, r"ridge=-1e-09: want a number in \[0, inf\)"),
    ({"method": "rls", "ridge": float("nan")}, ValueError, "ridge=nan"),
    ({"method": "rls", "forgetting_factor": float("inf")}, ValueError, "forgetting_factor=inf"),
    ({"method": "rls", "ridge": 10**400}, ValueError, "ridge=1000"),
    ({"method": "orfit", "memory": 0}, ValueError, r"memory=0: want an integer in \[1, inf\) or None"),
    ({"method": "orfit", "memory": 2.0}, TypeError, "memory=2.0: want an integer"),
    ({"method": "orfit", "memory": True}, TypeError, "memory=True"),
    ({"method": "orfit", "memory": 10**400}, ValueError, "memory=1000"),
    ({"method": "orfit", "batch_size": None}, TypeError, "batch_size=None"),
    ({"method": "orfit", "batch_size": 0}, ValueError, "batch_size=0"),
    ({"method": "orfit", "summary": "ipac"}, ValueError, "summary='ipac': want one of ipca, largest, latest, random"),
    (
        {"method": "sgd", "loss": "crossentropy"},
        ValueError,
        r"quantile, cross_entropy \(did you mean 'cross_entropy'\?\)",
    ),
    ({"method": "orfit", "summary": 3}, TypeError, "summary=3"),
    ({"method": "lms", "step_size": 0}, ValueError, r"step_size=0: want a number in \(0, inf\)"),
    ({"method": "nlms", "step_size": 2.1}, ValueError, r"step_size=2.1: want a number in \(0, 2\]"),
    ({"method": "lms", "step_size": abs}, TypeError, "step_size="),
    ({"method": "lms", "step_size": {}}, ValueError, "step_size={}: schedule {}: want one of constant, power"),
    ({"method": "lms", "step_size": {"pwr": {}}}, ValueError, "step_size=.*want one of constant, power"),
    ({"method": "lms", "step_size": {"power": {}, "slide": {}}}, ValueError, "want one of constant, power"),
    ({"method": "lms", "step_size": {"power": {"eta0": 1.0}}}, ValueError, "step_size=.* missing"),
    ({"method": "lms", "step_size": {"power": 1.0}}, ValueError, "step_size="),
    ({"method": "lms", "step_size": {"power": {"eta0": "x", "power": 1.0}}}, ValueError, "step_size=.*: .*'x'"),
    ({"method": "lms", "step_size": {"power": {"eta0": 1.0, "power": -1.0}}}, ValueError, "step_size=.*: power=-1.0"),
    ({"method": "lms", "step_size": {"power": {"eta0": 0.0, "power": 1.0}}}, ValueError, "step_size=.* one is 0.0"),
    ({"method": "lms", "step_size": {"slide": {"B": 1.0, "G": 0.0}}}, ValueError, "step_size=.*: slide"),
    ({"method": "lms", "step_size": {"sequence": {"values": []}}}, ValueError, "step_size=.*: sequence"),
    ({"method": "lms", "step_size": {"sequence": {"values": 3}}}, ValueError, "step_size="),
    ({"method": "lms", "step_size": {"sequence": {"values": [1.0, -1.0]}}}, ValueError, "step_size=.* one is -1.0"),
    ({"method": "lms", "step_size": {"constant": {"value": float("nan")}}}, ValueError, "step_size=.*: value=nan"),
    ({"method": "lms", "step_size": ob.schedules.power(-1.0, 0.5)}, ValueError, "step_size=.* one is -1.0"),
    ({"method": "lms", "dtype": "float16"}, ValueError, "dtype='float16': want one of float64, float32"),
    ({"method": "lms", "dtype": int}, ValueError, "want one of float64, float32"),
    ({"method": "lms", "dtype": "nonsense"}, ValueError, "dtype='nonsense'"),
    ({"method": "lms", "random_state": -1}, ValueError, "random_state=-1"),
    ({"method": "lms", "random_state": 2**64}, ValueError, "random_state=18446744073709551616"),
    ({"method": "lms", "random_state": 1.0}, TypeError, "random_state=1.0"),
    ({"method": "lms", "random_state": None}, TypeError, "random_state=None"),
    ({"method": "lms", "random_state": True}, TypeError, "random_state=True"),
    ({"method": "lms", "initial_weights": ["a"]}, TypeError, "initial_weights: .* want real numbers"),
    ({"method": "lms", "initial_weights": [1j]}, TypeError, "initial_weights: .* want real numbers"),
    ({"method": "lms", "initial_weights": [[1.0], [1.0, 2.0]]}, ValueError, "initial_weights: rows of unequal length"),
    ({"method": "lms", "initial_weights": [1.0, np.nan]}, ValueError, r"initial_weights\[1\] is nan"),
    ({"method": "lms", "initial_weights": np.ones((2, 2, 2))}, ValueError, r"initial_weights: got shape \(2, 2, 2\)"),
    ({"method": "lms", "initial_weights": [1e39], "dtype": "float32"}, ValueError, r"initial_weights\[0\] = 1e\+39"),
    ({"method": "kalman", "transition": MASKED}, TypeError, "kalman: transition=.*: got a masked array, want plain"),
    ({"method": "kalman", "initial_covariance": MASKED}, TypeError, "initial_covariance=.*: got a masked array"),
    ({"method": "kalman", "initial_mean": MASKED[0]}, TypeError, "initial_mean=.*: got a masked array"),
    ({"method": "kalman", "process_noise": [*MASKED]}, TypeError, "process_noise=.*: got masked values in a list"),
    ({"method": "oja", "initial_basis": MASKED}, TypeError, "initial_basis=.*: got a masked array, want plain values"),
    ({"method": "greedy", "initial_weights": [1.0]}, ValueError, "initial_weights: greedy has none; leave it out"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), INVALID_SETTINGS, ids=lambda v: str(v)[:60])
def test_invalid_settings_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ob.create(**arguments)


SETTINGS_OF_SIMILAR_TYPES: list[dict[str, Any]] = [
    {"method": "rls", "ridge": np.float32(0.5)},
    {"method": "rls", "ridge": 1, "forgetting_factor": 0},
    {"method": "orfit", "memory": np.int64(2)},
    {"method": "lms", "dtype": np.float32, "random_state": 2**64 - 1},
    {"method": "lms", "dtype": np.dtype("float32")},
    {"method": "nlms", "step_size": {"slide": {"B": 1, "G": 1}}},
    {"method": "lms", "step_size": ob.schedules.power(1.0, 400.0)},  # underflows, which is allowed
    {"method": "lms", "initial_weights": [1, 0, 0]},
]


@pytest.mark.parametrize("arguments", SETTINGS_OF_SIMILAR_TYPES, ids=str)
def test_settings_of_similar_types_are_converted(arguments: dict[str, Any]) -> None:
    assert np.isfinite(ob.create(**arguments).partial_fit(X, y).predict(X)).all()


@pytest.mark.parametrize("method", [name for name in METHODS if name != "greedy"])
def test_initial_weights_must_fit_the_rows(method: str) -> None:
    for shape in ((2,), (4,), (3, 2), (1, 3)):
        learner = ob.create(method, initial_weights=np.ones(shape))
        with pytest.raises(ValueError, match=re.escape(f"initial_weights: got shape {shape}, want (3, 1)")):
            learner.partial_fit(X, y)
        with pytest.raises(AttributeError):
            _ = learner.n_features_in_
    given = np.ones(3)
    learner = ob.create(method, initial_weights=given)
    given[:] = 7.0  # not kept
    np.testing.assert_allclose(learner.partial_fit(X[:0], y[:0]).predict(X), X.sum(1))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: ob.schedules.power(1.0, float("nan")), ValueError),
        (lambda: ob.schedules.power(1.0, -1), ValueError),
        (lambda: ob.schedules.slide(0, 1), ValueError),
        (lambda: ob.schedules.sequence("12"), TypeError),
        (lambda: ob.schedules.sequence([True]), TypeError),
        (lambda: ob.schedules.sequence([]), ValueError),
        (lambda: ob.schedules.constant(None), TypeError),
        (lambda: ob.create("lms", dtype=None), ValueError),
    ],
)
def test_invalid_schedules_and_dtypes_are_refused(make, error):
    with pytest.raises(error):
        make()


class Cosine(ob.schedules.Schedule):
    def __call__(self, t):
        return np.cos(t)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Cosine, "want one of constant, power, slide, sequence"),
        (lambda: ob.schedules.Power(0.1, -1.0), "power=-1.0"),
        (lambda: ob.schedules.Sequence(()), "at least one value"),
        (lambda: ob.schedules.Slide(1.0, 0.0), "want both > 0"),
    ],
)
def test_schedules_that_cannot_be_saved_are_refused(make, message):
    """Settings that create accepts must be readable by restore."""
    with pytest.raises((TypeError, ValueError), match=message):
        ob.create("lms", step_size=make())


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("lms", {"step_size": 1e-60}, r"lms: step_size=1e-60 is 0.0 in float32: want a number in \(0, inf\)"),
        ("rls", {"ridge": 1e-60}, r"rls: ridge=1e-60 is 0.0 in float32: want a number in \[0, inf\) that it holds"),
        ("lms", {"step_size": ob.schedules.power(1e51, 0.5)}, "step_size=1e.51 is inf in float32"),
        ("nlms", {"eps": 1e40}, "nlms: eps=1e.40 is inf in float32"),
        ("kalman", {"initial_covariance": 1e-46}, "initial_covariance=1e-46 is 0.0 in float32: want a number"),
        ("kalman", {"process_noise": [1.0, 1e-46]}, r"process_noise\[1\]=1e-46 is 0.0 in float32"),
        ("kalman", {"initial_covariance": np.diag([1.0, 1e-46])}, r"initial_covariance\[1, 1\]=1e-46 is 0.0"),
        ("kalman", {"initial_mean": 1e-46}, "initial_mean=1e-46 is 0.0 in float32"),
        ("sgd", {"momentum": 1 - 1e-9}, r"momentum=0.999999999 is 1.0 in float32: want a number in \[0, 1\)"),
    ],
)
def test_a_number_that_single_precision_loses_is_refused(method, settings, message):
    ob.create(method, **settings)
    for dtype in ("float32", "complex64"):
        with pytest.raises(ValueError, match=message):
            ob.create(method, dtype=dtype, **settings)
    if method == "kalman":
        return
    (name, value), *_ = settings.items()
    with pytest.raises(ValueError, match=f"{method}, member 1: {name}=.* in float32"):
        ob.fleet(method, 2, dtype="float32", **{name: [0.5, value]})


def test_entries_that_are_no_variances_may_become_zero_in_single_precision():
    small = [[1.0, 1e-50], [1e-50, 1.0]]
    settings = {"transition": small, "initial_covariance": small, "initial_mean": [1.0, 1e-50]}
    learner = ob.create("kalman", dtype="float32", observation_noise=0.0, **settings)
    assert np.isfinite(learner.partial_fit(np.eye(2), [1.0, 2.0]).predict(np.eye(2))).all()


def test_a_start_that_overflows_is_refused_and_changes_nothing():
    learner = ob.create("rls", ridge=1e-40, dtype="float32")
    with pytest.raises(ValueError, match=r"the start of P is not finite in float32: .* rls has .*ridge=1e-40"):
        learner.partial_fit([[1.0]], [1.0])
    assert learner.n_samples_seen_ == 0


@pytest.mark.parametrize(
    ("method", "name", "meant"),
    [
        ("rls", "lam", "forgetting_factor"),
        ("rls", "beta", "forgetting_factor"),
        ("ridge", "alpha", "ridge"),
        ("kalman", "Q", "process_noise"),
        ("kalman", "R", "observation_noise"),
        ("kalman", "F", "transition"),
        ("kalman", "P0", "initial_covariance"),
        ("kalman", "x0", "initial_mean"),
        ("apa", "K", "projection_order"),
        ("oja", "K", "n_components"),
        ("oja", "rank", "n_components"),
        ("ogd", "buffer", "memory"),
        ("sgd", "leakage", "ridge"),
    ],
)
def test_names_of_other_libraries_are_answered_with_the_setting(method: str, name: str, meant: str) -> None:
    pattern = f"has no (setting|parameter) '{name}'. Did you mean '{meant}'[?]"
    for make in (partial(ob.create, method), ESTIMATORS[method]):
        with pytest.raises(TypeError, match=pattern):
            make(**{name: 1.0})


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("sign_lms", "Did you mean 'sgd', with loss='absolute'[?] Known: apa,"),
        ("leaky-LMS", "Did you mean 'sgd', with the leakage as ridge[?]"),
        ("EKF", "Did you mean 'kalman', with a model"),
        ("PCA", "Did you mean 'incremental_pca'[?]"),
        ("nlsm", "Did you mean 'nlms'[?]"),
    ],
)
def test_names_of_other_libraries_are_answered_with_the_method(name: str, answer: str) -> None:
    with pytest.raises(ValueError, match=answer):
        ob.create(name)
    with pytest.raises(KeyError, match=answer):
        ESTIMATORS[name]


@pytest.mark.parametrize("table", [{"constant": 0.1}, {"sequence": [1.0, 0.5]}])
def test_arguments_of_a_schedule_that_are_not_named_are_refused(table: Any) -> None:
    with pytest.raises(ValueError, match="want its arguments by name, as in"):
        ob.schedules.from_config(table)


@pytest.mark.parametrize("value", [True, np.True_, np.timedelta64(3)])
def test_schedules_of_other_things_than_numbers_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="want a number"):
        ob.schedules.constant(value)
