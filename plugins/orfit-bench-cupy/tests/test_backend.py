"""The plugin without CuPy, a driver or a device, and what it needs of CuPy if there is a device."""

import gc
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
from orfit_bench.jobs.provenance import provenance

from .conftest import IN_PLACE, device
from .conftest import cupy as standin


def fake(monkeypatch, devices=1, error=None):
    """A CuPy with this number of devices, whose driver may raise an error."""

    class CUDARuntimeError(RuntimeError):
        status = error

    def count():
        if error is not None:
            raise CUDARuntimeError("cudaErrorSomething")
        return devices

    used = []
    cupy = ModuleType("cupy")
    cupy.__version__ = "14.0"
    cupy.eye = standin.eye
    cupy.linalg = standin.linalg
    cupy.ndarray = type("ndarray", (), {})
    runtime = SimpleNamespace(
        getDeviceCount=count,
        CUDARuntimeError=CUDARuntimeError,
        getDevice=lambda: used[-1] if used else 0,
        getDeviceProperties=lambda number: {"name": b"Some GPU"},
        driverGetVersion=lambda: 13010,
    )
    device = lambda number: SimpleNamespace(use=lambda: used.append(number))  # noqa: E731
    cupy.cuda = SimpleNamespace(
        runtime=runtime,
        Device=device,
        get_local_runtime_version=lambda: 12090,
        alloc_pinned_memory=standin.cuda.alloc_pinned_memory,
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "orfit_bench_cupy._device", cupy)
    monkeypatch.delitem(sys.modules, "orfit_bench_cupy._device")  # imported again, and removed with this CuPy
    monkeypatch.delenv(plugin.VARIABLE, raising=False)
    return used


@pytest.fixture(autouse=True)
def asked_anew():
    """Clear what is cached about the device between tests."""
    plugin.missing_reason.cache_clear()
    yield
    plugin.missing_reason.cache_clear()


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
        monkeypatch.delattr(sys.modules["cupy"], "eye")
        assert "cupy 14.0 cannot compute: AttributeError" in plugin.BACKEND.reason

    @pytest.mark.parametrize("library", ["cuBLAS", "cuSOLVER"])
    def test_without_a_library_that_loads_on_first_use(self, monkeypatch, library):
        fake(monkeypatch)
        lost = lambda *given: (_ for _ in ()).throw(RuntimeError(f"{library} cannot be loaded"))  # noqa: E731
        if library == "cuSOLVER":
            monkeypatch.setattr(sys.modules["cupy"], "linalg", SimpleNamespace(qr=lost))
        else:
            array = type("Array", (standin.ndarray,), {"__matmul__": lost})
            monkeypatch.setattr(sys.modules["cupy"], "eye", lambda n: array(np.eye(n)))
        assert f"cupy 14.0 cannot compute: RuntimeError: {library} cannot be loaded" in plugin.BACKEND.reason
        assert "pip install 'cupy-cuda13x[ctk]'" in plugin.BACKEND.reason

    def test_with_products_of_few_bits(self, monkeypatch):
        fake(monkeypatch)
        monkeypatch.setenv("CUPY_TF32", "1")
        assert "CUPY_TF32 is set, which leaves 10 bits" in plugin.BACKEND.reason

    def test_with_two_distributions_of_cupy(self, monkeypatch):
        def imported(name):
            raise UserWarning("cupy-cuda12x and cupy-cuda13x are installed: keep one")

        monkeypatch.setattr(plugin.importlib, "import_module", imported)
        assert plugin.BACKEND.reason == "cupy warns at import: cupy-cuda12x and cupy-cuda13x are installed: keep one"

    def test_is_found_out_once_a_process(self, monkeypatch):
        fake(monkeypatch)
        assert plugin.BACKEND.reason == ""
        before = standin.COUNTS.copy()
        for _ in range(3):
            assert plugin.BACKEND.reason == ""
        assert before == standin.COUNTS

    def test_leaves_the_device_that_the_user_chose(self, monkeypatch):
        used = fake(monkeypatch, devices=3)
        monkeypatch.setenv(plugin.VARIABLE, "1")
        assert plugin.BACKEND.reason == ""
        used.append(2)  # within `with cupy.cuda.Device(2):`
        assert plugin.BACKEND.reason == ""
        assert used == [1, 2]

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
    reported = {"device": "Some GPU", "cupy": "14.0", "CUDA of the runtime": "12.9", "CUDA of the driver": "13.1"}
    assert plugin.BACKEND.device_info() == reported
    assert provenance({})["machine"]["devices"][in_place] == {"device": "NumPy"}
    learner = ob.create("lms", backend=in_place).partial_fit(np.ones((2, 3)), np.ones(2))
    assert learner.state().attrs["device"] == '{"device": "NumPy"}'
    assert "device" not in ob.restore(learner.state(), backend="numpy").state().attrs


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


def test_numbers_of_a_state_reach_the_host(in_place):
    """This includes arrays without dimensions, to which NumPy's ascontiguousarray would add one."""
    assert IN_PLACE.asnumpy(standin.zeros(())).shape == ()
    for method in ("rls", "class_rls", "kalman"):
        learner = ob.create(method, backend=in_place).partial_fit(np.eye(3), np.arange(3))
        assert learner.copy().state()["precision_lost"].shape == ()


def test_rls_without_a_prior_begins(in_place):
    mine, other = (ob.create("rls", ridge=0.0, backend=b).step(np.eye(3, 2), np.ones(3)) for b in (in_place, "numpy"))
    np.testing.assert_array_equal(mine.array("w"), other.array("w"))


def test_memory_is_measured_again_and_again(in_place):
    peaks = []
    for rows in (1000, 10, 1000):
        gc.collect()  # arrays of earlier tests
        IN_PLACE.memory()
        before = standin.get_default_memory_pool().used_bytes()
        ob.create("lms", backend=in_place).partial_fit(np.ones((rows, 400)) / 400, np.ones(rows))
        peaks.append(IN_PLACE.memory() - before)
    assert min(peaks[0], peaks[2]) > 3_000_000 > 600_000 > peaks[1]


@pytest.mark.parametrize("pinned", [True, False])
def test_large_rows_need_no_pinned_memory(monkeypatch, pinned):
    """CuPy's pool would keep memory of the next power of two, and warn if it cannot be allocated."""
    calls = []
    monkeypatch.setattr(standin, "array", lambda a, **more: calls.append(a.nbytes) or standin.asarray(a), raising=False)
    monkeypatch.setattr(device, "STAGED", 800)
    monkeypatch.setattr(device, "pins_memory", lambda: pinned)
    small, large = (np.arange(n, dtype=float) for n in (100, 101))
    for a in (small, large):
        np.testing.assert_array_equal(IN_PLACE.asarray(a).get(), a)
    assert calls == ([800] if pinned else [])


def test_pinned_memory_that_cannot_be_had_is_found_out_once(monkeypatch):
    def refuse(size):
        raise standin.cuda.runtime.CUDARuntimeError("cudaErrorMemoryAllocation")

    monkeypatch.setattr(standin.cuda, "alloc_pinned_memory", refuse)
    device.pins_memory.cache_clear()
    assert not device.pins_memory()
    device.pins_memory.cache_clear()


def test_what_changes_digits_is_recorded(monkeypatch):
    monkeypatch.setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "1")
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    device.info.cache_clear()
    assert {"CUBLAS_EMULATE_DOUBLE_PRECISION": "1", "NVIDIA_TF32_OVERRIDE": "0"}.items() <= device.info().items()
    device.info.cache_clear()


def test_settings_may_lie_on_the_device(in_place):
    given = {"initial_mean": np.arange(3.0), "initial_covariance": np.eye(3)}
    mine = ob.create("kalman", backend=in_place, **{k: IN_PLACE.asarray(a) for k, a in given.items()})
    mine.partial_fit(np.eye(3), np.ones(3))
    other = ob.create("kalman", **given).partial_fit(np.eye(3), np.ones(3))
    np.testing.assert_allclose(mine.array("mean"), other.array("mean"), rtol=1e-14)


def test_every_method_of_the_catalogue_has_a_kernel():
    assert set(ob.methods()) <= set(plugin.METHODS)
