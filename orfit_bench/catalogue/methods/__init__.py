"""The catalogue of methods: one file a method, with its formulas, settings, state, batch solution, laws and cost.

A file is added to the catalogue by standing in METHODS below.
"""

from orfit_bench.catalogue.methods import apa, gp, greedy, icl, lms, nlms, ogd, one_step_sgd, orfit, owm, rls

METHODS = tuple(m.METHOD for m in (lms, nlms, apa, icl, ogd, orfit, one_step_sgd, greedy, rls, gp, owm))

__all__ = ["METHODS"]
