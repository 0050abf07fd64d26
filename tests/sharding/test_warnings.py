"""Warnings of shards reach the caller of `learn`, wherever they are learned: each message once, with its shard."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.sharding.warned import Reported, Warned, recorded

FINE = np.random.default_rng(0).standard_normal((20, 3))
"""Rows that lose no digits, unlike those far from zero."""
SHARDS = [(X, X @ [1.0, 2.0, 3.0]) for X in (FINE, FINE + 1e6, FINE + 1e6)]


class OwnWarning(UserWarning):
    """A category that only these tests have."""


def warning_shard() -> tuple[Any, Any]:
    """Rows after warnings of a module that is not part of the package."""
    warnings.warn("slow disk", OwnWarning, stacklevel=1)
    warnings.warn("old call", DeprecationWarning, stacklevel=1)
    return SHARDS[0]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster with one worker of two threads in this process."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0", "silence_logs": 50}
    with (
        distributed.LocalCluster(processes=False, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["here", pytest.param("processes", marks=pytest.mark.slow), "cluster"])
def where(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The arguments of `learn` that say where the tasks run."""
    if request.param == "cluster":
        return {"client": request.getfixturevalue("client")}
    return {"workers": 1 if request.param == "here" else 2}


def texts(caught: list[warnings.WarningMessage]) -> list[str]:
    return [str(item.message) for item in caught]


def test_a_loss_of_digits_is_warned_of_once_with_its_shard(where: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ob.learn("rls", SHARDS, backend="numpy", **where)
    of_shards = [item for item in caught if "(shard " in str(item.message)]
    assert [item.category for item in of_shards] == [ob.AccuracyWarning]
    assert texts(of_shards)[0].endswith("(shard 1)")
    assert of_shards[0].filename == __file__


def test_a_warning_that_is_an_error_ends_the_call(where: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ob.AccuracyWarning, match=r"\(shard 1\)$"):
            ob.learn("rls", SHARDS, backend="numpy", **where)


def test_other_warnings_come_with_their_category_and_place(where: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=__name__)
        ob.learn("rls", [SHARDS[0], warning_shard, warning_shard], backend="numpy", **where)
    is_here = where.get("workers") != 2
    assert texts(caught) == ["slow disk"] * (2 if is_here else 1)
    assert caught[0].category is OwnWarning
    assert caught[0].filename == __file__
    assert caught[0].lineno == warning_shard.__code__.co_firstlineno + 2


def late_shard() -> tuple[Any, Any]:
    """Rows that lose digits, after a warning."""
    warnings.warn("slow disk", OwnWarning, stacklevel=1)
    return SHARDS[1]


def failing_shard() -> Iterator[Any]:
    """The rows of `late_shard` and an error."""
    yield late_shard()
    raise RuntimeError("no disk")


def test_an_error_tells_the_warnings_before_it(where: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="no disk") as raised:
            ob.learn("rls", [SHARDS[0], failing_shard], backend="numpy", **where)
    notes = raised.value.__notes__
    assert notes[0] == "in shard 1"
    assert notes[-1].startswith("after the warning: rls: half of the digits")
    assert ("after the warning: slow disk" in notes) == (where.get("workers") == 2)


def test_threads_record_their_own_warnings_and_leave_the_filters_as_they_were() -> None:
    filters, show = list(warnings.filters), warnings.showwarning
    both, first_ended = threading.Barrier(2), threading.Event()

    def work(name: str) -> list[str]:
        both.wait()
        with recorded("another process") as found:
            both.wait()
            for _ in range(3):
                warnings.warn(f"{name} is short", OwnWarning, stacklevel=1)
            if name == "b":
                first_ended.wait()
                warnings.warn("b is late", OwnWarning, stacklevel=1)
            return [item.text for item in found.values()]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(work, "a"), pool.submit(work, "b")
        assert first.result() == ["a is short"]
        with pytest.warns(OwnWarning, match="nobody records this"):
            warnings.warn("nobody records this", OwnWarning, stacklevel=1)
        first_ended.set()
        assert second.result() == ["b is short", "b is late"]
    assert list(warnings.filters) == filters
    assert warnings.showwarning == show


def test_what_a_reader_ignores_is_not_recorded() -> None:
    """This includes warnings of the package, about learners inside the reader."""

    def read() -> tuple[Any, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ob.create("rls", backend="numpy").partial_fit(*SHARDS[1])
        return SHARDS[0]

    ob.learn("rls", [read], workers=1, backend="numpy")  # a warning would be an error


def test_a_category_that_is_not_here_becomes_a_user_warning() -> None:
    for category in (("no_such_module", "A"), (__name__, "NoSuch"), (__name__, "np")):
        with pytest.warns(UserWarning, match=r"^far away \(shard 7\)$"):
            Reported().give(7, [Warned("far away", category)])
