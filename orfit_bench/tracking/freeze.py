"""Writing of reference trajectories: the results of methods on a reference backend.

In this repository, a commit that changes them must not change anything else in the package and its plugins (a test
reads the history), so that a change of a kernel cannot redefine the result with which it is compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from orfit_bench.jobs.files import replace
from orfit_bench.tracking import workloads
from orfit_bench.tracking.workloads import exactness


def freeze_trajectories(methods: Sequence[str] = (), file: Path | None = None, backend: str = "numpy") -> int:
    """Write the trajectories of methods to a file, with which later commits are compared.

    Parameters
    ----------
    methods : sequence of str
        By default the methods of `workloads.METHODS`.
    file : path, optional
        An .npz file, replaced if it exists. By default the file of this package.
    backend : str
        The backend that computes the trajectories.

    Returns
    -------
    int
        The number of values in the file.

    Raises
    ------
    NotImplementedError
        If a method or the backend does not exist.
    ValueError
        If a value is not finite.

    Examples
    --------
    >>> import tempfile
    >>> freeze_trajectories(["greedy"], Path(tempfile.mkdtemp(), "trajectories.npz"))
    5
    """
    arrays = {
        f"{method}/{name}": value
        for method in methods or workloads.METHODS
        for name, value in workloads.Workload(method, backend).trajectory().items()
    }
    if wrong := [name for name, array in arrays.items() if not np.isfinite(array).all()]:
        raise ValueError(f"{wrong[0]} has values that are not finite: correct the kernel before its results are stored")
    target = file or exactness.TRAJECTORIES
    replace(target, lambda opened: np.savez_compressed(opened, **arrays))  # type: ignore[arg-type]
    return sum(array.size for array in arrays.values())
