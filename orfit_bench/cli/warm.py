"""`orfit-bench warm`: everything compiled before anybody waits for it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orfit_bench.cli.output import bar
from orfit_bench.cli.plugins import plugins
from orfit_bench.errors import UnavailableError

SECONDS = 600.0
"""Longest time that the functions of one kernel may take to compile."""


@click.command("warm")
@click.argument("methods", nargs=-1, metavar="[METHOD]...")
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="A backend. Default: all that compile.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="float64 or float32. Default: both.")
@click.option("--workers", type=int, metavar="N", help="Processes at work. Default: the cores, at most 8.")
def warm_command(methods: Sequence[str], backends: Sequence[str], dtypes: Sequence[str], workers: int | None) -> None:
    """Compile the kernels of every METHOD, so that no later process on this machine waits for it.

    Backends that compile keep their machine code on disk. Without this the first use of a method takes seconds;
    images and CI run it once. What is on disk already is not compiled again.

    \b
    Examples:
      orfit-bench warm
      orfit-bench warm rls kalman --dtype float64
    """
    from orfit_bench.jobs.processes import Call, cores, open_processes, spread
    from orfit_bench.learners.factory import DTYPES

    known = plugins()
    for kind, names in (("methods", methods), ("backends", backends)):
        for name in names:
            known.find(kind, name)
    if wrong := set(dtypes) - set(DTYPES):
        raise ValueError(f"dtype={wrong.pop()!r}: want one of {', '.join(DTYPES)}")
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers}: want 1 or more")
    compiling = [n for n, b in known.backends.items() if b.compile and b.available and n in (backends or [n])]
    pairs = [(b, m) for b in compiling for m in (methods or known.methods) if not known.absence(b, m)]
    wanted = [(b, m, dtype) for dtype in dtypes or DTYPES for b, m in pairs]
    failed = []
    with bar() as shown, open_processes(min(workers or cores(), len(wanted))) as processes:
        calls = enumerate(Call(compile_kernel, one, SECONDS) for one in wanted)
        for done, (number, said) in enumerate(spread(processes, calls), start=1):
            shown.update(done, len(wanted), "{1} on {0}, {2}".format(*wanted[number]))
            if said:
                failed.append("{1} on {0}, {2}: {3}".format(*wanted[number], said))
    if failed:
        raise UnavailableError(f"{len(failed)} of {len(wanted)} not compiled: {'; '.join(failed)}")
    kernels = "1 kernel" if len(pairs) == 1 else f"{len(pairs)} kernels"
    click.echo(f"{kernels} compiled, of {', '.join(compiling) or 'no backend, for none of these compiles'}")


def compile_kernel(backend: str, method: str, dtype: str) -> str:
    """Compile one kernel in this process; what went wrong, empty where nothing did."""
    from orfit_bench.jobs.notes import describe_error
    from orfit_bench.plugins.registry import registry

    try:
        compiles = registry().backends[backend].compile
        if compiles:
            compiles(registry().kernel(backend, method), dtype)
    except (Exception, SystemExit) as error:
        return describe_error(error)
    return ""
