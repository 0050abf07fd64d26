"""Running means and standard deviations of columns, as immutable values: learning rows gives a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners.pipelines.coordinates import Coordinates, refuse_overflow
from orfit_bench.learners.pipelines.moments import Moments, after_each, as_next, deviations, merged
from orfit_bench.learners.pipelines.saved_values import check_keys, read_complex, read_count, read_flag, read_squares

Array = np.ndarray[Any, Any]


class RunningMoments(NamedTuple):
    """The moments after each of several rows."""

    after: Standardizer
    """The transform after all of them."""
    means: Array
    """(n, d)"""
    spreads: Array
    """The divisors of the columns (n, d); 1 where a column has been constant."""
    varies: Array
    """Whether a column has varied (n, d)."""

    def coordinates(self, row: int) -> Coordinates:
        """The coordinates by the moments after a row."""
        return Coordinates(self.means[row].copy(), self.spreads[row].copy(), self.varies[row].copy())


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtracts the running mean of each column and divides by its running standard deviation.

    A row is standardized without any information from later rows, both when it is learned and when it is predicted. In
    a pipeline whose learner follows the moments, all rows between two moves have the same coordinates
    (`orfit_bench.pipeline`). For other learners, the moments of a row include the row itself and all rows before it. No
    entry then exceeds the root of the number of rows, not even in the second row.

    A standardizer never changes: `learn` and `merge` return new ones.

    Parameters
    ----------
    scale : bool, default True
        Whether columns are divided by their standard deviations; a column that has been constant is not.
    count : int or float, default 0
        Number of rows learned, or the sum of their weights. A new standardizer has learned none.
    mean : ndarray, shape (d,), optional
        Means of the columns over these rows.
    squares : ndarray, shape (d,), optional
        Sums of the squared differences from the mean.

    Raises
    ------
    TypeError
        If `scale` is neither True nor False.

    Notes
    -----
    The moments are exact in one pass, in chunks of any length (Welford), with weights of rows, and those of two parts
    of the rows merge exactly (Chan, Golub and LeVeque). Columns of complex numbers have complex means and real
    variances, the means of |x - mean|^2.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> steps = ob.Standardizer(), "intercept", ob.create("rls", backend="numpy", ridge=1e-3)
    >>> pipeline = ob.pipeline(*steps).partial_fit([[100.0], [200.0], [300.0]], [1.0, 2.0, 3.0])
    >>> standardizer = pipeline.transforms[0]
    >>> standardizer.mean_, standardizer.var_.round(1)
    (array([200.]), array([6666.7]))
    """

    scale: bool = True
    count: float = 0
    """The number of rows, or the sum of their weights."""
    mean: Array | None = None
    squares: Array | None = None
    """Sums of the squared differences from the mean."""

    def __post_init__(self) -> None:
        """Refuse a scale that is not a bool."""
        if not isinstance(self.scale, (bool, np.bool_)):
            raise TypeError(f"Standardizer: scale={self.scale!r}, want True or False")

    @property
    def mean_(self) -> Array:
        """Means of the columns (d,)."""
        return _moments(self).mean.copy()

    @property
    def var_(self) -> Array:
        """Variances of the columns (d,), the sums of squares divided by the number of rows."""
        return _moments(self).squares / (self.count or 1)

    def learn(self, X: Array) -> tuple[Standardizer, Array]:
        """Learn rows, and standardize each with the moments of the rows up to and including it.

        Parameters
        ----------
        X : ndarray, shape (n, d)
            Finite numbers.

        Returns
        -------
        standardizer : Standardizer
            The transform after these rows.
        rows : ndarray, shape (n, d)
            The standardized rows.

        Raises
        ------
        ValueError
            If a mean or a sum of squares overflows.

        Examples
        --------
        >>> import numpy as np
        >>> import orfit_bench as ob
        >>> after, rows = ob.Standardizer().learn(np.array([[1.0], [3.0], [5.0]]))
        >>> after.mean_, rows.ravel().round(3)
        (array([3.]), array([0.   , 1.   , 1.225]))
        """
        moments = self.moments(X)
        return moments.after, (X - moments.means) / moments.spreads

    def moments(self, X: Array, weights: Array | None = None) -> RunningMoments:
        """Compute the moments after each of several rows; the standardizer is unchanged.

        Parameters
        ----------
        X : ndarray, shape (n, d)
            Finite numbers.
        weights : ndarray, shape (n,), optional
            Weights of the rows; a negative weight removes a row. Default: 1.

        Returns
        -------
        RunningMoments
            Means and spreads (n, d) after each row, and the standardizer `after` all of them.

        Raises
        ------
        ValueError
            If more is removed than was learned, or a sum of squares overflows.

        Examples
        --------
        >>> import numpy as np
        >>> import orfit_bench as ob
        >>> ob.Standardizer().moments(np.array([[1.0], [3.0], [5.0]])).means.ravel()
        array([1., 2., 3.])
        """
        known = self._start(X)
        if not len(X):
            nothing = np.zeros(X.shape, bool)
            return RunningMoments(Standardizer(self.scale, *known), X, X.real, nothing)
        counts, means, sums = after_each(known, X, weights)
        self._refuse_overflow(X, means, sums)
        if weights is not None:
            sums = np.maximum(sums, 0.0)
        count = self.count + (len(X) if weights is None else float(weights.sum()))
        after = Standardizer(self.scale, int(count) if count % 1 == 0 else count, means[-1].copy(), sums[-1].copy())
        return RunningMoments(after, means, *self._spreads(means, sums / counts))

    def transform(self, X: Array) -> Array:
        """Standardize each row as if it were learned next; the standardizer is unchanged.

        Parameters
        ----------
        X : ndarray, shape (n, d)
            Finite numbers.

        Returns
        -------
        ndarray, shape (n, d)
            The standardized rows. The moments of each contain the row itself, but no other row of X.

        Raises
        ------
        ValueError
            If a mean or a sum of squares overflows.

        Examples
        --------
        >>> import numpy as np
        >>> import orfit_bench as ob
        >>> after, _ = ob.Standardizer().learn(np.array([[1.0], [3.0]]))
        >>> after.transform(np.array([[5.0], [2.0]])).ravel().round(3)
        array([1.225, 0.   ])
        """
        means, spreads = self.next_moments(X)
        return np.asarray((X - means) / spreads)

    def next_moments(self, X: Array) -> tuple[Array, Array]:
        """Compute means and spreads with which each row would be standardized if it were next; nothing is changed.

        Parameters
        ----------
        X : ndarray, shape (n, d)
            Finite numbers.

        Returns
        -------
        means : ndarray, shape (n, d)
            The numbers that are subtracted from each row.
        spreads : ndarray, shape (n, d)
            The divisors of the columns; 1 where a column has been constant.

        Raises
        ------
        ValueError
            If a mean or a sum of squares overflows.

        Examples
        --------
        >>> import numpy as np
        >>> import orfit_bench as ob
        >>> after, _ = ob.Standardizer().learn(np.array([[1.0], [3.0]]))
        >>> means, spreads = after.next_moments(np.array([[5.0]]))
        >>> means, spreads.round(3)
        (array([[3.]]), array([[1.633]]))
        """
        counts, means, sums = as_next(self._start(X), X)
        self._refuse_overflow(X, means, sums)
        return means, self._spreads(means, sums / counts)[0]

    def _refuse_overflow(self, X: Array, means: Array, sums: Array) -> None:
        """ValueError that names the first entry of X whose mean, or sum of squares if it is used, is not finite."""
        refuse_overflow(X, sums if self.scale else means)

    def _start(self, X: Array) -> Moments:
        """The moments of the rows so far, zeros before the first one. ValueError for rows of another width."""
        zero = np.zeros(X.shape[1])
        if self.mean is not None and self.mean.shape != zero.shape:
            raise ValueError(f"X: got {len(zero)} columns, want {len(self.mean)} as the standardizer has learned")
        start = (zero, zero) if self.mean is None or self.squares is None else (self.mean, self.squares)
        return Moments(self.count, *start)

    def _spreads(self, means: Array, variances: Array) -> tuple[Array, Array]:
        """The divisors of the columns, and whether they vary."""
        deviation, varies = deviations(means, variances)
        return np.where(varies & self.scale, deviation, 1.0), varies

    def coordinates(self) -> Coordinates:
        """Return the coordinates of rows by the moments of all rows learned.

        Returns
        -------
        Coordinates
            Coordinates with the center (d,) and the spread (d,) of the columns.

        Raises
        ------
        AttributeError
            Before the first chunk.

        Examples
        --------
        >>> import numpy as np
        >>> import orfit_bench as ob
        >>> after, _ = ob.Standardizer().learn(np.array([[1.0], [3.0]]))
        >>> after.coordinates().rows(np.array([[5.0]]))
        array([[3.]])
        """
        weight, mean, squares = _moments(self)
        return Coordinates(mean, *self._spreads(mean, squares / (weight or 1)))

    def merge(self, other: Standardizer) -> Standardizer:
        """Return the standardizer of the rows of both.

        Parameters
        ----------
        other : Standardizer
            A standardizer with the same `scale`.

        Returns
        -------
        Standardizer
            A standardizer with the moments of the rows of both.

        Raises
        ------
        ValueError
            If only one of them scales, or the sums of squares of the rows of both overflow.

        Notes
        -----
        Chan, Golub and LeVeque.

        Examples
        --------
        >>> import numpy as np
        >>> import orfit_bench as ob
        >>> (a, _), (b, _) = (ob.Standardizer().learn(np.array(X)) for X in ([[1.0], [3.0]], [[5.0]]))
        >>> a.merge(b).mean_, a.merge(b).var_.round(3)
        (array([3.]), array([2.667]))
        """
        if self.scale != other.scale:
            raise ValueError("merge: one standardizer scales, the other does not")
        if not (self.count and other.count):
            return self if self.count else other
        if (d := len(_moments(self).mean)) != len(_moments(other).mean):
            raise ValueError(f"merge: the other standardizer has {len(_moments(other).mean)} columns, want {d}")
        both = merged(_moments(self), _moments(other))
        if self.scale and not np.isfinite(both.squares).all():
            raise ValueError("merge: the variances of the rows of both overflow: scale the columns")
        return Standardizer(self.scale, *both)

    def to_dict(self) -> dict[str, Any]:
        """Return the standardizer as numbers and lists, which JSON keeps exactly.

        Returns
        -------
        dict
            The entries that `from_dict` reads.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.Standardizer().to_dict()
        {'name': 'standardize', 'scale': True, 'count': 0, 'moments': [None, None]}
        """
        moments = [None if a is None else a.real.tolist() for a in (self.mean, self.squares)]
        saved = {"name": "standardize", "scale": self.scale, "count": self.count, "moments": moments}
        if self.mean is not None and np.iscomplexobj(self.mean):
            saved["imaginary_mean"] = self.mean.imag.tolist()
        return saved

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Standardizer:
        """Make the standardizer that `to_dict` saved.

        Parameters
        ----------
        saved : dict
            The result of `to_dict`.

        Returns
        -------
        Standardizer
            A standardizer with the same moments.

        Raises
        ------
        TypeError, ValueError
            If an entry is missing, unknown, of another type, or not possible.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.Standardizer.from_dict(ob.Standardizer(scale=False).to_dict()).scale
        False
        """
        check_keys(saved, {"name", "scale", "count", "moments"}, {"imaginary_mean"})
        scale, moments = read_flag(saved, "scale"), saved["moments"]
        if not (isinstance(moments, list) and len(moments) == 2):
            raise TypeError(f"moments: got {moments!r}, want a list of the means and the squares")
        if moments == [None, None]:
            return cls(scale, read_count(saved["count"]))
        mean, squares = read_complex(saved, "mean", moments[0]), read_squares(moments[1], scale)
        if len(mean) != len(squares):
            raise ValueError(f"moments: got {len(mean)} means and {len(squares)} squares, want as many")
        return cls(scale, read_count(saved["count"]), mean, squares)


def _moments(known: Standardizer) -> Moments:
    """The moments of the rows so far; AttributeError before the first chunk."""
    if known.mean is None or known.squares is None:
        raise AttributeError("the moments are known after the first chunk")
    return Moments(known.count, known.mean, known.squares)
