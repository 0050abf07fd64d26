"""The catalogue of methods: one file a method, with its formulas, settings, state, batch solution, laws and cost.

A file is added to the catalogue by standing in METHODS below.
"""

from orfit_bench.catalogue.methods import (
    apa,
    class_rls,
    gp,
    greedy,
    icl,
    implicit_krasulina,
    incremental_pca,
    kalman,
    krasulina,
    lms,
    nlms,
    ogd,
    oja,
    one_step_sgd,
    orfit,
    owm,
    rls,
    sanger,
    sgd,
)

METHODS = tuple(
    module.METHOD
    for module in (
        lms,
        nlms,
        one_step_sgd,
        sgd,
        apa,
        icl,
        ogd,
        orfit,
        greedy,
        rls,
        gp,
        owm,
        class_rls,
        kalman,
        oja,
        krasulina,
        sanger,
        implicit_krasulina,
        incremental_pca,
    )
)

__all__ = ["METHODS"]
