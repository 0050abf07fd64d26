"""The checks, a file for each of the things that they are about; importing this defines all of them."""

from orfit_bench.conformance.checks import (  # noqa: F401  # each takes its checks in
    agreement,
    chunks,
    costs,
    evidence,
    long,
    merging,
    mistakes,
    numbers,
    precision,
    purity,
    shapes,
    smoothing,
    state,
)
