"""The order in which rows are visited, and rows in this order: a slice gathers its rows when it is requested."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.tables.row_selection import take_rows
from orfit_bench.tables.row_view import RowView

Array = NDArray[Any]
BRANCH = 0x6F72646572
"""Spawn key of the order's random numbers, which makes them independent of rows drawn from the same seed."""


class VisitOrder:
    """The row visited at each position 0 to length - 1, drawn in blocks, each with a generator of its own.

    Parameters
    ----------
    length : int
        Number of positions.
    block : int
        Number of positions that one draw fills.
    draw : callable
        draw(rng) -> row numbers (block,), with a numpy.random.Generator.
    seed : int
        Seed of the order.

    Examples
    --------
    >>> import numpy as np
    >>> order = VisitOrder(6, 3, lambda rng: rng.permutation(3), seed=0)
    >>> sorted(order.rows_at(np.arange(6)).tolist())
    [0, 0, 1, 1, 2, 2]
    """

    def __init__(self, length: int, block: int, draw: Callable[[np.random.Generator], Array], seed: int) -> None:
        self.length, self._block = length, block
        self._drawn = lru_cache(maxsize=2)(lambda b: draw(_generator(seed, b)))

    def rows_at(self, positions: Array) -> Array:
        """Return the rows that are visited at some positions.

        Parameters
        ----------
        positions : ndarray of int, shape (n,)
            Positions from 0 to length - 1.

        Returns
        -------
        ndarray of int, shape (n,)
            Row numbers. They do not depend on the other positions of the call.

        Examples
        --------
        >>> import numpy as np
        >>> order = VisitOrder(6, 3, lambda rng: rng.permutation(3), seed=0)
        >>> both = order.rows_at(np.array([1, 4]))
        >>> bool(both[1] == order.rows_at(np.array([4]))[0])
        True
        """
        rows = np.empty(len(positions), np.int64)
        if not len(positions):
            return rows
        order = np.argsort(positions, kind="stable")
        sorted_positions = positions[order]
        blocks, starts = np.unique(sorted_positions // self._block, return_index=True)
        for b, start, stop in zip(blocks.tolist(), starts, [*starts[1:], len(positions)], strict=True):
            rows[order[start:stop]] = self._drawn(b)[sorted_positions[start:stop] - b * self._block]
        return rows


class SampledView(RowView):
    """Rows in the order of their visits; slices of a table are tables.

    Parameters
    ----------
    rows : array or table, shape (m, ...)
        The rows, which need only slices.
    order : VisitOrder
        The row at each position.

    Examples
    --------
    >>> import numpy as np
    >>> view = SampledView(np.array([10.0, 20.0]), VisitOrder(4, 2, lambda rng: rng.permutation(2), seed=0))
    >>> view.shape, sorted(view[:2].tolist())
    ((4,), [10.0, 20.0])
    """

    def __init__(self, rows: Any, order: VisitOrder) -> None:
        self._rows, self._order = rows, order

    def __len__(self) -> int:
        return self._order.length

    def __getitem__(self, piece: slice) -> Any:
        if not isinstance(piece, slice):
            raise TypeError(f"sampled rows support slices only: got {piece!r}, want X[a:b] or np.asarray(X)")
        return self.at(np.arange(*piece.indices(len(self))))

    def at(self, places: Array) -> Any:
        """The rows at these positions, in the type of the rows."""
        return take_rows(self._rows, self._order.rows_at(places))


def _generator(seed: int, block: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(BRANCH, block)))
