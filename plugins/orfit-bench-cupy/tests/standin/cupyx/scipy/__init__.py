"""As SciPy is named there."""
