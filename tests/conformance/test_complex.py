"""The kit at complex dtypes: kernels that forget a conjugation fail, and those without a complex form are left out."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.cases import offering

import orfit_bench as ob
from orfit_bench.catalogue.laws.complex_numbers import as_real
from orfit_bench.conformance import conform
from orfit_bench.conformance.plan import plan_checks
from orfit_bench.conformance.result import FAILED
from orfit_bench.kernels.loops import make_learn, make_subspace_learn
from orfit_bench_numpy import oja
from orfit_bench_numpy.lms import update

EVIDENCE = ("agrees_with_reference", "law_complex_steps")


def step_along_the_row(s: Any, J: Any, E: Any, p: Any) -> bool:
    return update(s, J.conj(), E, p)


def step_of_the_conjugate(s: Any, A: Any, p: Any) -> bool:
    return oja.rule(s, A.conj(), p)


@pytest.fixture
def forgetful() -> Iterator[None]:
    lms = SimpleNamespace(learn=make_learn(step_along_the_row), update=update, COMPLEX=True)
    pca = SimpleNamespace(learn=make_subspace_learn(step_of_the_conjugate), step=oja.step, COMPLEX=True)
    nlms = SimpleNamespace(learn=make_learn(update), update=update)
    ob.register(offering("forgetful", {"lms": lms, "oja": pca, "nlms": nlms}), name="forgetful")
    yield
    ob.unregister("forgetful")


@pytest.mark.parametrize("method", ["lms", "oja"])
def test_a_kernel_that_forgets_a_conjugation_fails(forgetful: None, method: str) -> None:
    found = conform(method, backends=["forgetful"], dtypes=["complex128"], only=["agrees_with_reference"])
    assert [r.status for r in found.results] == [FAILED]
    if method == "lms":
        found = conform(method, backends=["forgetful"], dtypes=["complex64"], only=["law_complex_steps"])
        assert [r.status for r in found.results] == [FAILED]


def test_complex_learners_are_checked_where_a_kernel_says_that_it_learns_them(forgetful: None) -> None:
    def planned(backend: str, method: str) -> set[tuple[str, str]]:
        return {(c.check, c.dtype) for c in plan_checks([method], backends=[backend]) if c.dtype.startswith("complex")}

    assert {(check, dtype) for check in EVIDENCE for dtype in ("complex128", "complex64")} <= planned("numba", "lms")
    assert planned("forgetful", "nlms") == planned("numba", "kalman") == planned("numpy", "greedy") == set()
    real = {c.check for c in plan_checks(["lms"], backends=["numpy"], dtypes=["float64"])}
    assert "law_complex_steps" not in real


def test_variants_without_a_complex_form_are_left_out() -> None:
    assert conform("sgd", backends=["numpy"], dtypes=["complex128"], only=["rows_are_counted"]).passed


def test_the_real_matrix_of_twice_the_size_multiplies_as_the_complex_one() -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) for _ in range(2))
    np.testing.assert_allclose(as_real(A) @ as_real(B), as_real(A @ B), rtol=1e-12)
    np.testing.assert_array_equal(as_real(A).T, as_real(A.conj().T))
