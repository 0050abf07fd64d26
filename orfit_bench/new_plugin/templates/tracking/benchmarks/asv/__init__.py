"""Benchmarks that asv runs; asv imports every file of this folder."""
