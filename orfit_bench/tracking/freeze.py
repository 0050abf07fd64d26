"""Freezing the trajectories: what every method of the package gives today on the reference backend, kept in a file.

A commit that changes them changes nothing else of the package or its plugins (a test reads the history), so that no
change of a kernel can bring its own truth along.
"""

from __future__ import annotations

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.tracking import workloads
from orfit_bench.tracking.workloads import exactness


def freeze(backend: str = "numpy") -> int:
    """Write the trajectories of all methods in `workloads.METHODS`; returns how many numbers that are."""
    arrays = {
        f"{method}/{name}": value
        for method in workloads.METHODS
        for name, value in workloads.Workload(method, backend).trajectory().items()
    }

    def write(path: object) -> None:
        with open(str(path), "wb") as file:  # NumPy would append an ending to a name
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    replace(exactness.TRAJECTORIES, write)
    return sum(array.size for array in arrays.values())


if __name__ == "__main__":
    print(f"{freeze()} numbers of {len(workloads.METHODS)} methods in {exactness.TRAJECTORIES}")
