"""Tracking of speed, memory and exactness over commits, for every method on every backend.

`workloads` defines the measurements. The gate, which compares two commits, and the asv benchmarks, which record the
history, use the same definitions.
"""
