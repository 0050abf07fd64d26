"""Regressors, classifiers and transformers for River around a learner."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from orfit_bench.river.base import StreamingModel, check_series, check_target
from orfit_bench.river.features import check_finite, is_real, named_columns, numbers_of
from orfit_bench.tables.row_labels import check_rows_agree

if TYPE_CHECKING:
    import pandas as pd

Row = dict[base.typing.FeatureName, Any]


class StreamingRegressor(StreamingModel, base.MiniBatchRegressor):
    """A regressor that learns one row at a time."""

    def learn_one(self, x: Row, y: float) -> None:
        """Learn a row; a feature that appears counts as zero before, one that is missing as zero now."""
        self._learn_one(x, y)

    def predict_one(self, x: Row) -> float:
        """Predict the target of a row; 0 before the first row."""
        try:
            return float(self._learner.predict_one(self._features.row(x)))
        except ValueError:
            if not self._has_begun():
                return 0.0
            check_finite(x)
            raise

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in order, as `learn_one` does one by one."""
        import pandas as pd

        check_series(y)
        check_rows_agree(X, y, "y")
        self._learn_many(X, numbers_of(pd.Series(y), "the target"))

    def _checked_target(self, target: Any) -> Any:
        if not (self.method.traits.gaps and is_real(target) and math.isnan(target)):
            check_target(target)
        return float(target)

    def _learn_row(self, x: Mapping[Any, Any], row: Any, target: Any) -> None:
        try:
            if type(target) is not float and is_real(target):
                target = float(target)
            self._learner.learn_one(row, target)
        except (TypeError, ValueError, OverflowError):
            check_finite(x)
            check_target(target)
            raise

    def _learn_rows(self, rows: Any, targets: Any) -> None:
        self._learner.partial_fit(rows, targets)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the targets of the rows of a table."""
        import pandas as pd

        begun = self._has_begun()
        with named_columns(X):
            found = self._learner.predict(self._features.rows(X)) if begun else np.zeros(len(X))
        return pd.Series(self._learner.backend.asnumpy(found) if begun else found, index=X.index)


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
        """Learn a labelled row; a feature that appears counts as zero before, one that is missing as zero now."""
        try:
            self._learn_one(x, y)
        except BaseException:
            self._forget_new_labels()
            raise

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in order, as `learn_one` does one by one."""
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
        """Probabilities of the labels, as returned by `predict_proba` of the learner.

        Raises NotImplementedError if the method does not define any, as usual in River; `predict_one` works.
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
        """The label of a row; None before the first row is learned."""
        if self.method.state.probabilities is not None:
            label: base.typing.ClfTarget | None = super().predict_one(x, **kwargs)
            return label
        try:
            return next(iter(self._predicted(self._features.row(x)[None])), None)
        except ValueError:
            check_finite(x)
            raise

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The labels of the rows of a table."""
        if self.method.state.probabilities is not None:
            return super().predict_many(X)
        import pandas as pd

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
        raise TypeError(f"the label is {label!r}, of type {kind}: want a text, an integer or a boolean") from None
    if is_missing:
        raise ValueError(f"the label is {label}: want a text, an integer or a boolean; leave out the row")


class StreamingTransformer(StreamingModel, base.MiniBatchTransformer):
    """A transformer that learns one row at a time. Nothing is centred: put a StandardScaler before it."""

    def learn_one(self, x: Row) -> None:
        """Learn a row; a feature that appears counts as zero before, one that is missing as zero now."""
        self._learn_one(x)

    def learn_many(self, X: pd.DataFrame) -> None:
        """Learn the rows of a table in order, as `learn_one` does one by one."""
        self._learn_many(X)

    def _learn_row(self, x: Mapping[Any, Any], row: Any, target: Any) -> None:
        try:
            self._learner.learn_one(row)
        except ValueError:
            check_finite(x)
            raise

    def _learn_rows(self, rows: Any, targets: Any) -> None:
        self._learner.partial_fit(rows)

    def transform_one(self, x: Row) -> Row:
        """The coordinates of a row by component number; empty before the first row."""
        if not self._has_begun():
            return {}
        try:
            Z = self._learner.backend.asnumpy(self._learner.transform(self._features.row(x)[None]))
        except ValueError:
            check_finite(x)
            raise
        return dict(enumerate(Z[0].tolist()))

    def transform_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The coordinates of the rows of a table."""
        import pandas as pd

        if not self._has_begun():
            return pd.DataFrame(index=X.index)
        with named_columns(X):
            found = self._learner.transform(self._features.rows(X))
        return pd.DataFrame(self._learner.backend.asnumpy(found), index=X.index)
