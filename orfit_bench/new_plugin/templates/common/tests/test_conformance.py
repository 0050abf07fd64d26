"""The conformance kit of orfit_bench, one test per check."""

from orfit_bench.conformance import suite

test_conforms = suite("my_plugin")
