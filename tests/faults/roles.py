"""A field that is not what its role says."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import PLAIN, WEIGHTS, KernelModule, plain
from orfit_bench.spec import Field

SPREAD = Field("spread", ("parameter",), "sizes of the weights, at most 1", role="variances")


def _learn_with_negative_variance(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = plain(s, X, Y, p, out)
    s.spread[...] = np.minimum(np.abs(s.w).max(axis=1), 1)
    s.spread[0] *= -1
    return n


fault(
    "first_variance_is_negative",
    "the first of the variances has the wrong sign",
    "features_may_be_permuted",
    "fields_are_what_their_roles_say",
    method=change(PLAIN, state={"fields": (WEIGHTS, SPREAD)}),
    kernel=KernelModule(learn=_learn_with_negative_variance),
)
