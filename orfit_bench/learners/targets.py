"""Validation and encoding of rows and targets for the kernel: one function for each kind of target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners import sparse, validation
from orfit_bench.learners.encoding import encode_labels
from orfit_bench.learners.named_rows import read_features
from orfit_bench.learners.rule import Rule
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import Label, LearnerState, Sizes
from orfit_bench.tables.columns import read_columns, read_labels, refuse_named_rows
from orfit_bench.tables.names import NamedValues
from orfit_bench.tables.row_labels import check_rows_agree

OF_CLASSES = ("output", "class")
"""Dimensions along which a field has an entry for each class, except the weights of a nonlinear model."""


class EncodedRows(NamedTuple):
    """Encoded rows on the backend, and what changes in the state before they are learned."""

    X: Array
    Y: Array
    """Targets (n, c): numbers or one-hot labels; (n, 0) for a subspace."""
    sizes: Sizes
    classes: tuple[Label, ...] = ()
    """All classes known with these rows, in order of first appearance."""
    arrivals: tuple[int, ...] = ()
    """The first row of each new class."""
    inputs: Any = None
    """Further inputs of these rows, for example transitions."""
    feature_names: tuple[str, ...] = ()
    """The names of the columns of X, if they are known."""
    target_names: tuple[str, ...] = ()
    """The names of the columns of y, if they are known."""

    def fits(self, state: LearnerState | None) -> bool:
        """Whether they have the sizes, the known classes and the names of a state."""
        if state is None:
            return True
        for own, known in ((self.feature_names, state.feature_names), (self.target_names, state.target_names)):
            if own and known and own != known:
                return False
        if self.sizes is state.sizes:
            return True
        if self.classes:
            begins_alike = self.classes is state.classes or self.classes[: len(state.classes)] == state.classes
            return begins_alike and self.sizes.n_features == state.sizes.n_features
        return self.sizes == state.sizes


def with_numbers(
    rule: Rule, state: LearnerState | None, X: object, y: object, name: str = "X", finite: bool = True
) -> EncodedRows:
    """Numeric targets y (n,) or (n, c); for a filter NaN means missing."""
    sizes = state.sizes if state else None
    check_rows_agree(X, y, "y")
    X, names = read_features(state, X, name, rule.dtype)
    target_names = state.target_names if state else ()
    if type(y) is not np.ndarray:
        width = sizes.n_outputs if sizes and not sizes.y_is_1d else None
        if not isinstance(y, NamedValues):
            refuse_named_rows(y, "y")
            y = read_columns(y, "y", target_names, rule.allows_gaps, width, rule.dtype)
        y, new_names = y
        target_names = target_names or new_names
    rows: Any
    if sparse.is_sparse(X) and name == "X":
        rows = sparse.validate(X, name, rule, sizes and sizes.n_features)
    else:
        rows = rule.place_rows(X, name, sizes and sizes.n_features, finite, names)
    outputs, vector = (sizes.n_outputs, sizes.y_is_1d) if sizes else (None, True)
    n, xp = rows.shape[0], rule.namespace
    Y, y_is_1d = validation.targets(y, name, n, rule.dtype, outputs, vector, rule.allows_gaps, xp)
    sizes = sizes or Sizes(rows.shape[1], Y.shape[1], y_is_1d)
    return EncodedRows(rows, rule.place(Y), sizes, (), (), None, names, target_names)


def with_labels(rule: Rule, state: LearnerState | None, X: object, y: object, name: str = "X") -> EncodedRows:
    """Labels (n,), encoded as one-hot rows with a column for each class, new ones included."""
    known = state.classes if state else ()
    check_rows_agree(X, y, "y")
    X, names = read_features(state, X, name, rule.dtype)
    d = state.sizes.n_features if state else None
    rows: Any
    if sparse.is_sparse(X) and name == "X":
        rows = sparse.validate(X, name, rule, d)
    else:
        rows = rule.place_rows(X, name, d, names=names)
    n = rows.shape[0]
    columns, classes, arrivals = encode_labels(read_labels(y), name, n, known)
    Y = np.zeros((n, len(classes)), rule.dtype)
    Y[np.arange(n), columns] = 1
    sizes = Sizes(rows.shape[1], len(classes), y_is_1d=False)
    return EncodedRows(rows, rule.place(Y), sizes, classes, arrivals, feature_names=names)


def without_targets(
    rule: Rule, state: LearnerState | None, X: object, name: str = "X", finite: bool = True
) -> EncodedRows:
    """Rows without targets."""
    X, names = read_features(state, X, name, rule.dtype)
    d = state.sizes.n_features if state else None
    rows = rule.place_rows(X, name, d, finite, names)
    k = rule.settings["n_components"]
    if k > rows.shape[1]:
        raise ValueError(f"{name}: got {rows.shape[1]} columns, want at least n_components={k}")
    return EncodedRows(rows, rows[:, :0], Sizes(rows.shape[1], 0, y_is_1d=False), feature_names=names)


def check_same_kind(labels: Sequence[Label], name: str) -> None:
    """Raise ValueError if the labels of several learners are of different kinds: True == 1, but they are two labels."""
    if len(kinds := {type(label).__name__ for label in labels}) > 1:
        raise ValueError(f"{name}: the learners' labels are of different kinds: {', '.join(sorted(kinds))}")


def has_movable_outputs(rule: Rule) -> bool:
    """Whether weights can get outputs for new classes, in any order."""
    return rule.is_linear or rule.model.with_outputs is not None


def with_classes(rule: Rule, state: LearnerState, classes: tuple[Label, ...]) -> LearnerState:
    """The state with a column for each of these classes, zero for new ones.

    If the model has a fixed number of outputs, ValueError for further classes; classes that are left out are kept.
    """
    if classes == state.classes:
        return state
    if not has_movable_outputs(rule):
        return _with_fixed_outputs(rule, state, classes)
    move = None if rule.is_linear else rule.model.with_outputs
    column = {label: i for i, label in enumerate(state.classes)}
    source = [column.get(label, -1) for label in classes]
    old, sizes = rule.layout(state.sizes), state.sizes._replace(n_outputs=len(classes))
    fields = old.arrays(state.arrays)
    for f in old.fields:
        along = [axis for axis, dim in enumerate(f.dims) if dim in OF_CLASSES]
        if along and not (move and f.name == rule.method.state.weights):
            fields[f.name] = _columns(fields[f.name], along[0], source)
    if move:
        name = rule.method.state.weights
        w = np.asarray(move(old.arrays(state.arrays)[name][:, 0], state.sizes.n_features, source))
        what = f"model {rule.model.name!r}: with_outputs(w, d, source)"
        fields[name] = rule.check_weights(w, what, rule.layout(sizes).shape(("parameter", "output")))
    X, Y = state.pending.concatenate()
    pending = rule.no_rows(sizes).with_rows(X, rule.backend.asarray(_columns(rule.backend.asnumpy(Y), 1, source)))
    return replace(state, sizes=sizes, arrays=rule.layout(sizes).start(fields), pending=pending, classes=classes)


def _with_fixed_outputs(rule: Rule, state: LearnerState, classes: tuple[Label, ...]) -> LearnerState:
    """The same state if the fixed outputs of a model are those of the classes; before the first step a new one."""
    if not (state.n_steps or state.pending.count):
        new_state = rule.init(state.sizes._replace(n_outputs=len(classes)), classes)
        return replace(new_state, n_samples=state.n_samples, feature_names=state.feature_names)
    known = ", ".join(map(repr, state.classes))
    if new := [label for label in classes if label not in state.classes]:
        raise ValueError(
            f"y: {new[0]!r} is a new class, but the model {rule.model.name!r} has an output for each of {known} only: "
            f"begin with rows of all classes, or declare the model's with_outputs"
        )
    if classes != state.classes[: len(classes)]:
        raise ValueError(
            f"the model {rule.model.name!r} has its outputs in the order {known}, want the order "
            f"{', '.join(map(repr, classes))}: begin with rows of the classes in this order, or declare the model's "
            f"with_outputs"
        )
    return state


def _columns(a: np.ndarray[Any, Any], axis: int, source: list[int]) -> np.ndarray[Any, Any]:
    """The entries of a along an axis in this order; -1 stands for zeros."""
    before_and_after = [(0, int(i == axis)) for i in range(a.ndim)]
    return np.take(np.pad(a, before_and_after), source, axis)
