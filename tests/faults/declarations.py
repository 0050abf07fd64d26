"""Declarations of methods and backends with a fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import ON_NUMPY, fault
from faults.reference_learner import (
    DOUBLE,
    LINEAR_LMS,
    METHODS,
    PLAIN,
    STEP,
    WEIGHTS,
    KernelModule,
    carries_the_double,
    plain,
    reference_kernel,
    reference_with,
)
from orfit_bench.spec import Field, InverseGram, Merge

# ------------------------------------------------------------------------------------------ methods

fault(
    "information_without_the_prior",
    "the rows that P is declared to be the inverse of leave out the prior",
    "agrees_with_inverse_gram",
    method=change(
        METHODS["rls"],
        kernel={"models": False},
        examples=(),
        theory={"laws": (), "inverse_gram": InverseGram("P", lambda X, settings: X)},
    ),
    kernel=reference_kernel("rls"),
    reference=reference_kernel("rls"),
)

fault(
    "an_undeclared_matrix",
    "the state has a matrix of features by features, the declared cost is linear in them",
    "state_size_grows_as_declared",
    method=change(PLAIN, state={"fields": (WEIGHTS, Field("Q", ("feature", "feature"), "nothing"))}),
)


def _outer(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    for i in range(len(X)):
        f = X[i] @ s.w
        if out is not None:
            out[i] = f
        w = s.w + STEP * (np.outer(X[i], Y[i]) - np.outer(X[i], X[i]) @ s.w)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


fault(
    "an_undeclared_product",
    "x (x'w) is computed as (x x') w",
    "flops_grow_as_declared",
    kernel=KernelModule(learn=_outer),
)

fault(
    "answers_in_double",
    "predictions of a learner in single precision are in double",
    "dtype_is_preserved",
    method=change(PLAIN, state={"predict": lambda s, X, settings: X.astype(float) @ s.w}),
    dtype="float32",
)

fault(
    "a_default_for_few_features",
    "the default step is stable for a few features only",
    "defaults_learn_standardized_rows",
    method=replace(LINEAR_LMS, settings=(replace(LINEAR_LMS.settings[0], default=0.9),), examples=()),
    kernel=reference_with("lms"),
    dtype="float32",
)

fault(
    "merged_into_the_sum",
    "a merge that is declared the mean of the weights is their sum",
    "merges_as_declared",
    method=change(
        PLAIN, combine={"merge": Merge("averaged", "", lambda a, b, settings: {"w": a.fields["w"] + b.fields["w"]})}
    ),
)


fault(
    "averaged_by_half",
    "a field that follows from the averaged one stays what it was",
    "averages_as_declared",
    method=change(DOUBLE, combine={"averages": ("w",)}),
    kernel=KernelModule(learn=carries_the_double),
)


def _asked(s: Any, X: Any, settings: Any) -> Any:
    if len(X) == 1:
        s.asked[...] += 1
    return X @ s.w


fault(
    "questions_are_counted",
    "a question of one row is counted in the state",
    "predicting_changes_nothing",
    method=change(
        PLAIN, state={"fields": (WEIGHTS, Field("asked", (), "questions", compared="nothing")), "predict": _asked}
    ),
)

fault(
    "one_answer_at_the_start",
    "while the weights are zero there is one answer, however many rows are asked for",
    "predicts_before_first_row",
    method=change(PLAIN, state={"predict": lambda s, X, settings: (X if s.w.any() else X[:1]) @ s.w}),
)

# ------------------------------------------------------------------------------------------ backends


class Tile(np.ndarray):  # type: ignore[type-arg]
    """The array type that a backend claims."""


class Tiles:
    """NumPy, with another array type."""

    ndarray = Tile

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


TILES = Tiles()
fault(
    "arrays_of_another_type",
    "the backend claims an array type of its own and hands NumPy's to its kernels",
    "arrays_have_backend_type",
    backend=replace(ON_NUMPY, namespace=lambda: TILES),
)
fault(
    "a_device_that_is_not_used",
    "the backend claims a GPU, and its arrays lie in host memory",
    "arrays_are_on_device",
    backend=replace(ON_NUMPY, device="cuda"),
)
fault(
    "nothing_compiled",
    "the backend says that it compiles, and has no signature to show",
    "kernel_is_compiled",
    backend=replace(ON_NUMPY, compiled=lambda kernel: []),
)
fault(
    "less_than_all",
    "the backend promises all, its kernel leaves single precision out",
    "backend_is_complete",
    backend=replace(ON_NUMPY, complete=True),
    kernel=KernelModule(learn=plain, LACKS={"float32": "too lazy"}),
)
fault(
    "a_view_for_a_copy",
    "what is copied to the host is a view of the state",
    "returned_arrays_are_copies",
    backend=replace(ON_NUMPY, asnumpy=np.asarray),
)
fault(
    "bytes_in_another_order",
    "arrays are copied to the host with their bytes swapped",
    "state_matches_declaration",
    "dtype_is_preserved",
    backend=replace(ON_NUMPY, asnumpy=lambda a: np.array(a).astype(a.dtype.newbyteorder())),
)
