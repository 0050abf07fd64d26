"""The learner of labels: classes may appear at any row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.learners.learner import Learner
from orfit_bench.spec.backend import Array

Label = bool | int | str


class Classifier(Learner):
    """Learns a stream of rows X (n, d) with labels y (n,): integers, booleans or strings, one kind a learner."""

    _outputs_grow = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._classes: list[Label] = []  # replaced, never changed in place
        self._arrivals: list[int] = []  # the rows of the present call at which new classes came

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn the rows of X (n, d) with labels y (n,) in order; n may be 0 or 1. Returns self.

        Raises TypeError or ValueError for rows that are no finite numbers, labels of another kind, or what does not
        fit the earlier rows (the learner is then as before), DivergedError where a step would leave the finite numbers.
        """
        self._guarded(self._learn_labels, X, y, False)
        return self

    def prequential(self, X: Any, y: Any) -> Array:
        """Learn the rows as `partial_fit` does; returns the scores (n, classes) of each before its step.

        There is a column for every class known after the call, zero until that class was seen.
        """
        scores: Array = self._guarded(self._learn_labels, X, y, True)
        return scores

    def step(self, A: Any, y: Any) -> Self:
        """Learn the rows of A (M, d), M >= 1, with labels y (M,) as one step. Returns self."""
        self._check_step()
        self._guarded(self._learn_labelled_block, A, y)
        return self

    @property
    def classes_(self) -> np.ndarray[Any, Any]:
        """The labels seen so far, in order of first appearance."""
        return _as_array(self._classes)

    def decision_function(self, X: Any) -> Array:
        """Scores (n, classes) of the rows of X (n, d), columns as in `classes_`. Changes nothing."""
        return self._predict(self._asked(X))

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """Labels (n,) of the rows of X (n, d): the class of highest score, of several the one seen first."""
        scores = self.backend.asnumpy(self.decision_function(X))
        if not self._classes:
            raise ValueError(f"{self.method.name} has seen no class yet: call partial_fit with labelled rows first")
        labels: np.ndarray[Any, Any] = self.classes_[scores.argmax(axis=1)]
        return labels

    def _learn_labels(self, X: Any, y: Any, predict: bool) -> Array | None:
        return self._learn(*self._encoded(X, y, "X"), predict)

    def _learn_labelled_block(self, A: Any, y: Any) -> None:
        self._learn_block(*self._encoded(A, y, "A"))

    def _encoded(self, X: Any, y: Any, name: str) -> tuple[Array, Array]:
        """The rows, and their labels one-hot in the columns of all classes, which are then known."""
        X = validation.matrix(X, name, self.dtype, self._features, xp=self._xp)
        labels = validation.labels(y, name, len(X), type(self._classes[0]) if self._classes else None)
        first: dict[Label, int] = {}
        for row, label in enumerate(labels):
            first.setdefault(label, row)
        new = [label for label in first if label not in self._classes]
        classes = [*self._classes, *new]
        column = {label: i for i, label in enumerate(classes)}
        Y = np.zeros((len(X), len(classes)), self.dtype)
        Y[np.arange(len(X)), [column[label] for label in labels]] = 1
        self._begin(X, Y, False, is_step=name == "A")
        self._know(classes)
        self._arrivals = [first[label] for label in new]
        return X, Y

    def _attempted(self, act: Callable[..., Any], *arguments: Any) -> Any:
        """Where a call fails, the classes are those of the rows learned before it did."""
        known, seen, self._arrivals = self._classes, self._seen, []
        try:
            return super()._attempted(act, *arguments)
        except BaseException:
            if not self._interrupted:  # else it answers nothing more
                learned = self._seen - seen
                self._know(self._classes[: len(known) + sum(row < learned for row in self._arrivals)])
            raise

    def _know(self, classes: list[Label]) -> None:
        """Give each of these classes its column, a zero one where it is new; drop the columns of all others."""
        if self._features is None:
            self._classes = []
        elif classes != self._classes:
            column = {label: i for i, label in enumerate(self._classes)}
            source = [column.get(label, -1) for label in classes]
            fields, rows = self._layout_.arrays(self._s), self._waiting.joined()
            for f in self._layout_.fields:
                if "output" in f.dims:
                    fields[f.name] = _columns(fields[f.name], f.dims.index("output"), source)
            self._place(self._layout(self._features, len(classes)), self._features, len(classes), False)
            X, Y = rows
            self._waiting.add(X, self.backend.asarray(_columns(self.backend.asnumpy(Y), 1, source)))
            self._s, self._classes = self._layout_.start(fields), classes

    def _checked(self, X: Any, y: Any, name: str = "X", look: bool = True) -> tuple[Array, Array, bool]:
        """Rows and labels were looked at together, before a label was new."""
        return self._placed(X), self._placed(y), False

    def _aligned(self, other: Any) -> Any:
        """A copy of the other with the classes of both: this one's first, which now knows them all too."""
        classes = list(dict.fromkeys([*self._classes, *other._classes]))
        if len(kinds := {type(label).__name__ for label in [*self._classes, *other._classes]}) > 1:
            raise ValueError(f"merge: the learners' labels are of different kinds: {', '.join(sorted(kinds))}")
        twin = other.copy()
        twin._know(classes)
        self._know(classes)
        return twin

    def _more_header(self) -> dict[str, Any]:
        return {"classes": self._classes}

    def _take_header(self, head: dict[str, Any]) -> None:
        classes = head["classes"]
        kinds = {type(label) for label in classes} if isinstance(classes, list) else {None}
        if len(kinds) > 1 or not kinds <= {bool, int, str} or len(set(classes)) != len(classes):
            raise ValueError(f"state: classes are {classes!r}, want different labels of one kind")
        if len(classes) != (0 if head["n_features"] is None else head["n_outputs"]):
            raise ValueError(f"state: {len(classes)} classes for {head['n_outputs']} outputs")
        self._classes = classes


def _columns(a: np.ndarray[Any, Any], axis: int, source: list[int]) -> np.ndarray[Any, Any]:
    """The entries of a along axis in this order, -1 standing for zeros."""
    before_and_after = [(0, int(i == axis)) for i in range(a.ndim)]
    return np.take(np.pad(a, before_and_after), source, axis)


def _as_array(classes: list[Label]) -> np.ndarray[Any, Any]:
    """An array of these very labels; of objects where NumPy's integers are too short, or its texts lose a final NUL."""
    array = np.array(classes)
    same = array.dtype.kind in "biuU" and array.tolist() == classes
    return array if same or not classes else np.array(classes, object)
