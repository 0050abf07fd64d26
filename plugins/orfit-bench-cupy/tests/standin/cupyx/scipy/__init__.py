"""The counterpart of SciPy in `cupyx`."""
