"""Transformers for River: online PCA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from river import base

from orfit_bench.river.base import StreamingModel
from orfit_bench.river.features import check_finite, check_frame, named_columns

if TYPE_CHECKING:
    import pandas as pd

Row = dict[base.typing.FeatureName, Any]


class StreamingTransformer(StreamingModel, base.MiniBatchTransformer):
    """A transformer that learns one row at a time. Nothing is centred: put a StandardScaler before it."""

    def learn_one(self, x: Row) -> None:
        """Learn a row.

        Parameters
        ----------
        x : dict
            The row, by feature. A feature that appears counts as zero before, one that is missing as zero now.

        Raises
        ------
        ValueError, DivergedError
            If a number is not finite, or the step cannot be taken; nothing is learned.
        """
        self._learn_one(x)

    def learn_many(self, X: pd.DataFrame) -> None:
        """Learn the rows of a table in order, as `learn_one` does one by one.

        Parameters
        ----------
        X : DataFrame
            Rows.
        """
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
        """Return the coordinates of a row along the components.

        Parameters
        ----------
        x : dict
            The row, by feature.

        Returns
        -------
        dict
            Coordinates by number of component; empty before the first row was learned.
        """
        if not self._has_begun():
            return {}
        try:
            Z = self._learner.backend.asnumpy(self._learner.transform(self._features.row(x)[None]))
        except ValueError:
            check_finite(x)
            raise
        return dict(enumerate(Z[0].tolist()))

    def transform_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the coordinates of the rows of a table along the components.

        Parameters
        ----------
        X : DataFrame
            Rows.

        Returns
        -------
        DataFrame
            Coordinates by number of component, with the index of X; without columns before the first row was learned.
        """
        import pandas as pd

        check_frame(X)
        if not self._has_begun():
            return pd.DataFrame(index=X.index)
        with named_columns(X):
            found = self._learner.transform(self._features.rows(X))
        return pd.DataFrame(self._learner.backend.asnumpy(found), index=X.index)
