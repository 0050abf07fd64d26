"""The benchmarks that asv tracks over commits. This folder contains nothing else, since asv imports all its files."""
