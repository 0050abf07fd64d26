"""Code that runs in the process of a cell, and in the server that imports the kernels, from which it is forked."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from orfit_bench.bench.cell import MEMORY_BUDGET, Cell, make_record, run_cell
from orfit_bench.jobs import fingerprint
from orfit_bench.jobs.notes import describe_error
from orfit_bench.jobs.processes import Call
from orfit_bench.plugins.registry import registry

NAMED = 3
"""Number of functions replaced by a plugin that a message names."""

IMPORTED_BY_CELLS = ("scipy.linalg", "scipy.ndimage")
"""Modules that cells import while they run and that are slow to import."""
READERS = ("pandas", "pyarrow.dataset", "pyarrow.compute", "zarr")
"""Modules that cells import to read files, in nearly a second; a server imports those already imported here."""
KernelKey = tuple[str, str, str]
"""Backend, method and dtype."""


class Limits(NamedTuple):
    """The limits of a cell: seconds, bytes of a metric, and bytes of its process.

    Without the last, a process has no limit; on a cluster it has a share of the limit of its worker.
    """

    seconds: float
    memory_budget: float = MEMORY_BUDGET
    memory: float | None = None


_loaded: list[fingerprint.Fingerprint] = []
"""The snapshot of functions that the server of the cells takes before it imports a kernel."""


def call_of(cell: Cell, limits: Limits, timed: bool) -> Call:
    """The call that runs a cell."""
    return Call(_run, (cell, limits.memory_budget, timed), limits.seconds)


def kernels_of(cells: Iterable[Cell]) -> list[KernelKey]:
    """The kernels that cells need."""
    return sorted({(cell.backend, cell.method, cell.dtype) for cell in cells})


def prepare(kernels: list[KernelKey], readers: Sequence[str] = ()) -> KernelKey | None:
    """Import these kernels and load their machine code; return the first that replaced functions of others, if any.

    Kernels on a device are left to the cells, since a device cannot be used after a fork.
    """
    for module in (*IMPORTED_BY_CELLS, *readers):
        importlib.import_module(module)
    known = registry()
    packages = {fingerprint.package_of(_module_name(kernel)) for kernel in known.kernels.values()}
    _loaded[:] = [fingerprint.take()]
    code = fingerprint.take(packages)
    for backend, method, dtype in kernels:
        if known.backends[backend].memory:  # a backend that counts the memory of a device
            continue
        with suppress(Exception):  # its cell records why
            kernel, load_kernel = known.kernel(backend, method), known.backends[backend].load
            if load_kernel:
                load_kernel(kernel, dtype)
        package = fingerprint.package_of(_module_name(known.kernels.get((backend, method))))
        replaced, code = fingerprint.check_load(code, package, packages)
        if replaced:
            return backend, method, dtype
    return None


def _module_name(kernel: Any) -> str:
    """The name of the module of a kernel, as plugins declare it; empty for an object without one."""
    return kernel if isinstance(kernel, str) else str(getattr(kernel, "__name__", ""))


def _run(cell: Cell, memory_budget: float, timed: bool) -> dict[str, Any]:
    try:
        record = run_cell(cell, memory_budget, timed)
    except BaseException as error:  # also a KeyboardInterrupt, which only a plugin can raise here
        return make_record(cell, "failed", describe_error(error))
    if replaced := [name for loaded in _loaded for name in fingerprint.changed(loaded)]:
        names = ", ".join(replaced[:NAMED])
        reason = f"a plugin replaced functions outside of it, so nothing that was measured is right: {names}"
        return make_record(cell, "failed", reason)
    return record
