"""Examples in docstrings run, and public functions document parameters, results and errors, with an example."""

import doctest
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys

import pytest

import orfit_bench as ob
from orfit_bench.learners.classifier import Classifier
from orfit_bench.learners.filtering.filter import Filter
from orfit_bench.learners.pipelines.pipeline import Pipeline
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
    ".learners.label_predictions",
    ".learners.subspace",
    ".spec.data",
    ".spec.stream",
    ".spec.metric",
]
RAISING = [
    ob.create,
    ob.restore,
    ob.load,
    *(learner.partial_fit for learner in (Regressor, Classifier, Filter, Subspace)),
    *(learner.prequential for learner in (Regressor, Classifier)),
    Regressor.step,
    Regressor.predict,
    Regressor.merge,
]
BUILT_BY_FUNCTIONS = (ob.Learner, ob.Fleet, Pipeline)
REFUSED = "unknown"
"""The name of **arguments that a function accepts only to refuse them with a helpful message."""


def sections(function):
    """The text of each section of a docstring, by title."""
    parts = re.split(r"^(\w+)\n-+$", inspect.getdoc(function) or "", flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def missing(function):
    """What the docstring of a function, or of a class, lacks: descriptions of parameters, sections."""
    found, signature = sections(function), inspect.signature(function)
    entries = re.findall(r"^\S.*?(?= :|$)", found.get("Parameters", ""), flags=re.MULTILINE)
    described = {name.strip(" *") for entry in entries for name in entry.split(",")}
    lacking = [name for name in signature.parameters if name not in {"self", REFUSED, *described}]
    if not inspect.isclass(function) and signature.return_annotation not in (None, "None") and "Returns" not in found:
        lacking.append("Returns")
    return lacking + ["Examples"] * ("Examples" not in found)


def with_subclasses(kind):
    return {kind}.union(*(with_subclasses(one) for one in kind.__subclasses__()))


def is_own(value):
    return str(getattr(value, "__module__", "")).startswith("orfit_bench.")


def public_functions():
    """Functions, constructors and methods that are reachable from `orfit_bench`, by qualified name."""
    listed = [getattr(ob, name) for name in ob.__all__]
    for module in filter(inspect.ismodule, tuple(listed)):
        public = [value for name, value in vars(module).items() if name[0] != "_"]
        listed += [value for value in public if getattr(value, "__module__", "") == module.__name__]
    classes = {v for v in listed if inspect.isclass(v)}.union(*map(with_subclasses, BUILT_BY_FUNCTIONS))
    classes = {c for c in classes if is_own(c)}
    functions = [v for v in listed if inspect.isfunction(v)]
    functions += [c for c in classes if "__init__" in vars(c) and not issubclass(c, BUILT_BY_FUNCTIONS)]
    members = [getattr(c, name) for c in classes for name in dir(c) if name[0] != "_"]
    functions += [m for m in members if inspect.isroutine(m) and is_own(m)]
    return dict(sorted({f"{f.__module__}.{f.__qualname__}": f for f in functions}.items()))


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    module = importlib.import_module(f"orfit_bench{name}")
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed


@pytest.mark.parametrize("function", RAISING, ids=lambda f: f.__qualname__)
def test_docstrings_list_errors(function):
    assert "Raises" in sections(function)


def test_public_docstrings_are_complete():
    functions = public_functions()
    assert {"orfit_bench.learners.filtering.filter.Filter.step", "orfit_bench.schedules.Power"} <= set(functions)
    assert not {name: lacking for name, function in functions.items() if (lacking := missing(function))}


def test_dir_has_public_names_alone():
    listed = {name for name in dir(ob) if name[0] != "_"}
    assert set(ob.__all__) <= listed
    assert listed - set(ob.__all__) <= ob.SUBPACKAGES


def test_subpackages_are_imported_by_name():
    run = subprocess.run([sys.executable, "-c", "import orfit_bench as ob; ob.bench"], capture_output=True, text=True)
    assert "has no attribute 'bench': import orfit_bench.bench" in run.stderr
    for name in ob.SUBPACKAGES:
        assert importlib.util.find_spec(f"orfit_bench.{name}")


def test_signatures_show_no_addresses_of_functions():
    assert "model: 'Model | str' = Model(name='linear')" in str(inspect.signature(ob.create))


def without_sections(x) -> int:
    """Return x."""


def with_another_parameter(x, y, **given) -> int:
    """Return x.

    Parameters
    ----------
    x, z : int
        Numbers.
    **given
        Settings.

    Returns
    -------
    int
        The number.
    """


def with_all_sections(x, **unknown) -> None:
    """Print x.

    Parameters
    ----------
    x : int
        A number.

    Examples
    --------
    >>> 1
    1
    """


@pytest.mark.parametrize(
    ("function", "lacking"),
    [
        (without_sections, ["x", "Returns", "Examples"]),
        (with_another_parameter, ["y", "Examples"]),
        (with_all_sections, []),
    ],
)
def test_missing_sections_are_found(function, lacking):
    assert missing(function) == lacking
