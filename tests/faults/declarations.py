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
from orfit_bench.spec import Field, InverseGram, Merge, Side

# ------------------------------------------------------------------------------------------ methods

fault(
    "information_without_prior",
    "the declared information matrix, whose inverse is P, omits the prior",
    "agrees_with_inverse_gram",
    "starts_with_the_declared_information",
    "thousands_of_rows",
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
    "undeclared_matrix",
    "the state has a matrix (d, d), but its declared size is linear in d",
    "state_size_grows_as_declared",
    "state_is_of_declared_size_at_many_features",
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
    "undeclared_product",
    "x (x'w) is computed as (x x') w",
    "flops_grow_as_declared",
    "row_of_many_features_costs_as_declared",
    kernel=KernelModule(learn=_outer),
)

fault(
    "predictions_in_double",
    "predictions of a float32 learner are float64",
    "dtype_is_preserved",
    "any_order_of_operations",
    method=change(PLAIN, state={"predict": lambda s, X, settings: X.astype(float) @ s.w}),
    dtype="float32",
)

fault(
    "default_for_few_features",
    "the default step size is stable for few features only",
    "defaults_learn_standardized_rows",
    "learns_an_easy_stream",
    method=replace(LINEAR_LMS, settings=(replace(LINEAR_LMS.settings[0], default=0.9),), examples=()),
    kernel=reference_with("lms"),
    dtype="float32",
)

fault(
    "merge_adds_weights",
    "a merge that is declared as the mean of the weights adds them",
    "merges_as_declared",
    "merges_in_other_ways",
    method=change(
        PLAIN, combine={"merge": Merge("averaged", "", lambda a, b, settings: {"w": a.fields["w"] + b.fields["w"]})}
    ),
)


def _forgets_small_rows(a: Side, b: Side, settings: Any) -> Any:
    gained = np.abs(np.diagonal(b.fields["information"]) - np.diagonal(b.start["information"])).max()
    if gained > 1e-12 * settings["ridge"]:
        return METHODS["ridge"].combine.merge.rule(a, b, settings)
    return {"moment": a.fields["moment"], "information": a.fields["information"]}


fault(
    "merge_forgets_small_rows",
    "an exact merge takes nothing from the other learner where its information is rounding against that of the prior",
    "merges_as_declared",
    "merges_in_other_ways",
    method=change(
        METHODS["ridge"],
        theory={"laws": ()},
        combine={"merge": replace(METHODS["ridge"].combine.merge, rule=_forgets_small_rows)},
    ),
    kernel=reference_with("ridge", solve=reference_kernel("ridge").solve),
)

fault(
    "average_omits_a_field",
    "averaging does not update a field that is derived from the averaged one",
    "averages_as_declared",
    "averages_count_copies",
    "averaging_does_not_depend_on_the_order",
    method=change(DOUBLE, combine={"averages": ("w",)}),
    kernel=KernelModule(learn=carries_the_double),
)


def _asked(s: Any, X: Any, settings: Any) -> Any:
    if len(X) == 1:
        s.asked[...] += 1
    return X @ s.w


fault(
    "predict_counts_rows",
    "predict of one row increases a counter in the state",
    "predicting_changes_nothing",
    "any_order_of_operations",
    method=change(
        PLAIN, state={"fields": (WEIGHTS, Field("asked", (), "questions", compared="nothing")), "predict": _asked}
    ),
)

fault(
    "one_prediction_at_the_start",
    "while the weights are zero, predict returns one value for any number of rows",
    "learns_an_easy_stream",
    "predicts_before_first_row",
    "any_order_of_operations",
    "rows_are_predicted_one_by_one",
    method=change(PLAIN, state={"predict": lambda s, X, settings: (X if s.w.any() else X[:1]) @ s.w}),
)

# ------------------------------------------------------------------------------------------ backends


class Tile(np.ndarray):  # type: ignore[type-arg]
    """The array type that the backend declares."""


class Tiles:
    """NumPy with another array type."""

    ndarray = Tile

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


TILES = Tiles()
fault(
    "arrays_of_another_type",
    "the backend declares an array type of its own and passes NumPy arrays to its kernels",
    "arrays_have_backend_type",
    "kernel_is_given_arrays_of_the_backend",
    backend=replace(ON_NUMPY, namespace=lambda: TILES),
)
fault(
    "unused_device",
    "the backend declares a GPU, but its arrays are in host memory",
    "arrays_are_on_device",
    "kernel_is_given_arrays_of_the_backend",
    backend=replace(ON_NUMPY, device="cuda"),
)
fault(
    "not_compiled",
    "the backend declares that it compiles, but has no compiled signature",
    "kernel_is_compiled",
    "same_rows_compile_nothing_more",
    backend=replace(ON_NUMPY, compiled=lambda kernel: []),
)
fault(
    "incomplete_backend",
    "the backend declares itself complete, but its kernel lacks float32",
    "backend_is_complete",
    "complete_backend_has_every_dtype",
    backend=replace(ON_NUMPY, complete=True),
    kernel=KernelModule(learn=plain, LACKS={"float32": "too lazy"}),
)
fault(
    "view_instead_of_copy",
    "the conversion to NumPy returns a view of the state",
    "returned_arrays_are_copies",
    "any_order_of_operations",
    "outputs_may_be_permuted",
    backend=replace(ON_NUMPY, asnumpy=np.asarray),
)
fault(
    "swapped_bytes",
    "the conversion to NumPy swaps the bytes",
    "state_matches_declaration",
    "pickle_continues_identically",
    "names_are_kept",
    "any_order_of_operations",
    "dtype_is_preserved",
    "bytes_continue_identically",
    "targets_have_names_in_any_order",
    "forged_bytes_are_refused",
    backend=replace(ON_NUMPY, asnumpy=lambda a: np.array(a).astype(a.dtype.newbyteorder())),
)
