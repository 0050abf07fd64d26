"""What every stream promises about its rows and settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.streams import BY_NAME, arrays, assert_sound, shared_rows

from orfit_bench.catalogue.streams import STREAMS
from orfit_bench.spec.data import Data
from orfit_bench.spec.method import KINDS
from orfit_bench.spec.stream import OFFERS, Stream

pytestmark = pytest.mark.filterwarnings("error")
SMALL = {"mnist": {"n": 50}, "rotated_mnist": {"n": 5}}
"""Settings that fit the tiny MNIST of these tests."""


def test_kinds_of_methods_that_can_learn_a_stream() -> None:
    suiting = {s: {k for k in KINDS if Stream("x", "", Data, offers=s).suits(k)} for s in OFFERS}
    assert suiting["numbers"] == {"regression", "filter", "subspace"}
    assert suiting["labels"] == {"classification", "subspace"}
    assert suiting["rows"] == {"subspace"}
    with pytest.raises(ValueError, match="stream 'x': it offers 'number', want one of numbers, labels, rows"):
        Stream("x", "", Data, offers="number")


def test_cut_of_rows_without_targets_has_no_y() -> None:
    data = Data(np.arange(6.0).reshape(3, 2))
    assert [(X.tolist(), y) for X, y in data.chunks(2)] == [([[0, 1], [2, 3]], None), ([[4, 5]], None)]


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(STREAMS)


def test_arrays_are_finite_and_match(stream: Stream) -> None:
    data = stream.load(**SMALL.get(stream.name, {}))
    assert_sound(data)
    assert getattr(data.y, "dtype", None) == {"numbers": float, "labels": int, "rows": None}[stream.offers]
    for held_out in (data.test, data.validation):
        assert (held_out is None) == (stream.name == "state_space")
        assert held_out is None or shared_rows(held_out[0], data.X) == 0


def test_same_settings_give_the_same_bits(stream: Stream) -> None:
    chosen = SMALL.get(stream.name, {})
    first, again, other = (stream.load(**chosen, seed=seed) for seed in (3, 3, 4))
    assert [a.tobytes() for a in arrays(first)] == [a.tobytes() for a in arrays(again)]
    assert first.tasks == again.tasks
    assert first.X.tobytes() != other.X.tobytes()


def test_global_random_generator_is_not_used(stream: Stream) -> None:
    before = repr(np.random.get_state())  # noqa: NPY002
    stream.load(**SMALL.get(stream.name, {}))
    assert repr(np.random.get_state()) == before  # noqa: NPY002


def test_chunks_are_the_rows_in_order(stream: Stream) -> None:
    data = stream.load(**SMALL.get(stream.name, {"n": 50}))
    X, y = zip(*data.chunks(7), strict=True)
    assert np.array_equal(np.concatenate(X), data.X)
    assert set(y) == {None} if data.y is None else np.array_equal(np.concatenate(y), data.y)
    assert [len(X) for X, _ in data.chunks(7)] == [7] * (len(data.X) // 7) + [len(data.X) % 7]


def test_defaults_lie_in_their_ranges(stream: Stream) -> None:
    for setting in stream.settings:
        assert setting.check(setting.default) == setting.default


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 2.5}, {"seed": -1}, {"n": "many"}])
def test_invalid_setting_is_refused_with_the_valid_range(stream: Stream, bad: dict[str, Any]) -> None:
    (name,) = bad
    with pytest.raises((ValueError, TypeError), match=rf"{name}=.*want an integer in"):
        stream.load(**bad)


def test_an_unknown_setting_is_refused(stream: Stream) -> None:
    with pytest.raises(TypeError, match=r"no setting 'rows'\. Known: "):
        stream.load(rows=5)


def test_import_of_streams_loads_no_heavy_library() -> None:
    heavy = "{'scipy', 'pooch', 'sklearn'}"
    code = (
        f"import sys, orfit_bench.catalogue.streams; assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])
