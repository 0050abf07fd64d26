"""Equalities of methods under certain settings: an extension of the survey's figure 8, in which every edge is a law.

A check receives `create(method, **settings)`, which creates learners of any method on one backend in one dtype. It
returns the deviation between both sides, for the final weights and for the prequential predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.laws import apa, icl, implicit_krasulina, incremental_pca, orfit, rls
from orfit_bench.catalogue.laws.helpers import condition, final_weights, weakest_energy
from orfit_bench.catalogue.shared.least_squares import weighted_rows
from orfit_bench.models import MLP
from orfit_bench.spec.law import Equality, Law, Measured, Rows, deviation, nan_max, to_numpy64


def measure_equality(
    create: Any, rows: Rows, one: str, some: Any, other: str, others: Any, cond: float = 1.0
) -> Measured:
    """Compare two learners, (one, some settings) and (other, other settings), on the same rows."""
    first, second = create(one, **some), create(other, **others)
    predicted, expected = (learner.prequential(rows.X, rows.y) for learner in (first, second))
    w, v = (final_weights(learner) for learner in (first, second))
    size = abs(rows.y).max()  # predictions start at zero, so their own scale is not suitable
    return Measured(
        nan_max(deviation(w, v), float(np.abs(to_numpy64(predicted) - to_numpy64(expected)).max() / size)),
        len(rows.X),
        cond,
    )


def unit_length(rows: Rows) -> Rows:
    """The rows and targets, divided by the norms of the rows."""
    norms = np.linalg.norm(rows.X, axis=1)
    return Rows(rows.X / norms[:, None], rows.y / norms, rows.seed)


def stable_step(rows: Rows) -> float:
    """Half of the largest step at which a gradient step is stable on every row."""
    return float(0.5 / (rows.X * rows.X).sum(1).max())


ALL_ROWS = {"projection_order": None, "step_size": 1.0, "eps": 0.0}
INTERPOLATE = {"forgetting_factor": 0.0}


def lms_equals_sgd(create: Any, rows: Rows) -> Measured:
    """SGD with the loss e^2 / 2 is LMS."""
    step = {"step_size": stable_step(rows)}
    return measure_equality(create, rows, "lms", step, "sgd", step | {"loss": "square"})


def lms_equals_nlms(create: Any, rows: Rows) -> Measured:
    """On rows of norm 1, LMS with step 1 equals NLMS with step 1."""
    return measure_equality(
        create, unit_length(rows), "lms", {"step_size": 1.0}, "nlms", {"step_size": 1.0, "eps": 0.0}
    )


def nlms_equals_apa(create: Any, rows: Rows) -> Measured:
    """Affine projection onto only the newest row is NLMS."""
    same = {"step_size": 0.5, "eps": 0.0}
    return measure_equality(create, rows, "nlms", same, "apa", same | {"projection_order": 1})


def nlms_equals_one_step_sgd(create: Any, rows: Rows) -> Measured:
    """NLMS with step 1 and eps 0, which removes the whole error of a row, is one-step SGD."""
    return measure_equality(create, rows, "nlms", {"step_size": 1.0, "eps": 0.0}, "one_step_sgd", {})


def apa_equals_icl(create: Any, rows: Rows) -> Measured:
    """Affine projection onto all rows is the ideal continual learner, step by step."""
    return measure_equality(create, rows, "apa", ALL_ROWS, "icl", {}, condition(rows.X))


def icl_equals_orfit(create: Any, rows: Rows) -> Measured:
    """The single step of ORFit that fits the new row is the update of the ideal continual learner."""
    return measure_equality(create, rows, "icl", {}, "orfit", {}, condition(rows.X))


def rls_equals_icl(create: Any, rows: Rows) -> Measured:
    """RLS in the limit of forgetting factor 0 is the ideal continual learner."""
    return measure_equality(create, rows, "rls", INTERPOLATE, "icl", {}, condition(rows.X))


def rls_equals_orfit(create: Any, rows: Rows) -> Measured:
    """RLS in the limit of forgetting factor 0 is ORFit, for at most one row more than the memory holds."""
    memory = {"memory": len(rows.X) - 1}
    return measure_equality(create, rows, "rls", INTERPOLATE, "orfit", memory, condition(rows.X))


def rls_equals_orfit_on_a_model(create: Any, rows: Rows) -> Measured:
    """On a network, RLS in the limit of forgetting factor 0 (NTK-RLS) is ORFit, step by step."""
    X, y = unit_length(rows).X[:8], np.tanh(rows.y[:8] / abs(rows.y).max())
    network, gradients, worst = MLP(hidden=(6,)), [], 0.0
    rls, orfit = create("rls", **INTERPOLATE, model=network), create("orfit", model=network)
    for t in range(len(X)):
        row = X[t : t + 1], y[t : t + 1]
        before = final_weights(orfit.partial_fit(X[:0], y[:0]))[:, 0]
        gradients.append(network.jacobian(before, X[t])[0])
        worst = nan_max(worst, deviation(final_weights(rls.partial_fit(*row)), final_weights(orfit.partial_fit(*row))))
    return Measured(worst, len(X), condition(np.array(gradients)))


def ogd_equals_orfit(create: Any, rows: Rows) -> Measured:
    """OGD with the step 1/(x'P x), which fits the new row, is ORFit."""
    R = np.linalg.qr(rows.X.T, mode="r")
    steps = {"sequence": {"values": [float(1 / r**2) for r in np.diagonal(R)]}}  # r = |P x|
    return measure_equality(create, rows, "ogd", {"step_size": steps}, "orfit", {}, condition(rows.X))


def sgd_converges_to_orfit(create: Any, rows: Rows) -> Measured:
    """Many passes of SGD converge to the result of one pass of ORFit (five rows of condition number near 2)."""
    Q = np.linalg.qr(rows.X[:5].T)[0].T
    few = Rows(Q + 0.3 * np.roll(Q, 1, axis=0), rows.y[:5] / abs(rows.y[:5]).max(), rows.seed)
    sgd, orfit = create("sgd", step_size=stable_step(few)), create("orfit").partial_fit(few.X, few.y)
    for _ in range(400):
        sgd.partial_fit(few.X, few.y)
    return Measured(deviation(final_weights(sgd), final_weights(orfit)), few.X.size, condition(few.X))


def rls_equals_kalman(create: Any, rows: Rows) -> Measured:
    """The Kalman filter of a constant state, with prior covariance I / ridge and noise variance 1, is RLS."""
    ridge, cond = weakest_energy(rows.X), condition(rows.X)
    return measure_equality(create, rows, "rls", {"ridge": ridge}, "kalman", {"initial_covariance": 1 / ridge}, cond)


def rls_equals_class_rls(create: Any, rows: Rows) -> Measured:
    """RLS on one-hot targets is class RLS."""
    ridge, labels = {"ridge": weakest_energy(rows.X)}, (rows.y > np.median(rows.y)).astype(int)
    one_hot = (labels[:, None] == list(dict.fromkeys(labels.tolist()))).astype(float)
    rls, classifier = create("rls", **ridge), create("class_rls", **ridge)
    scores = rls.prequential(rows.X, one_hot), classifier.prequential(rows.X, labels)
    found = nan_max(deviation(final_weights(classifier), final_weights(rls)), deviation(scores[1], scores[0]))
    return Measured(found, len(rows.X), condition(rows.X))


def rls_equals_ridge(create: Any, rows: Rows) -> Measured:
    """RLS equals ridge regression in information form, step by step, for a forgetting factor below 1."""
    same = {"ridge": weakest_energy(rows.X), "forgetting_factor": 0.99}
    A, _ = weighted_rows(rows.X, rows.y[:, None], weakest_energy(rows.X), 0.99)
    return measure_equality(create, rows, "rls", same, "ridge", same, max(condition(A), condition(rows.X)))


def rls_equals_owm(create: Any, rows: Rows) -> Measured:
    """OWM with step 1 on a network of one layer is RLS."""
    same = {"ridge": weakest_energy(rows.X), "forgetting_factor": 0.99}
    one = {"model": MLP(hidden=(), bias=False), "initial_weights": np.zeros(rows.X.shape[1]), "step_size": 1.0}
    A, _ = weighted_rows(rows.X, rows.y[:, None], weakest_energy(rows.X), 0.99)
    return measure_equality(create, rows, "rls", same, "owm", one | same, max(condition(A), condition(rows.X)))


def ogd_equals_gp(create: Any, rows: Rows) -> Measured:
    """Gradient projection on a network of one layer is OGD."""
    step = {"step_size": stable_step(rows)}
    one = {"model": MLP(hidden=(), bias=False), "initial_weights": np.zeros(rows.X.shape[1])}
    return measure_equality(create, rows, "ogd", step, "gp", one | step, condition(rows.X))


def _batch_edge(method: str, solution: str, when: str, check: Any, laws: tuple[Law, ...]) -> Equality:
    """An edge to a batch solution, measured by a law of the method itself."""
    return Equality(method, solution, when, next(law for law in laws if law.check is check), batch=True)


EQUALITIES = (
    Equality("lms", "sgd", "loss square", Law(lms_equals_sgd, "slides, From recursive least squares to SGD", 0)),
    Equality("lms", "nlms", "|x| = 1, step 1, eps 0", Law(lms_equals_nlms, "survey, the program (LMS)", 0)),
    Equality("nlms", "apa", "projection_order 1", Law(nlms_equals_apa, "survey, the program (APA)", 0)),
    Equality("nlms", "one_step_sgd", "step 1, eps 0", Law(nlms_equals_one_step_sgd, "thesis, section 5.1", 0)),
    Equality("apa", "icl", "all rows", Law(apa_equals_icl, "survey, Theorems 4 and 5", 1, "wide")),
    Equality("icl", "orfit", "", Law(icl_equals_orfit, "survey, (ORFit) with eq. (6)", 1, "wide")),
    Equality("rls", "icl", "forgetting_factor 0", Law(rls_equals_icl, "survey, Lemma 1", 1, "wide")),
    Equality("rls", "orfit", "forgetting_factor 0", Law(rls_equals_orfit, "thesis, Proposition 2", 1, "wide")),
    Equality("rls", "orfit", "the same, on a model", Law(rls_equals_orfit_on_a_model, "thesis, Theorem 9", 1, "wide")),
    Equality("ogd", "orfit", "step 1/(x'P x)", Law(ogd_equals_orfit, "survey, (OGD) and (ORFit)", 1, "wide")),
    Equality("sgd", "orfit", "many passes", Law(sgd_converges_to_orfit, "thesis, Corollary 4", 1, "wide")),
    Equality("rls", "kalman", "state at rest", Law(rls_equals_kalman, "survey, Lemma 3", 2)),
    Equality("rls", "class_rls", "one-hot targets", Law(rls_equals_class_rls, "survey, (D-RLS)", 2)),
    Equality("rls", "ridge", "", Law(rls_equals_ridge, "thesis, eq. (2.2) and (2.3)", 2)),
    Equality("rls", "owm", "one layer, step 1", Law(rls_equals_owm, "survey, Layer-wise RLS", 2)),
    Equality("ogd", "gp", "one layer", Law(ogd_equals_gp, "survey, (OGD) and (GP)", 1, "wide")),
    _batch_edge("apa", "min-norm", "all rows", apa.min_norm_interpolation, apa.LAWS),
    _batch_edge("icl", "min-norm", "", icl.min_norm_interpolation, icl.LAWS),
    _batch_edge("orfit", "min-norm", "", orfit.min_norm_interpolation, orfit.LAWS),
    _batch_edge("rls", "batch ridge", "", rls.equals_ridge_regression, rls.LAWS),
    _batch_edge("incremental_pca", "batch PCA", "rank <= k", incremental_pca.equals_batch_pca, incremental_pca.LAWS),
    _batch_edge(
        "implicit_krasulina",
        "batch EM",
        "step to infinity",
        implicit_krasulina.large_step_limit_is_em,
        implicit_krasulina.LAWS,
    ),
)
