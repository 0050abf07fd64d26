"""The benchmark: suites of cells, measured one at a time in a worker process, with results in a labelled dataset.

>>> from orfit_bench.bench import Suite, run
>>> suite = Suite(methods=["lms"], backends=["numpy"], streams=["regression"], rows=[50])
>>> run(suite, isolate=False)["status"].values.tolist()
['ok']
"""

from orfit_bench.bench.cell import Cell, run_cell
from orfit_bench.bench.protocol import Protocol
from orfit_bench.bench.results import load
from orfit_bench.bench.runner import run
from orfit_bench.bench.suite import Suite

__all__ = ["Cell", "Protocol", "Suite", "load", "run", "run_cell"]
