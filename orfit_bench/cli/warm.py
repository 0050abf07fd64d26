"""`orfit-bench warm`: everything compiled before anybody waits for it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from orfit_bench.cli.output import bar
from orfit_bench.cli.plugins import plugins


@click.command("warm")
@click.argument("methods", nargs=-1, metavar="[METHOD]...")
@click.option("--backend", "backends", multiple=True, metavar="NAME", help="A backend. Default: all that compile.")
@click.option("--dtype", "dtypes", multiple=True, metavar="DTYPE", help="float64 or float32. Default: both.")
def warm_command(methods: Sequence[str], backends: Sequence[str], dtypes: Sequence[str]) -> None:
    """Compile the kernels of every METHOD, so that no later process on this machine waits for it.

    Backends that compile keep their machine code on disk. Without this the first use of a method takes seconds;
    images and CI run it once. What is on disk already is not compiled again.

    \b
    Examples:
      orfit-bench warm
      orfit-bench warm rls kalman --dtype float64
    """
    from orfit_bench.host.create import DTYPES

    known = plugins()
    for kind, names in (("methods", methods), ("backends", backends)):
        for name in names:
            known.find(kind, name)
    if wrong := set(dtypes) - set(DTYPES):
        raise ValueError(f"dtype={wrong.pop()!r}: want one of {', '.join(DTYPES)}")
    compiling = [b for n, b in known.backends.items() if b.compile and b.available and n in (backends or [n])]
    wanted = [(b, m) for b in compiling for m in (methods or known.methods) if not known.absence(b.name, m)]
    with bar() as shown:
        for i, (backend, method) in enumerate(wanted):
            shown.update(i, len(wanted), f"{method} on {backend.name}")
            for dtype in dtypes or DTYPES:
                if backend.compile:
                    backend.compile(known.kernel(backend.name, method), dtype)
    names = ", ".join(b.name for b in compiling) or "no backend, for none of these compiles"
    click.echo(f"{len(wanted)} kernels compiled, of {names}")
