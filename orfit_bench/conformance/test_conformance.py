"""Every check of everything that is installed: `pytest --pyargs orfit_bench.conformance [--orfit NAME]`."""

from orfit_bench.conformance import suite

test_conforms = suite()
