"""Statistics over seeds and streams: means with confidence intervals, and pairwise comparisons of methods.

>>> estimate([1.0, 2.0, 3.0])
Estimate(mean=2.0, half=2.484137..., n=3)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import isinf, isnan, nan, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.bench.collection import runs
from orfit_bench.bench.variables import ROWS_HASH
from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import xarray

LEVEL = 0.95
FEWEST = 6
"""Smallest number of differing pairs for which Wilcoxon's test can give p < 0.05 (5 give 2 / 2^5 = 0.0625)."""
METHOD = ("method", "settings", "model")
CASE = ("stream", "stream_settings", "error", "protocol", "dtype")
"""Coordinates that, with the sample, must be equal for the errors of two methods to be compared."""
ROUNDING = 100
"""An error below this multiple of the machine epsilon counts as an exact fit."""


class Estimate(NamedTuple):
    """A mean, and half the width of its 95 % interval (NaN if n < 2)."""

    mean: float
    half: float
    n: int


class Case(NamedTuple):
    """What must be equal for the errors of two methods to be compared."""

    rows: tuple[str, ...]
    """The stream, its settings, the kind of error and the sample: one pair, whatever the protocol and the dtype."""
    protocol: str
    dtype: str


class PairwiseComparison(NamedTuple):
    """Comparison of two methods by their test errors on the same streams and seeds."""

    one: int
    other: int
    """The first cell of each method, which identifies it."""
    wins: int
    losses: int
    ties: int
    """Number of pairs where `one` has the smaller, larger or same error (equal to half the digits, or exact fits)."""
    difference: float
    """Median of 2 (a - b) / (a + b) over the pairs (a, b); negative if `one` is better."""
    effect: float
    """Matched-pairs rank-biserial correlation (Kerby 2014): 1 if `one` is better in every pair, -1 if in none."""
    p: float
    """p-value of the two-sided Wilcoxon signed-rank test of the relative differences.

    p and effect are NaN if fewer than FEWEST pairs differ.
    """
    p_holm: float
    """p with Holm's correction for all comparisons (Holm 1979)."""


def estimate(values: Iterable[float]) -> Estimate:
    """Return the mean and the half width of Student's interval of independent values, ignoring NaN."""
    known = np.array([v for v in values if not isnan(v)])
    n = len(known)
    if n == 0:
        return Estimate(nan, nan, 0)
    mean = float(known.mean())
    if n == 1 or isinf(mean):
        return Estimate(mean, nan, n)
    from scipy.special import stdtrit

    return Estimate(mean, float(stdtrit(n - 1, (1 + LEVEL) / 2) * known.std(ddof=1) / sqrt(n)), n)


def over_seeds(results: xarray.Dataset) -> list[list[int]]:
    """Return the measured cells in groups that differ only in the seed; runs are separate groups."""
    labelled = results.assign_coords(run=("cell", runs(results)))
    return list(_groups(labelled, (*METHOD, *CASE, "backend", "run")).values())


def comparisons(results: xarray.Dataset) -> list[PairwiseComparison]:
    """Compare all pairs of methods that learned common streams and seeds, smallest p-values first.

    A pair of errors belongs to one stream and seed. Errors of several backends or runs are averaged first, as are those
    of several seeds with the same rows, such as the rows of a file; then the differences between the two methods over
    protocols and dtypes. If all pairs belong to one stream, the result applies only to that stream.
    """
    cases = _groups(results.assign_coords(sample=("cell", samples(results))), (*CASE, "sample"))
    errors: dict[tuple[str, ...], dict[Case, float]] = defaultdict(dict)
    first: dict[tuple[str, ...], int] = {}
    for (*rows, protocol, dtype, sample), cells in cases.items():
        case = Case((*rows, sample), protocol, dtype)
        for method, measured in _groups(results, METHOD, cells).items():
            first.setdefault(method, measured[0])
            known = [e for e in results["test_error"].values[measured] if not isnan(e)]
            if known:
                errors[method][case] = float(np.mean(known))
    tested = []
    for one, other in combinations(errors, 2):
        differences: dict[tuple[str, ...], list[float]] = defaultdict(list)
        for case in errors[one]:
            if case in errors[other]:
                found = _difference(errors[one][case], errors[other][case], case.dtype)
                differences[case.rows].append(found)
        if differences:
            means = np.array([np.mean(found) for found in differences.values()])
            tested.append(_compared(first[one], first[other], means))
    corrected = holm([c.p for c in tested])
    compared = [c._replace(p_holm=p) for c, p in zip(tested, corrected, strict=True)]
    return sorted(compared, key=lambda c: (isnan(c.p), c.p_holm, c.p))


def distinct(values: NDArray[np.float64], samples: Sequence[str], cells: Sequence[int]) -> list[float]:
    """The values of cells; cells with the same one of `samples` and the same value count once."""
    return list({(samples[i], value): value for i in cells if not isnan(value := float(values[i]))}.values())


def samples(results: xarray.Dataset) -> list[str]:
    """An identifier of the rows of each cell among the cells of its stream: their hash, or the seed.

    A protocol can change the rows of a stream: its cells have the identifier of those with the same seed in the first
    protocol.
    """
    hashes = results[ROWS_HASH].values if ROWS_HASH in results.coords else [""] * results.sizes["cell"]
    own = [str(known or f"seed {seed}") for known, seed in zip(hashes, results["seed"].values, strict=True)]
    streams = zip(*(results[name].values.astype(str) for name in ("stream", "stream_settings", "seed")), strict=True)
    first: dict[tuple[Any, ...], tuple[str, str]] = {}
    found = []
    for sample, stream, protocol in zip(own, streams, results["protocol"].values.astype(str), strict=True):
        of_first = first.setdefault(stream, (protocol, sample))
        found.append(sample if protocol == of_first[0] else of_first[1])
    return found


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p-values with Holm's step-down correction, in the same order; NaN stays NaN."""
    order = sorted((i for i, p in enumerate(ps) if not isnan(p)), key=lambda i: ps[i])
    corrected, largest = [nan] * len(ps), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * ps[i]))
        corrected[i] = largest
    return corrected


def _compared(one: int, other: int, differences: NDArray[np.float64]) -> PairwiseComparison:
    wins, losses = int((differences < 0).sum()), int((differences > 0).sum())
    found = PairwiseComparison(
        one, other, wins, losses, len(differences) - wins - losses, float(np.median(differences)), nan, nan, nan
    )
    if wins + losses < FEWEST:
        return found
    from scipy.stats import rankdata, wilcoxon  # slow to import

    moved = differences[differences != 0]
    ranks = rankdata(np.abs(moved))
    effect = float(-(np.sign(moved) * ranks).sum() / ranks.sum())
    return found._replace(effect=effect, p=float(wilcoxon(moved).pvalue))


def _difference(a: float, b: float, dtype: str) -> float:
    """The difference relative to the mean of both; 0 if it is a rounding difference."""
    epsilon = float(np.finfo(dtype).eps)
    floor = max(registry().metrics["test_error"].floor, ROUNDING * epsilon)
    a, b = max(a, floor), max(b, floor)
    if a == b:
        return 0.0
    if isinf(a) or isinf(b):
        return 2.0 if isinf(a) else -2.0
    difference = 2 * (a - b) / (a + b)
    return difference if abs(difference) > sqrt(epsilon) else 0.0


def _groups(
    results: xarray.Dataset, names: Sequence[str], cells: Iterable[int] | None = None
) -> dict[tuple[str, ...], list[int]]:
    """The measured cells grouped by these coordinates, in order of first occurrence."""
    some = range(results.sizes["cell"]) if cells is None else cells
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    columns = [results[name].values for name in names]
    status = results["status"].values
    for i in some:
        if status[i] == "ok":
            found[tuple(str(column[i]) for column in columns)].append(i)
    return dict(found)
