"""The errors of methods with a covariance over a million rows: `python3 dev.py python -m benchmarks.endurance`."""
