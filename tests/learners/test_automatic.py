"""The backend that is selected if none is named."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners import automatic
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Absent


@pytest.fixture(autouse=True)
def numba(monkeypatch):
    monkeypatch.setattr(automatic, "COMPILED", "numba")


def test_auto_backend_is_numba_if_installed():
    learner = ob.create("lms").partial_fit(np.eye(2), [1.0, 2.0])
    assert "numba" in repr(learner)
    assert learner.state().attrs["backend"] == "numba"
    assert ob.restore(learner.state()).backend.name == "numba"


def test_backend_that_is_named_is_taken():
    assert ob.create("lms", backend="numpy").backend.name == "numpy"


@pytest.mark.parametrize(
    ("lacks", "settings", "taken"),
    [
        ({"blocks": "later"}, {}, "numpy"),
        ({"float32": "later"}, {}, "numba"),
        ({"float32": "later"}, {"dtype": "float32"}, "numpy"),
        ({"models": "later"}, {}, "numba"),
        ({"models": "later"}, {"model": ob.MLP((3,))}, "numpy"),
        ({}, {"dtype": "complex128"}, "numba"),
        ({"forgetting_factor=0.5": "later"}, {"forgetting_factor": 0.5}, "numpy"),
        ({"forgetting_factor=0.5": "later"}, {"forgetting_factor": 0.9}, "numba"),
        ({"complex": "later"}, {}, "numba"),
        ({"complex": "later"}, {"dtype": "complex64"}, "numpy"),
    ],
)
def test_auto_backend_is_numpy_if_numba_lacks_a_capability(monkeypatch, lacks, settings, taken):
    monkeypatch.setattr(registry().kernel("numba", "rls"), "LACKS", lacks, raising=False)
    assert ob.create("rls", **settings).backend.name == taken


@pytest.mark.parametrize("absent", [Absent("not written"), None])
def test_numpy_is_taken_where_numba_has_no_kernel(monkeypatch, absent):
    kernels = {pair: kernel for pair, kernel in registry().kernels.items() if pair != ("numba", "lms")}
    monkeypatch.setattr(registry(), "kernels", kernels | ({("numba", "lms"): absent} if absent else {}))
    assert ob.create("lms").backend.name == "numpy"


def test_numpy_is_taken_without_numba(monkeypatch):
    backends = {name: backend for name, backend in registry().backends.items() if name != "numba"}
    monkeypatch.setattr(automatic, "registry", lambda: SimpleNamespace(backends=backends))
    assert ob.create("lms").backend.name == "numpy"


def test_import_stays_light():
    code = "import sys, orfit_bench; print('numba' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
