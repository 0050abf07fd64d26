"""Validation of the shapes and numbers of input, once per chunk and before anything changes.

Arrays that the namespace xp can use where they lie, for example on its device, are checked there; all others in host
memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from orfit_bench.learners.conversion import as_array, convert, namespace_of
from orfit_bench.spec.arrays import has_finite_sum

Array = Any


def matrix(
    value: object,
    name: str,
    dtype: np.dtype[Any],
    columns: int | None,
    finite: bool = True,
    xp: ModuleType = np,
    names: Sequence[str] = (),
) -> Array:
    """Value as a (n, columns) array in C order, its entries finite with `finite`; the same object if it is one already.

    Errors use `names` for the columns, if given.
    """
    if type(value) is np.ndarray and value.dtype == dtype and value.ndim == 2 and value.flags.c_contiguous:
        rows: Array = value
    else:
        rows = convert(value, name, dtype, xp)
        if rows.ndim != 2:
            hint = f"; for one row pass {name}[None, :], for the samples of a signal ob.delay_line({name}, taps)"
            hint *= rows.ndim == 1
            raise ValueError(f"{name}: got shape {rows.shape}, want 2 dimensions (rows, columns){hint}")
    if columns is not None and rows.shape[1] != columns:
        raise ValueError(f"{name}: got {rows.shape[1]} columns, want {columns} as in the first call")
    if rows.shape[1] == 0:
        raise ValueError(f"{name}: got shape {rows.shape}, want at least one column")
    if finite:
        check_finite(rows, name, names)
    return rows


def one_row(value: object, xp: ModuleType) -> Array:
    """One row x (d,) as rows (1, d), not yet validated."""
    array = as_array(value, "x", xp)
    if array.ndim != 1:
        hint = (
            "ob.DelayLine makes rows of samples" if array.ndim == 0 else "for several rows use partial_fit or predict"
        )
        raise ValueError(f"x: got shape {array.shape}, want (d,); {hint}")
    return array[None, ...]


def one_target(value: object, xp: ModuleType, known: tuple[int, ...] | None) -> Array:
    """The target of one row, a number or (c,), as targets (1,) or (1, c), its numbers not yet validated.

    `known` is the shape of earlier targets.
    """
    array = as_array(value, "y", xp)
    if array.ndim > 1:
        raise ValueError(f"y: got shape {array.shape}, want a number or (c,); for several rows use partial_fit")
    if known is not None and array.shape != known:
        raise ValueError(f"y: got shape {array.shape}, want {known or 'a number'} as in the first call")
    return array[None, ...]


def targets(
    value: object,
    of: str,
    rows: int,
    dtype: np.dtype[Any],
    outputs: int | None,
    vector: bool,
    missing: bool = False,
    xp: ModuleType = np,
) -> tuple[Array, bool]:
    """Y as (n, c) and whether y was one-dimensional; `outputs` and `vector` are these for earlier rows.

    With `missing`, NaN is allowed.
    """
    usable = type(value) is np.ndarray and value.dtype == dtype and value.flags.c_contiguous
    Y: Array = value if usable else convert(value, "y", dtype, xp)
    columns = target_columns(Y, of, rows, outputs, vector)
    if missing:
        xp = namespace_of(Y, xp)
        check_finite(xp.where(xp.isnan(Y), 0.0, Y), "y")
    else:
        check_finite(Y, "y")
    return columns


def target_columns(Y: Array, of: str, rows: int, outputs: int | None, vector: bool) -> tuple[Array, bool]:
    """Y as (n, c) and whether it was (n,), as `targets` returns them, for numbers that are checked already."""
    is_vector = Y.ndim == 1
    if Y.ndim not in (1, 2):
        raise ValueError(f"y: got shape {Y.shape}, want (n,) or (n, outputs)")
    if outputs is not None and (is_vector != vector or (not is_vector and Y.shape[1] != outputs)):
        want = "(n,)" if vector else f"(n, {outputs})"
        raise ValueError(f"y: got shape {Y.shape}, want {want} as in the first call")
    if Y.shape[0] != rows:
        raise ValueError(f"y: got {Y.shape[0]} rows, want {rows}, one for each row of {of}")
    if not is_vector and Y.shape[1] == 0:
        raise ValueError(f"y: got shape {Y.shape}, want at least one output")
    return Y[:, None] if is_vector else Y, is_vector


def labels(value: object, of: str, rows: int, kind: type | None) -> list[Any]:
    """The labels as Python values of one kind, which is `kind` once that is known."""
    array = as_array(value, "y", np)
    if array.ndim != 1:
        wrong = TypeError if array.shape == () and array.dtype.kind == "O" else ValueError  # None, a set, a generator
        raise wrong(f"y: got {type(value).__name__} of shape {array.shape}, want (n,), one label per row")
    if len(array) != rows:
        raise ValueError(f"y: got {len(array)} rows, want {rows}, one for each row of {of}")
    given = _plain(value if isinstance(value, (list, tuple)) else array)  # an array would make one kind of several
    kinds = {type(label) for label in given}
    if len(kinds) > 1 or not kinds <= ({kind} if kind else {bool, int, str}):
        names = ", ".join(sorted(k.__name__ for k in kinds))
        wanted = f"{kind.__name__} as in the first call" if kind else "integers, booleans or strings"
        raise TypeError(f"y: got labels of type {names}, want {wanted}, one kind per learner{_remedy(given)}")
    return given


def _remedy(given: list[Any]) -> str:
    """What to do about labels of kinds that do not fit."""
    is_float = [isinstance(label, float) for label in given]
    missing = [i for i, label in enumerate(given) if label is None or (is_float[i] and math.isnan(label))]
    if missing:
        return f": drop the rows without a label, {len(missing)} here, the first is row {missing[0]}"
    return ": numbers that are classes become labels by y.astype(int)" if any(is_float) else ""


def _plain(values: Iterable[Any]) -> list[Any]:
    """NumPy's numbers and strings as Python's; dates are unchanged, since they would become integers."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "biufU":
        return list(values.tolist())
    return [v.item() if isinstance(v, np.generic) and v.dtype.kind not in "mM" else v for v in values]


def numbers(value: object, name: str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Value as a finite host array of dtype, C order."""
    array: np.ndarray[Any, Any] = convert(value, name, dtype)
    check_finite(array, name)
    return array


def check_finite(value: Array, name: str, names: Sequence[str] = ()) -> None:
    """ValueError naming the first entry that is NaN or infinite. It waits for a device only once."""
    if is_surely_finite(value):
        return
    value = as_array(value, name, np)
    bad = np.argwhere(~np.isfinite(value))
    if len(bad):
        place = tuple(int(i) for i in bad[0])
        column = f", column {(names or range(value.shape[1]))[place[1]]!r}" if len(place) > 1 else ""
        raise not_finite(name, place, value[place], f"row {place[0]}{column}; {len(bad)} such in all")


def not_finite(name: str, place: tuple[int, ...], value: object, details: str) -> ValueError:
    """The error for the first entry that is NaN or infinite; `details` says in words where it is."""
    entry = f"{name}[{', '.join(map(str, place))}] is {value}"
    return ValueError(f"{entry} ({details}): want finite numbers; drop or fill these rows")


def is_surely_finite(value: Array) -> bool:
    """Whether a quick check without a temporary shows that all entries are finite; huge ones may give False."""
    if type(value) is np.ndarray:
        return has_finite_sum(value)
    if not math.prod(value.shape):
        return True
    if not hasattr(value, "__array_namespace__"):
        return False
    return math.isfinite(float(value.__array_namespace__().sum(value)))
