"""Where the commands write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console(err: bool = False) -> Console:
    """A console as wide as the terminal, and 100 columns wide in a file or pipe."""
    from rich.console import Console

    from orfit_bench.report.table import WIDTH

    terminal = (sys.stderr if err else sys.stdout).isatty()
    return Console(stderr=err, width=None if terminal else WIDTH, highlight=False, soft_wrap=False)
