"""Saved states: damaged, foreign and half-written files are refused, and never destroy an older file."""

from __future__ import annotations

import io
import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray

import orfit_bench as ob
from orfit_bench.state import files

Same = Callable[[ob.Learner, ob.Learner], None]


@pytest.fixture
def saved(rows: Any, tmp_path: Path) -> Path:
    """A small state in the middle of a batch."""
    ob.create("orfit", memory=2, batch_size=4).partial_fit(*rows(6)).save(tmp_path / "state.npz")
    return tmp_path / "state.npz"


def refused(path: Path, message: str | None = None) -> None:
    """Assert a ValueError that names the file, without warnings."""
    with pytest.raises(ValueError, match=message) as info:
        ob.load(path)
    assert str(path) in str(info.value)


def rewritten(path: Path, header: dict[str, Any] | None = None, **arrays: Any) -> Path:
    """The file with other header entries and arrays; an array None, or an entry `...`, is removed."""
    with np.load(path) as file:
        old = {name: file[name] for name in file.files}
    head = json.loads(old.pop("header").tobytes()) | (header or {})
    head = {key: value for key, value in head.items() if value is not ...}
    new = {name: a for name, a in (old | arrays).items() if a is not None}
    del new["checksum"]
    files.write(head, new, path)
    return path


def test_content_that_does_not_fit_the_checksum_is_refused(saved: Path) -> None:
    complete = saved.read_bytes()
    with np.load(saved) as file:
        old = {name: file[name] for name in file.files}
    head = json.loads(old["header"].tobytes()) | {"n_samples_seen": 7}
    changes: dict[str, Any] = {
        "w": np.nextafter(old["w"], 1),
        "header": np.frombuffer(json.dumps(head).encode(), np.uint8),
        "pending_X": old["pending_X"][::-1],
        "checksum": np.array("0" * 64),
        "extra": np.zeros(2),
    }
    wrong = {"w": "the digest of the array 'w'", "pending_X": "the digest of the array 'pending_X'"}
    wrong["extra"] = "the array 'extra' is unknown"
    for name, value in changes.items():
        np.savez(saved, **(old | {name: value}))
        refused(saved, f"{wrong.get(name, 'the checksum of the header')}.*: the file is damaged or was changed")
    np.savez(saved, **{name: value for name, value in old.items() if name != "checksum"})
    refused(saved, "checksum")
    np.savez(saved, **dict(sorted(old.items())))  # the order of the arrays has no meaning
    ob.load(saved)
    saved.write_bytes(complete)
    ob.load(saved)


def test_a_file_cut_short(saved: Path) -> None:
    complete = saved.read_bytes()
    for end in [*range(0, len(complete) - 1, 37), len(complete) - 1]:
        saved.write_bytes(complete[:end])
        refused(saved, "not a complete state saved by orfit_bench")


def test_bytes_after_the_end_are_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes() + b"junk")
    refused(saved, "there are other bytes after its end")


@pytest.mark.filterwarnings("error")
def test_a_file_with_a_flipped_byte(saved: Path, same_state: Same) -> None:
    """It is refused, unless the byte has no meaning (for example a date in the archive)."""
    complete, want, harmless = saved.read_bytes(), ob.load(saved), 0
    places = range(0, len(complete), 3)
    for place in places:
        for mask in (0xFF, 0x01):
            saved.write_bytes(complete[:place] + bytes([complete[place] ^ mask]) + complete[place + 1 :])
            try:
                got = ob.load(saved)
            except ValueError as error:
                assert str(saved) in str(error)  # noqa: PT017  # which bytes matter is zip's affair
            else:
                same_state(got, want)
                harmless += 1
    assert harmless < len(places)  # that is, most are noticed


class Bomb:
    """An object whose unpickling runs code."""

    def __reduce__(self) -> tuple[Any, Any]:
        return os.mkdir, ("exploded",)


def test_no_pickle_is_ever_read(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    bombs = np.array([[Bomb()], [Bomb()], [Bomb()]], dtype=object)
    complete = saved.read_bytes()
    for name in ("w", "pending_X", "extra"):
        saved.write_bytes(complete)
        with np.load(saved) as file:
            np.savez(saved, allow_pickle=True, **{**file, name: bombs})
        refused(saved, f"the array '{name}' holds pickled objects, which are never read")
    saved.write_bytes(pickle.dumps(Bomb()))
    refused(saved)
    np.save(saved.with_suffix(".npy"), bombs, allow_pickle=True)
    refused(saved.with_suffix(".npy"))
    assert not Path("exploded").exists()
    pickle.loads(pickle.dumps(Bomb()))
    assert Path("exploded").exists()  # pickle would have run it


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


def test_members_larger_than_the_file_are_refused_before_they_are_read(saved: Path) -> None:
    with np.load(saved) as file:
        np.savez_compressed(saved, **{**file, "extra": np.zeros(10**6)})
    refused(saved, "its members are compressed, or larger than the file")
    shape = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }"
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("w.npy", b"\x93NUMPY\x01\x00" + len(shape).to_bytes(2, "little") + shape)
    refused(saved, r"the array 'w' of shape \(1099511627776,\) and dtype float64 does not fit its 0 bytes")


def test_errors_of_the_system_are_not_reported_as_damage(tmp_path: Path) -> None:
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
    "too many wait": ({"pending_X": np.ones((4, 3)), "pending_y": np.ones((4, 1))}, "4 pending rows"),
    "nan": ({"w": np.array([[0.0], [np.nan], [0.0]])}, "'w' holds numbers that are not finite"),
    "inf waiting": ({"pending_y": np.array([[np.inf], [0.0]])}, "'pending_y' holds numbers that are not finite"),
    "integers": ({"w": np.ones((3, 1), int)}, "'w' has .* dtype int64"),
    "narrow": ({"w": np.ones((3, 1), np.float32)}, "'w' has .* dtype float32, want .* float64"),
    "texts": ({"w": np.array([["a"], ["b"], ["c"]])}, "'w' has .* dtype <U1"),
}
SPOILED_ARRAYS["unknown"] = {"extra": np.ones(2)}, "the array 'extra' is unknown"
SPOILED_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "newer": ({"format": 5}, "state of format 5, this version reads formats 1, 2, 3, 4"),
    "no format": ({"format": ...}, "format None"),
    "no method": ({"method": ...}, "format"),
    "no settings": ({"settings": ...}, "format"),
    "unknown method": ({"method": "orift"}, "no method 'orift'. Did you mean 'orfit'"),
    "method of a kind": ({"method": [1]}, "method="),
    "another method": ({"method": "rls", "settings": {}}, "missing|has shape|unknown"),
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
    "steps": ({"t": -1}, "t is -1, want an integer from 0 to"),
    "steps beyond 64 bits": ({"t": 10**30}, "t is 1000000000000000000000000000000, want an integer"),
    "a later spec": ({"spec_version": [9, 0]}, "written for spec 9.0, this version of orfit_bench has"),
    "a spec of a kind": ({"spec_version": "1.0"}, "spec_version is '1.0'"),
    "shape of y of a kind": ({"y_is_vector": 2}, "y_is_vector is 2, want true or false"),
    "steps of a kind": ({"t": "1"}, "t is '1'"),
    "rows": ({"n_samples_seen": 1.5}, "n_samples_seen is 1.5"),
    "fewer rows than wait": ({"n_samples_seen": 1}, "2 pending rows do not fit 1 rows seen"),
    "features": ({"n_features": 4}, "want"),
    "features null": ({"n_features": None}, "n_features is null, as before the first row, but there is the array"),
    "no features": ({"n_features": 0}, "n_features is 0, want an integer from 1 to"),
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


def test_an_undamaged_copy_is_accepted(saved: Path, same_state: Same) -> None:
    want = ob.load(saved)
    same_state(ob.load(rewritten(saved)), want)


@pytest.mark.parametrize("case", SPOILED_ARRAYS)
def test_a_spoiled_dataset_is_refused(case: str, rows: Any) -> None:
    arrays, message = SPOILED_ARRAYS[case]
    state = ob.create("orfit", memory=2, batch_size=4).partial_fit(*rows(6)).state()
    state = state.drop_vars(arrays, errors="ignore")
    given = {name: ([f"{name}_{i}" for i in range(a.ndim)], a) for name, a in arrays.items() if a is not None}
    with pytest.raises(ValueError, match=message):
        ob.restore(state.assign(given))


def test_objects_that_are_no_state_are_refused() -> None:
    for other in (xarray.Dataset({"w": ("parameter", [1.0])}), "state.npz", None, {}):
        with pytest.raises(ValueError, match=f"this {type(other).__name__} is no learner's state"):
            ob.restore(other)  # type: ignore[arg-type]


@pytest.mark.parametrize("breaks", ["numpy.savez", "os.fsync", "os.replace", "os.write"])
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


def test_the_ending_of_another_format_is_refused(tmp_path: Path) -> None:
    for name in ("state.nc", "state.CSV", "state.pkl"):
        with pytest.raises(ValueError, match=r"a state is saved as an .npz file: want the ending .npz, got"):
            ob.create("lms", backend="numpy").save(tmp_path / name)
        assert not (tmp_path / name).exists()
