"""Rows with weights, and standard deviations: the learner computes both where the rows are stored."""

import pytest

import orfit_bench as ob
from orfit_bench.conformance import conform

WEIGHTED = [name for name, method in ob.methods().items() if method.kernel.weighting]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", WEIGHTED)
def test_laws_of_weights(in_place, method):
    laws = [law.name for law in ob.methods()[method].theory.laws if "weight" in law.name]
    assert laws
    report = conform(method, backends=[in_place], dtypes=["float64"], only=[f"law_{name}" for name in laws])
    assert report.passed, str(report)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["kalman", "ridge", "rls"])
def test_laws_of_predictive_distributions(in_place, method):
    laws = [law.name for law in ob.methods()[method].theory.laws if law.check.__module__.endswith(".uncertainty")]
    assert laws
    report = conform(method, backends=[in_place], dtypes=["float64"], only=[f"law_{name}" for name in laws])
    assert report.passed, str(report)
