"""What of the machine decides which of two ways is faster."""

from llvmlite import binding


def has_wider_blas() -> bool:
    """Whether OpenBLAS takes vectors of 64 bytes, and LLVM those of 32: on processors of Intel with AVX-512."""
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know them
        return False
    is_amd = binding.get_host_cpu_name().startswith("znver")  # where it is the other way round
    return bool(features.get("avx512f")) and not is_amd
