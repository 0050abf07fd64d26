"""Fleets of oja and apa on the device. Rows that a kernel refuses are learned on the host."""

from __future__ import annotations

from functools import partial

import numpy as np

from orfit_bench.kernels.fleets import StepOnTargets, learn_with_rest, on_targets
from orfit_bench.kernels.guards import moderate_size
from orfit_bench.spec.arrays import enlarged, take
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_cupy._fleets import LANES, Call, has_room
from orfit_bench_cupy._transfers import Array, Host, fetch, learn_rows_on_host
from orfit_bench_numba import apa, oja

LARGEST_GROWTH = 100.0
"""Largest growth of |C x|^2 by a row that the kernel of oja learns; its square root is the factor of lost precision."""
RENEWAL_PERIOD = 1000
"""Rows after which a basis is orthonormalized on the host."""
MAX_INVERSE = 64.0
"""Largest inverse of A A', relative to that of orthogonal rows of equal length, that the kernel of apa uses."""
MAX_CONDITION = 1e6
"""Windows with a larger condition number (for float64) are solved by an SVD."""


def learn_subspaces(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Host:
    """Learn rows of oja."""
    d, k = s.basis.shape[1:]
    room = 4 * k + d + LANES * (k + 1)
    if not (len(X) and has_room(room, X)):
        found: Host = learn_rows_on_host(oja.fleet_learn, s, X, Y, p, out)
        return found
    keeps_c = has_room(room + d * k, X)

    def advance(places: Host, learned: Host) -> None:
        call = Call(X, Y, p, None, places, learned)
        C, more = call.gather(s.basis), (*call.values(p.step_size), *call.values((p.t - 1 + learned)[places], np.int64))
        limits = np.int32(k), np.int32(keeps_c), np.int32(RENEWAL_PERIOD), call.dtype.type(LARGEST_GROWTH)
        learned[places] += call.launch("learn_subspaces", (C,), more, room + keeps_c * d * k, *limits)
        call.scatter(s.basis, C)

    return learn_with_rest(advance, partial(learn_row_each_on_host, oja.step_members, s, X, Y, p, out), p)


def learn_windows(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Host:
    """Learn rows of apa; on the host if a window can have as many rows as features, or more."""
    d, r, order = X.shape[1], Y.shape[1], int(p.projection_order[0]) if len(X) else 0
    room = d * r + order * (d + r) + r + order * (2 * order + 2 * r + 1)
    if not (0 < order <= d and has_room(room, X)):
        found: Host = learn_rows_on_host(apa.fleet_learn, s, X, Y, p, out)
        return found
    dtype = np.dtype(X.dtype)
    condition = MAX_CONDITION if dtype.itemsize == 8 else 0.25 / float(np.finfo(dtype).eps) ** 0.5

    def advance(places: Host, learned: Host) -> None:
        call = Call(X, Y, p, out, places, learned)
        w, *window = (call.gather(field) for field in (s.w, s.rows, s.targets))
        rows, targets = (enlarged(a, (len(a), order, a.shape[2])) for a in window)
        counts = call.values(s.count[call.members, 0], np.int64)
        more = *call.values(p.step_size), *call.values(p.eps[places])
        limits = (call.dtype.type(a) for a in (MAX_INVERSE, condition**2, moderate_size(dtype)))
        fields = w, rows, targets, *counts
        went_on = call.launch("learn_windows", fields, more, room, np.int32(order), *limits)
        learned[places] += went_on
        for field, part in ((s.w, w), (s.rows, rows), (s.targets, targets)):
            call.scatter(field, part if part is field else part[:, : field.shape[1]])
        s.count[call.members, 0] = np.minimum(s.count[call.members, 0] + went_on, order)

    return learn_with_rest(advance, partial(learn_row_each_on_host, on_targets(apa.step_members), s, X, Y, p, out), p)


def learn_row_each_on_host(
    step: StepOnTargets, s: State, X: Array, Y: Array, p: FleetParams, out: Array | None, j: Host, row: Host
) -> Host:
    """Learn one row of each of the members j by a step of the reference, on copies of their fields in host memory."""
    members, here = p.members[j], [name for name in s._fields if isinstance(getattr(s, name), np.ndarray)]
    there = [name for name in s._fields if name not in here]
    x, y, *fields = fetch(take(X, row), take(Y, row), *(take(getattr(s, name), members) for name in there))
    part = s._replace(**dict(zip(there, fields, strict=True)), **{name: getattr(s, name)[members] for name in here})
    predictions = None if out is None else np.empty(out.shape, out.dtype)
    applied: Host = step(part, x, y, p, j, row, predictions)
    xp = X.__array_namespace__()
    for name in here:
        getattr(s, name)[members] = getattr(part, name)
    for name in there:
        getattr(s, name)[xp.asarray(members)] = xp.asarray(getattr(part, name))
    if out is not None and predictions is not None:
        out[xp.asarray(row)] = xp.asarray(predictions[row])
    return applied
