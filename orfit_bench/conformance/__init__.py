"""The conformance kit: is a learner what its declaration says?

>>> from orfit_bench.conformance import conform
>>> conform("lms", backends=["numpy"], only=["any_chunking"], dtypes=["float64"]).counts["passed"]
1
"""

from orfit_bench.conformance.kit import conform
from orfit_bench.conformance.record import Record, Report

__all__ = ["Record", "Report", "conform"]
