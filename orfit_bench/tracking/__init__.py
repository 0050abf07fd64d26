"""What is watched over commits: speed, memory and exactness of every method on every backend, and the gate on them.

`workloads` says what is measured; the gate (two commits beside each other) and the benchmarks of asv (the history) both
measure with it.
"""
