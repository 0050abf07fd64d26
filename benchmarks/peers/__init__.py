"""Comparisons of methods with other packages: functions that learn the same rows, for interleaved timing."""
