"""Arrays whose references Numba does not count.

Numba counts a reference for every slice of an array with atomic operations, which take up to nine tenths of the time
for a row of a few numbers. Compiled functions borrow their arguments, which their callers hold (`_compile.borrowing`).
A function can also borrow arrays that it allocates; it must then `hold` them until the slices are no longer used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.extending import intrinsic


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value without owners of its arrays, also in tuples."""
    if isinstance(kind, types.Array):
        model = context.data_model_manager[kind]
        for field in ("meminfo", "parent"):
            place = model.get_field_position(field)
            value = builder.insert_value(value, value.type.elements[place](None), place)
        return value
    if not isinstance(kind, (types.Tuple, types.UniTuple, types.NamedTuple, types.NamedUniTuple)):
        return value
    values = [builder.extract_value(value, i) for i in range(len(kind.types))]
    parts = [_without_owner(context, builder, *part) for part in zip(kind.types, values, strict=True)]
    return context.make_tuple(builder, kind, parts)


def _borrow(_typing: Any, arrays: Any) -> Any:
    return arrays(arrays), lambda context, builder, _, values: _without_owner(context, builder, arrays, values[0])


def _hold(_typing: Any, owner: Any) -> Any:
    return types.void(owner), lambda context, *_: context.get_dummy_value()


borrowed: Callable[[Any], Any] = intrinsic(_borrow)  # type: ignore[assignment]  # called in machine code
"""The same value without owners of its arrays, also in tuples. Do not use it longer than the owner, or return it."""
hold: Callable[[Any], None] = intrinsic(_hold)  # type: ignore[assignment]
"""Keep the owner of an array until here; it generates no code."""
