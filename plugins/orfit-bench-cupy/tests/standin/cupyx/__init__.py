"""A stand-in for the package of CuPy's additions, as far as the plugin asks for it."""
