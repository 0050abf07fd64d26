"""The catalogue of methods: one module per method, with its settings, state, cost and batch solution.

A module of this package without a leading underscore is a method: it defines `METHOD`. Its theorems are in the module
of the same name in `orfit_bench.catalogue.laws`, and what several methods need is in `orfit_bench.catalogue.shared`.
"""

from __future__ import annotations

from orfit_bench.catalogue.shared.modules import declared
from orfit_bench.spec import Method

METHODS: tuple[Method, ...] = declared(Method, __name__, __path__)
"""Every method of the catalogue, ordered by name."""

__all__ = ["METHODS"]
