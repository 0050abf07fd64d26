"""Faults in copies, states, merges and averages, which are common to all learners."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import (
    BATCHES,
    DOUBLE,
    LINEAR_LMS,
    PLAIN,
    WITH_LAST,
    KernelModule,
    carries_the_double,
    plain,
    reference_with,
)
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.parameters import ParameterMaker
from orfit_bench.spec import Merge
from orfit_bench.state import binary, dataset, files, merging

merge, copy, decode = Learner.merge, Learner.copy, binary.decode
to_dataset, from_dataset, read = dataset.to_dataset, dataset.from_dataset, files.read


def _sharing(self: Any, other: Any) -> Any:
    merge(self, other)
    other.live_state = self.live_state
    return self


fault(
    "merged_learners_share_arrays",
    "after a merge the two learners share their arrays",
    "merge_leaves_other_unchanged",
    "any_order_of_operations",
    method=change(PLAIN, combine={"merge": Merge("approximate", "the second", lambda a, b, settings: dict(b.fields))}),
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
        forgetful = ParameterMaker(self.method, defaults, self.dtype, self.random_state)
        twin.rule = dataclasses.replace(self.rule)
        vars(twin.rule)["_make_parameters"] = forgetful
    return twin


fault(
    "copy_loses_settings",
    "a copy of a new learner has the default settings",
    "copy_continues_identically",
    "any_order_of_operations",
    method=LINEAR_LMS,
    kernel=reference_with("lms"),
    host=(Learner, "copy", _forgetful),
)


def _half_shared(self: Any) -> Any:
    twin = copy(self)
    if self.live_state is not None:
        twin.live_state.arrays = twin.live_state.arrays._replace(last=self.live_state.arrays.last)
    return twin


fault(
    "copy_shares_a_field",
    "a copy shares a field on which no prediction depends",
    "copy_is_independent",
    "calls_end_at_boundaries",
    "any_order_of_operations",
    method=WITH_LAST,
    kernel=KernelModule(learn=_notes_the_last),
    host=(Learner, "copy", _half_shared),
)


fault(
    "state_with_swapped_bytes",
    "the arrays of `state` have swapped bytes",
    "state_matches_declaration",
    "any_order_of_operations",
    host=(
        dataset,
        "to_dataset",
        lambda *learner: to_dataset(*learner).map(lambda a: a.astype(a.dtype.newbyteorder())),
    ),
)


def _in_half(found: Any) -> Any:
    head, arrays = found
    return head, {name: a.astype(np.float16).astype(a.dtype) for name, a in arrays.items()}


fault(
    "restored_in_half_precision",
    "restore rounds the arrays to half precision",
    "restored_state_continues_identically",
    "names_are_kept",
    "any_order_of_operations",
    "states_of_any_layout_are_restored",
    "outputs_may_be_permuted",
    "steps_from_large_states_stay_finite",
    "single_rows_from_large_states_stay_finite",
    host=(dataset, "from_dataset", lambda state: _in_half(from_dataset(state))),
)
fault(
    "loaded_in_half_precision",
    "load rounds the arrays to half precision",
    "earlier_formats_are_read",
    "saved_state_continues_identically",
    "states_of_any_layout_are_restored",
    "any_order_of_operations",
    "forged_files_are_refused",
    host=(files, "read", lambda path: _in_half(read(path))),
)
fault(
    "read_from_bytes_in_half_precision",
    "from_bytes rounds the arrays to half precision",
    "bytes_continue_identically",
    "pickle_continues_identically",
    "names_are_kept",
    "any_order_of_operations",
    host=(
        binary,
        "decode",
        lambda data: decode(data)._replace(arrays=_in_half(("", decode(data).arrays))[1]),
    ),
)
fault(
    "average_is_the_first",
    "the average of several learners is the first of them",
    "averages_as_declared",
    "averages_count_copies",
    "averaging_does_not_depend_on_the_order",
    method=change(DOUBLE, combine={"averages": ("w",), "derive": lambda fields, settings: {"double": 2 * fields["w"]}}),
    kernel=KernelModule(learn=carries_the_double),
    host=(merging, "_mean", lambda fields, name, by: fields[0][name]),
)


def _loses_a_step_of_flush(self: Any) -> Any:
    twin = copy(self)
    if twin.pending:
        flush = twin.flush

        def uncounted() -> Any:
            flush()
            twin.live_state.n_steps -= 1
            return twin

        vars(twin)["flush"] = uncounted
    return twin


fault(
    "flush_of_a_copy_is_not_counted",
    "a learner that was copied while rows were pending does not count the step of its flush",
    "copy_continues_identically",
    "any_order_of_operations",
    method=BATCHES,
    host=(Learner, "copy", _loses_a_step_of_flush),
)
