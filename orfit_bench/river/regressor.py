"""Regressors for River."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from orfit_bench.river.base import StreamingModel, check_series, check_target
from orfit_bench.river.features import check_finite, check_frame, is_real, named_columns, numbers_of, refuse_rounded
from orfit_bench.tables.row_labels import check_rows_agree

if TYPE_CHECKING:
    import pandas as pd

Row = dict[base.typing.FeatureName, Any]


class StreamingRegressor(StreamingModel, base.MiniBatchRegressor):
    """A regressor that learns one row at a time."""

    def learn_one(self, x: Row, y: float) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            The row, by feature. A feature that appears counts as zero before, one that is missing as zero now.
        y : float
            Its target.

        Raises
        ------
        ValueError, DivergedError
            If a number is not finite, or the step cannot be taken; nothing is learned.
        """
        self._learn_one(x, y)

    def predict_one(self, x: Row) -> float:
        """Predict the target of a row.

        Parameters
        ----------
        x : dict
            The row, by feature.

        Returns
        -------
        float
            The prediction; 0 before the first row was learned.
        """
        try:
            return float(self._learner.predict_one(self._features.row(x)))
        except ValueError:
            if not self._has_begun():
                return 0.0
            check_finite(x)
            raise

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of a table in order, as `learn_one` does one by one.

        Parameters
        ----------
        X : DataFrame
            Rows.
        y : Series
            Their targets, with the same index.
        """
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
                refuse_rounded(target, "the target")
                target = float(target)
            self._learner.learn_one(row, target)
        except (TypeError, ValueError, OverflowError):
            check_finite(x)
            check_target(target)
            raise

    def _learn_rows(self, rows: Any, targets: Any) -> None:
        self._learner.partial_fit(rows, targets)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the targets of the rows of a table.

        Parameters
        ----------
        X : DataFrame
            Rows.

        Returns
        -------
        Series
            The predictions, with the index of X.
        """
        import pandas as pd

        check_frame(X)
        begun = self._has_begun()
        with named_columns(X):
            found = self._learner.predict(self._features.rows(X)) if begun else np.zeros(len(X))
        return pd.Series(self._learner.backend.asnumpy(found) if begun else found, index=X.index)
