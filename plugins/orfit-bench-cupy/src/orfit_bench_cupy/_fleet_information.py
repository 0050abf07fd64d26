"""Fleets of ridge and kalman on the device, with a matrix for each member."""

from __future__ import annotations

import numpy as np

from orfit_bench.kernels.fleets import FleetLearn
from orfit_bench.kernels.information import weights_of_rows
from orfit_bench.spec.kernel_arguments import FleetParams, State
from orfit_bench_cupy._fleets import Call, has_room
from orfit_bench_cupy._transfers import Array, Host, learn_rows_on_host
from orfit_bench_numba import ridge


def learn_information(s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Host:
    """Learn rows of ridge; on the host if predictions are needed, since each of them needs a factorization."""
    d, r = X.shape[1], Y.shape[1]
    room = d * r + d + 1
    if not (out is None and len(X) and has_room(room, X)):
        found: Host = learn_rows_on_host(ridge.fleet_learn, s, X, Y, p, out)
        return found
    call, keeps_l = Call(X, Y, p, None), has_room(room + d * d, X)
    L, m = call.gather(s.information), call.gather(s.moment)
    ff = p.forgetting_factor
    more = *call.values(ff), *call.values(weights_of_rows(ff, p.t, p.starts))
    learned = call.launch("learn_information", (L, m), more, room + keeps_l * d * d, np.int32(keeps_l))
    call.scatter(s.information, L)
    call.scatter(s.moment, m)
    return learned


def learn_filters(learn_alone: FleetLearn, s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Host:
    """Learn rows of kalman; by `learn_alone` on the host if a row has no noise."""
    d, r = X.shape[1], Y.shape[1]
    room = 2 * d * r + 7 * d + r + 1
    model = p.dynamics if len(X) else None
    if model is None or not (has_room(room, X) and (model.observation_noise > 0).all()):
        found: Host = learn_rows_on_host(learn_alone, s, X, Y, p, out)
        return found
    call, info = Call(X, Y, p, out), np.finfo(np.dtype(X.dtype))
    given = [np.zeros((1, 0)) if a is None else a.reshape(len(a), -1) for a in (model.transition, model.process_noise)]
    matrices = 3 if d > 1 and any(a.shape[1] == d * d for a in given) else 1
    keeps_p = has_room(room + matrices * d * d, X)
    work = call.xp.zeros((len(call.members), 2, d, d) if matrices > 1 and not keeps_p else 1, dtype=X.dtype)
    fields = *(call.gather(a) for a in (s.covariance, s.mean, s.scale)), work
    effect = call.xp.asarray(np.ascontiguousarray(model.is_dynamic, np.int32))
    motion = *(call.place(a if a.size else np.zeros((1, 1))) for a in given), effect
    noise = call.values(np.broadcast_to(model.observation_noise, len(p.t)))
    more = *motion, *noise, *call.values(p.t - 1, np.int64), call.degraded
    sizes = [n for a in given for n in (a.shape[1], len(a) > 1)] + [len(model.is_dynamic) > 1, keeps_p]
    numbers = (call.dtype.type(a) for a in (info.eps, float(info.eps) ** (1 / 3), info.max))
    rest = *(np.int32(n) for n in sizes), *numbers
    learned = call.launch("learn_filters", fields, more, room + keeps_p * matrices * d * d, *rest)
    for field, part in zip((s.covariance, s.mean, s.scale), fields, strict=False):
        call.scatter(field, part)
    s.precision_lost[call.members_that_lost_digits()] = 1
    return learned
