"""Fields with wrong roles, and components with other signs than their basis."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault
from faults.reference_learner import OJA, PLAIN, WEIGHTS, KernelModule, plain, reference_kernel
from orfit_bench.learners.subspace import Subspace
from orfit_bench.spec import Field

components: Any = Subspace.components_
fault(
    "components_have_the_opposite_signs",
    "components_ are the opposite of the directions of the basis",
    "components_have_the_signs_of_the_basis",
    "state_matches_declaration",
    method=OJA,
    kernel=reference_kernel("oja"),
    host=(Subspace, "components_", property(lambda self: -components.fget(self))),
)

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
