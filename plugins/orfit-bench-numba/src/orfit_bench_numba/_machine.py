"""Properties of the machine that decide which of two algorithms is faster."""

from llvmlite import binding


def has_wider_blas() -> bool:
    """Whether OpenBLAS uses vectors of 64 bytes and LLVM vectors of 32, as on Intel processors with AVX-512."""
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot determine the features of the processor
        return False
    is_amd = binding.get_host_cpu_name().startswith("znver")  # where it is the other way round
    return bool(features.get("avx512f")) and not is_amd
