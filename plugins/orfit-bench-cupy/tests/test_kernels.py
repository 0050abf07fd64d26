"""Our own CUDA source: every expression is compiled for every architecture, which needs no device."""

import ctypes
import importlib.util
import platform
import re
from pathlib import Path

import numpy as np
import pytest

import orfit_bench_cupy as plugin
from orfit_bench_cupy import _block_kernels, _fleets, _symmetric

from .conftest import cupy

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
SOURCE = """
template <typename T> __device__ void entry(const T G, const T H, const T ff, T& P) {{ {operation}; }}
extern "C" __global__ void kernel(const {T}* G, const {T}* H, const {T} ff, {T}* P, long long n) {{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) entry<{T}>(G[i], H[i], ff, P[i]);
}}
"""


@pytest.fixture(scope="module")
def nvrtc():
    """The compiler of CuPy's kernels, from its own distribution."""
    pytest.importorskip("nvidia", reason="nvidia-cuda-nvrtc is not installed")
    found = [
        p for folder in importlib.util.find_spec("nvidia").submodule_search_locations or () for p in libraries(folder)
    ]
    if not found:
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    return ctypes.CDLL(str(found[0]))


def libraries(folder):
    return sorted(
        p for p in Path(folder).glob("*/lib/libnvrtc.so.*") if "builtins" not in p.name and "alt" not in p.name
    )


def compiled(nvrtc, source, architecture, *more):
    """The compiler's status and its messages."""
    program, options = ctypes.c_void_p(), [f"--gpu-architecture={architecture}".encode(), *more]
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None) == 0
    status = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.value.decode()


@pytest.mark.parametrize("T", ["double", "float"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_update_of_a_covariance_compiles(nvrtc, architecture, T):
    status, log = compiled(nvrtc, SOURCE.format(operation=_symmetric.OPERATION, T=T), architecture, b"-ftz=true")
    assert status == 0, log


def test_a_wrong_expression_does_not_compile(nvrtc):
    status, log = compiled(nvrtc, SOURCE.format(operation="P = P - Q", T="double"), "sm_90")
    assert status != 0
    assert "Q" in log


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kernel", _fleets.SOURCES)
def test_kernels_of_fleets_compile(nvrtc, kernel, architecture, real):
    options = [option.encode() for option in (*_fleets.FLAGS, f"-DREAL={real}")]
    status, log = compiled(nvrtc, _fleets.source(kernel), architecture, *options)
    assert status == 0, log
    assert "warning" not in log, log


def test_a_wrong_kernel_of_fleets_does_not_compile(nvrtc):
    source = _fleets.source("learn_covariances").replace("const REAL by = 1 / ff;", "")
    status, log = compiled(nvrtc, source, "sm_90", *(f.encode() for f in _fleets.FLAGS), b"-DREAL=double")
    assert status != 0
    assert '"by" is undefined' in log


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_blocks_compile(nvrtc, architecture, real):
    options = [option.encode() for option in (*_block_kernels.FLAGS, f"-DREAL={real}")]
    status, log = compiled(nvrtc, _block_kernels.source(), architecture, *options)
    assert status == 0, log
    assert "warning" not in log, log


def test_a_wrong_kernel_of_blocks_does_not_compile(nvrtc):
    source = _block_kernels.source().replace("const bool gap = gaps[j];", "", 1)
    status, log = compiled(nvrtc, source, "sm_90", *(f.encode() for f in _block_kernels.FLAGS), b"-DREAL=double")
    assert status != 0
    assert '"gap" is undefined' in log


def test_there_is_no_other_cuda_source():
    raw = re.compile(r"Raw(Kernel|Module)|(Elementwise|Reduction)Kernel|cupyx\.jit|fuse\(|__global__")
    for path in Path(plugin.__file__).parents[1].rglob("*"):
        sources = ("blocks.cu", "fleets.cu", *_fleets.SOURCES.values())
        assert path.suffix not in (".cu", ".cuh", ".ptx", ".cubin") or path.name in sources, path
        if path.suffix == ".py" and path.name not in ("_symmetric.py", "_fleets.py", "_block_kernels.py"):
            assert not raw.search(path.read_text()), path


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the mode is that of x86 processors")
def test_the_stand_in_flushes_subnormal_numbers_of_cuda_source_in_float32():
    code = """
    ENTRY twice(REAL* a, REAL half, int n) { EACH(i, n) a[i] = half * a[i] + half * a[i]; }
    """
    for dtype, kept in (("float32", False), ("float64", True)):
        smallest = np.finfo(dtype).tiny / 4
        there, real = cupy.asarray(np.full(3, smallest, dtype)), "float" if dtype == "float32" else "double"
        function = cupy.RawModule(code=code, options=(f"-DREAL={real}",)).get_function("twice")
        function((1,), (32,), (there, np.dtype(dtype).type(0.5), np.int32(3)))
        assert there.get().tolist() == [smallest if kept else 0] * 3
    assert np.float32(1e-40) * np.float32(1) > 0  # the mode is restored
