"""`python -m orfit_bench` is `orfit-bench`."""

from orfit_bench.cli import main

main()
