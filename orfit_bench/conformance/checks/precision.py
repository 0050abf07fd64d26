"""The digits that a kernel computes with."""

from __future__ import annotations

import numpy as np

from orfit_bench.conformance.check import check, require
from orfit_bench.conformance.tolerance import apart, look, nudge_of
from orfit_bench.conformance.trial import Trial


@check(every=False)
def every_digit_counts(trial: Trial) -> None:
    """Rows that differ in digits which the dtype has, and no shorter one, leave a state that differs too."""
    chunk, nudge = trial.rows(), nudge_of(trial.dtype)
    other = chunk.numbers(lambda a: np.asarray(a * (1 + nudge * np.resize([1, -1], a.shape)), a.dtype))
    found, _ = apart(look(trial.learned(other)), look(trial.learned(chunk)))
    require(found > 0, f"a relative change of {nudge:.0e} of the rows' numbers changes nothing")
