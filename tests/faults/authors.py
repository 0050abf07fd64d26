"""Mistakes of authors of plugins. The report must name each so that its author finds the line."""

from __future__ import annotations

from typing import Any

import numpy as np

from faults.fault import fault, faulty_learn
from faults.reference_learner import STEP, KernelModule, plain

# ------------------------------------------------------------------------------------------ the first rows


@faulty_learn("learns_first_rows", message="TypeError: assigns_nothing_to_return (authors.py:")
def assigns_nothing_to_return(s, X, Y, p, out):
    """`learn` ends without a result."""
    plain(s, X, Y, p, out)


def _update(s: Any, J: Any, E: Any, p: Any) -> Any:
    s.w[...] += STEP * J.T @ E


def _learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i in range(len(X)):
        prediction = X[i : i + 1] @ s.w
        if out is not None:
            out[i] = prediction
        if not _update(s, X[i : i + 1], Y[i : i + 1] - prediction, p.at(i)):
            return i
    return len(X)


fault(
    "update_without_result",
    "`update` ends without a result, which `learn` takes for a refused step",
    "learns_first_rows",
    kernel=KernelModule(learn=_learn, update=_update),
    message="update returned None (authors.py:",
)


@faulty_learn("learns_first_rows", message="change the array in place: s.w[...] += 1 (authors.py:")
def assigns_to_a_field(s, X, Y, p, out):
    """A field is assigned to, not the array in it."""
    s.w = s.w + STEP * X.T @ (Y - X @ s.w)
    return len(X)


@faulty_learn("learns_first_rows", message="object has no attribute 'squares' (authors.py:")
def reads_an_undeclared_field(s, X, Y, p, out):
    """The kernel uses a field that the method does not declare."""
    return plain(s, X, Y / np.sqrt(s.squares), p, out)


@faulty_learn("learns_first_rows", message="is read-only (authors.py:")
def subtracts_from_the_rows(s, X, Y, p, out):
    """The rows of the caller are changed in place."""
    X -= X.mean()
    return plain(s, X, Y, p, out)
