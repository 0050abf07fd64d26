"""The state: all that matters is in it, it goes on anywhere, and a damaged one is refused."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from helpers.cases import EVERY

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
WAYS: dict[str, Callable[[ob.Learner, Path], ob.Learner]] = {
    "copy": lambda learner, path: learner.copy(),
    "restore": lambda learner, path: ob.restore(learner.state()),
    "from_bytes": lambda learner, path: ob.from_bytes(learner.to_bytes()),
    "load": lambda learner, path: (learner.save(path / "state.npz"), ob.load(path / "state.npz"))[1],
}


def names(case: Any) -> str:
    return " ".join([case[0], *(f"{k}={v}" for k, v in case[1].items())])


# ---------------------------------------------------------------------- what it says


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
    want |= {"n_samples_seen": 7, "n_features": 5, "n_outputs": 2, "y_is_vector": "false", "format": 2}
    assert {key: state.attrs[key] for key in want} == want
    assert json.loads(state.attrs["settings"]) == settings
    assert json.loads(state.attrs["spec_version"]) == [1, 0]


def test_a_name_that_stands_twice_gets_a_number(rows: Any) -> None:
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


# ---------------------------------------------------------------------- it goes on


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("case", LEARNERS, ids=names)
def test_goes_on_exactly_there(case: Any, moment: str, way: str, same_state: Same, rows: Any, tmp_path: Path) -> None:
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
            same_state(other, learner)  # the first one has not moved
    np.testing.assert_array_equal(then, learner.prequential(X[n:], y[n:]))
    same_state(other, learner)
    assert other.n_samples_seen_ == 30
    assert other.state()["pending_X"].sizes["waiting"] == 30 % settings.get("batch_size", 1)
    same_state(other.flush(), learner.flush())


@pytest.mark.parametrize("way", WAYS)
def test_goes_on_with_a_matrix_of_targets(way: str, rows: Any, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("method", [name for name, m in ob.methods().items() if m.kernel.models])
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


@pytest.mark.parametrize("case", LEARNERS, ids=names)
def test_a_dataset_may_be_kept_as_netcdf(case: Any, same_state: Same, rows: Any, tmp_path: Path) -> None:
    learner = ob.create(case[0], **case[1]).partial_fit(*rows(6))
    learner.state().to_netcdf(tmp_path / "state.nc", engine="h5netcdf")
    with xarray.open_dataset(tmp_path / "state.nc", engine="h5netcdf") as state:
        same_state(ob.restore(state), learner)


def test_goes_on_in_another_process(same_state: Same, rows: Any, tmp_path: Path) -> None:
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


# ---------------------------------------------------------------------- the file


@pytest.fixture
def saved(rows: Any, tmp_path: Path) -> Path:
    """A small state in the middle of a batch."""
    ob.create("orfit", memory=2, batch_size=4).partial_fit(*rows(6)).save(tmp_path / "state.npz")
    return tmp_path / "state.npz"


def refused(path: Path, message: str | None = None) -> None:
    """ValueError that names the file; nothing else, no warning either."""
    with pytest.raises(ValueError, match=message) as info:
        ob.load(path)
    assert str(path) in str(info.value)


def rewritten(path: Path, header: dict[str, Any] | None = None, **arrays: Any) -> Path:
    """The file with other header entries and arrays; None takes one out."""
    with np.load(path) as file:
        old = {name: file[name] for name in file.files}
    head = json.loads(old.pop("header").tobytes()) | (header or {})
    head = {key: value for key, value in head.items() if value is not ...}
    new = {name: a for name, a in (old | arrays).items() if a is not None}
    np.savez(path, header=np.frombuffer(json.dumps(head).encode(), np.uint8), **new)
    return path


def test_a_file_cut_short(saved: Path) -> None:
    whole = saved.read_bytes()
    for end in [*range(0, len(whole) - 1, 37), len(whole) - 1]:
        saved.write_bytes(whole[:end])
        refused(saved, "not a whole state saved by orfit_bench")


@pytest.mark.filterwarnings("error")
def test_a_file_with_a_flipped_byte(saved: Path, same_state: Same) -> None:
    """Refused, unless the byte is one that says nothing (a date in the archive, say)."""
    whole, want, harmless = saved.read_bytes(), ob.load(saved), 0
    places = range(0, len(whole), 3)
    for place in places:
        for mask in (0xFF, 0x01):
            saved.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
            try:
                got = ob.load(saved)
            except ValueError as error:
                assert str(saved) in str(error)  # noqa: PT017  # which bytes matter is zip's affair
            else:
                same_state(got, want)
                harmless += 1
    assert harmless < len(places)  # that is, most are noticed


class Bomb:
    """What a pickle may do to those who read it."""

    def __reduce__(self) -> tuple[Any, Any]:
        return os.mkdir, ("exploded",)


def test_no_pickle_is_ever_read(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bombs = np.array([[Bomb()], [Bomb()], [Bomb()]], dtype=object)
    whole = saved.read_bytes()
    for name in ("w", "pending_X", "extra"):
        saved.write_bytes(whole)
        refused(rewritten(saved, **{name: bombs}), "holds pickled objects, which are never read")
    saved.write_bytes(pickle.dumps(Bomb()))
    refused(saved)
    np.save(saved.with_suffix(".npy"), bombs, allow_pickle=True)
    refused(saved.with_suffix(".npy"))
    assert not Path("exploded").exists()
    pickle.loads(pickle.dumps(Bomb()))
    assert Path("exploded").exists()  # it would have gone off


def test_files_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "other"
    for content in (b"", b"not a zip", b"PK\x03\x04", json.dumps({"method": "lms"}).encode()):
        path.write_bytes(content)
        refused(path)
    stream = io.BytesIO()
    np.save(stream, np.ones(3))
    path.write_bytes(stream.getvalue())
    refused(path)
    np.savez(tmp_path / "other.npz", w=np.ones(3))
    refused(tmp_path / "other.npz", "header")
    np.savez(tmp_path / "other.npz", header=np.frombuffer(b"{", np.uint8))
    refused(tmp_path / "other.npz")
    np.savez(tmp_path / "other.npz", header=np.frombuffer(b"[1]", np.uint8))
    refused(tmp_path / "other.npz", "format")


def test_what_the_system_refuses_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ob.load(tmp_path / "nowhere.npz")
    with pytest.raises(IsADirectoryError):
        ob.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        ob.create("lms").save(tmp_path / "nowhere" / "state.npz")


SPOILED_ARRAYS: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"w": None}, "the array 'w' is missing"),
    "missing rows": ({"pending_X": None}, "'pending_X'"),
    "missing targets": ({"pending_y": None}, "the array 'pending_y' is missing"),
    "missing growth": ({"basis": None}, "'basis' is missing"),
    "shape": ({"w": np.ones((4, 1))}, r"'w' has shape \(4, 1\) and dtype float64, want \(3, 1\)"),
    "dimensions": ({"w": np.ones(3)}, r"'w' has shape \(3,\)"),
    "features": ({"basis": np.ones((2, 4))}, "'basis' has shape"),
    "lengths differ": ({"singular_values": np.ones(1)}, "'singular_values' has shape"),
    "beyond memory": ({"basis": np.eye(3), "singular_values": np.ones(3)}, "3 entries along 'direction', .* allow 2"),
    "waiting differ": ({"pending_y": np.ones((1, 1))}, "'pending_y' has shape"),
    "too many wait": ({"pending_X": np.ones((4, 3)), "pending_y": np.ones((4, 1))}, "4 rows wait"),
    "nan": ({"w": np.array([[0.0], [np.nan], [0.0]])}, "'w' holds numbers that are not finite"),
    "inf waiting": ({"pending_y": np.array([[np.inf], [0.0]])}, "'pending_y' holds numbers that are not finite"),
    "integers": ({"w": np.ones((3, 1), int)}, "'w' has .* dtype int64"),
    "narrow": ({"w": np.ones((3, 1), np.float32)}, "'w' has .* dtype float32, want .* float64"),
    "texts": ({"w": np.array([["a"], ["b"], ["c"]])}, "'w' has .* dtype <U1"),
}
SPOILED_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "newer": ({"format": 3}, "state of format 3, this version reads formats 1, 2"),
    "no format": ({"format": ...}, "format None"),
    "no method": ({"method": ...}, "format"),
    "no settings": ({"settings": ...}, "format"),
    "unknown method": ({"method": "orift"}, "no method 'orift'. Did you mean 'orfit'"),
    "method of a kind": ({"method": [1]}, "method="),
    "another method": ({"method": "rls", "settings": {}}, "missing|has shape"),
    "unknown backend": ({"backend": "nunpy"}, "no backend 'nunpy'"),
    "unknown setting": ({"settings": {"memroy": 2}}, "no setting 'memroy'. Did you mean 'memory'"),
    "setting out of range": ({"settings": {"memory": 0}}, "memory=0: want an integer"),
    "setting of a kind": ({"settings": {"memory": "2"}}, "memory='2'"),
    "settings of a kind": ({"settings": [1]}, r"settings are \[1\], want a table"),
    "settings a text": ({"settings": "memory"}, "settings are 'memory'"),
    "dtype": ({"dtype": "int64"}, "dtype='int64'"),
    "another dtype": ({"dtype": "float32"}, "want .* float32"),
    "random state": ({"random_state": -1}, "random_state=-1"),
    "random state of a kind": ({"random_state": "0"}, "random_state='0'"),
    "model": ({"model": "mlp"}, "belongs to the model 'mlp'"),
    "steps": ({"t": -1}, "t is -1, want an integer >= 0"),
    "steps of a kind": ({"t": "1"}, "t is '1'"),
    "rows": ({"n_samples_seen": 1.5}, "n_samples_seen is 1.5"),
    "fewer rows than wait": ({"n_samples_seen": 1}, "2 rows wait, of 1 seen"),
    "features": ({"n_features": 4}, "want"),
    "no features": ({"n_features": 0}, "n_features is 0, want an integer >= 1"),
    "outputs": ({"n_outputs": True}, "n_outputs is True"),
    "vast": ({"n_features": 10**30}, "want"),
}


@pytest.mark.parametrize("case", SPOILED_ARRAYS)
def test_spoiled_arrays_are_refused(case: str, saved: Path) -> None:
    arrays, message = SPOILED_ARRAYS[case]
    refused(rewritten(saved, **arrays), message)


@pytest.mark.parametrize("case", SPOILED_HEADERS)
def test_spoiled_headers_are_refused(case: str, saved: Path) -> None:
    header, message = SPOILED_HEADERS[case]
    refused(rewritten(saved, header), message)


def test_spoiled_initial_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.npz"
    ob.create("lms", initial_weights=[1.0, 2.0]).save(path)
    refused(rewritten(path, initial_weights=np.array([1.0, np.nan])), r"initial_weights\[1\] is nan")
    refused(rewritten(path, initial_weights=np.array(["a"])), "initial_weights")


def test_the_spoiling_itself_spoils_nothing(saved: Path, same_state: Same) -> None:
    want = ob.load(saved)
    same_state(ob.load(rewritten(saved)), want)


@pytest.mark.parametrize("case", SPOILED_ARRAYS)
def test_a_spoiled_dataset_is_refused(case: str, rows: Any) -> None:
    arrays, message = SPOILED_ARRAYS[case]
    state = ob.create("orfit", memory=2, batch_size=4).partial_fit(*rows(6)).state()
    state = state.drop_vars(arrays)
    given = {name: ([f"{name}_{i}" for i in range(a.ndim)], a) for name, a in arrays.items() if a is not None}
    with pytest.raises(ValueError, match=message):
        ob.restore(state.assign(given))


def test_what_is_no_state_is_refused() -> None:
    for other in (xarray.Dataset({"w": ("parameter", [1.0])}), "state.npz", None, {}):
        with pytest.raises(ValueError, match=f"this {type(other).__name__} is no learner's state"):
            ob.restore(other)  # type: ignore[arg-type]


@pytest.mark.parametrize("breaks", ["numpy.savez", "os.fsync", "os.replace"])
@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_failed_save_leaves_the_old_file(
    breaks: str, error: BaseException, saved: Path, monkeypatch: pytest.MonkeyPatch, rows: Any
) -> None:
    old = saved.read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(breaks, fail)
    with pytest.raises(type(error)):
        ob.create("rls").partial_fit(*rows(5)).save(saved)
    assert saved.read_bytes() == old
    assert os.listdir(saved.parent) == [saved.name]


def test_a_save_replaces_the_file_and_leaves_no_other(saved: Path, same_state: Same, rows: Any) -> None:
    learner = ob.create("rls").partial_fit(*rows(5))
    learner.save(str(saved))
    same_state(ob.load(str(saved)), learner)
    assert os.listdir(saved.parent) == [saved.name]
    learner.save(saved.parent / "no suffix")  # the name is taken as it stands
    same_state(ob.load(saved.parent / "no suffix"), learner)
    shutil.rmtree(saved.parent)


# ---------------------------------------------------------------------- the warning


def winding_up() -> tuple[ob.Learner, Any, Any]:
    """RLS that forgets, and rows that visit one direction of two: in the other P grows like 0.9^-t."""
    return ob.create("rls", forgetting_factor=0.9), np.ones((240, 2)), np.ones(240)


@pytest.mark.parametrize("way", WAYS)
def test_lost_digits_are_said_once(way: str, tmp_path: Path) -> None:
    learner, X, y = winding_up()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(200):
            learner.partial_fit(X[i : i + 1], y[i : i + 1])
    (said,) = caught
    assert said.category is ob.AccuracyWarning
    assert "half of the digits" in str(said.message)
    assert "a larger ridge" in str(said.message)
    assert said.filename == __file__  # it points at the line that learned
    for it in (learner, WAYS[way](learner, tmp_path)):
        it.partial_fit(X[200:], y[200:])  # a second warning would be an error


def test_lost_digits_are_said_before_divergence() -> None:
    learner, X, y = winding_up()
    with pytest.warns(ob.AccuracyWarning, match="half of the digits"), pytest.raises(ob.DivergedError) as info:
        learner.partial_fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert 240 < learner.n_samples_seen_ == info.value.row
    assert np.isfinite(learner.state()["P"]).all()


@pytest.mark.parametrize("call", ["partial_fit", "prequential"])
def test_a_warning_made_an_error_loses_no_row(call: str, same_state: Same) -> None:
    """pytest and `python -W error` do so; the chunk is learned and counted all the same."""
    learner, X, y = winding_up()
    quiet = learner.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        getattr(quiet, call)(X, y)
    with pytest.raises(ob.AccuracyWarning, match="half of the digits"):
        getattr(learner, call)(X, y)
    assert learner.n_samples_seen_ == 240
    same_state(learner, quiet)


# ---------------------------------------------------------------------- averages


@pytest.mark.parametrize("method", [name for name, m in ob.methods().items() if "w" in m.combine.averages])
def test_average(method: str, rows: Any) -> None:
    chunks = [rows(n, seed=n) for n in (5, 5, 9)]
    learners = [ob.create(method, random_state=i).partial_fit(X, y) for i, (X, y) in enumerate(chunks)]
    name = ob.methods()[method].combine.averages[0]
    mean = np.mean([a.state()[name].values for a in learners], axis=0)
    ob.average(learners)
    for learner, n in zip(learners, (5, 5, 9), strict=True):
        np.testing.assert_allclose(learner.state()[name].values, mean, rtol=1e-14)
        assert (learner.state().attrs["t"], learner.n_samples_seen_) == (n, n)  # each keeps its own count
    learners[0].partial_fit(*chunks[0])  # and its own arrays
    np.testing.assert_allclose(learners[1].state()[name].values, mean, rtol=1e-14)


def test_average_of_one_and_of_fresh_ones(same_state: Same, rows: Any) -> None:
    learner = ob.create("lms").partial_fit(*rows(5))
    before = learner.copy()
    ob.average([learner])
    same_state(learner, before)
    ob.average([ob.create("lms"), ob.create("lms")])


def test_what_cannot_be_averaged(cubic: ob.Model, same_state: Same, rows: Any) -> None:
    X, y = rows(5)

    def lms(X: Any = X, y: Any = y, **settings: Any) -> ob.Learner:
        return ob.create("lms", **settings).partial_fit(X, y)

    other_model = ob.Model("other", cubic.predict, cubic.jacobian, cubic.parameters, cubic.start)
    for pair, message in (
        ([], "got no learners"),
        ([ob.create("rls").partial_fit(X, y)] * 2, "rls: an average of its states is not defined"),
        ([lms(), lms(step_size=0.5)], "settings differ"),
        ([lms(), ob.create("one_step_sgd").partial_fit(X, y)], "settings differ|differ in method"),
        ([lms(), lms(dtype="float32")], "differ in dtype"),
        ([lms(), lms(X[:, :2])], "differ in features"),
        ([lms(), lms(y=np.ones((5, 2)))], "differ in outputs"),
        ([lms(), ob.create("lms")], "differ in features"),
        ([lms(model=cubic), lms(model=other_model)], "differ in model"),
    ):
        before = [it.copy() for it in pair]
        with pytest.raises(ValueError, match=message):
            ob.average(pair)
        for it, was in zip(pair, before, strict=True):
            same_state(it, was)


def test_python_copies_are_independent(rows: Any, same_state: Same) -> None:
    """A shallow copy would share arrays that kernels write in place."""
    X, y = rows(9)
    learner = ob.create("rls").partial_fit(X, y)
    for twin in (copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        same_state(twin, learner)
        twin.partial_fit(X, y)
        assert learner.n_samples_seen_ == 9
        assert not np.array_equal(twin.predict(X), learner.predict(X))


def test_restoring_names_what_was_passed_wrongly(rows: Any) -> None:
    state = ob.create("lms").partial_fit(*rows(5)).state()
    ob.restore(state, model="linear")
    with pytest.raises(TypeError, match=r"model: got int, want orfit_bench\.MLP"):
        ob.restore(state, model=3)
    moving = ob.create("kalman", transition=(lambda w: w, lambda w: np.eye(3))).partial_fit(*rows(5)).state()
    with pytest.raises(ValueError, match="got 'a matrix': pass transition="):
        ob.restore(moving, transition=np.eye(3))


@pytest.mark.parametrize("learners", [[1], 3, [ob.create("lms"), 1], [1, ob.create("lms")]], ids=str)
def test_only_learners_are_averaged(learners: Any) -> None:
    with pytest.raises(TypeError, match="average: got int, want a list of learners"):
        ob.average(learners)
