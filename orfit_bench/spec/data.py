"""The data of a stream: rows to learn with their targets, and rows that are never learned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.tables.row_selection import take_rows

Array = NDArray[Any]
Pair = tuple[Array, Array]
RowsAndTargets = tuple[Array, Array | None]
"""X and y; y is None if the stream has no targets."""


@dataclass(frozen=True, slots=True)
class Data:
    """The data of a stream.

    Parameters
    ----------
    X : array, shape (n, d)
        Rows in their order. An object with a length and slices is enough.
    y : array, shape (n,) or (n, c), optional
        Their targets, numbers or labels (n,); here, too, a length and slices are enough. Without targets, only methods
        of kind subspace can learn the stream.
    test : tuple of arrays, optional
        A pair (X, y) of rows that are never learned, in the layout of X and y.
    validation : tuple of arrays, optional
        A pair (X, y) for choosing settings, neither learned nor tested on.
    tasks : tuple of int
        The row numbers at which the tasks begin, with the end: task i is rows tasks[i] to tasks[i + 1].
    feature_names : tuple of str
        The names of the columns of X, if they have any.

    Examples
    --------
    >>> import numpy as np
    >>> from orfit_bench.spec import Data
    >>> data = Data(np.eye(3), np.array([1.0, 2.0, 3.0]), test=(np.ones((1, 3)), np.array([6.0])))
    >>> [len(X) for X, y in data.chunks(2)]
    [2, 1]
    """

    X: Array
    y: Array | None = None
    test: RowsAndTargets | None = None
    validation: RowsAndTargets | None = None
    tasks: tuple[int, ...] = ()
    feature_names: tuple[str, ...] = ()

    def check(self) -> None:
        """Check that the parts of the data fit together.

        Raises
        ------
        ValueError
            If a row has no target, only some columns have a name, test or validation rows have another shape than the
            rows to learn, or tasks do not cover the rows.
        TypeError
            If rows cannot be taken by slices.
        """
        _check_slices("", self.X, self.y)
        n = len(self.X)
        if isinstance(self.X, (list, tuple)):
            raise ValueError(f"X: got {type(self.X).__name__}, want an array or a table (n, d)")
        _check_lengths("", self.X, self.y)
        _check_names(self.feature_names, _shape(self.X))
        for name, part in (("test", self.test), ("validation", self.validation)):
            if part is not None:
                _check_part(name, part, self)
        if self.tasks is None or not len(self.tasks):
            return
        integers = all(isinstance(row, Integral) and not isinstance(row, bool) for row in self.tasks)
        if not integers or not all(a < b for a, b in zip((-1, *self.tasks), self.tasks, strict=False)):
            raise ValueError(f"tasks: got {self.tasks}, want increasing row numbers")
        if self.tasks[0] != 0 or self.tasks[-1] != n:
            raise ValueError(f"tasks: got {self.tasks}, want the rows at which tasks begin, from 0, and the end, {n}")

    @property
    def size(self) -> int:
        """The number of entries of X."""
        return math.prod(self.X.shape)

    def cut(self, start: int, stop: int) -> RowsAndTargets:
        """Return some of the rows.

        Parameters
        ----------
        start, stop : int
            The first of them, and the first one after them.

        Returns
        -------
        X, y : array
            Rows (stop - start, d) and their targets; None for a stream without targets.

        Examples
        --------
        >>> import numpy as np
        >>> X, y = Data(np.ones((4, 2)), np.arange(4.0)).cut(1, 3)
        >>> X.shape, y
        ((2, 2), array([1., 2.]))
        """
        piece = slice(start, stop)
        return take_rows(self.X, piece), None if self.y is None else take_rows(self.y, piece)

    def chunks(self, rows: int) -> Iterator[RowsAndTargets]:
        """Iterate over the stream in order.

        Parameters
        ----------
        rows : int
            Number of rows of each chunk, at least 1; the last chunk may be shorter.

        Yields
        ------
        X, y : array
            As from `cut`.

        Raises
        ------
        ValueError
            If `rows` is no such number.

        Examples
        --------
        >>> import numpy as np
        >>> [y.tolist() for _, y in Data(np.ones((3, 2)), np.arange(3.0)).chunks(2)]
        [[0.0, 1.0], [2.0]]
        """
        if not isinstance(rows, Integral) or rows < 1:
            raise ValueError(f"chunks: rows={rows!r}, want an integer of at least 1")
        for i in range(0, len(self.X), rows):
            yield self.cut(i, i + rows)


def _check_slices(part: str, X: Array, y: Array | None) -> None:
    """Raise TypeError unless rows can be taken from X, and from y if given, by slices."""
    if wrong := without_slices("X", X) or without_slices("y", y):
        raise TypeError(f"{part}{wrong}")


def _check_lengths(part: str, X: Array, y: Array | None) -> None:
    """Raise ValueError unless y, if given, has a target for each row."""
    if y is not None and len(y) != len(X):
        raise ValueError(f"{part}y: got {len(y)} targets, want {len(X)}, one for each row of X")


def _check_names(names: tuple[str, ...], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless there is a name for each column of X, or none at all."""
    if names is not None and len(names) and len(shape) > 1 and len(names) != shape[1]:
        raise ValueError(f"feature_names: got {len(names)} names, want {shape[1]}, one for each column of X")


def _check_part(name: str, part: RowsAndTargets, data: Data) -> None:
    """Raise ValueError unless test or validation rows have as many features and outputs as the rows to learn."""
    if not isinstance(part, (tuple, list)) or len(part) != 2:
        raise ValueError(f"{name}: got {type(part).__name__}, want a pair (X, y)")
    X, y = part
    _check_slices(f"{name} ", X, y)
    _check_lengths(f"{name} ", X, y)
    if y is None and data.y is not None:
        raise ValueError(f"{name} has {len(X)} rows of X and no targets, want targets as the stream has them")
    for what, own, other in (("X", X, data.X), ("y", y, data.y)):
        got, want = _shape(own), _shape(other)
        if got and want and got[1:] != want[1:]:
            raise ValueError(f"{name} has {what} of shape {got}, want {(got[0], *want[1:])} as the stream has it")


def refuse_empty(data: Data) -> None:
    """Raise ValueError if there are no rows to learn, or if a test or validation set is empty."""
    if not len(data.X):
        raise ValueError("X has no rows, want at least one")
    for name, part in (("test", data.test), ("validation", data.validation)):
        if part is not None and not len(part[0]):
            raise ValueError(f"{name} has no rows: give it at least one, or leave it out")


def without_slices(name: str, part: Any) -> str:
    """Why rows cannot be taken from X or y by slices, as the end of a message; empty if they can."""
    if (
        (part is None and name == "y")
        or isinstance(part, (list, tuple))
        or (isinstance(part, np.ndarray) and part.ndim)
    ):
        return ""
    try:
        len(part)
        rows = part[0:0]
    except Exception:  # anything can be passed
        return f"{name} is {type(part).__name__}, want an array, or an object with a length and slices"
    return f"{name}[0:0] is None, want rows" if rows is None else ""


def _shape(a: Any) -> tuple[int, ...]:
    """The shape of X or y; empty for None and for objects without a shape."""
    return np.shape(a) if isinstance(a, (list, tuple)) else tuple(getattr(a, "shape", ()))
