from orfit_bench.conformance import suite

test_conforms = suite("numba")
