"""The program of a process of a commit, which answers requests for measurements.

Its source is sent to the process, so it does not import this package; the workloads are loaded by path.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from importlib.metadata import distribution
from types import ModuleType
from typing import Any


def load_module(file: str) -> ModuleType:
    """Import a module from a file."""
    spec = importlib.util.spec_from_file_location("orfit_bench_workloads", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def answer(workloads: Any, measure: str, *arguments: Any) -> Any:
    """Return the requested measurement, as plain values."""
    if measure == "where":
        return {name: str(distribution(name).locate_file("")) for name in arguments}
    if measure == "pairs":
        return [[*pair, owner] for pair, owner in workloads.pairs().items()]
    if measure == "broken":
        return workloads.broken()
    if measure == "reference":
        return workloads.reference_seconds()
    if measure in workloads.STARTS:
        return workloads.start_seconds(measure, *arguments)
    method, backend, d, *more = arguments
    work = workloads.Workload(method, backend, d)
    if measure == "trajectory":
        return {name: [list(value.shape), value.tobytes()] for name, value in work.trajectory().items()}
    return getattr(work, measure)(*more)


def serve(channel: Any, file: str) -> None:
    """Answer every request of the channel with ["ok", value], ["missing", reason] or ["failed", reason]."""
    workloads = load_module(file)
    warnings.simplefilter("ignore")  # warnings are left to the tests of the commit
    for request in channel:
        try:
            channel.send(["ok", answer(workloads, *request)])
        except workloads.Missing as error:
            channel.send(["missing", str(error)])
        except (SystemExit, Exception) as error:
            channel.send(["failed", f"{type(error).__name__}: {error}"[:500]])


if __name__ == "__channelexec__":
    serve(channel, channel.receive())  # type: ignore[name-defined]  # noqa: F821  # execnet's
