"""Fleets: every member equals a single learner."""

import pickle
import warnings

import numpy as np
import pytest
import xarray as xr

import orfit_bench as ob
from orfit_bench.learners.fleets.learning import learned_all
from orfit_bench.learners.fleets.rows import FleetRows

METHODS = {
    "lms": {"step_size": 0.05},
    "nlms": {},
    "rls": {"forgetting_factor": 0.98},
    "ridge": {"forgetting_factor": 0.98},
    "kalman": {"transition": 0.95, "process_noise": 0.1},
    "class_rls": {},
    "oja": {"n_components": 2},
    "apa": {"projection_order": 3},
}
BACKENDS = ("numpy", "numba")
N, D = 5, 4


def rows(method, *shape, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((*shape, D))
    if method == "oja":
        return X, None
    y = X @ np.arange(1.0, D + 1) + 0.1 * rng.standard_normal(shape)
    return X, (np.where(y < -1, "low", np.where(y > 2, "high", "mid")) if method == "class_rls" else y)


def learners(method, backend, **settings):
    return [ob.create(method, backend=backend, **METHODS[method], **settings) for _ in range(N)]


def assert_equal_members(fleet, alone, tolerance=1e-12):
    assert fleet.n_samples_seen_.tolist() == [learner.n_samples_seen_ for learner in alone]
    for member, learner in zip(fleet, alone, strict=True):
        got, want = member.state(), learner.state()
        assert got.attrs["t"] == want.attrs["t"]
        assert set(got) == set(want)
        for name in want:
            np.testing.assert_allclose(got[name], want[name], rtol=tolerance, atol=tolerance, err_msg=name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_members_equal_single_learners(method, backend, dtype):
    fleet, alone = (
        ob.fleet(method, N, backend=backend, dtype=dtype, **METHODS[method]),
        learners(method, backend, dtype=dtype),
    )
    X, y = rows(method, N, 6)
    fleet.partial_fit(X, y)
    for i, learner in enumerate(alone):
        learner.partial_fit(X[i], None if y is None else y[i])
    X, y = rows(method, 40, seed=1)
    which = np.random.default_rng(2).choice([0, 1, 4], 40)
    fleet.partial_fit(X, y, which=which)
    for i in (0, 1, 4):
        alone[i].partial_fit(X[which == i], None if y is None else y[which == i])
    assert_equal_members(fleet, alone, 1e-12 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_members_with_unlike_numbers_of_rows_equal_single_learners(method, backend):
    """If a method keeps a window, members learn together with windows of 0, 1, 2 and more rows."""
    fleet, alone = ob.fleet(method, N, backend=backend, **METHODS[method]), learners(method, backend)
    for i, learner in enumerate(alone):
        X, y = rows(method, i + 1, seed=i)
        learner.partial_fit(X, y)
        fleet.partial_fit(X, y, which=np.full(i + 1, i))
    X, y = rows(method, N, 2, seed=9)
    fleet.partial_fit(X, y)
    for i, learner in enumerate(alone):
        learner.partial_fit(X[i], None if y is None else y[i])
    assert_equal_members(fleet, alone)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", [m for m in METHODS if m != "oja"])
def test_predictions_come_in_the_order_of_the_call(method, backend):
    fleet, alone = ob.fleet(method, N, backend=backend, **METHODS[method]), learners(method, backend)
    X, y = rows(method, 40)
    which = np.random.default_rng(2).integers(0, N, 40)
    before = fleet.prequential(X, y, which=which)
    after = fleet.predict(X, which=which)
    for i, learner in enumerate(alone):
        expected = learner.prequential(X[which == i], y[which == i])
        if method != "class_rls":
            np.testing.assert_allclose(before[which == i], expected, atol=1e-12)
            np.testing.assert_allclose(after[which == i], learner.predict(X[which == i]), atol=1e-12)
        else:
            assert after[which == i].tolist() == learner.predict(X[which == i]).tolist()
    assert fleet.predict(np.stack([X] * N)).shape == (N, 40)


@pytest.mark.parametrize("backend", BACKENDS)
def test_settings_may_differ(backend):
    factors, ridges = [0.9, 0.95, 1.0, 1.0, 0.99], np.geomspace(0.1, 10, N)
    fleet = ob.fleet("rls", N, backend=backend, forgetting_factor=factors, ridge=ridges)
    X, y = rows("rls", N, 9)
    fleet.partial_fit(X, y)
    alone = [
        ob.create("rls", backend=backend, forgetting_factor=ff, ridge=r).partial_fit(X[i], y[i])
        for i, (ff, r) in enumerate(zip(factors, ridges, strict=True))
    ]
    assert_equal_members(fleet, alone)
    assert fleet[1].settings["forgetting_factor"] == 0.95
    assert_equal_members(ob.stack(alone), alone)
    with pytest.raises(ValueError, match="projection_order must be the same"):
        ob.fleet("apa", 2, backend=backend, projection_order=[1, 2])
    assert ob.fleet("apa", 2, backend=backend, projection_order=[2, 2])[1].settings["projection_order"] == 2
    with pytest.raises(ValueError, match="member 1"):
        ob.fleet("rls", 2, backend=backend, ridge=[1.0, -1.0])
    with pytest.raises(ValueError, match="other state fields"):
        ob.fleet("rls", 2, backend=backend, forgetting_factor=[1.0, 0.0])


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("kind", ["shared", "own", "constant"])
def test_schedules_count_the_steps_of_each_member(backend, kind):
    own = [ob.schedules.power(0.05 * (i + 1), 0.5) if kind != "constant" else 0.02 * (i + 1) for i in range(4)]
    fleet = ob.fleet("lms", 4, backend=backend, step_size=own[0] if kind == "shared" else own)
    alone = [ob.create("lms", backend=backend, step_size=own[0 if kind == "shared" else i]) for i in range(4)]
    rng = np.random.default_rng(0)
    for n in (30, 7, 1, 12):
        X, y, which = rng.standard_normal((n, 3)), rng.standard_normal(n), rng.choice([0, 1, 3], n)
        fleet.partial_fit(X, y, which=which)
        for i in np.unique(which):
            alone[i].partial_fit(X[which == i], y[which == i])
    for i in (0, 1, 3):
        np.testing.assert_allclose(fleet[i].array("w"), alone[i].array("w"), rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_filters_have_their_own_motion(backend):
    motions = [0.9 * np.eye(D), np.roll(np.eye(D), 1, 0), np.eye(D), 0.5 * np.eye(D), -np.eye(D)]
    fleet = ob.fleet("kalman", N, backend=backend, transition=motions)
    X, y = rows("kalman", N, 9)
    y[:, 3] = np.nan
    fleet.partial_fit(X, y)
    alone = [ob.create("kalman", backend=backend, transition=F).partial_fit(X[i], y[i]) for i, F in enumerate(motions)]
    assert_equal_members(fleet, alone)
    np.testing.assert_allclose(fleet.predict(X)[1], alone[1].predict(X[1]), atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["lms", "rls", "class_rls"])
def test_a_member_that_diverges_stops_alone(method, backend):
    fleet, alone = ob.fleet(method, N, backend=backend, **METHODS[method]), learners(method, backend)
    X, y = rows(method, N, 6)
    X[2, 3] = 1e300
    with pytest.raises(ob.DivergedError, match="1 of 5 members diverged") as raised:
        fleet.partial_fit(X, y)
    assert raised.value.members == (2,)
    assert (raised.value.step, raised.value.row) == (4, 3)
    assert pickle.loads(pickle.dumps(raised.value)).members == (2,)
    for i, learner in enumerate(alone):
        if i == 2:
            with pytest.raises(ob.DivergedError):
                learner.partial_fit(X[i], y[i])
        else:
            learner.partial_fit(X[i], y[i])
    assert_equal_members(fleet, alone)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"nlms", "apa"}))  # these learn rows of any size
def test_all_members_may_diverge_before_the_last_row(method, backend):
    fleet, alone = ob.fleet(method, N, backend=backend, **METHODS[method]), learners(method, backend)
    X, y = rows(method, N, 1)
    fleet.partial_fit(X, y)
    for i, learner in enumerate(alone):
        learner.partial_fit(X[i], None if y is None else y[i])
    X, y = rows(method, N, 3, seed=1)
    X[:, 0] = 1e300
    with pytest.raises(ob.DivergedError, match="5 of 5 members diverged"):
        fleet.partial_fit(X, y)
    for i, learner in enumerate(alone):
        with pytest.raises(ob.DivergedError):
            learner.partial_fit(X[i], None if y is None else y[i])
    assert_equal_members(fleet, alone)


def test_a_square_array_may_be_one_matrix_or_many_diagonals():
    A = np.array([[1.0, 1.0], [0.0, 1.0]])
    for given in (A, A.tolist(), list(A)):
        with pytest.raises(ValueError, match=r"transition: an array of shape \(2, 2\) may be a matrix for all 2"):
            ob.fleet("kalman", 2, transition=given, process_noise=0.1)
    for given in ([A] * 2, [A, 0.5]):
        assert (ob.fleet("kalman", 2, transition=given, process_noise=0.1)[0].rule.settings["transition"] == A).all()
    assert (ob.fleet("kalman", 3, transition=A)[2].rule.settings["transition"] == A).all()
    means = ob.fleet("kalman", 2, initial_mean=[[1.0, 2.0], [3.0, 4.0]])
    assert means[1].rule.settings["initial_mean"].tolist() == [3.0, 4.0]


def test_many_members_that_lose_precision_give_few_warnings():
    fleet, given = ob.fleet("rls", 20, backend="numpy").partial_fit(*rows("rls", 20, 2)), []
    for i in range(20):
        fleet.live_state.arrays.precision_lost[i] = 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fleet.partial_fit(*rows("rls", 20, 1))
        given += [str(warning.message).partition(":")[0] for warning in caught]
    assert given == ["rls, 1 members of the fleet (0)"] + [
        f"rls, {n} members of the fleet (the last ones" for n in (2, 4, 8, 16)
    ]


def test_bad_input_changes_nothing():
    fleet = ob.fleet("rls", N, backend="numpy").partial_fit(*rows("rls", N, 3))
    before = fleet.state()
    X, y = rows("rls", 3)
    nan, bad = X.copy(), {}
    nan[1, 2] = np.nan
    bad = [
        ((X, y), {}, ValueError, "want .5, n, d"),
        ((X, y), {"which": [0, 1, 5]}, ValueError, r"which\[2\] is 5"),
        ((X, y), {"which": [0, 1, -1]}, ValueError, r"which\[2\] is -1"),
        ((X, y), {"which": [0.0, 1.0, 2.0]}, TypeError, "want integers"),
        ((X, y), {"which": [0, 1]}, ValueError, "one member for each row"),
        ((nan, y), {"which": [0, 1, 2]}, ValueError, r"X\[1, 2\] is nan"),
        ((X, y[:2]), {"which": [0, 1, 2]}, ValueError, "y: got shape"),
        ((X[:, :2], y), {"which": [0, 1, 2]}, ValueError, "2 features, want 4"),
    ]
    for arguments, named, error, text in bad:
        with pytest.raises(error, match=text):
            fleet.partial_fit(*arguments, **named)
        assert fleet.state().identical(before)
    fleet.partial_fit(X[:0], y[:0], which=[])
    assert fleet.state().identical(before)


@pytest.mark.parametrize("method", METHODS)
def test_saved_fleets_continue_identically(method, tmp_path):
    fleet = ob.fleet(method, N, backend="numpy", **METHODS[method])
    X, y = rows(method, 17)
    fleet.partial_fit(X, y, which=np.arange(17) % 3)
    fleet.save(tmp_path / "fleet.npz")
    copies = [
        fleet.copy(),
        ob.load(tmp_path / "fleet.npz"),
        ob.from_bytes(fleet.to_bytes()),
        ob.restore(fleet.state()),
        pickle.loads(pickle.dumps(fleet)),
        ob.restore(fleet.state(), backend="numba"),
    ]
    X, y = rows(method, N, 4, seed=3)
    fleet.partial_fit(X, y)
    for k, copy in enumerate(copies):
        assert len(copy) == N
        copy.partial_fit(X, y)
        if k < 5:
            xr.testing.assert_identical(copy.state(), fleet.state())
        else:
            np.testing.assert_allclose(copy.n_samples_seen_, fleet.n_samples_seen_)
    data = bytearray(copies[0].to_bytes())
    data[-3] ^= 1
    with pytest.raises(ValueError, match="damaged"):
        ob.from_bytes(bytes(data))


def test_members_are_added_removed_and_merged():
    X, y = rows("rls", 3, 8)
    fleet = ob.fleet("rls", 3, backend="numpy").partial_fit(X[:, :4], y[:, :4])
    other = ob.fleet("rls", 3, backend="numpy").partial_fit(X[:, 4:], y[:, 4:])
    fleet.merge(other)
    complete = [ob.create("rls", backend="numpy").partial_fit(X[i], y[i]) for i in range(3)]
    assert_equal_members(fleet, complete, 1e-8)
    fleet.remove([0, -1])
    fleet.add(ob.create("rls", backend="numpy", ridge=3.0)).add(other)
    assert [len(fleet), fleet[1].settings["ridge"], fleet[2].settings["ridge"]] == [5, 3.0, 1.0]
    assert fleet.n_samples_seen_.tolist() == [8, 0, 4, 4, 4]
    with pytest.raises(ValueError, match="differ in method"):
        fleet.add(ob.create("lms", backend="numpy"))
    with pytest.raises(ValueError, match="fleet of 5"):
        fleet.merge(other)
    with pytest.raises(IndexError):
        fleet[5]
    member = fleet[0]
    member.partial_fit(X[0], y[0])
    assert fleet.n_samples_seen_[0] == 8


def test_what_has_no_fleets_says_why():
    with pytest.raises(ob.UnavailableError, match="orfit on numpy lacks fleets"):
        ob.fleet("orfit", 2, backend="numpy")
    with pytest.raises(ob.UnavailableError, match="gp on numba lacks fleets"):
        ob.fleet("gp", 2, backend="numba")
    with pytest.raises(TypeError, match="no setting 'ridg'"):
        ob.fleet("rls", 2, backend="numpy", ridg=[1.0, 2.0])


def test_the_number_of_members_and_of_their_settings_is_named():
    with pytest.raises(ValueError, match=r"N=0: want an integer in \[1, inf\), the number of members"):
        ob.fleet("rls", 0)
    with pytest.raises(TypeError, match=r"ridge=.*; got 2 values for 3 members") as raised:
        ob.fleet("rls", 3, ridge=[1.0, 2.0])
    assert raised.value.__notes__ == ["values for each member of this fleet have length 3, but not ridge"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", METHODS)
def test_no_rows_have_no_predictions(method, backend):
    fleet = ob.fleet(method, 3, backend=backend, **METHODS[method]).partial_fit(*rows(method, 3, 8))
    predict = fleet.transform if method == "oja" else fleet.predict
    assert predict(np.zeros((3, 0, 4))).shape == (3, 0, 2)[: 3 if method == "oja" else 2]
    assert predict(np.zeros((0, 4)), which=[]).shape == (0, 2)[: 2 if method == "oja" else 1]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_coordinates_are_those_of_each_member(backend, dtype):
    rng = np.random.default_rng(0)
    fleet = ob.fleet("oja", 5, backend=backend, dtype=dtype, n_components=3).partial_fit(rng.standard_normal((5, 9, 6)))
    X, which = rng.standard_normal((5, 2, 6)), np.array([4, 0, 0, 2])
    stacked, some = fleet.transform(X), fleet.transform(X[:4, 0], which=which)
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    for i in range(5):
        np.testing.assert_allclose(stacked[i], fleet[i].transform(X[i]), atol=tolerance)
    for row, i in enumerate(which):
        np.testing.assert_allclose(some[row], fleet[i].transform(X[row, :1])[0], atol=tolerance)


def test_directions_that_were_not_seen_have_no_coordinates():
    from orfit_bench.learners.fleets.subspace import orthonormal_columns

    C = np.random.default_rng(0).standard_normal((3, 5, 3))
    C[1, :, 0] = C[2] = 0  # the second member has two directions, the last one none
    Q = orthonormal_columns(C)
    assert not Q[1, :, 2].any()
    assert not Q[2].any()
    np.testing.assert_allclose(Q[1, :, :2].T @ Q[1, :, :2], np.eye(2), atol=1e-14)
    np.testing.assert_allclose(Q[1, :, :2] @ (Q[1, :, :2].T @ C[1, :, 1:]), C[1, :, 1:], atol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_members_whose_windows_are_dependent_take_one_step_together(monkeypatch, dtype):
    """Rows that the compiled kernel does not learn: all members but one repeat rows, like a sensor that is stuck."""
    from orfit_bench_numba import _apa_fleets

    sizes, step = [], _apa_fleets.step_members
    monkeypatch.setattr(_apa_fleets, "step_members", lambda s, x, *rest: sizes.append(len(x)) or step(s, x, *rest))
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 1, 5)), 6, axis=1)
    X[7] = rng.standard_normal((6, 5))
    y = X.sum(axis=2)
    settings = {"backend": "numba", "dtype": dtype, "projection_order": 3, "step_size": 0.5}
    fleet = ob.fleet("apa", 40, **settings).partial_fit(X, y)
    assert sizes == [39] * 5  # from the second row on
    for i in (0, 7, 39):
        alone = ob.create("apa", **settings).partial_fit(X[i], y[i])
        np.testing.assert_allclose(fleet[i].array("w"), alone.array("w"), atol=20 * np.finfo(dtype).eps)


def test_subspaces_of_all_members_are_orthonormalized_together(monkeypatch):
    from orfit_bench_numba import _oja_fleets

    sizes, step = [], _oja_fleets.step_members
    monkeypatch.setattr(_oja_fleets, "step_members", lambda s, x, *rest: sizes.append(len(x)) or step(s, x, *rest))
    X = np.random.default_rng(0).standard_normal((30, 1005, 4))
    fleet = ob.fleet("oja", 30, backend="numba", n_components=2).partial_fit(X)
    assert sizes == [30]
    alone = ob.create("oja", backend="numba", n_components=2).partial_fit(X[3])
    np.testing.assert_allclose(fleet[3].array("basis"), alone.array("basis"), atol=1e-12)


def test_one_member_of_many_that_loses_digits_is_warned_of():
    X, y = np.eye(2)[None].repeat(3, axis=0), np.ones((3, 2))
    X[1] = 1.0  # two equal rows that are large compared with the prior
    with pytest.warns(ob.AccuracyWarning, match=r"1 members of the fleet \(1\)"):
        ob.fleet("rls", 3, backend="numpy", ridge=1e-10).partial_fit(X, y)


def test_a_kernel_that_says_that_all_learned_fewer_rows_is_believed():
    rows = FleetRows(np.ones((6, 1)), (3, 2))
    assert learned_all(np.broadcast_to(2, 3), rows)
    assert not learned_all(np.broadcast_to(1, 3), rows)
    with pytest.raises(ValueError, match="at most"):
        learned_all(np.broadcast_to(3, 3), rows)


@pytest.mark.parametrize("labels", [[float("nan"), "x"], [1, "1"], [True, 3], [None, "x"], [1, 2.5]])
@pytest.mark.parametrize("nested", [False, True])
def test_labels_that_a_learner_refuses_are_refused(labels, nested):
    fleet = ob.fleet("class_rls", 2, backend="numpy")
    X = np.eye(2)[:, None] if nested else np.eye(2)
    y = [[label] for label in labels] if nested else labels
    with pytest.raises(TypeError, match=r"y: got labels of type .*one kind per learner"):
        fleet.partial_fit(X, y, **({} if nested else {"which": [0, 1]}))
    assert not fleet.live_state


@pytest.mark.parametrize("labels", [["a\0", "a"], [-1, 2**63], [True, False]])
def test_labels_of_a_fleet_are_those_of_its_members(labels):
    learner = ob.create("class_rls", backend="numpy").partial_fit(np.eye(2), labels)
    for fleet in (
        ob.stack([learner]),
        ob.fleet("class_rls", 1, backend="numpy").partial_fit(np.eye(2), labels, which=[0, 0]),
        ob.fleet("class_rls", 1, backend="numpy").partial_fit(np.eye(2)[None], [labels]),
    ):
        assert fleet.classes_.tolist() == labels
        assert fleet.predict(np.eye(2), which=[0, 0]).tolist() == labels


def test_classes_of_refused_rows_are_not_kept():
    fleet = ob.fleet("class_rls", 2, backend="numpy").partial_fit(np.eye(2), ["a", "b"], which=[0, 1])
    before = fleet.copy()
    with pytest.raises(ob.DivergedError):
        fleet.partial_fit([[1e300, 1e300], [1.0, 2.0]], ["refused", "new"], which=[0, 1])
    before.partial_fit([[1.0, 2.0]], ["new"], which=[1])
    assert fleet.classes_.tolist() == ["a", "b", "new"]
    np.testing.assert_array_equal(
        fleet.decision_function(np.eye(2), which=[0, 1]), before.decision_function(np.eye(2), which=[0, 1])
    )
    assert fleet.to_bytes() == before.to_bytes()
    fresh = ob.fleet("class_rls", 1, backend="numpy")
    with pytest.raises(ob.DivergedError):
        fresh.partial_fit([[1e300, 1e300]], ["refused"], which=[0])
    assert fresh.classes_.tolist() == []
    assert fresh.partial_fit(np.eye(2), ["a", "b"], which=[0, 0]).classes_.tolist() == ["a", "b"]


def test_a_removal_that_fails_changes_nothing(monkeypatch):
    fleet = ob.fleet("lms", 3, backend="numpy", step_size=[0.1, 0.2, 0.3]).partial_fit(
        np.eye(3), np.ones(3), which=[0, 1, 2]
    )

    def fail(self, members):
        raise MemoryError

    monkeypatch.setattr(type(fleet.live_state), "select", fail)
    with pytest.raises(MemoryError):
        fleet.remove(1)
    monkeypatch.undo()
    assert len(fleet) == len(fleet.n_samples_seen_) == 3
