"""The conformance kit: is a learner what its declaration says?

>>> from orfit_bench.conformance import conform
>>> conform("lms", backends=["numpy"], only=["any_chunking"], dtypes=["float64"]).counts["passed"]
1

The same as a suite of pytest, whole: `from orfit_bench.conformance import suite` and `test_conforms = suite("lms")`.
"""

from orfit_bench.conformance.kit import conform
from orfit_bench.conformance.record import Record, Report
from orfit_bench.conformance.suites import suite

__all__ = ["Record", "Report", "conform", "suite"]
