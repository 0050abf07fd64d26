"""What draws the pictures: matplotlib, which comes with the extra `plots`."""

from __future__ import annotations

from typing import Any

from orfit_bench.errors import UnavailableError


def pyplot() -> Any:
    """matplotlib's, drawing to files; UnavailableError with the command that helps where it is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise UnavailableError(
            'pictures need matplotlib: pip install "orfit-bench[plots]" (in a checkout: pip install ".[plots]")'
        ) from None
    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "orfit-bench", "svg.fonttype": "none"})  # the same picture is the same file
    from matplotlib import pyplot as plt

    return plt
