"""The figures of results: each is a function from the results of one stream to a matplotlib figure."""

from orfit_bench.report.figures.plates import Omitted, Plate, plates

__all__ = ["Omitted", "Plate", "plates"]
