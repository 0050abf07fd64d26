"""Learners as bytes: they continue exactly, in any process, and changed bytes are refused."""

from __future__ import annotations

import copy
import dataclasses
import json
import multiprocessing
import pickle
import pickletools
import warnings
import zlib
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import NumberOrSchedule
from orfit_bench.state import binary

BACKENDS = [name for name in ("numpy", "numba") if name in ob.backends() and ob.backends()[name].available]
SLOW_BACKENDS = [pytest.param(b, marks=pytest.mark.slow if b == "numba" else ()) for b in BACKENDS]
"""Compiling every method for Numba takes a minute."""
SCHEDULES = [0.01, {"power": {"eta0": 0.3, "power": 0.8}}, {"sequence": {"values": [0.5, 0.1]}}]
MATRICES = [0.5, [0.9, 0.8, 0.7], [[0.9, 0.1, 0.0], [0.0, 0.9, 0.0], [0.0, 0.0, 1.0]]]
METHODS = sorted(name for name, method in ob.methods().items() if not method.state.layered)


def variants(method: str) -> st.SearchStrategy[dict[str, Any]]:
    """Settings of a method: defaults, schedules and matrices, batches, both dtypes."""
    choices: dict[str, st.SearchStrategy[Any]] = {"dtype": st.sampled_from(["float64", "float32"])}
    choices["random_state"] = st.integers(0, 2**64 - 1)
    for s in ob.methods()[method].settings:
        if isinstance(s.type, NumberOrSchedule):
            choices[s.name] = st.sampled_from(SCHEDULES)
        elif s.name == "batch_size":
            choices[s.name] = st.integers(1, 5)
        elif s.name in ("transition", "initial_covariance"):
            choices[s.name] = st.sampled_from(MATRICES[: 2 if s.name == "initial_covariance" else 3])
    return st.fixed_dictionaries({}, optional=choices)


def learned(method: str, backend: str, chosen: dict[str, Any], n: int, outputs: int | None) -> tuple[Any, ...]:
    """A learner after n rows, and rows that follow."""
    kind = ob.methods()[method].traits
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n + 12, 3)) / 2, rng.standard_normal(n + 12 if outputs is None else (n + 12, outputs))
    Y = [np.asarray(["a", "ß", "c"])[np.arange(n + 12) % 3]] if kind.labels else [y] if kind.supervised else []
    learner = ob.create(method, backend=backend, **chosen)
    learner.partial_fit(X[:n], *(a[:n] for a in Y))
    return learner, X[n:], [a[n:] for a in Y]


@pytest.mark.parametrize("backend", SLOW_BACKENDS)
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=8)
@given(data=st.data())
def test_every_learner_continues_identically(method: str, backend: str, data: st.DataObject) -> None:
    chosen, n = data.draw(variants(method)), data.draw(st.integers(0, 14))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.AccuracyWarning)
        learner, X, Y = learned(method, backend, chosen, n, data.draw(st.sampled_from([None, 1, 2])))
        twin = ob.from_bytes(learner.to_bytes())
        assert type(twin) is type(learner)
        assert twin.to_bytes() == learner.to_bytes()
        for one in (twin, learner):
            one.partial_fit(X, *Y).flush()
    assert twin.to_bytes() == learner.to_bytes()


@pytest.mark.parametrize("method", METHODS)
def test_a_learner_before_its_first_chunk(method: str) -> None:
    learner = ob.create(method)
    assert ob.from_bytes(learner.to_bytes()).state().identical(learner.state())


def test_a_layered_model(rows: Any) -> None:
    model = ob.MLP((4,))
    learner = ob.create("owm", model=model).partial_fit(*rows(5))
    twin = ob.from_bytes(learner.to_bytes(), model=model)
    assert twin.state().identical(learner.state())
    for other in (ob.from_bytes(learner.to_bytes()), pickle.loads(pickle.dumps(learner))):
        assert other.model is model
        assert other.state().identical(learner.state())
    with pytest.raises(ValueError, match=r"from_bytes: the state belongs to the model .* pass model="):
        ob.from_bytes(learner.to_bytes(), model=ob.MLP((5,)))


def test_bytes_do_not_share_memory_with_the_learner(rows: Any) -> None:
    X, y = rows(9)
    learner = ob.create("rls").partial_fit(X, y)
    data = bytearray(learner.to_bytes())
    twin = ob.from_bytes(data)
    data[:] = bytes(len(data))
    assert twin.state().identical(learner.state())
    assert twin.partial_fit(X, y).n_samples_seen_ == 18


# ---------------------------------------------------------------------- other processes


def total(learner: Any) -> float:
    """The result of a worker process."""
    return float(learner.partial_fit([[1.0, 2.0, 3.0]], [1.0]).predict([[1.0, 1.0, 1.0]])[0])


def test_pickle_copy_and_joblib(rows: Any, tmp_path: Any) -> None:
    learner = ob.create("orfit", memory=2, batch_size=4).partial_fit(*rows(6))
    joblib.dump(learner, tmp_path / "learner.joblib")
    twins = [pickle.loads(pickle.dumps(learner, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    twins += [copy.copy(learner), copy.deepcopy({"a": [learner]})["a"][0], joblib.load(tmp_path / "learner.joblib")]
    for twin in twins:
        assert twin.state().identical(learner.state())
        assert twin.partial_fit(*rows(6)).n_samples_seen_ == learner.n_samples_seen_ + 6
    assert b"orfit_bench.learners" in pickle.dumps(learner)
    assert {"GLOBAL", "STACK_GLOBAL"} & {op.name for op, _, _ in pickletools.genops(pickle.dumps(learner))}


def test_other_processes(rows: Any) -> None:
    learner = ob.create("rls", backend="numpy").partial_fit(*rows(6))
    want = total(learner.copy())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(total, [learner]) == [want]


def test_unpicklable_rule_is_refused(cubic: ob.Model, rows: Any) -> None:
    with pytest.raises(TypeError, match=r"rls with the model 'cubic' cannot be pickled.*from_bytes\(data, model="):
        pickle.dumps(ob.create("rls", model=cubic))
    moving = ob.create("kalman", transition=(np.copy, lambda w: np.eye(3))).partial_fit(*rows(5))
    with pytest.raises(TypeError, match="kalman with the transition 'copy' cannot be pickled"):
        pickle.dumps(moving)
    twin = ob.from_bytes(moving.to_bytes(), transition=(np.copy, lambda w: np.eye(3)))
    assert twin.state().identical(moving.state())


def test_unpickled_learners_share_only_the_rule(rows: Any) -> None:
    X, y = rows(9)
    learners = [ob.create("kalman", backend="numpy", transition=0.5 * np.eye(3) * scale) for scale in (1.0, 2.0)]
    first, second, other = (ob.from_bytes(a.partial_fit(X, y).to_bytes()) for a in (*learners[:1], *learners))
    assert first.rule is second.rule
    assert other.rule is not first.rule
    assert other.settings["transition"][0, 0] == 1.0
    assert ob.from_bytes(learners[0].to_bytes(), backend="numba").backend.name == "numba"
    before = second.to_bytes()
    first.partial_fit(X, y)
    assert second.to_bytes() == before


@pytest.mark.parametrize("method", ["rls", "class_rls", "oja"])
def test_learners_of_one_rule_keep_their_own_names_and_classes(method: str, rows: Any) -> None:
    X, y = rows(9)
    supervised, labels = ob.methods()[method].traits.supervised, ob.methods()[method].traits.labels
    named, plain = (ob.create(method, backend="numpy", dtype="float32", random_state=5) for _ in range(2))
    for learner, columns, classes in ((named, "abc", ("left", "right")), (plain, "", ("down", "up"))):
        table = pd.DataFrame(X, columns=list(columns)) if columns else X
        targets = np.where(y < 0, *classes) if labels else y
        learner.partial_fit(table, targets) if supervised else learner.partial_fit(table)
    for learner in (named, plain, named):
        assert ob.from_bytes(learner.to_bytes()).state().identical(learner.state())
    assert not hasattr(ob.from_bytes(plain.to_bytes()), "feature_names_in_")


def test_bytes_are_read_by_the_plugins_of_now(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = ob.create("lms", backend="numpy").partial_fit(*rows(5)).to_bytes()
    old = ob.from_bytes(data).rule
    known = registry()
    monkeypatch.setitem(known.methods, "lms", dataclasses.replace(old.method, summary="another"))
    assert ob.from_bytes(data).rule.method.summary == "another"


# ---------------------------------------------------------------------- changed bytes


def example() -> bytes:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    learner = ob.create("orfit", backend="numpy", memory=2, batch_size=4).partial_fit(X, y)
    return bytes(learner.to_bytes())


def test_a_flip_of_every_byte_is_noticed() -> None:
    complete = example()
    for place in range(len(complete)):
        for mask in (0x01, 0x80, 0xFF):
            with pytest.raises(ValueError, match="from_bytes: "):
                ob.from_bytes(complete[:place] + bytes([complete[place] ^ mask]) + complete[place + 1 :])


def test_every_cut_and_every_extension_is_noticed() -> None:
    complete = example()
    for end in range(len(complete)):
        with pytest.raises(ValueError, match="from_bytes: "):
            ob.from_bytes(complete[:end])
    for more in (b"\0", b"\0" * 8, complete):
        with pytest.raises(ValueError, match="cut, extended or damaged"):
            ob.from_bytes(complete + more)


@settings(max_examples=300)
@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(data: bytes) -> None:
    for candidate in (data, binary.MAGIC + data, example()[: binary.START] + data):
        with pytest.raises(ValueError, match="from_bytes: "):
            ob.from_bytes(candidate)


def forged(version: int = binary.VERSION, **changes: Any) -> bytes:
    """Bytes with a right checksum and changed entries of the headers."""
    complete = example()
    _, a, b = binary.LENGTHS.unpack_from(complete, binary.PREFIX.size)
    start = binary.START
    of_rule, of_state = json.loads(complete[start : start + a]), json.loads(complete[start + a : start + a + b])
    for key, value in changes.items():
        (of_state if key in of_state else of_rule)[key] = value
    one, other = json.dumps(of_rule).encode(), json.dumps(of_state).encode()
    rest = one + other + complete[start + a + b :]
    body = binary.LENGTHS.pack(start + len(rest), len(one), len(other)) + rest
    return binary.PREFIX.pack(binary.MAGIC, version, zlib.crc32(body)) + body


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (forged(version=2), "layout version 2, this version of orfit_bench reads 1"),
        (forged(format=9), "state of format 9"),
        (forged(method="orift"), "no method 'orift'"),
        (forged(settings=[1]), r"settings are \[1\]"),
        (forged(t=-1), "t is -1"),
        (forged(arrays=[["w", "<f8", [3, 1]]]), "bytes belong to no array"),
        (forged(arrays=[["w", "<f8", [10**15, 1]]]), "does not fit into the bytes"),
        (forged(arrays=[["w", "|O", [3, 1]]]), "does not fit into the bytes"),
        (forged(arrays=[["w", "<f8", [-3, -1]]]), "does not fit into the bytes"),
        (forged(arrays=[["w", "<f8"]]), "the header cannot be read"),
        (forged(arrays=3), "the header cannot be read"),
        (pickle.dumps(3), "do not start as to_bytes"),
    ],
)
def test_a_right_checksum_over_wrong_contents(data: bytes, message: str) -> None:
    assert len(example()) == len(forged())
    with pytest.raises(ValueError, match=message):
        ob.from_bytes(data)


@pytest.mark.parametrize("data", [None, 3, "text", [1, 2]])
def test_from_bytes_refuses_other_types(data: Any) -> None:
    with pytest.raises(TypeError, match=r"want the bytes that to_bytes\(\) returned"):
        ob.from_bytes(data)


def test_an_interrupted_learner_is_not_carried(rows: Any) -> None:
    learner = ob.create("rls").partial_fit(*rows(5))
    learner.live_state.interrupted = "KeyboardInterrupt"
    for act in (learner.to_bytes, lambda: pickle.dumps(learner)):
        with pytest.raises(RuntimeError, match="interrupted its kernel"):
            act()
