"""Faults of rows that are learned one at a time, of their names, and of bytes that are read."""

from __future__ import annotations

from typing import Any

from faults.fault import fault
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.restoring import from_bytes
from orfit_bench.state import binary, files
from orfit_bench.tables import columns

learn_one = Regressor.learn_one


def _absolute(self: Any, x: Any, y: Any, **more: Any) -> Any:
    return learn_one(self, x, y if isinstance(y, dict) else abs(y), **more)


fault(
    "learn_one_loses_the_sign",
    "learn_one learns the absolute value of the target",
    "learn_one_equals_partial_fit",
    "named_rows_are_learned_in_any_order",
    host=(Regressor, "learn_one", _absolute),
)
fault(
    "names_are_not_put_in_order",
    "the entries of a row with names are taken in the order in which they come",
    "named_rows_are_learned_in_any_order",
    "names_are_kept",
    "targets_have_names_in_any_order",
    host=(columns, "arrange", lambda names, known, width, argument: (range(len(names)), known or tuple(names))),
)
fault(
    "bytes_are_not_checked",
    "bytes are read without a look at their length, version and checksum",
    "changed_bytes_are_refused",
    "cut_bytes_are_refused",
    host=(binary, "_check", lambda view: None),
)


def _pickled_in_half(self: Any) -> tuple[Any, ...]:
    half = self.copy()
    for a in half.live_state.arrays:
        if a.dtype.kind == "f":
            a[...] = a.astype("float16")
    return from_bytes, (half.to_bytes(),)


fault(
    "pickled_in_half_precision",
    "pickling keeps three digits",
    "pickle_continues_identically",
    "names_are_kept",
    host=(Learner, "__reduce__", _pickled_in_half),
)


def _raises_what_comes(path: Any) -> Any:
    try:
        return read_file(path)
    except ValueError as error:
        raise KeyError(str(error)) from error


read_file = files.read
fault(
    "damaged_files_are_a_missing_key",
    "a file that is damaged raises KeyError",
    "changed_files_are_refused",
    "cut_files_are_refused",
    host=(files, "read", _raises_what_comes),
)
