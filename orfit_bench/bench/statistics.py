"""What runs over several seeds and streams say: means with intervals, and which of two methods is better.

>>> estimate([1.0, 2.0, 3.0])
Estimate(mean=2.0, half=2.484137..., n=3)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import isinf, isnan, nan, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.plugins.registry import registry

if TYPE_CHECKING:
    import xarray

LEVEL = 0.95
FEWEST = 6
"""Pairs that differ below which Wilcoxon's test cannot give p < 0.05, whatever they are: 2 / 2^5 = 0.0625."""
METHOD = ("method", "settings", "model")
CASE = ("stream", "stream_settings", "protocol", "dtype", "error")
"""What, with the seed, two methods must have in common for their errors to be a pair."""
DTYPE = CASE.index("dtype")
ROUNDING = 100
"""Roundings of the numbers of the state up to which an error is that of an exact fit."""


class Estimate(NamedTuple):
    """A mean, and half its 95 % interval: NaN where n < 2."""

    mean: float
    half: float
    n: int


class Comparison(NamedTuple):
    """One method beside another, by their test errors on the same streams with the same seeds."""

    one: int
    other: int
    """The first cell of each, which names it."""
    wins: int
    losses: int
    ties: int
    """Pairs where `one` has the smaller, the greater, the same error: alike in half the digits, or both exact fits."""
    difference: float
    """Median of 2 (a - b) / (a + b) over the pairs (a, b): below 0 `one` is better."""
    effect: float
    """Matched-pairs rank-biserial correlation (Kerby 2014): 1 where `one` is better in every pair, -1 in none."""
    p: float
    """Wilcoxon's signed-rank test of the relative differences, two-sided.

    NaN, as the effect, where fewer than FEWEST pairs differ.
    """
    p_holm: float
    """p corrected for all comparisons tested (Holm 1979)."""


def estimate(values: Iterable[float]) -> Estimate:
    """Mean and half width of Student's interval of independent values; NaNs among them do not count."""
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
    """The cells measured, in groups that differ in nothing but the seed; a merged file's runs stay apart."""
    run = ("run",) if "run" in results.coords else ()
    return list(_groups(results, (*METHOD, *CASE, "backend", *run)).values())


def comparisons(results: xarray.Dataset) -> list[Comparison]:
    """Every two methods that learned a stream with the same seed, those with the most evidence first.

    A pair is a stream with a seed; where several backends or runs measured it, it has the mean of their errors.
    Cells that were not measured make no pair. Pairs of one stream with many seeds speak of that stream alone.
    """
    cases = _groups(results, (*CASE, "seed"))
    errors: dict[tuple[str, ...], dict[tuple[str, ...], float]] = defaultdict(dict)
    first: dict[tuple[str, ...], int] = {}
    for case, cells in cases.items():
        for method, measured in _groups(results, METHOD, cells).items():
            first.setdefault(method, measured[0])
            known = [e for e in results["test_error"].values[measured] if not isnan(e)]
            if known:
                errors[method][case] = float(np.mean(known))
    tested = []
    for one, other in combinations(errors, 2):
        if met := [case for case in errors[one] if case in errors[other]]:
            differences = [_difference(errors[one][case], errors[other][case], case[DTYPE]) for case in met]
            tested.append(_compared(first[one], first[other], np.array(differences)))
    corrected = holm([c.p for c in tested])
    found_all = [c._replace(p_holm=p) for c, p in zip(tested, corrected, strict=True)]
    return sorted(found_all, key=lambda c: (isnan(c.p), c.p_holm, c.p))


def holm(ps: Sequence[float]) -> list[float]:
    """The p-values corrected for their number by Holm's step-down procedure, in the order given; NaNs stay."""
    order = sorted((i for i, p in enumerate(ps) if not isnan(p)), key=lambda i: ps[i])
    corrected, largest = [nan] * len(ps), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * ps[i]))
        corrected[i] = largest
    return corrected


def _compared(one: int, other: int, differences: NDArray[np.float64]) -> Comparison:
    wins, losses = int((differences < 0).sum()), int((differences > 0).sum())
    found = Comparison(
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
    """The difference relative to the mean of both, so that errors of different sizes and units count alike.

    0 where it is rounding, for equal methods differ by rounding and by nothing else.
    """
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
    """The cells measured (of those given) that agree in these coordinates, in order of their first."""
    some = range(results.sizes["cell"]) if cells is None else cells
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    columns = [results[name].values for name in names]
    status = results["status"].values
    for i in some:
        if status[i] == "ok":
            found[tuple(str(column[i]) for column in columns)].append(i)
    return dict(found)
