"""The measured limits of the machine, as a table."""

from __future__ import annotations

from rich.table import Table

from orfit_bench.bench.roofline import Roofline
from orfit_bench.report.labels import as_bytes
from orfit_bench.report.table import grid


def roofline_table(roofline: Roofline) -> Table:
    """Memory bandwidth by working-set size, and arithmetic rate by dtype."""
    table = grid("Limits of this machine, one thread", "limit", "measured with", "per second")
    for size, rate in roofline.bandwidth.items():
        table.add_row("memory bandwidth", f"a working set of {as_bytes(float(size))}", f"{rate / 1e9:.1f} GB")
    for dtype, rate in roofline.matrix_product.items():
        table.add_row("arithmetic rate", f"{dtype} matrix product", f"{rate / 1e9:.1f} GFLOP")
    return table
