"""Properties of the machine that decide which of two algorithms is faster."""

from llvmlite import binding


def has_fast_blas() -> bool:
    """Whether OpenBLAS uses vectors of 64 bytes: it then multiplies small matrices faster than compiled loops."""
    name, has_avx512 = describe_processor()
    return has_avx512 and name != "znver5"


def has_wider_blas() -> bool:
    """Whether OpenBLAS uses vectors of 64 bytes and LLVM vectors of 32, as on Intel processors with AVX-512."""
    name, has_avx512 = describe_processor()
    return has_avx512 and not name.startswith("znver")


def describe_processor() -> tuple[str, bool]:
    """LLVM's name of the processor, and whether it has AVX-512; no name if LLVM cannot determine its features."""
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:
        return "", False
    return binding.get_host_cpu_name(), bool(features.get("avx512f"))
