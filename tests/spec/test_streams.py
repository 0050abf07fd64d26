"""The data of a stream are checked when it is loaded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orfit_bench.bench import Suite
from orfit_bench.conformance import check_stream
from orfit_bench.sampling import with_sampling
from orfit_bench.spec import Data, Integer, Setting, Stream
from orfit_bench.spec.stream_functions import configure, existing_files

X, y = np.ones((6, 2)), np.arange(6.0)
N = Setting("n", Integer(1), 6, "number of rows")


@pytest.mark.parametrize("tasks", [(), (0, 6), (0, 2, 6), tuple(np.array([0, 1, 6]))])
def test_tasks_cover_the_rows_in_order(tasks: tuple[int, ...]) -> None:
    assert Stream("mine", "", lambda: Data(X, y, tasks=tasks)).load().tasks == tasks


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ((0, 3), "want the rows at which tasks begin, from 0, and the end, 6"),
        ((2, 6), "from 0, and the end, 6"),
        ((0, 3, 9), "from 0, and the end, 6"),
        ((0, 4, 2, 6), "want increasing row numbers"),
        ((0, 2, 2, 6), "want increasing row numbers"),
        ((0, 2.5, 6), "want increasing row numbers"),
        (("a",), "want increasing row numbers"),
        ((False, 6), "want increasing row numbers"),
    ],
)
def test_other_tasks_are_refused(tasks: Any, message: str) -> None:
    with pytest.raises(ValueError, match=r"stream 'mine': tasks: got \(.*" + message):
        Stream("mine", "", lambda: Data(X, y, tasks=tasks)).load()


def test_a_target_for_each_row_is_wanted() -> None:
    with pytest.raises(ValueError, match="stream 'mine': y: got 5 targets, want 6, one for each row of X"):
        Stream("mine", "", lambda: Data(X, y[:-1])).load()


class Rows:
    """Rows whose slices are missing."""

    shape = X.shape

    def __len__(self) -> int:
        return len(X)

    def __getitem__(self, rows: slice) -> None:
        """Return nothing, as if a return statement was forgotten."""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (Data(iter(X), y), "X is .*iterator, want an array, or an object with a length and slices"),
        (Data(None, y), "X is NoneType, want an array"),  # type: ignore[arg-type]
        (Data(X, (row for row in y)), "y is generator, want an array"),  # type: ignore[arg-type]
        (Data(Rows(), y), r"X\[0:0\] is None, want rows"),  # type: ignore[arg-type]
    ],
)
def test_rows_without_slices_name_the_function_of_the_stream(data: Data, message: str) -> None:
    with pytest.raises(
        TypeError, match=r"stream 'mine': <lambda> \(test_streams.py:\d+\) returned Data whose " + message
    ):
        Stream("mine", "", lambda: data).load()


@pytest.mark.parametrize("part", ["test", "validation"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((X[:3], y[:2]), r"y: got 2 targets, want 3, one for each row of X"),
        ((X[:3], y[:1]), r"y: got 1 targets, want 3"),
        ((X[:3], y[:3, None]), r"has y of shape \(3, 1\), want \(3,\) as the stream has it"),
        ((X[:3, :1], y[:3]), r"has X of shape \(3, 1\), want \(3, 2\)"),
        ((X[:3], None), r"has 3 rows of X and no targets"),
        ((X[:3, :1].tolist(), y[:3]), r"has X of shape \(3, 1\), want \(3, 2\)"),
        ((X[:0], y[:0]), r"has no rows: give it at least one, or leave it out"),
        (X[:3], r"got ndarray, want a pair \(X, y\)"),
    ],
)
def test_rows_that_are_not_learned_are_checked_as_those_that_are(part: str, rows: Any, message: str) -> None:
    """With NumPy's broadcasting their error would be a wrong number."""
    with pytest.raises(ValueError, match=f"stream 'mine': {part}.* ?{message}"):
        Stream("mine", "", lambda: Data(X, y, **{part: rows})).load()


def test_rows_are_an_array() -> None:
    with pytest.raises(ValueError, match=r"stream 'mine': X: got list, want an array or a table \(n, d\)"):
        Stream("mine", "", lambda: Data(X.tolist(), y)).load()  # type: ignore[arg-type]


def test_a_row_is_wanted() -> None:
    with pytest.raises(ValueError, match="stream 'mine': X has no rows, want at least one"):
        Stream("mine", "", lambda: Data(X[:0], y[:0])).load()


@pytest.mark.parametrize("returned", [(X, y), None])
def test_what_is_no_data_is_refused(returned: Any) -> None:
    stream = Stream("mine", "", lambda: returned)
    for loaded in (stream, with_sampling(stream)):
        with pytest.raises(TypeError, match=r"'mine': <lambda> \(test_streams.py:\d+\) returned .*, want Data\(X, y"):
            loaded.load()


def test_a_run_of_complex_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="want one of float64, float32; runs compare real numbers"):
        Suite(dtype="complex128")


def test_held_out_rows_may_be_lists_and_subspaces_ignore_their_targets() -> None:
    for data in (
        Data(X, y, test=(X[:3].tolist(), y[:3].tolist())),
        Data(X, y[:, None], test=(X[:3], y[:3, None].tolist())),
        Data(X, None, test=(X[:3], y[:3])),
    ):
        assert Stream("mine", "", lambda data=data: data).load() is data


@pytest.mark.parametrize("rows", [0, -3, 2.5, "2", None])
def test_chunks_have_rows(rows: Any) -> None:
    with pytest.raises(ValueError, match=rf"chunks: rows={rows!r}, want an integer of at least 1"):
        list(Data(X, y).chunks(rows))
    assert [len(part) for part, _ in Data(X, y).chunks(np.int64(4))] == [4, 2]


@pytest.mark.parametrize(
    "make", [lambda: Data((row for row in X), y), lambda: Data(X, y, test=((row for row in X), y))]
)
def test_generators_are_refused_whatever_loads_them(make: Any) -> None:
    stream = Stream("mine", "", make)
    for loaded in (stream, with_sampling(stream)):
        with pytest.raises(
            TypeError, match=r"'mine'.*X is generator, want an array, or an object with a length and slices"
        ):
            loaded.load()


class Unreadable:
    """Rows whose file cannot be decoded."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, rows: slice) -> Any:
        return b"\xff".decode()


@pytest.mark.parametrize("data", [Data(X, y, test=(Unreadable(), y)), Data({"a": y}, y), Data(X, {0: 1})])
def test_rows_that_cannot_be_taken_are_refused(data: Data) -> None:
    with pytest.raises(TypeError, match=r"stream 'mine'.* is .*, want an array, or an object with a length"):
        Stream("mine", "", lambda: data).load()


def rows() -> Data:
    return Data(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ("abc", TypeError, "settings='abc', want a tuple of settings"),
        (None, TypeError, "settings=None, want a tuple of settings"),
        ((N, N), ValueError, "two settings are named 'n'"),
        ((replace(N, name="self"),), ValueError, "a setting is named 'self', want another name"),
    ],
)
def test_settings_that_cannot_be_given_are_refused(settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"stream 'mine': {message}"):
        Stream("mine", "", rows, settings=settings)


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        (
            {"files": lambda: None},
            TypeError,
            r"\(test_streams.py:\d+\) returned None, want a list with a Path",
        ),
        ({"files": lambda: ["a.csv"]}, TypeError, r"returned \['a.csv'\], want a list with a Path for each file"),
        ({"files": lambda: 1 / 0}, ValueError, "raised ZeroDivisionError: division by zero"),
        ({"files": lambda: 1 + ""}, ValueError, "raised TypeError: unsupported operand"),
        ({"files": lambda: [Path("missing").stat()]}, ValueError, "raised FileNotFoundError"),
        ({"configure": lambda settings: None}, TypeError, "returned NoneType, want a Stream"),
        ({"configure": lambda settings: 1 / 0}, ValueError, "raised ZeroDivisionError: division by zero"),
    ],
)
def test_functions_that_fail_are_named(functions: Any, error: type[Exception], message: str) -> None:
    mine = Stream("mine", "", rows, **functions)
    with pytest.raises(error, match=f"stream 'mine': .*{message}"):
        existing_files(mine) if "files" in functions else configure(mine, {})
    assert re.search(message, "".join(check_stream(mine)))


def test_files_that_do_not_exist_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    mine = Stream("mine", "", rows, files=lambda: [tmp_path / "a", tmp_path / "b"])
    assert existing_files(mine) == [tmp_path / "a"]


def test_the_seed_of_the_order_is_not_one_of_the_rows() -> None:
    assert not check_stream(with_sampling(Stream("mine", "", rows)))
