"""States with numbers near the largest of their dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import NotApplicable
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.learners.restoring import restore


def large_fields(learner: Any) -> list[str]:
    """The numeric fields with a nonzero entry, except roots, whose squares would overflow."""
    fields = [f.name for f in layout_of(learner).fields if f.compared == "entries" and not f.role.endswith("root")]
    arrays = host_arrays_of(learner)
    return [name for name in fields if arrays[name].dtype.kind == "f" and arrays[name].any()]


def with_large_field(context: CheckContext, learner: Any, name: str, share: float) -> Any:
    """A learner in the same state, with one field scaled so that its largest entry is a share of the largest float."""
    state, largest = learner.state(), float(np.finfo(context.dtype).max)
    values = state[name].values
    values[...] = values / abs(values).max() * values.dtype.type(share * largest)
    try:
        return restore(state)
    except ValueError as error:
        raise NotApplicable(f"a state with a large {name} is refused: {error}") from error
