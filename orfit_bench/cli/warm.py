"""`orfit-bench warm`: compile kernels ahead of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from orfit_bench.cli.output import bar
from orfit_bench.cli.plugins import plugins
from orfit_bench.counts import describe_count
from orfit_bench.errors import UnavailableError

if TYPE_CHECKING:
    from orfit_bench.plugins.registry import Registry

SECONDS = 600.0
"""Time limit for compiling the functions of one kernel, in seconds."""


@click.command("warm")
@click.argument("methods", nargs=-1, metavar="[METHOD]...")
@click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="NAME",
    help="Compile for this backend. Default: all that compile kernels.",
)
@click.option(
    "--dtype",
    "dtypes",
    multiple=True,
    metavar="DTYPE",
    help="float64, float32, complex128 or complex64. Default: both real ones.",
)
@click.option(
    "--workers", type=int, metavar="N", help="Number of worker processes. Default: the number of cores, at most 8."
)
def warm_command(methods: Sequence[str], backends: Sequence[str], dtypes: Sequence[str], workers: int | None) -> None:
    """Compile kernels ahead of time.

    Without METHOD, the kernels of all methods are compiled.

    Backends such as numba compile a kernel on first use, which takes seconds, and cache the machine code on disk. Run
    this once, for instance when building a container image or at the start of a CI job. Kernels that are already in the
    cache are not compiled again.

    \b
    Examples:
      orfit-bench warm
      orfit-bench warm rls kalman --dtype float64
    """
    from orfit_bench.jobs.processes import Call, cores, open_processes, spread
    from orfit_bench.learners.arguments import DTYPES, REAL_DTYPES

    known = plugins()
    for name in methods:
        known.methods.find(name)
    for name in backends:
        known.backends.find(name)
    if wrong := set(dtypes) - set(DTYPES):
        raise ValueError(f"dtype={wrong.pop()!r}: want one of {', '.join(DTYPES)}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: want 1 or more")
    compiling = [n for n, b in known.backends.items() if b.compile and b.available and n in (backends or [n])]
    pairs = [(b, m) for b in compiling for m in (methods or known.methods) if not known.absence(b, m)]
    wanted = [(b, m, dtype) for dtype in dtypes or REAL_DTYPES for b, m in pairs if learns_in(known, b, m, dtype)]
    failed = []
    with bar() as shown, open_processes(min(workers or cores(), max(len(wanted), 1))) as processes:
        calls = enumerate(Call(compile_kernel, one, SECONDS) for one in wanted)
        for done, (number, error) in enumerate(spread(processes, calls), start=1):
            shown.update(done, len(wanted), "{1} on {0}, {2}".format(*wanted[number]))
            if error:
                failed.append("{1} on {0}, {2}: {3}".format(*wanted[number], error))
    if failed:
        raise UnavailableError(f"{len(failed)} of {len(wanted)} kernels were not compiled: {'; '.join(failed)}")
    if not compiling:
        click.echo("none of the selected backends compiles kernels")
        return
    kernels = describe_count(len({pair[:2] for pair in wanted}), "kernel")
    click.echo(f"{kernels} compiled for {', '.join(compiling)}")


def learns_in(known: Registry, backend: str, method: str, dtype: str) -> bool:
    """Whether a kernel supports this dtype: not all support complex numbers."""
    from orfit_bench.learners.arguments import is_complex

    return not is_complex(dtype) or known.capabilities(backend, method).get("complex") == ""


def learn_first_rows(backend: str, method: str, dtype: str) -> None:
    """Learn rows in each way that has its own code: several rows and a single one, with and without predictions."""
    from orfit_bench.conformance.driver import Driver
    from orfit_bench.conformance.variants import variants
    from orfit_bench.plugins.registry import registry

    known = registry()
    driver = Driver(known.methods[method], known.backends[backend], dtype, 0, variants(known.methods[method])[0])
    rows = driver.rows()
    for learn in (driver.learn, driver.learn_silently):
        learner = driver.create()
        for part in (rows, rows.cut(0, 1)):
            learn(learner, part)
        driver.flush(learner)
        driver.predict(learner, rows.X)


def compile_kernel(backend: str, method: str, dtype: str) -> str:
    """Compile one kernel in this process; return the error message, or an empty string."""
    from orfit_bench.jobs.notes import describe_error
    from orfit_bench.plugins.registry import registry

    try:
        known, kernel = registry().backends[backend], registry().kernel(backend, method)
        before = len(known.compiled(kernel)) if known.compiled else 0
        if known.compile:
            known.compile(kernel, dtype)
        if known.compiled and len(known.compiled(kernel)) == before:  # the first rows compile it
            learn_first_rows(backend, method, dtype)
    except (Exception, SystemExit) as error:
        return describe_error(error)
    return ""
