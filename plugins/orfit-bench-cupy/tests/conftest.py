"""The backend's code on a strict stand-in for CuPy (standin/cupy), if there is no device."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.quick import mark_slow

import orfit_bench as ob
from orfit_bench_cupy import BACKEND, METHODS, _libraries

STANDIN = Path(__file__).resolve().parent / "standin"


def imported(name, path, **places):
    """Import a module from a file under a new name, with some of its imports replaced by other modules."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    before = {key: sys.modules.get(key) for key in (name, *places)}
    sys.modules.update({name: module, **places})
    try:
        spec.loader.exec_module(module)
    finally:
        for key in places:
            sys.modules.pop(key) if before[key] is None else sys.modules.update({key: before[key]})
    return module


cupy = imported("cupy_standin", STANDIN / "cupy" / "__init__.py")
device = imported(
    "orfit_bench_cupy_device_on_standin", importlib.util.find_spec("orfit_bench_cupy._device").origin, cupy=cupy
)
_libraries.provide(  # as `_device` does if the stand-in has CuPy's name
    cupy,
    _libraries.Libraries(
        importlib.import_module("cupy_standin._triangular").solve_triangular,
        importlib.import_module("cupy_standin.cublas").syrk,
    ),
)
Function = importlib.import_module("cupy_standin._modules").Function
IN_PLACE = replace(
    BACKEND,
    name="cupy-on-numpy",
    summary="the CuPy backend's code on a strict stand-in",
    namespace=device.namespace,
    asarray=device.asarray,
    asnumpy=device.asnumpy,
    probe=lambda: "",
    synchronize=device.synchronize,
    memory=device.peak,
    device_info=lambda: {"device": "NumPy"},
)


def by_threads(monkeypatch, act):
    """The results of act() with one, three and four threads for each block or member."""
    found = []
    for threads in (1, 3, 4):
        monkeypatch.setattr(Function, "threads", threads)
        found.append(act())
    return found


class Plugin:
    """The backend's kernels under another name."""

    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def backends(self):
        return (IN_PLACE,)

    @ob.hookimpl
    def kernels(self):
        return {(IN_PLACE.name, method): f"orfit_bench_cupy.{method}" for method in METHODS}


@pytest.fixture
def in_place() -> Iterator[str]:
    """The name of the backend while it is registered."""
    ob.register(Plugin(), IN_PLACE.name)
    yield IN_PLACE.name
    ob.unregister(IN_PLACE.name)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_slow(items, Path(__file__).parent)
