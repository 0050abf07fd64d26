"""Rows, targets and a learner for the tests of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

import orfit_bench as ob

equal = np.testing.assert_array_equal
rng = np.random.default_rng(0)
X = rng.standard_normal((8, 3))
y = X @ [1.0, 2.0, 3.0]


def lms() -> Any:
    return ob.create("lms", backend="numpy", step_size=0.1)
