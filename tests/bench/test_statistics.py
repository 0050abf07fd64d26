"""Means with intervals, and comparisons of two methods, against other ways to compute the same numbers."""

from itertools import product
from math import isnan, nan

import numpy as np
import pytest
from helpers.outcomes import created, failed, table
from scipy import stats

from orfit_bench.bench.statistics import FEWEST, comparisons, distinct, estimate, holm, over_seeds, samples

DTYPES = ("float64", "float32")


def pair(ours, theirs, dtype="float64", **more):
    """Results of lms and rls with these errors, one seed each."""
    cells = [
        created(method, seed=seed, test_error=error, dtype=dtype, **more)
        for method, errors in (("lms", ours), ("rls", theirs))
        for seed, error in enumerate(errors)
    ]
    (found,) = comparisons(table(cells))
    return found


class TestEstimate:
    def test_as_scipy_has_it(self):
        values = np.random.default_rng(0).normal(3.0, 2.0, 7)
        low, high = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
        found = estimate(values)
        assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high), rel=1e-12)

    def test_interval_has_its_nominal_coverage(self):
        draws = np.random.default_rng(1).standard_normal((2000, 4))
        held = np.mean([abs(e.mean) < e.half for e in map(estimate, draws)])
        assert 0.935 < held < 0.965  # three standard deviations of 2,000 draws

    def test_missing_intervals(self):
        assert estimate([]) == pytest.approx((nan, nan, 0), nan_ok=True)
        assert estimate([2.0, nan]) == pytest.approx((2.0, nan, 1), nan_ok=True)


def test_holm_by_hand():
    assert holm([0.01, 0.04, nan, 0.03, 0.005]) == pytest.approx([0.03, 0.06, nan, 0.06, 0.02], nan_ok=True)
    assert holm([0.9, 0.8]) == [1.0, 1.0]


class TestPairs:
    def test_against_all_signs(self):
        """The p value of Wilcoxon's test is the share of all sign patterns that are at least as far from balance."""
        ours, theirs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [1.1, 2.9, 2.8, 5.0, 6.5, 7.1, 10.0]
        differences = np.array([2 * (a - b) / (a + b) for a, b in zip(ours, theirs, strict=True)])
        ranks = np.argsort(np.argsort(np.abs(differences))) + 1
        seen = (np.sign(differences) * ranks).sum()
        sums = np.array([np.dot(signs, ranks) for signs in product((-1, 1), repeat=7)])
        found = pair(ours, theirs)
        assert (found.wins, found.losses, found.ties) == (6, 1, 0)
        assert found.p == pytest.approx(np.mean(np.abs(sums) >= abs(seen)), rel=1e-12)
        assert found.effect == pytest.approx(-seen / ranks.sum())
        assert found.difference == pytest.approx(np.median(differences))

    def test_too_few(self):
        few = pair(range(1, FEWEST), range(2, FEWEST + 1))
        assert (few.wins, few.losses) == (FEWEST - 1, 0)
        assert isnan(few.p)
        assert isnan(few.p_holm)
        assert pair(range(1, FEWEST + 1), range(2, FEWEST + 2)).p == pytest.approx(2 / 2**FEWEST)

    @pytest.mark.parametrize(("dtype", "distance"), [("float64", 1e-12), ("float32", 1e-5)])
    def test_rounding_is_a_tie(self, dtype, distance):
        errors = np.linspace(1, 2, 7)
        found = pair(errors, errors * (1 + distance), dtype)
        assert (found.wins, found.losses, found.ties) == (0, 0, 7)
        assert pair(errors, errors * (1 + 100 * distance**0.5), dtype).wins == 7

    @pytest.mark.parametrize(("dtype", "exact"), [("float64", 1e-15), ("float32", 1e-6)])
    def test_exact_fits_are_ties(self, dtype, exact):
        errors = np.linspace(0, exact, 7)
        assert pair(errors, 5 * errors, dtype).ties == 7
        assert pair(errors, errors + 1e4 * exact, dtype).wins == 7

    def test_ties_do_not_depend_on_other_cells(self):
        cells = [created(m, seed=s, test_error=1 + e) for m, e in (("lms", 0), ("rls", 2e-4)) for s in range(6)]
        (alone,) = comparisons(table(cells))
        for other in (created("ogd", dtype="float32"), created("ogd", test_error=1e300)):
            neighbour = [c for c in comparisons(table([*cells, other])) if c.p == c.p]
            assert neighbour == [alone]
        assert (alone.wins, alone.p) == (6, 2 / 2**6)

    def test_no_cells(self):
        assert comparisons(table([created()]).isel(cell=[])) == []

    def test_a_perfect_and_an_infinite_error_have_their_places(self):
        found = pair([0.0, 0.0, 1.0, np.inf], [0.0, 1.0, np.inf, np.inf])
        assert (found.wins, found.losses, found.ties) == (2, 0, 2)

    def test_backends_make_one_pair(self):
        cells = [created(m, b, test_error=e) for m, e in (("lms", 1.0), ("rls", 2.0)) for b in ("numpy", "numba")]
        (found,) = comparisons(table(cells))
        assert (found.wins, found.losses, found.ties) == (1, 0, 0)

    def test_only_the_same_stream_and_seed_makes_a_pair(self):
        assert not comparisons(table([created("lms", seed=0), created("rls", seed=1)]))
        assert not comparisons(table([created("lms", d=8), created("rls", d=16)]))
        assert not comparisons(table([created("lms"), failed("rls"), created("ogd", test_error=nan)]))

    def test_seeds_with_the_same_rows_make_one_pair(self):
        cells = [created(m, seed=s, test_error=e) for m, e in (("lms", 2.0), ("rls", 1.0)) for s in range(8)]
        results = table(cells)
        assert comparisons(results)[0].losses == 8
        results["rows_hash"].values[:] = "0123456789abcdef"  # like the hash of a file
        (found,) = comparisons(results)
        assert (found.wins, found.losses, found.ties) == (0, 1, 0)
        assert isnan(found.p)
        assert distinct(results["test_error"].values, samples(results), range(8)) == [2.0]

    def test_dtypes_and_protocols_on_the_same_rows_make_one_pair(self):
        methods = ("lms", 2.0), ("rls", 1.0)
        cells = [created(m, seed=s, test_error=e, dtype=t) for m, e in methods for s in range(3) for t in DTYPES]
        (found,) = comparisons(table(cells))
        assert (found.wins, found.losses, found.ties) == (0, 3, 0)
        assert found.difference == pytest.approx(2 / 3)
        results = table([c for c in cells if c["cell"]["dtype"] == "float64"] * 2)
        results["protocol"].values[6:] = "2 passes"
        (found,) = comparisons(results)
        assert (found.wins, found.losses, found.ties) == (0, 3, 0)

    def test_settings_make_methods(self):
        cells = [created(settings={"step_size": s}, test_error=s) for s in (0.1, 0.2)]
        (found,) = comparisons(table(cells))
        assert (found.one, found.other, found.wins) == (0, 1, 1)


def test_groups_differ_in_the_seed_alone():
    cells = [created(m, b, seed=s) for m in ("lms", "rls") for b in ("numpy", "numba") for s in (0, 1)]
    found = over_seeds(table([*cells, failed(seed=2)]))
    assert found == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_rows_that_a_protocol_changes_make_one_pair():
    cells = [created(m, seed=s, test_error=e) for m, e in (("lms", 2.0), ("rls", 1.0)) for s in range(3)] * 2
    results = table(cells)
    results["protocol"].values[6:] = "intercept"
    hashes = [f"{kind}{seed}" for kind in "ab" for _ in range(2) for seed in range(3)]
    results["rows_hash"] = ("cell", np.array([h.ljust(16, "0") for h in hashes]))
    (found,) = comparisons(results)
    assert (found.wins, found.losses, found.ties) == (0, 3, 0)
