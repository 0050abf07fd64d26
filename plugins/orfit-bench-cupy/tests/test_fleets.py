"""Fleets of the CuPy backend on the stand-in, which compiles their kernels as C++: equal to those of Numba."""

import shutil
from contextlib import suppress

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance import conform
from orfit_bench.learners import configuration
from orfit_bench.learners.fleets.rows import FleetRows
from orfit_bench_cupy import _fleets

from .conftest import by_threads, cupy

METHODS = ("rls", "class_rls", "lms", "nlms", "ridge", "kalman", "oja", "apa")
pytestmark = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
SETTINGS = {
    "rls": {"forgetting_factor": [0.9 + 0.1 * (i % 2) for i in range(30)], "ridge": 0.1},
    "class_rls": {"forgetting_factor": 0.99},
    "lms": {"step_size": [0.01 * (1 + i % 3) for i in range(30)]},
    "nlms": {"step_size": 0.5, "eps": [0.1 * (i % 2) for i in range(30)]},
    "ridge": {"forgetting_factor": [0.98 + 0.02 * (i % 3) for i in range(30)]},
    "kalman": {
        "transition": [0.9 + 0.05 * (i % 3) for i in range(30)],
        "process_noise": [0.1 * (i % 2) for i in range(30)],
        "observation_noise": [0.1 + 0.1 * (i % 4) for i in range(30)],
    },
    "oja": {"step_size": [0.01 * (1 + i % 3) for i in range(30)]},
    "apa": {"projection_order": 2, "step_size": 0.5, "eps": [0.1 * (i % 2) for i in range(30)]},
}
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}
"""Sums of about ten numbers have another order, and P of rls enlarges the difference by its condition number."""


def rows(rng, n, d, labels, dtype):
    """Rows of members in random order, every fifth with a feature that is zero; members 11 and 12 have no rows."""
    X = rng.standard_normal((n, d)).astype(dtype)
    X[::5, 0] = 0
    y = rng.integers(0, 3, n) if labels else (X @ rng.standard_normal(d)).astype(dtype)
    return X, y, rng.choice(np.r_[0:11, 13:30], n)


def learned(method, backend, dtype, d):
    rng = np.random.default_rng(d)
    given = {"n_components": min(d, 3)} if method == "oja" else {}
    fleet = ob.fleet(method, 30, backend=backend, dtype=dtype, **SETTINGS[method], **given)
    found = []
    for n in (200, 1, 57):
        X, y, which = rows(rng, n, d, method == "class_rls", dtype)
        if method in ("oja", "ridge"):  # predictions of ridge are computed on the host
            fleet.partial_fit(X, y, which=which)
        else:
            found.append(fleet.prequential(X, y, which=which))
    return fleet, found


@pytest.mark.parametrize("d", [1, 5, 100])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("method", METHODS)
def test_members_equal_those_of_numba(in_place, method, dtype, d):
    (ours, predictions), (theirs, want) = (learned(method, backend, dtype, d) for backend in (in_place, "numba"))
    for one, other in zip(predictions, want, strict=True):
        assert type(one) is np.ndarray
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, rtol=0, atol=TOLERANCE[dtype] * (1 + abs(other).max()))
    state, expected = ours.state(), theirs.state()
    for name in expected.data_vars:
        a, b = state[name].values, expected[name].values
        np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE[dtype] * (1 + abs(b).max(initial=0)), err_msg=name)


@pytest.mark.parametrize("method", ["rls", "ridge", "class_rls"])
def test_weights_are_learned_as_by_numba(in_place, method):
    fleets = []
    for backend in (in_place, "numba"):
        rng = np.random.default_rng(0)
        fleet = ob.fleet(method, 30, backend=backend, **SETTINGS[method])
        X, y, which = rows(rng, 200, 4, method == "class_rls", "float64")
        weights = rng.choice([0, 0.5, 2], len(X))
        fleet.partial_fit(X, y, which=which, sample_weight=weights)
        on_device = cupy.asarray(X) if backend == in_place else X
        found = fleet.prequential(on_device, y, which=which, sample_weight=weights + 1)
        fleets.append((fleet, found, X, which))
    (ours, one, X, which), (theirs, other, _, _) = fleets
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)
    assert ours.n_samples_seen_.tolist() == theirs.n_samples_seen_.tolist()
    if method == "class_rls":
        ours, theirs = (fleet.predict_proba(X, which=which) for fleet in (ours, theirs))
    else:
        ours, theirs = (fleet.predict(X, which=which, return_std=True)[1] for fleet in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", ["rls", "kalman"])
def test_deviations_are_those_of_numba(in_place, method):
    found = []
    for backend in (in_place, "numba"):
        rng = np.random.default_rng(0)
        fleet = ob.fleet(method, 30, backend=backend, **SETTINGS[method])
        X = rng.standard_normal((30, 5, 4))
        found.append(fleet.partial_fit(X, rng.standard_normal((30, 5))).predict(X, return_std=True)[1])
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_bounds_and_settings_that_all_members_share_are_not_copied(in_place, method, monkeypatch):
    """Members with equally many rows and the same settings give the same bits as if each had its own."""
    X = np.random.default_rng(0).standard_normal((2, 9, 3, 4))
    X[1, :, 1] = X[1, :, 0]  # all members of apa stop at the second row, and the kernel continues from the third
    y = np.arange(27).reshape(9, 3) % 2
    more = {"apa": {"projection_order": 2}, "oja": {"n_components": 2}}.get(method, {})
    found = []
    for shared in (True, False):
        if not shared:
            monkeypatch.setattr(_fleets, "are_alike", lambda values: False)
            monkeypatch.setattr(FleetRows, "rows_each", None)
        fleet = ob.fleet(method, 9, backend=in_place, **more).partial_fit(X[0], y)
        before = cupy.COUNTS.copy()
        fleet.partial_fit(X[1], y).partial_fit(X[0, 3:5, 0], y[0, :2], which=[3, 4])
        found.append((fleet.to_bytes(), (cupy.COUNTS - before).bytes_there))
    (one, least), (other, most) = found
    assert one == other
    assert least < most


@pytest.mark.parametrize("d", [1, 5, 37])
@pytest.mark.parametrize("method", METHODS)
def test_several_threads_of_a_member_leave_the_same_bits(in_place, method, d, monkeypatch):
    """Threads that run separately after each barrier read old numbers if one is missing."""
    (one, mine), *others = by_threads(monkeypatch, lambda: learned(method, in_place, "float64", d))
    for other, theirs in others:
        assert one.to_bytes() == other.to_bytes()
        for a, b in zip(mine, theirs, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("d", [3, 5, 37])
@pytest.mark.parametrize("method", ["rls", "lms", "nlms", "ridge", "kalman", "apa"])
def test_several_threads_learn_several_targets_to_the_same_bits(in_place, method, d, monkeypatch):
    rng = np.random.default_rng(d)
    X, Y = rng.standard_normal((30, 6, d)), rng.standard_normal((30, 6, 3))
    one, *others = by_threads(
        monkeypatch, lambda: ob.fleet(method, 30, backend=in_place, **SETTINGS[method]).partial_fit(X, Y)
    )
    assert [other.to_bytes() for other in others] == [one.to_bytes()] * len(others)
    want = ob.fleet(method, 30, backend="numba", **SETTINGS[method]).partial_fit(X, Y)
    np.testing.assert_allclose(one.predict(X), want.predict(X), rtol=0, atol=1e-10)


def test_several_threads_move_a_kalman_filter_by_matrices_to_the_same_bits(in_place, monkeypatch):
    rng = np.random.default_rng(4)
    F, X, y = 0.5 * rng.standard_normal((4, 5, 5)), rng.standard_normal((4, 9, 5)), rng.standard_normal((4, 9))
    given = {"transition": list(F), "process_noise": [a @ a.T for a in F]}

    def act():
        fleet = ob.fleet("kalman", 4, backend=in_place, **given).partial_fit(X[:, :4], y[:, :4])
        return fleet.partial_fit(X[:, 4:], y[:, 4:]).to_bytes()  # before the first row the state moves

    one, *others = by_threads(monkeypatch, act)
    assert others == [one] * len(others)


@pytest.mark.parametrize("method", ["rls", "class_rls", "lms", "nlms", "ridge", "kalman", "apa"])
def test_several_threads_refuse_the_same_rows(in_place, method, monkeypatch):
    """The huge entry, or the weight that would be infinite, differs by member, so that different threads find it."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((10, 6, 5)), rng.integers(1, 3, (10, 6))
    at = np.arange(5)
    X[at, at + 1, at] = 1e200
    if method != "class_rls":
        y = y.astype(float)
        X[at + 5, 0], y[at + 5, 0] = 1e-9 + 0.5 * np.eye(5), 1.7e308
    vague = {"rls": {"ridge": 1e-6}, "kalman": {"initial_covariance": 1e6}}
    given = (vague | {"lms": {"step_size": 1.0}, "apa": {"projection_order": 2}}).get(method, {})

    def act():
        fleet = ob.fleet(method, 10, backend=in_place, **given)
        with suppress(ob.DivergedError):
            fleet.partial_fit(X, y)
        return fleet

    one, *others = by_threads(monkeypatch, act)
    assert [other.n_samples_seen_.tolist() for other in others] == [one.n_samples_seen_.tolist()] * len(others)
    assert [other.to_bytes() for other in others] == [one.to_bytes()] * len(others)
    if method in ("rls", "class_rls", "lms", "ridge", "kalman"):
        assert one.n_samples_seen_[:5].tolist() == (at + 1).tolist()
    if method in ("rls", "kalman"):
        assert one.n_samples_seen_[5:].tolist() == [0] * 5


def test_the_covariance_stays_symmetric_to_the_last_bit(in_place):
    P = learned("rls", in_place, "float64", 5)[0].state()["P"].values
    assert np.array_equal(P, P.transpose(0, 2, 1))


def test_members_without_a_covariance_learn_on_the_host(in_place):
    X, y = np.random.default_rng(0).standard_normal((2, 3, 2, 3)), np.ones((3, 2))
    fleets = [ob.fleet("rls", 3, backend=backend, forgetting_factor=0) for backend in (in_place, "numba")]
    ours, theirs = (fleet.prequential(X[0], y) for fleet in fleets)
    assert np.array_equal(ours, theirs)


def test_members_too_wide_for_shared_memory_learn_on_the_host(in_place):
    X, y = np.random.default_rng(0).standard_normal((2, 3, 7000)), np.ones((2, 3))
    ours, theirs = (ob.fleet("lms", 2, backend=b, step_size=1e-4).prequential(X, y) for b in (in_place, "numba"))
    assert np.array_equal(ours, theirs)


def test_members_diverge_alone(in_place):
    X, y = np.ones((3, 4, 2)), np.ones((3, 4))
    X[1, 2] = np.finfo(float).max
    for method in ("rls", "lms", "ridge", "kalman"):
        fleet = ob.fleet(method, 3, backend=in_place)
        with pytest.raises(ob.DivergedError) as caught:
            fleet.partial_fit(X, y)
        assert caught.value.members == (1,)
        assert fleet.n_samples_seen_.tolist() == [4, 2, 4]
        assert fleet[1].n_samples_seen_ == 2
        first, _, last = fleet.predict(X)
        np.testing.assert_allclose(first, last, rtol=1e-14)


@pytest.mark.parametrize("method", ["rls", "lms", "nlms", "ridge", "kalman", "apa"])
def test_members_stop_before_their_weights_overflow(in_place, method):
    X, y = np.tile(np.eye(2), (3, 1, 1)), np.ones((3, 2))
    X[1, 1], y[1] = X[1, 0], [1.7e308, 1.7e308 if method == "ridge" else -1.7e308]
    settings = {"apa": {"projection_order": 1}, "lms": {"step_size": 1.0}}.get(method, {})
    for backend in (in_place, "numba"):
        fleet = ob.fleet(method, 3, backend=backend, **settings)
        with pytest.raises(ob.DivergedError) as caught:
            fleet.partial_fit(X, y)
        assert caught.value.members == (1,)
        assert fleet.n_samples_seen_.tolist() == [2, 1, 2]


def test_windows_that_count_as_dependent_learn_on_the_host(in_place):
    X, y = np.array([[[1.0, 0.0], [1.0, 1e-9]]]), np.array([[1.0, 5.0]])  # regularized, the small direction would count
    ours, theirs = (
        ob.fleet("apa", 1, backend=b, projection_order=2, eps=1.0).partial_fit(X, y).state()["w"].values
        for b in (in_place, "numpy")
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-14)


def test_a_window_of_tiny_rows_stops_before_its_weights_overflow(in_place):
    fleet = ob.fleet("apa", 2, backend=in_place, projection_order=1, eps=0.0)
    with pytest.raises(ob.DivergedError) as caught:
        fleet.partial_fit(np.array([[[1e-30]], [[1.0]]]), np.array([[1e300], [1.0]]))
    assert caught.value.members == (0,)


def test_a_forgotten_direction_is_refused_before_it_overflows(in_place):
    X, y, seen = np.tile([1.0, 0.0], (2, 1100, 1)), np.ones((2, 1100)), []
    for backend in (in_place, "numba"):
        fleet = ob.fleet("rls", 2, backend=backend, forgetting_factor=0.5)
        with pytest.warns(ob.AccuracyWarning), pytest.raises(ob.DivergedError):
            fleet.partial_fit(X, y)
        seen.append(fleet.n_samples_seen_.tolist())
    assert seen[0] == seen[1]


@pytest.mark.filterwarnings("ignore::orfit_bench.AccuracyWarning")
def test_rounding_marks_the_members_whose_digits_it_takes(in_place):
    X = np.array([[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]]])
    for backend in (in_place, "numba"):
        fleet = ob.fleet("rls", 2, backend=backend, ridge=1e-10).partial_fit(X, np.ones((2, 2)))
        assert fleet.state()["precision_lost"].values.tolist() == [1, 0]


@pytest.mark.parametrize("method", METHODS)
def test_a_call_is_one_launch(in_place, method, monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((2, 40, 50, 8)), np.zeros((40, 50), int)
    fleet = ob.fleet(method, 40, backend=in_place, **({"projection_order": 2, "eps": 1e-3} if method == "apa" else {}))
    fleet.partial_fit(X[0], y)
    launched, counts = [], ob.backends()[in_place].namespace().COUNTS
    launch = _fleets.Call.launch
    monkeypatch.setattr(
        _fleets.Call, "launch", lambda call, name, *rest: launched.append(name) or launch(call, name, *rest)
    )
    before = counts.copy()
    fleet.partial_fit(X[1], y)
    assert len(launched) == 1
    assert (counts - before).launches <= 5  # the kernel, and zeros for what it counts


def test_a_member_goes_on_after_a_row_that_the_host_learned(in_place, monkeypatch):
    X = np.random.default_rng(0).standard_normal((2, 1010, 4))
    X[1, 500] *= 1e3  # this row would lose digits
    launched, launch = [], _fleets.Call.launch
    monkeypatch.setattr(_fleets.Call, "launch", lambda call, *rest: launched.append(call.places) or launch(call, *rest))
    ours, theirs = (ob.fleet("oja", 2, backend=b, n_components=2).partial_fit(X) for b in (in_place, "numba"))
    assert [list(places) for places in launched] == [[0, 1], [0, 1], [1]]  # 1 stops at rows 500 and 1000, 0 at 1000
    np.testing.assert_allclose(ours.state()["basis"].values, theirs.state()["basis"].values, atol=1e-10)


@pytest.mark.parametrize("outputs", [1, 2])
def test_what_many_members_leave_to_the_host_takes_one_transfer_there(in_place, outputs):
    X = np.repeat(np.random.default_rng(0).standard_normal((2, 60, 1, 4)), 3, axis=2)  # windows of equal rows
    y, more = X[..., :outputs] * 2, {"projection_order": 2, "step_size": 0.5}
    ours, theirs = (ob.fleet("apa", 60, backend=b, **more).partial_fit(X[0], y[0]) for b in (in_place, "numpy"))
    before = cupy.COUNTS.copy()
    found = ours.prequential(X[1], y[1])
    assert (cupy.COUNTS - before).waits <= 20  # each of three rows: the kernel, and the rows that it leaves
    np.testing.assert_allclose(found, theirs.prequential(X[1], y[1]), atol=1e-12)
    for name in ("w", "rows", "targets"):
        a, b = (fleet.state()[name].values for fleet in (ours, theirs))
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
def test_the_kit_accepts_them(in_place, method):
    only = ["fleet_equals_learners", "fleet_members_diverge_alone", "fleet_members_follow_their_own_settings"]
    only += ["fleet_members_lose_precision_alone"] * (method in ("rls", "class_rls", "kalman"))
    report = conform(method, backends=[in_place], only=only)
    assert report.passed, str(report)
    assert report.counts["passed"] >= 2 * len(only)


@pytest.mark.parametrize("method", METHODS)
def test_a_call_moves_neither_state_nor_rows_that_lie_on_the_device(in_place, method):
    backend = ob.backends()[in_place]
    fleet = ob.fleet(method, 40, backend=in_place, **({"projection_order": 2, "eps": 1e-3} if method == "apa" else {}))
    X, y = np.random.default_rng(0).standard_normal((2, 40, 50, 8)), np.ones((40, 50), int)
    fleet.partial_fit(X[0], y)
    there, targets = backend.asarray(X[1]), y if method == "class_rls" else backend.asarray(y.astype(float))
    before = backend.namespace().COUNTS.copy()
    fleet.partial_fit(there, targets)
    moved = backend.namespace().COUNTS - before
    labels = 8 * 40 * 50 if method == "class_rls" else 0
    assert moved.bytes_there <= labels + 100
    assert moved.bytes_back <= 8 * 40 * 2 + 100


def test_rows_on_the_device_are_checked_and_sorted_there(in_place):
    backend = ob.backends()[in_place]
    X, y = np.random.default_rng(0).standard_normal((30, 4)), np.arange(30.0)
    which = np.random.default_rng(1).integers(0, 5, 30)
    ours, theirs = (ob.fleet("rls", 5, backend=in_place) for _ in range(2))
    ours.partial_fit(backend.asarray(X), backend.asarray(y), which=backend.asarray(which))
    theirs.partial_fit(X, y, which=which)
    np.testing.assert_array_equal(ours.state()["P"].values, theirs.state()["P"].values)
    np.testing.assert_array_equal(
        ours.predict(backend.asarray(X[:2]), which=[1, 0]), theirs.predict(X[:2], which=[1, 0])
    )
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"X\[7, 2\] is nan"):
        ours.partial_fit(backend.asarray(X), backend.asarray(y), which=which)
    with pytest.raises(ValueError, match=r"y\[0\] is inf"):
        ours.partial_fit(X[:1], backend.asarray(np.array([np.inf])), which=[0])
    assert ours.n_samples_seen_.sum() == 30


def test_many_numbers_of_the_host_are_checked_on_the_device(in_place, monkeypatch):
    monkeypatch.setattr(configuration, "CHECKED_THERE", 0)
    X, y = np.random.default_rng(0).standard_normal((2, 3, 4)), np.ones((2, 3))
    ours, theirs = (ob.fleet("rls", 2, backend=backend).partial_fit(X, y) for backend in (in_place, "numba"))
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-12)
    before = cupy.COUNTS.copy()
    ours.partial_fit(X, y)
    assert (cupy.COUNTS - before).waits == 3  # whether X is finite, and y; whether a member stopped or lost digits
    X[1, 2, 3] = np.inf
    with pytest.raises(ValueError, match=r"X\[1, 2, 3\] is inf \(1 such in all\)"):
        ours.partial_fit(X, y)
    assert ours.n_samples_seen_.tolist() == [6, 6]


@pytest.mark.parametrize("method", ["ridge", "kalman", "oja"])
def test_predictions_take_a_transfer_for_each_field_not_for_each_member(in_place, method):
    given = {"kalman": {"transition": 0.9}, "oja": {"n_components": 2}}.get(method, {})
    X, y = np.random.default_rng(0).standard_normal((50, 3, 4)), np.ones((50, 3))
    ours, theirs = (ob.fleet(method, 50, backend=b, **given).partial_fit(X, y) for b in (in_place, "numpy"))
    before = cupy.COUNTS.copy()
    found, want = (fleet.transform(X) if method == "oja" else fleet.predict(X) for fleet in (ours, theirs))
    assert (cupy.COUNTS - before).waits <= 4
    np.testing.assert_allclose(abs(found), abs(want), atol=1e-10)
    if method != "oja":
        found, want = (fleet.predict(X[0], which=[3, 49, 0]) for fleet in (ours, theirs))
        np.testing.assert_allclose(found, want, atol=1e-10)


def test_labels_may_lie_on_the_device(in_place):
    X, y = np.random.default_rng(0).standard_normal((6, 2)), np.array([3, 1, 3, 3, 1, 2])
    fleet = ob.fleet("class_rls", 2, backend=in_place)
    fleet.partial_fit(X, ob.backends()[in_place].asarray(y), which=[0, 0, 1, 1, 0, 1])
    assert fleet.classes_.tolist() == [3, 1, 2]


@pytest.mark.parametrize("method", ["rls", "apa", "class_rls"])
def test_members_are_copied_joined_and_removed_on_the_device(in_place, method):
    X, y = np.random.default_rng(0).standard_normal((3, 6, 4)), np.ones((3, 6), int)
    given = {"projection_order": 3} if method == "apa" else {}
    fleets = [
        ob.fleet(method, 3, backend=backend, **given).partial_fit(X[:, :2], y[:, :2]) for backend in (in_place, "numba")
    ]
    for fleet in fleets:
        fleet.add(fleet.copy()).remove([0, 4]).partial_fit(X[0, 2:], 2 * y[0, 2:], which=[3, 0, 0, 2])
    ours, theirs = (fleet.state() for fleet in fleets)
    for name in theirs.data_vars:
        np.testing.assert_allclose(ours[name].values, theirs[name].values, atol=1e-12, err_msg=name)


def test_a_row_near_the_largest_float_is_learned_though_its_inverse_is_flushed_to_zero(in_place):
    largest = np.finfo(np.float32).max
    X, y = (
        np.array([[[0.5 * largest, 0.25 * largest], [1.0, 2.0]]], np.float32),
        np.array([[0.5 * largest, 1.0]], np.float32),
    )
    ours, theirs = (ob.fleet("nlms", 1, backend=b, dtype="float32").partial_fit(X, y) for b in (in_place, "numba"))
    want = theirs.state()["w"].values
    assert abs(want).min() > 0.1
    np.testing.assert_allclose(ours.state()["w"].values, want, rtol=1e-5)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("outputs", [1, 2])
def test_steps_whose_quotients_leave_the_floats_equal_those_of_numba(in_place, outputs, dtype):
    rng, most = np.random.default_rng(outputs), 150 if dtype == "float64" else 18
    sizes = rng.uniform(-most, most, (40, 1))
    steps = rng.uniform(-1.9 * most, 1.9 * most, (40, outputs))
    fits = (abs(sizes + steps) < 2 * most).all(axis=1)
    X, Y = ((10.0 ** a[fits]).astype(dtype) for a in (sizes + np.zeros(3), sizes + steps))
    y, given = Y[:, None] if outputs > 1 else Y, {"step_size": 0.7, "eps": 1e-12, "dtype": dtype}
    ours, theirs = (
        ob.fleet("nlms", len(X), backend=b, **given).partial_fit(X[:, None], y) for b in (in_place, "numba")
    )
    want = theirs.state()["w"].values
    normal = want > np.finfo(dtype).tiny
    assert normal.mean() > 0.5
    np.testing.assert_allclose(ours.state()["w"].values[normal], want[normal], rtol=10 * np.finfo(dtype).eps)
