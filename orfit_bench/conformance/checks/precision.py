"""The digits that a kernel computes with."""

from __future__ import annotations

import numpy as np

from orfit_bench.conformance.check import Gap, check, require
from orfit_bench.conformance.inspection import arrays_of
from orfit_bench.conformance.tolerance import apart, look, nudge_of
from orfit_bench.conformance.trial import Trial


def needs_float32(trial: Trial) -> str:
    """Only kernels that compute in single precision."""
    return "" if trial.can("float32") else "its kernel lacks float32"


def needs_float32_learner(trial: Trial) -> str:
    """Only learners in single precision."""
    return "" if trial.dtype == "float32" else "it is in double precision itself"


@check(needs_float32)
def dtype_is_preserved(trial: Trial) -> None:
    """State and predictions are in the learner's dtype, from the first row on, whatever dtype the rows come in."""
    chunk = trial.rows()
    wide = chunk.numbers(lambda a: a.astype(float))
    learner = trial.create()
    for part in (wide.cut(0, 0), wide.cut(0, 1), wide.cut(1, 24)):
        told = trial.learn(learner, part)
        answers = trial.ask(learner, part.X)
        for what, array in (("prequential", told), ("an answer", answers), *arrays_of(learner)._asdict().items()):
            kind = getattr(array, "dtype", learner.dtype)
            require(what == "count" or kind == learner.dtype, f"{what} is of {kind}, want {learner.dtype}")


@check(needs_float32_learner)
def float32_is_close_to_float64(trial: Trial) -> Gap:
    """In single precision the state and the predictions are within its roundings of those in double precision."""
    chunk = trial.rows()
    mine, wide = trial.create(), trial.create(dtype="float64")
    told = trial.learn(mine, chunk), trial.learn(wide, chunk)
    return trial.gap(chunk, (mine, wide), (told[0], told[1]))


@check(every=False)
def full_precision_is_used(trial: Trial) -> None:
    """Rows that differ in digits which the dtype has, and no shorter one, leave a state that differs too."""
    chunk, nudge = trial.rows(), nudge_of(trial.dtype)
    other = chunk.numbers(lambda a: np.asarray(a * (1 + nudge * np.resize([1, -1], a.shape)), a.dtype))
    found, _ = apart(look(trial.learned(other)), look(trial.learned(chunk)))
    require(found > 0, f"a relative change of {nudge:.0e} of the rows' numbers changes nothing")
