"""What draws the pictures: matplotlib, which comes with the extra `plots`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from orfit_bench.errors import UnavailableError
from orfit_bench.jobs.files import replace

INK, PAPER = "#000000", "#fffffe"
"""Black, and what is as good as white: on a page they are its text's colour and its background's, light or dark."""


def matplotlib() -> Any:
    """The library, drawing to files; UnavailableError with the command that helps where it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UnavailableError(
            "pictures need matplotlib, which is not installed: pip install 'orfit-bench[plots]'"
        ) from None
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "orfit-bench", "svg.fonttype": "none"})  # the same picture is the same file
    return mpl


def pyplot() -> Any:
    """matplotlib's pyplot, for a picture or two: it takes long to import. Errors as `matplotlib`."""
    matplotlib()
    from matplotlib import pyplot as plt

    return plt


def save(figure: Any, path: Path) -> None:
    """Write the picture, whole or not at all, in the format of the path's ending, and close it.

    ValueError where the ending names no format; OSError as `orfit_bench.jobs.files.replace`.
    """
    ending = path.suffix.lstrip(".").lower() or "svg"
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise ValueError(f"{path}: want a file ending in one of {', '.join(sorted(known))}")
    same = {"Date": None} if ending == "svg" else None  # the same picture is the same file
    replace(path, lambda whole: figure.savefig(whole, metadata=same, format=ending, dpi=150))
    close(figure)


def close(figure: Any) -> None:
    """Let go of the figure, of which pyplot keeps hold if it made it."""
    if plt := sys.modules.get("matplotlib.pyplot"):
        plt.close(figure)
