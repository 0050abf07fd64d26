"""The columns of classes in the state of a fleet: new ones are added, and removed if no member has seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from orfit_bench.learners.fleets.state import UNKNOWN, FleetState
from orfit_bench.learners.targets import OF_CLASSES
from orfit_bench.spec.arrays import enlarged
from orfit_bench.state.state import Label


def with_new_classes(state: FleetState, fields: Sequence[Any], classes: tuple[Label, ...]) -> FleetState:
    """The state with columns of zeros for further classes at the end; unchanged if there are none."""
    more = len(classes) - len(state.classes)
    if not more:
        return state
    order = np.pad(state.order, ((0, 0), (0, more)), constant_values=UNKNOWN)

    def widen(a: Any, axis: int) -> Any:
        return enlarged(a, (*a.shape[:axis], a.shape[axis] + more, *a.shape[axis + 1 :]))

    return _with_columns(state, fields, classes, order, widen)


def without_unseen_classes(state: FleetState, fields: Sequence[Any]) -> FleetState:
    """The state without the classes that no member has seen."""
    seen = np.flatnonzero((state.order != UNKNOWN).any(axis=0))
    if len(seen) == len(state.classes):
        return state
    classes = tuple(state.classes[i] for i in seen)

    def narrow(a: Any, axis: int) -> Any:
        xp = a.__array_namespace__()
        return xp.take(a, xp.asarray(seen), axis=axis)

    return _with_columns(state, fields, classes, state.order[:, seen], narrow)


def _with_columns(
    state: FleetState, fields: Sequence[Any], classes: tuple[Label, ...], order: Any, change: Callable[[Any, int], Any]
) -> FleetState:
    """The state with other classes; change(a, axis) returns an array with other entries along an axis of classes."""
    changed: dict[str, Any] = {}
    for f in fields:
        for axis in [axis for axis, dim in enumerate(f.dims, start=1) if dim in OF_CLASSES]:
            changed[f.name] = change(changed.get(f.name, getattr(state.arrays, f.name)), axis)
    sizes = state.sizes._replace(n_outputs=len(classes))
    return replace(state, sizes=sizes, arrays=state.arrays._replace(**changed), classes=classes, order=order)
