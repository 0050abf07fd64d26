"""The arrays of a state: shapes, initial values, capacity of growing fields, and copies in host memory."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import index
from typing import Any

import numpy as np

from orfit_bench.errors import with_place
from orfit_bench.spec import Diagonal, Draw, Field, Method
from orfit_bench.spec.arrays import copy_of, native_dtype
from orfit_bench.spec.backend import Backend
from orfit_bench.spec.kernel_arguments import State
from orfit_bench.spec.setting import describe_value

FEW = 16
"""A growing dimension gets all of its room immediately if its limit is at most this."""


@cache
def _record_type(names: tuple[str, ...]) -> Any:
    """The type of a record with these fields."""

    class State(namedtuple("State", names)):  # type: ignore[misc]  # names are known at run time only
        """The arrays of a state, which are changed in place."""

        __slots__ = ()

        def __setattr__(self, name: str, value: object) -> None:
            raise AttributeError(f"can't set attribute {name!r}; change the array in place: s.{name}[...] += 1")

    return State


class StateLayout:
    """The shapes of the fields of a method for given settings and sizes, and the capacity of its growing dimension."""

    def __init__(
        self,
        method: Method,
        settings: dict[str, Any],
        sizes: dict[str, int],
        backend: Backend,
        dtype: np.dtype[Any],
        inputs: Sequence[int] = (),
    ) -> None:
        """`inputs` are the numbers of inputs of the layers of the model, if the method learns layer by layer."""
        layers = [{**sizes, "input": n} for n in inputs]
        self._sizes_of = {f"_{i}": size for i, size in enumerate(layers, start=1)}
        own = {"input", *method.state.lengths} if layers else set()
        self._method = method
        self.fields = tuple(_by_layer(method.state.fields_under(settings), len(layers), own))
        growth = method.state.growth
        self.grows = growth.dim if growth and any(growth.dim in f.dims for f in self.fields) else None
        self.limit = growth.limit(settings, sizes) if growth else None
        self.sizes = dict(sizes)
        for end, size in self._sizes_of.items() or [("", self.sizes)]:
            size |= {dim: self._length(dim, length(settings, size)) for dim, length in method.state.lengths.items()}
            self.sizes |= {dim + end: size[dim] for dim in own}
        self._settings, self._backend, self._dtype = settings, backend, dtype

    def _length(self, dim: str, given: Any) -> int:
        """The length of a dimension that the method declares; ValueError unless it is an integer of at least 0."""
        try:
            length = index(given)
        except TypeError:
            length = -1
        if length < 0:
            function = with_place(self._method.state.lengths[dim])
            raise ValueError(
                f"{self._method.name}: length of {dim}: {function} returned {given!r}, want an integer of at least 0"
            )
        return length

    def shape(self, dims: tuple[str, ...], count: int = 0) -> tuple[int, ...]:
        """The lengths of dimensions; that of the growing one is `count`."""
        return tuple(count if dim == self.grows else self.sizes[dim] for dim in dims)

    def _initial_value(self, f: Field, draw: Draw | None) -> Any:
        """The initial value of a field; None for zeros."""
        if not (f.start and draw):
            return None
        layer = f.name[f.name.rfind("_") :] if f.layered else ""
        value = f.start(self._settings, self._sizes_of.get(layer, self.sizes), draw)
        if value is not None:
            self._check_shape(f, value)
        return value

    def _check_shape(self, f: Field, value: Any) -> None:
        """Raise ValueError unless the start of a field has the lengths of its dimensions; the growing one is free."""
        got = (value.size, value.size) if isinstance(value, Diagonal) else np.shape(value)
        count = got[f.dims.index(self.grows)] if self.grows in f.dims and len(got) == len(f.dims) else 0
        if got != (want := self.shape(f.dims, count)):
            raise ValueError(f"start of {f.name}: {with_place(f.start)} returned shape {got}, want {want}")

    def start(self, given: dict[str, Any], draw: Draw | None = None) -> Any:
        """A new record on the backend; `given` has host arrays of fields that do not have their initial values."""
        arrays = {}
        for f in self.fields:
            value = given.get(f.name)
            if value is None:
                value = self._initial_value(f, draw)
            try:
                arrays[f.name] = self._placed(f, value)
            except MemoryError as error:
                shape = self.shape(f.dims)
                raise MemoryError(f"{self._method.name}: no memory for {f.name} of shape {shape}: {error}") from error
        if self.grows:
            arrays["count"] = np.array([self._used(arrays)], np.int64)
        return _record_type(tuple(arrays))(**arrays)

    def place(self, given: Mapping[str, np.ndarray[Any, Any]]) -> Any:
        """A new record on the backend, from host arrays with the shapes and the dtype of the fields."""
        arrays = {f.name: self._backend.asarray(given[f.name]) if f.dims else given[f.name].copy() for f in self.fields}
        if self.grows:
            arrays["count"] = np.array([self._used(arrays)], np.int64)
        return _record_type(tuple(arrays))(**arrays)

    def _placed(self, f: Field, value: Any) -> Any:
        """The array of a field: scalars in host memory; zeros and diagonal matrices are made on the device."""
        if value is None:
            return self._zeros(self.shape(f.dims)) if f.dims else np.zeros((), self._dtype)
        numbers = value.values if isinstance(value, Diagonal) else value
        with np.errstate(over="ignore"):
            start = np.ascontiguousarray(numbers, self._dtype).reshape(np.shape(numbers))
        if not np.isfinite(start).all():
            given = ", ".join(f"{name}={describe_value(value)}" for name, value in self._settings.items())
            raise ValueError(
                f"the start of {f.name} is not finite in {self._dtype}: choose other settings; {self._method.name} has "
                f"{given}"
            )
        if isinstance(value, Diagonal):
            return self._diagonal(start, value.size)
        return self._backend.asarray(start) if f.dims else start.copy()

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        xp = self._backend.namespace()
        if xp is np:  # a backend on the CPU may align its arrays; one zero is read, not as much memory as is written
            zero = np.zeros(1, self._dtype)
            return self._backend.asarray(np.ndarray(shape, self._dtype, zero, strides=(0,) * len(shape)))
        return xp.zeros(shape, dtype=native_dtype(xp, self._dtype))

    def _diagonal(self, values: np.ndarray[Any, Any], size: int) -> Any:
        xp = self._backend.namespace()
        if xp is np:
            matrix = self._zeros((size, size))
            np.fill_diagonal(matrix, values)
            return matrix
        return xp.eye(size, dtype=native_dtype(xp, self._dtype)) * self._backend.asarray(values)

    def _growing(self) -> list[str]:
        return [f.name for f in self.fields if self.grows in f.dims]

    def _used(self, arrays: dict[str, Any]) -> int:
        return int(arrays[self._growing()[0]].shape[0])

    def count(self, s: State) -> int:
        """The used length of the growing dimension."""
        return int(s.count[0]) if self.grows else 0

    @property
    def sizes_of_first_layer(self) -> dict[str, int]:
        """The sizes of the first layer; those of the model if the method does not learn layer by layer."""
        return self._sizes_of.get("_1", self.sizes)

    def reserve(self, s: State, more: int) -> Any:
        """The record with capacity for `more` further entries, at most up to the limit."""
        if not self.grows:
            return s
        names = self._growing()
        room, used = getattr(s, names[0]).shape[0], int(s.count[0])
        want = used + more if self.limit is None else min(used + more, self.limit)
        if room >= want:
            return s
        room = max(want, 2 * room)  # doubling: a stream fed row by row is copied O(log n) times
        if self.limit is not None:
            room = self.limit if self.limit <= FEW else min(room, self.limit)
        return s._replace(**{n: self._enlarged(getattr(s, n), room) for n in names})

    def _enlarged(self, old: Any, room: int) -> Any:
        new = self._zeros((room, *old.shape[1:]))
        new[: old.shape[0], ...] = old
        return new

    def copy(self, s: Any) -> Any:
        """An independent copy of the record."""
        xp = self._backend.namespace()
        if xp is not np:
            return type(s)(*(copy_of(a, xp) for a in s))
        return type(s)(*(self._backend.asarray(a) if a.ndim and a.dtype.kind in "fc" else a.copy() for a in s))

    def arrays(self, s: State) -> dict[str, np.ndarray[Any, Any]]:
        """Copies of the fields in host memory; growing ones have their used length."""
        used = self.count(s)
        out = {}
        for f in self.fields:
            a = getattr(s, f.name)
            part = a[:used, ...] if self.grows in f.dims else a
            out[f.name] = self._backend.asnumpy(part) if f.dims else part.copy()
        return out

    def bytes(self, s: State) -> int:
        """The bytes of the fields in host memory, at the used length of growing ones."""
        used = self.count(s)
        return self._dtype.itemsize * sum(math.prod(self.shape(f.dims, used)) for f in self.fields)


def _by_layer(fields: Sequence[Field], layers: int, own: set[str]) -> Iterator[Field]:
    """The fields, with one field per layer for a layered one; `own` are the dimensions that differ between layers."""
    for f in fields:
        if not f.layered:
            yield f
            continue
        for layer in (f"_{i}" for i in range(1, layers + 1)):
            yield replace(f, name=f.name + layer, dims=tuple(d + layer if d in own else d for d in f.dims))
