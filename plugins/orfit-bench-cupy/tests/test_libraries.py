"""Functions of cuBLAS that the array namespace lacks, with the signatures of the installed CuPy."""

import importlib

import numpy as np
import pytest

from orfit_bench_cupy._libraries import solve_lower

from .conftest import cupy


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("b", [1, 5])
def test_a_triangular_solve_copies_nothing(dtype, b):
    rng = np.random.default_rng(0)
    L = (np.tril(rng.standard_normal((b, b))) + 4 * np.eye(b)).astype(dtype)
    right = rng.standard_normal((3, b)).astype(dtype)
    there, factor = cupy.asarray(right), cupy.asarray(L + np.triu(np.ones_like(L), 1))  # the lower triangle is read
    before = cupy.COUNTS.copy()
    found = solve_lower(factor, there)
    assert (cupy.COUNTS - before).launches == 1
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found.get(), there.get())
    np.testing.assert_allclose(L @ found.get().T, right.T, rtol=0, atol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize(("module", "name"), [("_triangular", "solve_triangular"), ("cublas", "syrk")])
def test_the_stand_in_takes_only_what_cupy_takes(module, name):
    function = getattr(importlib.import_module(f"cupy_standin.{module}"), name)
    with pytest.raises(TypeError, match=rf"{name}\(.*lower=False.*unexpected keyword argument 'side'"):
        function(cupy.eye(2), cupy.eye(2), side=1)
