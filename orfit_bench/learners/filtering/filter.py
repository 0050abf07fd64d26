"""The learner of a moving state: a Kalman filter."""

from __future__ import annotations

from typing import Self

from numpy.typing import ArrayLike

from orfit_bench.learners.filtering.dynamics import GivenWithRows
from orfit_bench.learners.filtering.estimates import FilterEstimates
from orfit_bench.spec.backend import Array


class Filter(FilterEstimates):
    """A filter: it follows a state w that moves between the rows, from observations y = X w + noise of that state.

    Made by `orfit_bench.create`. NaN in y means that a row was not observed (on a linear model with several outputs:
    none of them). Transitions, noises and controls that vary with time are passed with the rows, one entry per row;
    what is not passed is taken from the settings.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> kalman = ob.create("kalman", backend="numpy", process_noise=1.0)
    >>> kalman.partial_fit([[1.0], [1.0], [1.0]], [1.0, float("nan"), 3.0]).predict([[1.0]]).round(3)
    array([2.286])
    """

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        transition: object = None,
        process_noise: object = None,
        observation_noise: object = None,
        control: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn observations in order: a prediction step before each row except the very first, then its correction.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows; n may be 0 or 1.
        y : array_like, shape (n,) or (n, c)
            Targets; NaN where nothing was observed.
        transition, process_noise : array_like, shape (n,) or (n, p, p), optional
            Transition and noise of the move to each row: multiples of the identity, or matrices. Default: the settings.
        observation_noise : array_like, shape (n,), optional
            Variance of each observation; on a nonlinear model with c outputs also (n, c) or (n, c, c). Default: the
            setting.
        control : array_like or table, shape (n, p) or (n, p, c), optional
            Added to the state by the move to each row; that of the very first row has no effect, since the state does
            not move before it. Default: zero. A table has the columns of X, in any order.
        sample_weight : array_like, shape (n,), optional
            Weights of the rows, by which the variances are divided; a row of weight 0 counts as not observed.

        Returns
        -------
        Filter
            The learner itself.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `Regressor.partial_fit`.

        Warns
        -----
        AccuracyWarning, UserWarning
            As in `Regressor.partial_fit`.

        Notes
        -----
        Survey, Proposition 3.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> kalman = ob.create("kalman", backend="numpy", initial_covariance=0.0)
        >>> kalman.partial_fit([[1.0], [1.0]], [0.0, 5.0], control=[[0.0], [5.0]]).predict([[1.0]])
        array([5.])
        """
        given = GivenWithRows(transition, process_noise, observation_noise, control)
        if given.is_empty:
            return super().partial_fit(X, y, sample_weight=sample_weight)
        rows = self._rows(X, y, given, sample_weight=sample_weight)
        self._update(rows, self.rule.learn, rows.X, rows.Y, False, rows.inputs)
        return self

    def _learn_numbers(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, predict: bool = False
    ) -> Array | None:
        rows = self._rows(X, y, GivenWithRows(), sample_weight=sample_weight)
        return self._update(rows, self.rule.learn, rows.X, rows.Y, predict, rows.inputs)

    def prequential(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        transition: object = None,
        process_noise: object = None,
        observation_noise: object = None,
        control: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Array:
        """Learn observations in order, and forecast each of them just before its correction.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, c)
            Targets; NaN where nothing was observed.
        transition, process_noise : array_like, shape (n,) or (n, p, p), optional
            As in `partial_fit`.
        observation_noise : array_like, shape (n,), optional
            As in `partial_fit`.
        control : array_like or table, shape (n, p) or (n, p, c), optional
            As in `partial_fit`.
        sample_weight : array_like, shape (n,), optional
            As in `partial_fit`.

        Returns
        -------
        array of the backend, shape (n,) or (n, c)
            The forecast of each row, after the transition to it and before its correction. The very first row is
            forecast from the initial mean, without a transition.

        Raises
        ------
        TypeError, ValueError, DivergedError, RuntimeError
            As in `Regressor.partial_fit`.

        Warns
        -----
        AccuracyWarning, UserWarning
            As in `Regressor.partial_fit`.

        Notes
        -----
        Survey, Proposition 3.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> kalman = ob.create("kalman", backend="numpy", process_noise=1.0)
        >>> kalman.prequential([[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0])
        array([0. , 0.5, 1.4])
        """
        given = GivenWithRows(transition, process_noise, observation_noise, control)
        rows = self._rows(X, y, given, sample_weight=sample_weight)
        return self._shaped(self._update(rows, self.rule.learn, rows.X, rows.Y, True, rows.inputs))

    def step(
        self,
        A: ArrayLike,
        y: ArrayLike,
        *,
        transition: object = None,
        process_noise: object = None,
        observation_noise: object = None,
        control: ArrayLike | None = None,
    ) -> Self:
        """Learn M observations of the state at one time as one step: one prediction step, then one correction.

        There is no prediction step before the very first step.

        Parameters
        ----------
        A : array_like, shape (M, d)
            Rows, at least one.
        y : array_like, shape (M,) or (M, c)
            Their targets; NaN where nothing was observed.
        transition, process_noise : array_like, shape (), (p,) or (p, p), optional
            Transition and noise of the move to this step: a multiple of the identity, a diagonal or a matrix. Default:
            the settings.
        observation_noise : array_like, shape (), (M,) or (M, M), optional
            One variance for all observations, the variance of each, or their covariance. On a nonlinear model with c
            outputs also (M c,) or (M c, M c), with the outputs of a row next to each other. Default: the setting.
        control : array_like, mapping or Series, shape (p,) or (p, c), optional
            Added to the state by the move to this step. Default: zero.

        Returns
        -------
        Filter
            The learner itself.

        Raises
        ------
        TypeError, ValueError
            As in `Regressor.partial_fit`; the learner is unchanged.
        DivergedError
            If the step would not be finite; the learner is unchanged.
        RuntimeError
            If another thread is learning, or an exception interrupted a kernel, so that the state cannot be trusted.

        Warns
        -----
        AccuracyWarning, UserWarning
            As in `Regressor.partial_fit`.

        Notes
        -----
        Survey, Proposition 3, with an observation matrix A of M rows.

        Examples
        --------
        The state does not move between the two rows, as it would with `partial_fit`.

        >>> import orfit_bench as ob
        >>> kalman = ob.create("kalman", backend="numpy", process_noise=1.0)
        >>> kalman.step([[1.0], [1.0]], [1.0, 3.0], observation_noise=[0.5, 1.0]).predict([[1.0]])
        array([1.25])
        """
        self._check_step()
        rows = self._rows(A, y, GivenWithRows(transition, process_noise, observation_noise, control), block=True)
        self._update(rows, self.rule.step, rows.X, rows.Y, rows.inputs)
        return self
