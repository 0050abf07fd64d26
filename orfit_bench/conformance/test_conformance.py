"""Every check of everything installed: `pytest --pyargs orfit_bench.conformance [--orfit NAME]`."""

from orfit_bench.conformance import suite

test_conforms = suite()
