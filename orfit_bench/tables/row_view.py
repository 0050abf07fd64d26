"""Rows that are read or computed when they are requested."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray


class RowView(ABC):
    """X or y of a stream, as `Data` requires it: supports `len` and slices; np.asarray requests all rows."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, piece: slice) -> Any: ...

    def at(self, places: NDArray[Any]) -> Any:
        """The rows at these positions, which may repeat."""
        return np.concatenate([self[:0], *(self[i : i + 1] for i in places.tolist())])

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows, followed by the shape of a row."""
        return (len(self), *np.shape(self[0:0])[1:])

    @property
    def size(self) -> int:
        """The number of entries."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the entries."""
        return np.asarray(self[0:0]).dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the rows are read or computed when they are requested: an array of them is a copy")
        return np.asarray(self[:], dtype)
