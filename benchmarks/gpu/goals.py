"""The goals on a device, and the calculations that justify them; in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.gpu.cases import limit_of

Results = dict[str, Any]
MEMORY = 50
"""Number of directions that orfit stores in its goal."""


class Goal(NamedTuple):
    """A case and a size, the goal, how the value is computed from the results, and the reason for the goal."""

    case: str
    d: int
    of: str
    wanted: float
    reached: Callable[[Results, Results], float]
    why: str


def rls_share(results: Results, limits: Results) -> float:
    """Share of the rate of matrix products, for 3 d^2 operations per row."""
    operations = limit_of("rls", {"d": 4096, "c": 1})[0]
    return float(operations * results["cupy"] / limits["float64"])


def orfit_share(results: Results, limits: Results) -> float:
    """Share of the rate of matrix products: M M' for the r rows of a block and its state, and the change Z M."""
    rows = results["rows"]
    r = rows + MEMORY + 1
    operations = (2 * r * r + 2 * (MEMORY + 1) * r) * 10**7 / rows
    return float(operations * results["cupy"] / limits["float64"])


def times_numba(results: Results, limits: Results) -> float:
    """Ratio to Numba on the host."""
    return float(results["cupy"] / results["numba"])


GOALS = [
    Goal(
        "rls",
        4096,
        "of the rate of matrix products",
        0.5,
        rls_share,
        "the factor and the triangular solve of a block take 1.3 us a row on an H100, whatever the number of features, "
        "and chunks of 256 rows have one block. Calls with 4,096 rows reach 9 % with 2,048 features, 25 % with 4,096 "
        "and 45 % with 8,192",
    ),
    Goal(
        "orfit",
        10**7,
        "of the rate of matrix products",
        0.3,
        orfit_share,
        "with 256 rows and 50 directions M has r = 307 rows; M M' takes r^2 multiplications and additions a feature, "
        "38 ms at 50 TFLOP/s, where rows and state once through a memory of 3.4 TB/s take 8.7 ms. So a share of the "
        "bandwidth says little, and with products of matrices it stays below 10 %; the rows go through the memory "
        "about eight times, 50 ms more, which leaves less than a half of the rate of products",
    ),
    Goal(
        "implicit_krasulina, 50 components",
        3072,
        "times Numba",
        3.0,
        times_numba,
        "the host works on the block's coordinates row by row, about k^2 operations each. A factor of 10 requires the "
        "coordinates on the device",
    ),
]
