"""Rows in compressed form (CSR), and the check that their indices are in range: compiled code relies on it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np


class SparseRows(Protocol):
    """Rows (n, d) in compressed form (CSR), as in scipy.sparse."""

    data: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    """The columns of the data."""
    indptr: np.ndarray[Any, Any]
    """The data of row i begin at indptr[i] and end before indptr[i + 1]."""
    nnz: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    format: str
    has_canonical_format: bool

    def astype(self, dtype: np.dtype[Any], copy: bool) -> SparseRows:
        """The rows in another dtype."""

    def toarray(self) -> np.ndarray[Any, Any]:
        """The rows as a dense array."""

    def __getitem__(self, rows: slice) -> SparseRows:
        """Some of the rows."""

    def copy(self) -> SparseRows:
        """An independent copy."""

    def sum_duplicates(self) -> None:
        """Sort the columns of each row, and add entries of one column."""


def check_format(value: SparseRows, name: str) -> None:
    """Raise ValueError if the arrays do not describe rows (n, d), which scipy.sparse does not check when it is given.

    Nothing is changed: the method of this name in scipy.sparse shortens and converts the arrays.
    """
    (n, d), remedy = value.shape, f": correct the arrays of {name}"
    for part in ("data", "indices", "indptr"):
        array = getattr(value, part)
        if array.ndim != 1 or (part != "data" and array.dtype.kind != "i"):
            want = "one dimension" if part == "data" else "integers of one dimension"
            raise ValueError(f"{name}.{part}: got shape {array.shape} of {array.dtype}, want {want}{remedy}")
    indptr, indices = value.indptr, value.indices
    if len(indptr) != n + 1 or indptr[0] != 0:
        got = f"{len(indptr)} entries from {indptr[0]} on" if len(indptr) else "no entries"
        raise ValueError(f"{name}.indptr: got {got}, want {n + 1} from 0 on, for {n} rows{remedy}")
    if len(falling := np.flatnonzero(indptr[1:] < indptr[:-1])):
        i = int(falling[0])
        raise ValueError(f"{name}.indptr: got {indptr[i + 1]} after {indptr[i]} (row {i}), want no decrease{remedy}")
    end = int(indptr[-1])
    if end > min(len(indices), len(value.data)):
        sizes = f"{len(indices)} indices and {len(value.data)} data"
        raise ValueError(f"{name}.indptr: got {end} at its end, but there are {sizes}: want at most these{remedy}")
    used = indices[:end]
    if end and not 0 <= used.min() <= used.max() < d:
        k = int(((used < 0) | (used >= d)).argmax())
        row = int(np.searchsorted(indptr, k, "right")) - 1
        raise ValueError(f"{name}.indices[{k}]: got column {used[k]} in row {row}, want 0 to {d - 1}{remedy}")
