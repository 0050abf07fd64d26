"""Writes the reference trajectories: the results of every method on the reference backend.

A commit that changes them may change nothing else in the package and its plugins (a test reads the history), so that a
change of a kernel cannot redefine the result that it is compared with.
"""

from __future__ import annotations

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.tracking import workloads
from orfit_bench.tracking.workloads import exactness


def freeze() -> int:
    """Write the trajectories of all methods in `workloads.METHODS` and return how many numbers they contain."""
    arrays = {
        f"{method}/{name}": value
        for method in workloads.METHODS
        for name, value in workloads.Workload(method, "numpy").trajectory().items()
    }

    replace(exactness.TRAJECTORIES, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]
    return sum(array.size for array in arrays.values())


if __name__ == "__main__":
    print(f"{freeze()} numbers of {len(workloads.METHODS)} methods in {exactness.TRAJECTORIES}")
