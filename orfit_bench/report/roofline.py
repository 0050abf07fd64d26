"""What the machine allows, as a table."""

from __future__ import annotations

from rich.table import Table

from orfit_bench.bench.roofline import Roofline
from orfit_bench.report.labels import as_bytes
from orfit_bench.report.table import grid


def roofline_table(roofline: Roofline) -> Table:
    """Bandwidth by the bytes in use, and the rate of matrix products by dtype."""
    table = grid("What this machine allows one thread", "limit", "of", "a second")
    for size, rate in roofline.bandwidth.items():
        table.add_row("bytes read and written", f"{as_bytes(float(size))} in use", f"{rate / 1e9:.1f} GB")
    for dtype, rate in roofline.matrix_product.items():
        table.add_row("operations of a matrix product", dtype, f"{rate / 1e9:.1f} GFLOP")
    return table
