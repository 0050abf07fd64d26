"""The checks, a file for each of the things that they are about; importing this defines all of them."""

from orfit_bench.conformance.checks import (  # noqa: F401  # each takes its checks in
    agreement,
    chunks,
    costs,
    evidence,
    extreme_values,
    first_rows,
    fleets,
    invalid_input,
    long_streams,
    merging,
    operations,
    precision,
    proof,
    settings,
    shapes,
    side_effects,
    smoothing,
    state,
)
