"""Mistakes of plugin authors. The report must describe each so that its author finds the line."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from helpers.methods import change

from faults.fault import fault, faulty_learn
from faults.reference_learner import COST, PLAIN, STEP, WEIGHTS, KernelModule, one_by_one, plain
from orfit_bench.spec import Field, Merge, Number, Setting

# ------------------------------------------------------------------------------------------ the first rows


@faulty_learn("learns_first_rows", message="TypeError: assigns_nothing_to_return (authors.py:")
def assigns_nothing_to_return(s, X, Y, p, out):
    """`learn` ends without a result."""
    plain(s, X, Y, p, out)


@faulty_learn("learns_first_rows", message="returned tuple, want the number of rows learned, an integer")
def returns_the_predictions_too(s, X, Y, p, out):
    """`learn` returns two things."""
    return plain(s, X, Y, p, out), out


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


@faulty_learn("learns_first_rows", message="it has targets, shapes, inputs, row_scale, t, batch_size")
def reads_an_undeclared_setting(s, X, Y, p, out):
    """The kernel uses a setting that the method does not declare."""
    return plain(s, X, Y / p.radius, p, out)


@faulty_learn("learns_first_rows", message="is read-only (authors.py:")
def subtracts_from_the_rows(s, X, Y, p, out):
    """The rows of the caller are changed in place."""
    X -= X.mean()
    return plain(s, X, Y, p, out)


# ------------------------------------------------------------------------------------------ hidden state and randomness


@faulty_learn("result_depends_only_on_seed", explains_others=True, message="a global random generator was used")
def draws_from_the_global_generator(s, X, Y, p, out):
    """Noise from NumPy's global generator is added to the rows."""
    return plain(s, X + 1e-3 * np.random.standard_normal(X.shape), Y, p, out)  # noqa: NPY002


class OwnGenerator:
    """The kernel has a random generator of its own."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        return plain(s, X + 1e-3 * self.random.standard_normal(X.shape), Y, p, out)


fault(
    "own_generator",
    OwnGenerator.__doc__,
    "result_depends_only_on_seed",
    kernel=OwnGenerator(),
    explains_others=True,
    message="draws random numbers itself, or keeps numbers outside the state",
)


class GlobalMomentum:
    """The previous row is kept in the module, for all learners."""

    def __init__(self) -> None:
        self.last: Any = None

    def learn(self, s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
        last = self.last if self.last is not None and len(self.last) == X.shape[1] else 0
        self.last = X[-1].copy()
        return plain(s, X + s.w.dtype.type(0.01) * last, Y, p, out)


fault(
    "global_momentum",
    GlobalMomentum.__doc__,
    "result_depends_only_on_seed",
    kernel=GlobalMomentum(),
    explains_others=True,
    message="draws random numbers itself, or keeps numbers outside the state",
)


@faulty_learn(
    "prints_nothing", "process_is_left_as_it_was", message="24 lines were printed for 24 rows, the first: 'row'"
)
def prints_a_line_for_each_row(s, X, Y, p, out):
    """A line is printed for each row."""
    for _ in X:
        print("row")
    return plain(s, X, Y, p, out)


# ------------------------------------------------------------------------------------------ precision


@faulty_learn(
    "float32_is_computed_in_float32",
    "operations_are_in_float32",
    dtype="float32",
    message="are those of a step in float64, rounded",
)
def double_precision_in_single(s, X, Y, p, out):
    """Steps are computed in float64 for every dtype, and rounded at the end."""
    for i in range(len(X)):
        double = SimpleNamespace(w=s.w.astype(float))
        if out is not None:
            out[i] = X[i] @ s.w
        with np.errstate(over="ignore"):
            plain(double, X[i : i + 1].astype(float), Y[i : i + 1].astype(float), p, None)
            w = double.w.astype(s.w.dtype)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


# ------------------------------------------------------------------------------------------ declarations

for times, name in ((0.01, "fewer"), (100, "more")):
    fault(
        f"a_hundred_times_{name}_operations",
        f"the declared operations are a hundred times {name} than they are",
        "cost_is_of_declared_size",
        "row_of_many_features_costs_as_declared",
        method=change(PLAIN, theory={"cost": replace(COST, flops=lambda s, z, k=times: k * COST.flops(s, z))}),
        message=f"Cost.flops declares {times * 384:.0f}",
    )
fault(
    "square_of_the_features",
    "the declared operations grow with the square of the features",
    "cost_is_of_declared_size",
    "row_of_many_features_costs_as_declared",
    method=change(PLAIN, theory={"cost": replace(COST, flops=lambda s, z: 6 * z["feature"] ** 2)}),
    message="counted operations, Cost.flops declares 24576: declare at most",
)
fault(
    "no_numbers_are_read",
    "a row costs no memory traffic, as declared",
    "cost_is_of_declared_size",
    "row_of_many_features_costs_as_declared",
    method=change(PLAIN, theory={"cost": replace(COST, floats=lambda s, z: 0)}),
    message="Cost.floats declares 0 numbers",
)
fault(
    "idle_setting",
    "a setting does nothing",
    "settings_have_effect",
    "opposite_ends_of_ranges_differ",
    method=change(PLAIN, settings=(Setting("leakage", Number(0, 1), 0.5, "how fast weights are forgotten"),)),
    message="nothing depends on leakage (tried 0.25, 0.75): use it in the kernel, or remove it",
)
fault(
    "batch_solution_of_nothing",
    "the declared batch solution is always None",
    "batch_solution_exists",
    "first_step_equals_batch_solution",
    method=change(PLAIN, theory={"batch": lambda X, Y, w0, settings: None}),
    message="the batch solution is None for all 2 settings that were tried",
)


def _mean(a: Any, b: Any, settings: Any) -> Any:
    return {"w": (a.rows * a.fields["w"] + b.rows * b.fields["w"]) / (a.rows + b.rows)}


def _misspelt(a: Any, b: Any, settings: Any) -> Any:
    return {**_mean(a, b, settings), "sqares": a.fields["squares"] + b.fields["squares"]}


def _sums_squares(s: Any, X: Any, Y: Any, p: Any, out: Any) -> int:
    n = 0
    for i, _ in one_by_one(plain, s, X, Y, p, out):
        s.squares[...] += np.minimum(abs(X[i]), 1) ** 2
        n += 1
    return n


SQUARES = change(PLAIN, state={"fields": (WEIGHTS, Field("squares", ("feature",), "sums of squares of at most 1"))})
fault(
    "merge_forgets_an_accumulator",
    "a merge takes the mean of the weights and forgets the sums of the other learner",
    "merge_uses_every_field",
    "merges_in_other_ways",
    method=change(SQUARES, combine={"merge": Merge("averaged", "", _mean)}),
    kernel=KernelModule(learn=_sums_squares),
    message="squares does not depend on the learner that is merged: let the merge rule return 'squares'",
)
fault(
    "merge_misspells_a_field",
    "a merge returns a field that the method does not declare",
    "merges_as_declared",
    "names_are_kept",
    "names_decide_what_is_merged",
    "merge_leaves_other_unchanged",
    "merge_uses_every_field",
    "any_order_of_operations",
    "merges_in_other_ways",
    "targets_have_names_in_any_order",
    method=change(SQUARES, combine={"merge": Merge("averaged", "", _misspelt)}),
    kernel=KernelModule(learn=_sums_squares),
    message="the merge rule returned 'sqares', which is no field of wrong. Did you mean 'squares'?",
)
