"""The figures of results: each is a function from the results of one stream to a matplotlib figure."""

from orfit_bench.report.figures.rendering import Omitted, RenderedFigure, render_figures

__all__ = ["Omitted", "RenderedFigure", "render_figures"]
