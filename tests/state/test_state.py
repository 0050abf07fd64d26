"""The state: its names and sizes, and learners that continue identically from it."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from helpers.cases import EVERY, case_name
from helpers.states import WAYS

import orfit_bench as ob

Same = Callable[[ob.Learner, ob.Learner], None]
LEARNERS: list[tuple[str, dict[str, Any]]] = [
    *EVERY,
    ("lms", {"step_size": {"power": {"eta0": 0.3, "power": 0.8}}}),
    ("nlms", {"step_size": {"sequence": {"values": [0.5, 0.1, 0.2]}}}),
    ("apa", {"step_size": {"slide": {"B": 1.0, "G": 3.0}}}),
    ("apa", {"projection_order": None, "dtype": "float32"}),
    ("icl", {"initial_weights": [1.0, 2.0, 3.0]}),
    ("ogd", {"memory": 2}),
    ("orfit", {"memory": 2, "batch_size": 4}),
    ("orfit", {"memory": 2, "batch_size": 3, "summary": "random", "random_state": 2**64 - 1}),
    ("rls", {"dtype": "float32"}),
    ("rls", {"forgetting_factor": 0.9}),
    ("rls", {"forgetting_factor": 0.0}),
    ("sgd", {"loss": "huber", "momentum": {"sequence": {"values": [0.5, 0.1, 0.2]}}, "averaging": "uniform"}),
    ("sgd", {"batch_size": 4, "momentum": 0.9, "averaging": "tail", "tail_start": 3, "dtype": "float32"}),
    ("sgd", {"averaging": "weighted", "weights": {"power": {"eta0": 0.3, "power": 0.8}}, "radius": 0.1, "ridge": 0.1}),
]
MOMENTS = {"fresh": None, "no rows": 0, "one row": 1, "mid-batch": 6, "later": 21}


def test_names_dimensions_and_attributes(rows: Any) -> None:
    X, y = rows(7, d=5, outputs=2)
    settings = {"memory": 3, "batch_size": 4, "summary": "largest"}
    state = ob.create("orfit", random_state=3, dtype="float32", **settings).partial_fit(X, y).state()
    assert {name: a.dims for name, a in state.variables.items()} == {
        "w": ("parameter", "output"),
        "basis": ("direction", "parameter"),
        "singular_values": ("direction",),
        "pending_X": ("waiting", "feature"),
        "pending_y": ("waiting", "target"),
    }
    assert state.sizes == {"parameter": 5, "output": 2, "direction": 3, "waiting": 3, "feature": 5, "target": 2}
    assert {a.dtype for a in state.variables.values()} == {np.dtype("float32")}
    assert state["basis"].attrs["long_name"]
    want = {"method": "orfit", "backend": "numpy", "dtype": "float32", "random_state": 3, "t": 1, "model": "linear"}
    want |= {"n_samples_seen": 7, "n_features": 5, "n_outputs": 2, "y_is_vector": "false", "format": 4}
    assert {key: state.attrs[key] for key in want} == want
    assert json.loads(state.attrs["settings"]) == settings
    assert json.loads(state.attrs["spec_version"]) == [1, 0]


def test_repeated_dimensions_are_numbered(rows: Any) -> None:
    assert ob.create("rls").partial_fit(*rows(2)).state()["P"].dims == ("parameter", "parameter_2")


def test_a_fresh_state_has_no_arrays() -> None:
    state = ob.create("rls").state()
    assert not state.variables
    assert "n_features" not in state.attrs
    given = ob.create("rls", initial_weights=[1, 2]).state()
    np.testing.assert_array_equal(given["initial_weights"], [1.0, 2.0])


def test_bytes_of_the_state(rows: Any) -> None:
    learner = ob.create("rls")
    assert learner.state_bytes == 0
    assert learner.partial_fit(*rows(9)).state_bytes == 8 * (3 + 9 + 1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", ["fresh", "mid-batch"])
@pytest.mark.parametrize("case", LEARNERS, ids=case_name)
def test_learners_continue_identically(
    case: Any, moment: str, way: str, same_state: Same, rows: Any, tmp_path: Path
) -> None:
    method, settings = case
    X, y = rows(30)
    learner, n = ob.create(method, **settings), MOMENTS[moment]
    if n is not None:
        learner.partial_fit(X[:n], y[:n])
    other = WAYS[way](learner, tmp_path)
    same_state(other, learner)
    n = n or 0
    then = other.prequential(X[n:], y[n:])
    if n:
        with pytest.raises(AssertionError, match="differs"):
            same_state(other, learner)  # the first one has not changed
    np.testing.assert_array_equal(then, learner.prequential(X[n:], y[n:]))
    same_state(other, learner)
    assert other.n_samples_seen_ == 30
    assert other.state()["pending_X"].sizes["waiting"] == 30 % settings.get("batch_size", 1)
    same_state(other.flush(), learner.flush())


@pytest.mark.parametrize("way", WAYS)
def test_targets_of_two_dimensions_continue(way: str, rows: Any, tmp_path: Path) -> None:
    X, y = rows(6, outputs=1)
    other = WAYS[way](ob.create("orfit", batch_size=4).partial_fit(X, y), tmp_path)
    assert other.predict(X).shape == (6, 1)
    with pytest.raises(ValueError, match=r"y: got shape \(6,\), want \(n, 1\)"):
        other.partial_fit(X, y[:, 0])


def test_goes_on_after_a_step_without_prior(same_state: Same, rows: Any) -> None:
    X, y = rows(9)
    learner = ob.restore(ob.create("rls", ridge=0.0).state())
    with pytest.raises(ValueError, match="the first call must be step"):
        learner.partial_fit(X, y)
    learner.step(X[:5], y[:5])
    same_state(ob.restore(learner.state()).partial_fit(X[5:], y[5:]), learner.partial_fit(X[5:], y[5:]))


@pytest.mark.parametrize("method", [name for name, m in ob.methods().items() if m.kernel.models and m.traits.numbers])
@pytest.mark.parametrize("way", WAYS)
def test_goes_on_with_a_model(
    method: str, way: str, cubic: ob.Model, same_state: Same, rows: Any, tmp_path: Path
) -> None:
    X, y = (a / 4 for a in rows(8))
    learner = ob.create(method, model=cubic).partial_fit(X[:5], y[:5])
    if way == "copy":
        other = learner.copy()
    else:
        learner.save(tmp_path / "s.npz")
        again: Callable[..., ob.Learner] = {
            "restore": lambda **m: ob.restore(learner.state(), **m),
            "from_bytes": lambda **m: ob.from_bytes(learner.to_bytes(), **m),
            "load": lambda **m: ob.load(tmp_path / "s.npz", **m),
        }[way]
        with pytest.raises(ValueError, match="belongs to the model 'cubic', got 'linear': pass model="):
            again()
        wrong = ob.Model("other", cubic.predict, cubic.jacobian, cubic.parameters)
        with pytest.raises(ValueError, match="belongs to the model 'cubic', got 'other'"):
            again(model=wrong)
        other = again(model=cubic)
    same_state(other.partial_fit(X[5:], y[5:]), learner.partial_fit(X[5:], y[5:]))


@pytest.mark.parametrize("case", LEARNERS, ids=case_name)
def test_a_dataset_may_be_kept_as_netcdf(case: Any, same_state: Same, rows: Any, tmp_path: Path) -> None:
    learner = ob.create(case[0], **case[1]).partial_fit(*rows(6))
    learner.state().to_netcdf(tmp_path / "state.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "state.nc", engine="h5netcdf") as state:
        same_state(ob.restore(state), learner)


def test_a_state_continues_in_another_process(same_state: Same, rows: Any, tmp_path: Path) -> None:
    X, y = rows(20)
    learner = ob.create("orfit", memory=2, summary="random").partial_fit(X[:11], y[:11])
    learner.save(tmp_path / "state.npz")
    np.savez(tmp_path / "rows.npz", X=X[11:], y=y[11:])
    code = (
        "import numpy as np, orfit_bench as ob; rows = np.load('rows.npz'); "
        "ob.load('state.npz').partial_fit(rows['X'], rows['y']).save('state.npz')"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True)
    same_state(ob.load(tmp_path / "state.npz"), learner.partial_fit(X[11:], y[11:]))


def test_python_copies_are_independent(rows: Any, same_state: Same) -> None:
    """A shallow copy would share arrays that kernels write in place."""
    X, y = rows(9)
    learner = ob.create("rls").partial_fit(X, y)
    for twin in (copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        same_state(twin, learner)
        twin.partial_fit(X, y)
        assert learner.n_samples_seen_ == 9
        assert not np.array_equal(twin.predict(X), learner.predict(X))


def test_restore_names_the_invalid_argument(rows: Any) -> None:
    state = ob.create("lms").partial_fit(*rows(5)).state()
    ob.restore(state, model="linear")
    with pytest.raises(TypeError, match=r"model: got int, want orfit_bench\.MLP"):
        ob.restore(state, model=3)
    moving = ob.create("kalman", transition=(lambda w: w, lambda w: np.eye(3))).partial_fit(*rows(5)).state()
    with pytest.raises(ValueError, match="got 'a matrix': pass transition="):
        ob.restore(moving, transition=np.eye(3))
