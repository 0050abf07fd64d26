"""The arguments of the CUDA kernel of each method; calls that do not fit into shared memory learn on the host."""

from __future__ import annotations

import numpy as np

from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_cupy._fleets import LANES, Call, has_room
from orfit_bench_cupy._transfers import Array, Host, learn_rows_on_host
from orfit_bench_numba import lms, nlms, rls


def learn_covariances(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Host:
    """Learn rows of rls and class_rls: a member reads and writes its P once, in shared memory if it fits.

    Members that store a basis (forgetting_factor=0) learn on the host.
    """
    room = X.shape[1] * Y.shape[1] + 3 * X.shape[1] + Y.shape[1] + 1
    if not (hasattr(s, "P") and len(X) and has_room(room, X)):
        found: Host = learn_rows_on_host(rls.fleet_learn, s, X, Y, p, out)
        return found
    call, info = Call(X, Y, p, out), np.finfo(np.dtype(X.dtype))
    P, w = call.gather(s.P), call.gather(s.w)
    keeps_p = has_room(room + call.d**2, X)
    more = *call.values(p.forgetting_factor), call.degraded
    numbers = (np.int32(keeps_p), *(call.dtype.type(a) for a in (info.eps, float(info.eps) ** (1 / 3), info.max)))
    learned = call.launch("learn_covariances", (P, w), more, room + keeps_p * call.d**2, *numbers)
    call.scatter(s.P, P)
    call.scatter(s.w, w)
    s.precision_lost[call.members_that_lost_digits()] = 1
    return learned


def learn_gradients(s: State, X: Array, Y: Array, p: FleetParams, eps: Host | None, out: Array | None) -> Host:
    """Learn rows of lms, or of nlms with its eps (m,)."""
    room = X.shape[1] * Y.shape[1] + X.shape[1] + LANES * (Y.shape[1] + 1) + Y.shape[1] + 1
    if not (len(X) and has_room(room, X)):
        found: Host = learn_rows_on_host((lms if eps is None else nlms).fleet_learn, s, X, Y, p, out)
        return found
    call, info = Call(X, Y, p, out), np.finfo(np.dtype(X.dtype))
    w = call.gather(s.w)
    more = *call.values(p.step_size), *call.values(np.zeros(1) if eps is None else eps)
    numbers = np.int32(eps is not None), call.dtype.type(info.tiny / info.eps), call.dtype.type(info.max)
    learned = call.launch("learn_gradients", (w,), more, room, *numbers)
    call.scatter(s.w, w)
    return learned
