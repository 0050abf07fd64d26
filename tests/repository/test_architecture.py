"""Rules of architecture that import contracts cannot express."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import orfit_bench_cupy
import orfit_bench_numba
import orfit_bench_numpy
from orfit_bench.catalogue.methods import METHODS
from orfit_bench.plugins.registry import registry
from orfit_bench.tracking import workloads

ROOT = Path(__file__).resolve().parents[2]
COMPILED = sorted((ROOT / "plugins/orfit-bench-numba/src/orfit_bench_numba").glob("[a-z_]*.py"))
CATALOGUE = ROOT / "orfit_bench/catalogue"
KERNELS = sorted((ROOT / "plugins/orfit-bench-numpy/src/orfit_bench_numpy").glob("[a-z_]*.py"))


def imports(path):
    """Top-level names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").split(".")[0]


def modules_of_the_core(path):
    """Full names of the modules of orfit_bench that a file imports from."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [n.module or "" if isinstance(n, ast.ImportFrom) else a.name for n in nodes for a in n.names]
    return [name for name in names if name.split(".")[0] == "orfit_bench"]


@pytest.mark.parametrize(
    "path", [p for p in [*KERNELS, *COMPILED] if p.name != "__init__.py"], ids=lambda p: f"{p.parent.name}-{p.stem}"
)
def test_kernels_know_arrays_only(path):
    arrays = {"__future__", "collections", "math", "typing", "numpy", "scipy", path.parent.name}
    machine = {
        "orfit_bench_numpy",
        "concurrent",
        "contextlib",
        "functools",
        "hashlib",
        "llvmlite",
        "numba",
        "os",
        "pathlib",
        "sys",
        "threading",
        "threadpoolctl",
        "warnings",
    }
    assert all(
        name.startswith(("orfit_bench.kernels", "orfit_bench.spec.kernel")) for name in modules_of_the_core(path)
    )
    assert set(imports(path)) - {"orfit_bench"} <= arrays | (machine if path in COMPILED else set())


def test_every_method_has_a_kernel_of_its_name():
    names = {p.stem for p in KERNELS if not p.stem.startswith("_")}
    assert names ^ {method.name for method in METHODS} == set(), "write NAME.py in orfit_bench_numpy for each method"


@pytest.mark.parametrize("backend", [orfit_bench_numpy, orfit_bench_numba, orfit_bench_cupy], ids=lambda b: b.__name__)
def test_the_lists_of_methods_follow_from_the_files(backend):
    lacking = {method.name for method in METHODS} - set(backend.METHODS)
    assert not lacking, f"write the modules NAME.py of {lacking} in {backend.__name__}"
    assert list(backend.METHODS) == [method.name for method in METHODS]


def test_a_method_is_a_module_of_its_name_with_laws_of_its_name():
    names = [method.name for method in METHODS]
    assert names == sorted(path.stem for path in (CATALOGUE / "methods").glob("[a-z]*.py"))
    assert [name for name in names if not (CATALOGUE / "laws" / f"{name}.py").exists()] == []


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_every_method_has_use_when_and_avoid_when(method):
    for text in (method.use_when, method.avoid_when):
        assert text.endswith(".")
        assert 1 <= len(re.findall(r"\.(?: |$)", text)) <= 3


def test_the_methods_that_are_tracked_are_those_of_the_catalogue():
    untracked = {method.name for method in METHODS} - set(workloads.METHODS)
    assert not untracked, f"append {untracked} to METHODS in orfit_bench/tracking/workloads/names.py"
    assert sorted(workloads.METHODS) == [method.name for method in METHODS]


def test_kernels_have_the_declared_functions():
    for method in METHODS:
        kernel = registry().kernel("numpy", method.name)
        assert hasattr(kernel, "learn") == (not method.state.layered)
        assert hasattr(kernel, "update") == (method.kernel.models or method.state.layered)
        assert hasattr(kernel, "step") == method.kernel.blocks
        assert hasattr(kernel, "store") == method.kernel.needs_post_step_gradients
        assert hasattr(kernel, "ahead") == method.kernel.lookahead


@pytest.mark.parametrize("module", ["xarray", "scipy", "rich", "click", "pooch", "numba", "orfit_bench_numpy", "email"])
def test_import_is_light(module):
    code = f"import sys, orfit_bench; sys.exit({module!r} in sys.modules)"
    assert subprocess.call([sys.executable, "-c", code]) == 0


def test_models_take_the_namespace_of_their_arguments():
    for path in (ROOT / "orfit_bench/models").glob("*.py"):
        assert not {"numpy", "cupy"} & set(imports(path))


def test_no_file_names_a_package_registry():
    hosts = ["py" + "pi.org", "python" + "hosted.org", "registry." + "npmjs", "ana" + "conda.org"]
    for path in ROOT.rglob("*"):
        if path.suffix in {".py", ".md", ".toml", ".json", ".txt"} and ".venv" not in path.parts:
            text = path.read_text(errors="ignore")
            assert not [h for h in hosts if h in text], path
