"""Faults in the rules of kernels for networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from faults.fault import fault
from faults.reference_learner import LMS, reference_with


class _AfterTheStep:
    """The rule of `lms` on a network, with the predictions after each step instead of those before it."""

    def __init__(self, network: Any, d: int, c: int, settings: Any) -> None:
        self._network = network

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        for i, x in enumerate(X):
            w = s.w[:, 0]
            e = Y[i] - self._network.predict(w, x[None])[0]
            changed = w + p.step_size[i] * (e @ self._network.jacobian(w, x))
            if not np.isfinite(changed).all():
                return i
            s.w[:, 0] = changed
            if out is not None:
                out[i] = self._network.predict(changed, x[None])[0]
        return len(X)


fault(
    "network_rule_predicts_too_late",
    "a kernel's own rule for networks returns the predictions after each step",
    "networks_are_learned_as_models",
    "predictions_do_not_know_later_rows",
    "predicts_before_each_step",
    method=LMS,
    kernel=reference_with("lms", for_network=_AfterTheStep),
)
