"""The plugin where CuPy, a driver or a device is missing, and what it needs of CuPy where there is one."""

import re
import subprocess
import sys
from functools import reduce
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import orfit_bench as ob
import orfit_bench_cupy as plugin
from orfit_bench.host.machine import provenance


def fake(monkeypatch, devices=1, error=None):
    """A CuPy of so many devices, whose driver may say an error."""

    class CUDARuntimeError(RuntimeError):
        status = error

    def count():
        if error is not None:
            raise CUDARuntimeError("cudaErrorSomething")
        return devices

    used = []
    cupy = ModuleType("cupy")
    cupy.__version__ = "14.0"
    cupy.arange = np.arange
    cupy.ndarray = type("ndarray", (), {})
    runtime = SimpleNamespace(
        getDeviceCount=count,
        CUDARuntimeError=CUDARuntimeError,
        getDevice=lambda: 0,
        getDeviceProperties=lambda number: {"name": b"Some GPU"},
        driverGetVersion=lambda: 13010,
    )
    device = lambda number: SimpleNamespace(use=lambda: used.append(number))  # noqa: E731
    cupy.cuda = SimpleNamespace(
        runtime=runtime, Device=device, MemoryHook=object, get_local_runtime_version=lambda: 12090
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "orfit_bench_cupy._device", cupy)
    monkeypatch.delitem(sys.modules, "orfit_bench_cupy._device")  # imported anew, and forgotten with this CuPy
    monkeypatch.delenv(plugin.VARIABLE, raising=False)
    return used


def test_is_light():
    code = "import sys, orfit_bench_cupy; print([m for m in ('cupy', 'numba', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


class TestReason:
    def test_without_cupy(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "cupy", None)
        assert "cupy is missing" in plugin.BACKEND.reason
        assert "pip install" in plugin.BACKEND.reason

    @pytest.mark.parametrize(("devices", "error"), [(0, None), (1, plugin.NO_DEVICE)])
    def test_without_a_device(self, monkeypatch, devices, error):
        fake(monkeypatch, devices, error)
        assert plugin.BACKEND.reason == "cupy 14.0: no CUDA device: nvidia-smi lists them"

    def test_with_an_old_driver(self, monkeypatch):
        fake(monkeypatch, error=35)
        assert "driver missing or too old (cudaErrorSomething): nvidia-smi" in plugin.BACKEND.reason

    def test_without_a_compiler(self, monkeypatch):
        fake(monkeypatch)
        monkeypatch.delattr(sys.modules["cupy"], "arange")
        assert "cupy 14.0 cannot compute: AttributeError" in plugin.BACKEND.reason

    @pytest.mark.parametrize(("which", "used"), [("", []), ("1", [1])])
    def test_none_and_the_device_is_chosen(self, monkeypatch, which, used):
        chosen = fake(monkeypatch, devices=2)
        monkeypatch.setenv(plugin.VARIABLE, which)
        assert plugin.BACKEND.reason == ""
        assert chosen == used

    @pytest.mark.parametrize("which", ["2", "-1", "gpu"])
    def test_a_device_that_is_not_there(self, monkeypatch, which):
        fake(monkeypatch, devices=2)
        monkeypatch.setenv(plugin.VARIABLE, which)
        assert f"ORFIT_BENCH_DEVICE={which}: want a number from 0 to 1" in plugin.BACKEND.reason


def test_results_and_states_say_what_computed(monkeypatch, in_place):
    fake(monkeypatch)
    told = {"device": "Some GPU", "cupy": "14.0", "CUDA of the runtime": "12.9", "CUDA of the driver": "13.1"}
    assert plugin.BACKEND.device_info() == told
    assert provenance({})["machine"]["devices"][in_place] == {"device": "NumPy"}
    learner = ob.create("lms", backend=in_place).partial_fit(np.ones((2, 3)), np.ones(2))
    assert learner.state().attrs["device"] == '{"device": "NumPy"}'
    assert "device" not in ob.restore(learner.state(), backend="numpy").state().attrs


def test_there_is_no_cuda_source_to_compile():
    """What CuPy would compile of ours has to be compiled in CI too, for every architecture: then here."""
    raw = re.compile(r"Raw(Kernel|Module)|(Elementwise|Reduction)Kernel|cupyx\.jit|fuse\(|__global__")
    for path in Path(plugin.__file__).parents[1].rglob("*"):
        assert path.suffix not in (".cu", ".cuh", ".ptx", ".cubin"), path
        assert path.suffix != ".py" or not raw.search(path.read_text()), path


def test_cupy_has_what_is_called():
    cupy = pytest.importorskip("cupy")
    folder = Path(plugin.__file__).parent
    names = {n for f in folder.glob("*.py") for n in re.findall(r"(?:\bxp|space__\(\))\.([a-z_.]+)\(", f.read_text())}
    assert len(names) > 8
    for name in sorted(names):
        reduce(getattr, name.split("."), cupy)
    assert plugin.BACKEND.namespace() is cupy
    for name in ("__array_namespace__", "__dlpack__", "get"):
        assert hasattr(cupy.ndarray, name)
