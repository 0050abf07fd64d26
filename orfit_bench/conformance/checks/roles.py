"""Fields have the properties of their roles: symmetric, triangular, without negative variances."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.conformance.acceptance import learn_or_skip
from orfit_bench.conformance.check import check, ensure
from orfit_bench.conformance.checks.zeros import needs_components
from orfit_bench.conformance.context import CheckContext
from orfit_bench.conformance.inspection import host_arrays_of, layout_of
from orfit_bench.conformance.rows import ROWS, Array

ROLES = ("covariance", "variances", "information", "covariance_root", "information_root")
PARTS = (0, 1, 5, ROWS)
"""Numbers of rows after which the fields are checked."""


def needs_second_order(context: CheckContext) -> str:
    """The state must have a field of second order."""
    roles = {f.role for f in context.method.state.fields}
    return "" if roles.intersection(ROLES) else "no field is a covariance, an information or a root"


@check(needs_second_order, numbers="any")
def fields_are_what_their_roles_say(context: CheckContext) -> None:
    """Covariances are symmetric, roots triangular with a nonnegative diagonal, and variances nonnegative."""
    chunk, learner = context.rows(), context.create()
    for begin, end in zip((0, *PARTS), PARTS, strict=False):
        learn_or_skip(context, learner, chunk.cut(begin, end))
        arrays = host_arrays_of(learner)
        for f in layout_of(learner).fields:
            if f.role in ROLES and f.name in arrays:
                wrong = _fault_of(f.role, arrays[f.name])
                ensure(not wrong, f"after {end} rows {f.name}, of role {f.role}, {wrong}")


@check(needs_components, numbers="any")
def components_have_the_signs_of_the_basis(context: CheckContext) -> None:
    """Each row of components_ points in the direction of its column of the basis, not in the opposite direction."""
    for n in (1, ROWS):
        chunk = context.rows(n=n)
        for rows in (chunk, chunk.with_rows(-np.abs(chunk.X))):  # this can leave a column without a positive number
            learner = context.train(rows)
            signs, kept = signs_of_components(learner), int(learner.array("basis").any(axis=0).sum())
            count = learner.components_.shape[0]
            ensure(count == kept, f"after {n} rows there are {count} components_ of {kept} columns of the basis")
            ensure(
                (signs >= 0).all(), f"after {n} rows the signs of components_ relative to the basis are {signs}, want 1"
            )


def signs_of_components(learner: Any) -> Array:
    """For each component, 1 if it points along its column of the basis, -1 if against it, else 0.

    A column that depends linearly on earlier columns does not have its own direction.
    """
    basis, components = learner.array("basis"), np.asarray(learner.backend.asnumpy(learner.components_))
    basis = basis[:, basis.any(axis=0)]
    along = np.einsum("ij,ji->i", components, basis).real
    rounding = 1e3 * np.finfo(basis.dtype).eps * np.linalg.norm(basis, axis=0)
    signs: Array = np.sign(along) * (np.abs(along) > rounding)
    return signs


def _fault_of(role: str, a: Array) -> str:
    """The defect of a field of this role; empty if there is none."""
    diagonal: Any = a if role == "variances" else np.diagonal(a)
    if (np.real(diagonal) < 0).any() or np.imag(diagonal).any():
        return "has a number on its diagonal that is negative, or not real"
    if role == "covariance":
        rounding = 64 * np.finfo(a.dtype).eps * np.abs(a).max(initial=0)
        return "is not symmetric" if (np.abs(a - a.conj().T) > rounding).any() else ""
    if role in ("information", "covariance_root"):
        return "has numbers above its diagonal" if np.triu(a, 1).any() else ""
    if role == "information_root":
        return "has numbers below its diagonal" if np.tril(a, -1).any() else ""
    return ""
