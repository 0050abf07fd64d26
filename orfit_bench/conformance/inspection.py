"""The arrays inside a learner that has seen a chunk, and their layout."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from orfit_bench.learners.factory import learner_of
from orfit_bench.spec.arrays import host_dtype
from orfit_bench.spec.types import Integer, Number, SettingType
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.state import LearnerState


def state_of(learner: Any) -> LearnerState:
    """The live state."""
    state: LearnerState | None = learner.live_state
    assert state is not None
    return state


def layout_of(learner: Any) -> StateLayout:
    """The shapes of the state's arrays."""
    layout: StateLayout = learner.rule.layout(state_of(learner).sizes)
    return layout


def arrays_of(learner: Any) -> Any:
    """The arrays themselves, one attribute per field."""
    return state_of(learner).arrays


def bytes_of(arrays: Any) -> int:
    """The number of bytes of arrays of any library, at their full length."""
    return sum(math.prod(a.shape) * host_dtype(a).itemsize for a in arrays)


def host_arrays_of(learner: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Copies of the fields in host memory; growing fields are cut to the used part."""
    return layout_of(learner).arrays(arrays_of(learner))


def learned_fields(learner: Any) -> list[str]:
    """The name of the weights, or of the basis of a subspace; all fields if there is neither."""
    names = [field.name for field in layout_of(learner).fields]
    return [name for name in (learner.method.state.weights, "basis") if name in names][:1] or names


def with_kernel(learner: Any, wrap: Callable[[Any], Any]) -> Any:
    """A new learner with the same rule, whose kernel is wrapped."""
    return learner_of(replace(learner.rule, kernel=wrap(learner.rule.kernel)))


class WatchedKernel:
    """A kernel whose learning functions are called through `call(function, *arguments)`, without bound functions."""

    def __init__(self, kernel: Any, call: Callable[..., Any]) -> None:
        self._kernel, self._call = kernel, call

    def __getattr__(self, name: str) -> Any:
        if name.startswith("bind"):
            raise AttributeError(name)
        found = getattr(self._kernel, name)
        if name == "for_network":
            return lambda *given: (own := found(*given)) and WatchedKernel(own, self._call)
        return partial(self._call, found) if name in ("learn", "step", "update") else found


def numbers_outside(kind: SettingType) -> list[float]:
    """Numbers that a setting of this type refuses: beyond its finite ends, and open ends of its range."""
    if not isinstance(kind, Number | Integer):
        return []
    closed = kind.closed if isinstance(kind, Number) else "both"
    found: list[float] = []
    for end, beyond, included in ((kind.low, -1, ("both", "left")), (kind.high, 1, ("both", "right"))):
        if end is not None and abs(end) < 2**53:
            found += [end + beyond, *([] if closed in included else [end])]
    return found
