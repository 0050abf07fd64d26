"""Rules that the host alone keeps, so that no plugin can break them: the host with one guard taken out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.host import inputs, merging, snapshot
from orfit_bench.host.engine import Engine
from orfit_bench.host.learner import Learner
from orfit_bench.host.params import ParameterMaker
from orfit_bench.spec import Merge, setting
from wrong.fault import fault
from wrong.right import (
    BATCHES,
    DOUBLE,
    LINEAR_LMS,
    OJA,
    PLAIN,
    WITH_LAST,
    Offers,
    around,
    carries_the_double,
    plain,
    real,
)

convert, matrix = inputs._convert, inputs.matrix


def _learned_twice(self: Any) -> None:
    X, Y = self._waiting.joined()
    for _ in range(2):
        self._advance(X, Y, len(X), None, block=True)
    self._waiting.clear()


fault(
    "waiting_rows_are_learned_twice",
    "a flush learns the rows that wait twice",
    "rows_wait_for_a_whole_batch",
    method=BATCHES,
    host=(Engine, "_learn_waiting", _learned_twice),
)


def _as_it_lies(value: Any, name: str, dtype: Any) -> Any:
    array = convert(value, name, dtype)
    return array if np.asarray(value).flags.c_contiguous else np.asarray(value).ravel("K").reshape(array.shape)


fault(
    "numbers_as_they_lie",
    "an array that is not in C order is read in the order of its memory",
    "any_place_in_memory",
    host=(inputs, "_convert", _as_it_lies),
)
fault(
    "one_row_without_brackets",
    "a vector is taken for one row",
    "wrong_shapes_are_refused",
    method=OJA,
    kernel=real("oja"),
    host=(inputs, "matrix", lambda X, *more: matrix(np.atleast_2d(X), *more)),
)


def _cut_off(X: Any, name: str, dtype: Any, columns: int | None) -> Any:
    return matrix(X[:, :columns] if type(X) is np.ndarray and X.ndim == 2 else X, name, dtype, columns)


fault(
    "columns_too_many_are_cut_off",
    "columns beyond those of the first chunk are ignored",
    "other_columns_are_refused",
    method=OJA,
    kernel=real("oja"),
    host=(inputs, "matrix", _cut_off),
)
fault(
    "nothing_looks_for_nan",
    "rows that are not finite come to the kernel",
    "numbers_that_are_not_finite_are_refused",
    host=(inputs, "check_finite", lambda value, name: None),
)
fault(
    "masks_are_dropped",
    "a masked array is learned with what its mask hides",
    "what_is_no_number_is_refused",
    host=(inputs, "_convert", lambda value, name, dtype: convert(np.asarray(value), name, dtype)),
)


def _sharing(self: Any, other: Any) -> Any:
    merge(self, other)
    other._s = self._s
    return self


merge, copy = Learner.merge, Learner.copy
fault(
    "merged_learners_share",
    "the learner that was merged into another shares its arrays from then on",
    "merging_leaves_the_other",
    method=replace(PLAIN, merge=Merge("approximate", "the first", lambda a, b, settings: {})),
    host=(Learner, "merge", _sharing),
)


def _notes_the_last(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = plain(s, X, Y, p, out)
    s.last[...] = X[max(n - 1, 0)]
    return n


def _forgetful(self: Any) -> Any:
    twin = copy(self)
    if not self.n_samples_seen_:
        defaults = {s.name: s.default for s in self.method.settings}
        twin._parameters = ParameterMaker(self.method, defaults, self.dtype, self.random_state)
    return twin


fault(
    "a_copy_forgets_its_settings",
    "a copy of a learner that has learned nothing learns with the defaults",
    "a_copy_goes_on_alike",
    method=LINEAR_LMS,
    kernel=around("lms"),
    host=(Learner, "copy", _forgetful),
)


def _half_shared(self: Any) -> Any:
    twin = copy(self)
    if self._s is not None:
        twin._s = twin._s._replace(last=self._s.last)
    return twin


fault(
    "a_copy_shares_a_field",
    "a copy has weights of its own, and shares a field that no prediction depends on",
    "a_copy_is_independent",
    method=WITH_LAST,
    kernel=Offers(learn=_notes_the_last),
    host=(Learner, "copy", _half_shared),
)


fault(
    "any_number_is_in_range",
    "whatever the range of a setting, a number is in it",
    "wrong_settings_are_refused",
    method=LINEAR_LMS,
    kernel=around("lms"),
    host=(setting, "inside", lambda value, interval: True),
)


def _rounded_for_nothing(self: Any, X: Any, y: Any, predict: bool) -> Any:
    told = learn(self, X, y, predict)
    if not len(X):
        self._s.w[...] = np.nextafter(self._s.w, 0)
    return told


learn, to_dataset = Engine._learn, snapshot.to_dataset
from_dataset, read = snapshot.from_dataset, snapshot.read
fault(
    "no_rows_round",
    "learning no rows moves the weights by a rounding",
    "a_chunk_of_no_rows_changes_nothing",
    host=(Engine, "_learn", _rounded_for_nothing),
)
fault(
    "a_state_with_swapped_bytes",
    "the arrays of `state` have their bytes swapped",
    "the_state_is_what_is_declared",
    host=(snapshot, "to_dataset", lambda learner: to_dataset(learner).map(lambda a: a.astype(a.dtype.newbyteorder()))),
)


def _in_half(found: Any) -> Any:
    head, arrays = found
    return head, {name: a.astype(np.float16).astype(a.dtype) for name, a in arrays.items()}


fault(
    "restored_in_half_precision",
    "what is restored from a state was rounded to half precision",
    "a_restored_state_goes_on_alike",
    host=(snapshot, "from_dataset", lambda state: _in_half(from_dataset(state))),
)
fault(
    "loaded_in_half_precision",
    "what is read from a file was rounded to half precision",
    "a_saved_state_goes_on_alike",
    host=(snapshot, "read", lambda path: _in_half(read(path))),
)
fault(
    "the_first_is_the_mean",
    "the mean of some learners is the first of them",
    "averages_as_declared",
    method=replace(DOUBLE, averages=("w",), derived=lambda fields, settings: {"double": 2 * fields["w"]}),
    kernel=Offers(learn=carries_the_double),
    host=(merging, "_mean", lambda fields, name, by: fields[0][name]),
)
