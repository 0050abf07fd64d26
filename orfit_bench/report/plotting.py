"""Set-up of matplotlib, which is installed with the extra `plots`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import replace

INK, PAPER = "#000000", "#fffffe"
"""Black and almost white; on an HTML page they become its text and background colours, light or dark."""


def matplotlib() -> Any:
    """matplotlib with a file backend. Raises UnavailableError with the install command if it is missing."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UnavailableError(
            "figures require matplotlib, which is not installed: pip install 'orfit-bench[plots]'"
        ) from None
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "orfit-bench", "svg.fonttype": "none"})  # equal figures give equal files
    return mpl


def pyplot() -> Any:
    """matplotlib.pyplot, which is slow to import. Raises the same errors as `matplotlib`."""
    matplotlib()
    from matplotlib import pyplot as plt

    return plt


def save(figure: Any, path: Path) -> None:
    """Write the figure atomically, in the format given by the ending of the path, and close it.

    Raises ValueError for an unknown ending, and OSError as `orfit_bench.jobs.files.replace` does.
    """
    ending = path.suffix.lstrip(".").lower() or "svg"
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise ValueError(f"{path}: want a file ending in one of {', '.join(sorted(known))}")
    same = {"Date": None} if ending == "svg" else None  # equal figures give equal files
    replace(path, lambda file: figure.savefig(file, metadata=same, format=ending, dpi=150))
    close(figure)


def close(figure: Any) -> None:
    """Close the figure, so that pyplot drops its reference."""
    if plt := sys.modules.get("matplotlib.pyplot"):
        plt.close(figure)
