"""What a filter says of the past, once it knows what came after."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.check import Gap, check, worst
from orfit_bench.conformance.rows import Chunk
from orfit_bench.conformance.trial import Trial


def needs_smoother(trial: Trial) -> str:
    """Only filters smooth, and only kernels with `rts_smooth`."""
    return "" if trial.can("smoothing") else "it has no smoother"


def needs_smoother_and_reference(trial: Trial) -> str:
    """There must be another smoother to agree with."""
    return needs_smoother(trial) or trial.reference_lacks


@check(needs_smoother)
def last_smoothed_state_is_filtered(trial: Trial) -> Gap:
    """The last smoothed state is the filtered one, and smoothing leaves the learner as it was, to the bit."""
    chunk = trial.rows()
    learner, filtered = trial.learned(chunk.cut(0, 4)), trial.learned(chunk)
    rest, before = chunk.cut(4, 24), trial.learned(chunk.cut(0, 4))
    found = learner.smooth(rest.X, rest.y, **rest.along)
    trial.same(learner, before, "after smoothing")
    last = {name: found[name].values[-1] for name in ("mean", "covariance")}
    return trial.gap(chunk, *((a, filtered.state()[name].values) for name, a in last.items()), of="the last")


@check(needs_smoother_and_reference)
def smoothing_agrees_with_reference(trial: Trial) -> Gap:
    """Every smoothed mean and covariance is that of the reference backend."""
    chunk = trial.rows()
    prior = trial.create().settings["initial_covariance"]  # that all others come from: some end as its rounding alone

    def smoothed(name: str, scale: Any) -> Gap:
        def act(trial: Trial, learner: Any, chunk: Chunk) -> Any:
            return np.append(learner.smooth(chunk.X, chunk.y, **chunk.along)[name].values, scale)

        mine, other = (act(t, t.create(), chunk) for t in (trial, trial.truth))
        return trial.gap(chunk, (mine, other), of=name, act=act)

    return worst([smoothed("mean", 0.0), smoothed("covariance", prior)])
