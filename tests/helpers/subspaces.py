"""Methods, rows and measures for tests of subspace methods."""

from __future__ import annotations

from typing import Any

import numpy as np

import orfit_bench as ob
from orfit_bench.learners.subspace import Subspace

METHODS = ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
ORTHONORMAL, FREE = METHODS[:2], METHODS[2:4]
STEPPED = ORTHONORMAL + FREE
X = np.random.default_rng(0).standard_normal((9, 4)) * [3.0, 2.0, 1.0, 0.5]
X.flags.writeable = False


def basis(learner: ob.Learner) -> Any:
    return learner.array("basis").astype(float)


def projection(C: Any) -> Any:
    return C @ np.linalg.pinv(C)


def loss(learner: Subspace, X: Any) -> float:
    """The compression loss (2)."""
    return float(((X - learner.inverse_transform(learner.transform(X))) ** 2).sum() / len(X))


def positive_qr(C: Any) -> Any:
    Q, R = np.linalg.qr(C)
    return Q * np.sign(np.diag(R))


def digits() -> Any:
    return ob.streams()["digits_pca"].load().X


def off_inverse(learner: ob.Learner) -> float:
    """The deviation of the stored inverse from that of C."""
    state = learner.state()
    pseudo = np.linalg.pinv(state["basis"].values.astype(float))
    want = pseudo @ pseudo.T
    return float(abs(state["inverse"].values - want).max() / abs(want).max())
