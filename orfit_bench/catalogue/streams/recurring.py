"""A few tasks of one row each, repeated in a cycle, with a common exact solution."""

from __future__ import annotations

import numpy as np

from orfit_bench.catalogue.shared.lengths import unit_rows
from orfit_bench.catalogue.streams.common import HELD_OUT, OUTPUTS, SEED, features, rows, true_weights, with_targets
from orfit_bench.spec.data import Data
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.stream import Stream
from orfit_bench.spec.types import Integer


def make(n: int, d: int, period: int, outputs: int, seed: int) -> Data:
    """X (n, d) of unit rows with x_t = x_{t + period}, y = X W without noise.

    The boundaries in `tasks` are those of whole cycles (the last may be cut short), so an entry of the error
    matrix is the mean over all tasks of a cycle. Test and validation rows are unit vectors at random in the
    span of the recurring rows: never learned, yet determined by them.
    """
    rng = np.random.default_rng(seed)
    W = true_weights(d, outputs, rng)
    distinct = unit_rows(rng.standard_normal((period, d)))
    X, y = (a[np.arange(n) % period] for a in with_targets(distinct, W))
    test, validation = (unit_rows(rng.standard_normal((HELD_OUT, period)) @ distinct) for _ in range(2))
    cycles = (*range(0, n, period), n)
    return Data(X, y, with_targets(test, W), with_targets(validation, W), cycles)


RECURRING = Stream(
    "recurring",
    "tasks of one unit row each, recurring in a cycle",
    make,
    (
        rows(),
        features(),
        Setting("period", Integer(1), 10, "number of rows after which a row is repeated"),
        OUTPUTS,
        SEED,
    ),
    source="L. Peng, R. Vidal, Mathematics of Continual Learning, 2025, Definition 1, for rows with a common exact "
    "solution (Assumption 1 itself excludes repeated rows)",
)
