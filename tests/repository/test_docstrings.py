"""Examples in docstrings run, and public functions say what they take, return and raise."""

import doctest
import importlib
import inspect

import pytest

import orfit_bench as ob
from orfit_bench.learners.classifier import Classifier
from orfit_bench.learners.filtering.filter import Filter
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.subspace import Subspace

MODULES = [
    "",
    ".learners.factory",
    ".learners.restoring",
    ".learners.numeric_predictions",
    ".learners.recorded_learning",
    ".learners.regressor",
    ".learners.classifier",
    ".learners.subspace",
]
DESCRIBED = [
    ob.create,
    ob.restore,
    ob.load,
    *(learner.partial_fit for learner in (Regressor, Classifier, Filter, Subspace)),
    *(learner.prequential for learner in (Regressor, Classifier)),
    Regressor.step,
    Regressor.predict,
    Regressor.merge,
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"orfit_bench{name}")
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed


@pytest.mark.parametrize("function", DESCRIBED, ids=lambda f: f.__qualname__)
def test_sections_of_the_docstring(function):
    text = inspect.getdoc(function)
    for section in ("Parameters", "Returns", "Raises"):
        assert f"\n{section}\n{'-' * len(section)}\n" in text, section
    named = {name for name in inspect.signature(function).parameters if name not in ("self",)}
    assert all(name in text for name in named)
