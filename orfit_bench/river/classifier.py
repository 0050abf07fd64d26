"""Classifiers for River."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from orfit_bench.river.base import StreamingModel, check_series
from orfit_bench.river.features import check_finite, check_frame, named_columns
from orfit_bench.tables.row_labels import check_rows_agree

if TYPE_CHECKING:
    import pandas as pd

Row = dict[base.typing.FeatureName, Any]


class StreamingClassifier(StreamingModel, base.MiniBatchClassifier):
    """A classifier that learns one row at a time; labels may appear at any row."""

    def begin(self) -> None:
        """Forget everything; called by the constructor."""
        super().begin()
        self._labels: dict[Any, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    def _number(self, label: Any) -> int:
        """The integer for a label of any type, in order of first appearance, as the learner sees it."""
        check_label(label)
        return self._labels.setdefault(label.item() if isinstance(label, np.generic) else label, len(self._labels))

    def _has_begun(self) -> bool:
        return bool(self._labels)

    def _forget_new_labels(self) -> None:
        """After an error, forget labels whose rows were not learned."""
        learned = len(self._learner.classes_)
        self._labels = {label: number for label, number in self._labels.items() if number < learned}

    def learn_one(self, x: Row, y: Any) -> None:
        """Learn a labelled row.

        Parameters
        ----------
        x : dict
            The row, by feature. A feature that appears counts as zero before, one that is missing as zero now.
        y : label
            Its label, of any hashable type.

        Raises
        ------
        ValueError, DivergedError
            If a number is not finite, or the step cannot be taken; nothing is learned.
        """
        try:
            self._learn_one(x, y)
        except BaseException:
            self._forget_new_labels()
            raise

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in order, as `learn_one` does one by one.

        Parameters
        ----------
        X : DataFrame
            Rows.
        y : Series
            Their labels, with the same index.
        """
        check_series(y)
        check_rows_agree(X, y, "y")
        try:
            self._learn_many(X, y)
        except BaseException:
            self._forget_new_labels()
            raise

    def _checked_target(self, target: Any) -> Any:
        check_label(target)
        return target

    def _learn_row(self, x: Mapping[Any, Any], row: Any, target: Any) -> None:
        try:
            self._learner.learn_one(row, self._number(target))
        except ValueError:
            check_finite(x)
            raise

    def _learn_rows(self, rows: Any, targets: Any) -> None:
        self._learner.partial_fit(rows, [self._number(label) for label in targets])

    def predict_proba_one(self, x: Row, **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        """Predict the probabilities of the labels.

        Parameters
        ----------
        x : dict
            The row, by feature.

        Returns
        -------
        dict
            Probabilities by label, as from `predict_proba` of the learner; empty before the first row was learned.

        Raises
        ------
        NotImplementedError
            If the method defines no probabilities; `predict_one` works.
        """
        try:
            return next(iter(self._probabilities(self._features.row(x)[None])), {})
        except ValueError:
            check_finite(x)
            raise

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Probabilities of the labels for the rows of a table."""
        import pandas as pd

        with named_columns(X):
            found = self._probabilities(self._features.rows(X))
        return pd.DataFrame(found, index=X.index, columns=list(self._labels))

    def predict_one(self, x: Row, **kwargs: Any) -> base.typing.ClfTarget | None:
        """Predict the label of a row.

        Parameters
        ----------
        x : dict
            The row, by feature.

        Returns
        -------
        label
            One of the labels learned; None before the first row was learned.
        """
        if self.method.state.probabilities is not None:
            label: base.typing.ClfTarget | None = super().predict_one(x, **kwargs)
            return label
        try:
            return next(iter(self._predicted(self._features.row(x)[None])), None)
        except ValueError:
            check_finite(x)
            raise

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the labels of the rows of a table.

        Parameters
        ----------
        X : DataFrame
            Rows.

        Returns
        -------
        Series
            Labels, with the index of X; empty before the first row was learned.
        """
        import pandas as pd

        check_frame(X)
        if not self._has_begun():
            return pd.Series(index=X.index[:0], dtype=object)
        if self.method.state.probabilities is not None:
            return super().predict_many(X)
        with named_columns(X):
            found = self._predicted(self._features.rows(X))
        return pd.Series(found, index=X.index if found else X.index[:0])

    def _predicted(self, rows: Any) -> list[base.typing.ClfTarget]:
        """The labels of rows; empty before the first row is learned."""
        known = list(self._labels)
        return [known[number] for number in self._learner.predict(rows)] if self._has_begun() else []

    def _probabilities(self, rows: Any) -> list[dict[Any, float]]:
        if self.method.state.probabilities is None:
            raise NotImplementedError(f"{self.method.name} defines no probabilities")
        if not self._has_begun():
            return []
        found = self._learner.predict_proba(rows)
        return [dict(zip(self._labels, row.tolist(), strict=True)) for row in found]


def check_label(label: Any) -> None:
    """Raise TypeError or ValueError for a label that cannot be a key, or is missing."""
    try:
        hash(label)
        is_missing = bool(label is None or label != label)  # NaN
    except TypeError:
        kind = type(label).__name__
        raise TypeError(f"the label is {label!r}, of type {kind}: want a string, an integer or a boolean") from None
    if is_missing:
        raise ValueError(f"the label is {label}: want a string, an integer or a boolean; leave out the row")
