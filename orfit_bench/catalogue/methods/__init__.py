"""The catalogue of methods: one module per method, with its settings, state, cost and batch solution.

A module of this package without a leading underscore is a method: it defines `METHOD`. Its theorems are in the module
of the same name in `orfit_bench.catalogue.laws`, and code shared by methods in `orfit_bench.catalogue.shared`.
"""

from __future__ import annotations

from orfit_bench.catalogue.shared.modules import declared
from orfit_bench.spec import Method

LAWS = "orfit_bench.catalogue.laws."
try:
    METHODS: tuple[Method, ...] = declared(Method, __name__, __path__)
    """Every method of the catalogue, ordered by name."""
except ModuleNotFoundError as error:
    if not (error.name or "").startswith(LAWS):
        raise
    name = str(error.name).removeprefix(LAWS)
    raise ImportError(
        f"a method imports its laws from {error.name}, which does not exist: create the file "
        f"orfit_bench/catalogue/laws/{name}.py with LAWS = (), a tuple of the theorems of the method"
    ) from error

__all__ = ["METHODS"]
