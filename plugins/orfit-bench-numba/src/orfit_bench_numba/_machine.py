"""Properties of the machine that decide which of two algorithms is faster."""

from llvmlite import binding


def has_fast_blas() -> bool:
    """Whether OpenBLAS multiplies small matrices faster than compiled loops: on processors with AVX-512.

    On AMD's znver5, its products use vectors of 32 bytes, and those of compiled loops 64.
    """
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot determine the features of the processor
        return False
    return bool(features.get("avx512f")) and binding.get_host_cpu_name() != "znver5"


MAX_DIRECT_OPERATIONS = 1_000_000 if has_fast_blas() else 0
"""Number of multiplications up to which OpenBLAS multiplies matrices without first copying them."""
