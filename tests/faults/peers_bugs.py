"""Bugs of published libraries, rebuilt in a few lines, and the checks that detect each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import Fault
from faults.reference_learner import (
    METHODS,
    PLAIN,
    PLAIN_KERNEL,
    STEP,
    WITH_LAST,
    KernelModule,
    one_by_one,
    plain,
    reference_kernel,
    reference_with,
)
from orfit_bench.spec import Cost, Field, InverseGram, Number, Setting

# ------------------------------------------------------------------------------------------ least squares


def information(X: Any, settings: Any) -> Any:
    """Rows whose Gram matrix is the inverse of P, those of the prior first."""
    ff = settings["forgetting_factor"]
    weights = np.sqrt(ff ** np.arange(len(X) - 1.0, -1, -1))
    return np.vstack([np.sqrt(ff ** len(X)) * np.eye(X.shape[1]), weights[:, None] * X])


FF = Setting("forgetting_factor", Number(0, 1, closed="right"), 0.99, "weight of an error one row later")
P = Field("P", ("parameter", "parameter"), "P", start=lambda settings, sizes, draw: np.eye(sizes["parameter"]))
COST = Cost(flops=lambda s, z: 6 * z["parameter"] ** 2, floats=lambda s, z: 2 * z["parameter"] ** 2)
OWN_RLS = change(
    PLAIN,
    settings=(FF,),
    state={"fields": (*PLAIN.state.fields, P)},
    theory={"cost": COST, "inverse_gram": InverseGram("P", information)},
)
OUR_RLS = change(METHODS["rls"], kernel={"models": False}, examples=({"forgetting_factor": 0.99},), theory={"laws": ()})


def rls(lost: Any) -> Any:
    """RLS row by row as in textbooks; lost(P, k, x) is subtracted from P for a row x with gain k."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        ff = s.w.dtype.type(p.forgetting_factor)
        for i, x in enumerate(X):
            f = x @ s.w
            if out is not None:
                out[i] = f
            k = s.P @ x / (ff + x @ s.P @ x)
            w, P = s.w + np.outer(k, Y[i] - f), (s.P - lost(s.P, k, x)) / ff
            if not (np.isfinite(w).all() and np.isfinite(P).all()):
                return i
            s.w[...], s.P[...] = w, P
        return len(X)

    return learn


def of_ours(learn: Any) -> Any:
    """This RLS as a kernel of `rls`; other settings are left to the reference."""

    def chosen(s: Any, *more: Any) -> int:
        p = more[2]
        return int((learn if p.forgetting_factor and p.ridge else reference_kernel("rls").learn)(s, *more))

    return reference_with("rls", learn=chosen)


def cubic(P: Any, k: Any, x: Any) -> Any:
    """The outer product is multiplied by P as a matrix product."""
    return np.outer(k, x) @ P


def lopsided(P: Any, k: Any, x: Any) -> Any:
    """k (P x)' is symmetric only to rounding; the asymmetry of P grows by 1 / ff with every row."""
    return np.outer(k, P @ x)


def divides_by_zero(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """NLMS that divides by x'x: after a row of zeros the weights stay NaN."""
    for i, x in enumerate(X):
        f = x @ s.w
        if out is not None:
            out[i] = f
        s.w[...] += STEP * np.outer(x, Y[i] - f) / (x @ x)
    return len(X)


# ------------------------------------------------------------------------------------------ state


def adapts(s: Any, X: Any, settings: Any) -> Any:
    """predict changes the weights slightly."""
    f = X @ s.w
    s.w[...] *= 0.999
    return f


class Buffered:
    """A filter that reads the previous row from the caller's buffer."""

    def __init__(self) -> None:
        self.before: dict[int, Any] = {}

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        whose, last = self.before.get(id(s.w), (None, None))
        n = 0
        for i, _ in one_by_one(plain, s, X, Y, p, out):
            s.last[...] = last if whose is s.w else s.last
            s.w[...] += 0.01 * STEP * s.last[:, None]
            s.last[...] = X[i]
            whose, last, n = s.w, X[i], n + 1
        self.before[id(s.w)] = whose, last
        return n


def in_single(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """Everything is computed in float32, the default dtype of the library."""
    narrow = KernelModule(w=s.w.astype(np.float32))
    reported = None if out is None else np.empty(out.shape, np.float32)
    n = plain(narrow, X.astype(np.float32), Y.astype(np.float32), p, reported)
    s.w[...] = narrow.w
    if out is not None:
        out[...] = reported
    return n


def without_the_last(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The returned history ends before the last step, and its last entry becomes the weights."""
    history = [s.w.copy()]
    history += [s.w.copy() for _ in one_by_one(plain, s, X, Y, p, out)]
    if len(history) > 1:
        s.w[...] = history[-2]
    return len(history) - 1


def shuffles(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """The rows of a chunk are learned in random order."""
    order = np.random.default_rng(p.t).permutation(len(X))
    if out is not None:
        out[...] = X @ s.w
    return plain(s, X[order], Y[order], p, None)


# ------------------------------------------------------------------------------------------ subspaces

PCA, IMPLICIT = METHODS["incremental_pca"], METHODS["implicit_krasulina"]


def drops_short_chunks(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """A chunk with fewer rows than components is skipped."""
    return len(X) if len(X) < s.basis.shape[1] else int(reference_kernel("incremental_pca").learn(s, X, Y, p, out))


def wants_k_rows(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    """A chunk with fewer rows than components is refused."""
    if len(X) < s.basis.shape[1]:
        raise ValueError(f"{len(X)} rows are fewer than {s.basis.shape[1]} components")
    return int(reference_kernel("incremental_pca").learn(s, X, Y, p, out))


def implicit(share: float) -> Any:
    """Implicit Krasulina that applies only a part of each change to its stored (C'C)^-1."""

    def learn(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        B = p.batch_size
        for i in range(0, len(X), B):
            t, y = p.t + i // B, X[i]
            if B > 1:
                if not reference_kernel("implicit_krasulina").learn(s, X[i : i + B], Y[i : i + B], p.at(i // B), None):
                    return i
                continue
            inverse = np.linalg.inv(s.basis.T @ s.basis) if t == 1 else s.inverse
            x = inverse @ (y @ s.basis)
            r = y - s.basis @ x
            gain = p.step_size[i] / (1 + p.step_size[i] * (x @ x))
            v = gain * np.linalg.norm(r) * x
            u = inverse @ v
            C, inverse = s.basis + gain * np.outer(r, x), inverse - share * np.outer(u, u) / (1 + v @ u)
            if not (np.isfinite(C).all() and np.isfinite(inverse).all()):
                return i
            s.basis[...], s.inverse[...] = C, inverse
        return len(X)

    return reference_with("implicit_krasulina", learn=learn)


def bug(method: Any, kernel: Any = PLAIN_KERNEL, reference: Any = None, dtype: str = "float64") -> Fault:
    """A fault without the list of all checks that detect it."""
    return Fault("", frozenset(), method, kernel, reference, dtype=dtype)


BUGS: dict[str, tuple[set[str], Fault]] = {
    "RLS with a matrix product of cubic cost": (
        {"flops_grow_as_declared"},
        bug(OWN_RLS, KernelModule(learn=rls(cubic))),
    ),
    "RLS with a matrix product of cubic cost, as a kernel of rls": (
        {"flops_grow_as_declared"},
        bug(OUR_RLS, of_ours(rls(cubic)), reference_kernel("rls")),
    ),
    "RLS whose P loses its symmetry": (
        {"thousands_of_rows", "agrees_with_inverse_gram"},
        bug(OWN_RLS, KernelModule(learn=rls(lopsided))),
    ),
    "RLS whose P loses its symmetry, float32": (
        {"thousands_of_rows"},
        bug(OWN_RLS, KernelModule(learn=rls(lopsided)), dtype="float32"),
    ),
    "RLS whose P loses its symmetry, as a kernel of rls": (
        {"thousands_of_rows", "agrees_with_inverse_gram", "agrees_with_reference"},
        bug(OUR_RLS, of_ours(rls(lopsided)), reference_kernel("rls")),
    ),
    "RLS whose P loses its symmetry, as a kernel of rls, float32": (
        {"thousands_of_rows", "float32_is_close_to_float64", "agrees_with_reference"},
        bug(OUR_RLS, of_ours(rls(lopsided)), reference_kernel("rls"), dtype="float32"),
    ),
    "NLMS that stays NaN after a row of zeros": (
        {"rows_of_zeros"},
        bug(PLAIN, KernelModule(learn=divides_by_zero)),
    ),
    "predict changes the weights": (
        {"predicting_changes_nothing"},
        bug(change(PLAIN, state={"predict": adapts})),
    ),
    "filter that reads the buffer of the caller later": (
        {"inputs_are_not_kept"},
        bug(WITH_LAST, Buffered()),
    ),
    "computation in float32 by default": (
        {"full_precision_is_used"},
        bug(PLAIN, KernelModule(learn=in_single)),
    ),
    "history without the last weights": (
        {"any_chunking", "row_by_row"},
        bug(PLAIN, KernelModule(learn=without_the_last)),
    ),
    "rows shuffled within a chunk": (
        {"any_chunking", "row_by_row"},
        bug(PLAIN, KernelModule(learn=shuffles)),
    ),
    "incremental PCA that requires k rows per chunk": (
        {"one_row", "row_by_row"},
        bug(PCA, reference_with("incremental_pca", learn=wants_k_rows)),
    ),
    "incremental PCA that drops chunks of fewer than k rows": (
        {"row_by_row", "no_step_is_skipped_silently"},
        bug(PCA, reference_with("incremental_pca", learn=drops_short_chunks)),
    ),
    "updated inverse whose change has the wrong sign": (
        {"law_inverse_is_maintained", "derived_fields_are_consistent", "thousands_of_rows"},
        bug(IMPLICIT, implicit(-1.0)),
    ),
    "updated inverse that drifts": (
        {"law_inverse_is_maintained", "derived_fields_are_consistent"},
        bug(IMPLICIT, implicit(0.99)),
    ),
    "updated inverse that drifts, as a kernel of the method": (
        {
            "law_inverse_is_maintained",
            "agrees_with_reference",
            "thousands_of_rows",
            "derived_fields_are_consistent",
        },
        bug(IMPLICIT, implicit(0.99), reference_kernel("implicit_krasulina")),
    ),
}
"""The bug, and checks that detect it; there may be more."""
