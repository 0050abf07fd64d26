"""The conformance kit: does an implementation match its declaration?

>>> from orfit_bench.conformance import conform
>>> conform("lms", backends=["numpy"], only=["any_chunking"], dtypes=["float64"]).counts["passed"]
1

As a pytest suite: `from orfit_bench.conformance import suite` and `test_conforms = suite("lms")`.

How a check or a law becomes a verdict, in reading order:

1. `check`: a check is a function of a `CheckContext` that returns a `Deviation` with its bound. The functions are in
   `checks`; `laws` makes a check of every law. `context` creates learners, draws rows and compares results,
   `comparison` and `tolerance` define how.
2. `plan`: the checks that apply to the selected methods, backends and dtypes, as `PlannedCheck`.
3. `runner`: runs a planned check with every variant of the settings (`variants`), which gives one `CheckResult`.
   `isolated` does the same in worker processes, `suites` in pytest.
4. `verdict`: makes a `Report` of all results, and adds problems of the run as a whole. `result` defines both.

`export` writes a report as JSON and JUnit; `orfit_bench.report.conformance` prints it.
"""

from orfit_bench.conformance.declarations import check_experiment, check_metric, check_model, check_stream
from orfit_bench.conformance.result import CheckResult, Report
from orfit_bench.conformance.runner import conform
from orfit_bench.conformance.suites import suite

__all__ = [
    "CheckResult",
    "Report",
    "check_experiment",
    "check_metric",
    "check_model",
    "check_stream",
    "conform",
    "suite",
]
