"""Estimates of a filter: forecasts of observations, smoothed states and likelihoods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from orfit_bench.errors import DivergedError
from orfit_bench.learners.advice import refuse_arguments
from orfit_bench.learners.filtering import smoother
from orfit_bench.learners.filtering.dynamics import GivenWithRows
from orfit_bench.learners.filtering.named_inputs import read_inputs
from orfit_bench.learners.filtering.rows import read_rows
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.targets import EncodedRows
from orfit_bench.spec.backend import Array
from orfit_bench.spec.capability import require
from orfit_bench.state.state import LearnerState

if TYPE_CHECKING:
    import xarray


DIVIDES = (
    "smooth divides by the covariance predicted for each row but the first, which may have too few digits where "
    "partial_fit can still learn the row: some process_noise, or a transition that shrinks no direction to almost "
    "nothing, keeps more"
)
"""A note on rows that a smoother refuses."""


class FilterEstimates(Regressor):
    """A filter that estimates states and observations; none of these methods changes it."""

    rule: FilterRule

    def predict(  # without `noise_variance`: the noise is a setting, or given with the row
        self,
        X: ArrayLike,
        *,
        transition: object = None,
        process_noise: object = None,
        observation_noise: object = None,
        control: ArrayLike | None = None,
        return_std: bool = False,
        **unknown: object,
    ) -> Array | tuple[Array, Array]:
        """Forecast the observation of each row, taken as the next row; the learner is unchanged.

        The state is moved by the transition first.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        transition, process_noise : array_like, shape (), (p,) or (p, p), optional
            Transition and noise of the move to the next step, the same for all rows. Default: the settings.
        observation_noise : float, optional
            Variance of each observation. Default: the setting.
        control : array_like, shape (p,) or (p, c), optional
            Added to the state by this move. Default: zero.
        return_std : bool, default False
            Whether the standard deviations of the observations, noise included, are returned too.

        Returns
        -------
        array of the backend, shape (n,) or (n, c)
            Forecasts; with `return_std` a pair of arrays of this shape. Deviations are NaN if the covariance after the
            move is not finite.

        Raises
        ------
        TypeError
            If an argument is unknown.
        ValueError
            If no chunk was learned yet, or an argument does not fit the earlier rows.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> kalman = ob.create("kalman", backend="numpy", process_noise=1.0).partial_fit([[1.0]], [2.0])
        >>> mean, std = kalman.predict([[1.0]], return_std=True)
        >>> mean, std.round(3)
        (array([1.]), array([1.581]))
        """
        refuse_arguments(self.method, "predict", unknown, ("X", *GivenWithRows._fields, "return_std"))
        X, state = self._rows_to_predict(X), self._begun()
        given = GivenWithRows(transition, process_noise, observation_noise, control)
        given = read_inputs(self.rule, state.sizes, state.feature_names, state.target_names, given, block=True)
        inputs = self.rule.step_inputs(state.sizes, given, 1, block=True)
        mean = self._shaped(self.rule.predict(state, X, inputs))
        return (mean, self._shaped(self.rule.forecast_deviations(state, X, inputs))) if return_std else mean

    def smooth(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        transition: object = None,
        process_noise: object = None,
        observation_noise: object = None,
        control: ArrayLike | None = None,
    ) -> xarray.Dataset:
        """Estimate the state at each row from all of these rows, by a filter and a Rauch-Tung-Striebel smoother.

        The filter starts from the present state. The learner is unchanged.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows that the learner has not learned yet: learned rows would count twice.
        y : array_like, shape (n,) or (n, c)
            Targets; NaN where nothing was observed.
        transition, process_noise : array_like, shape (n,) or (n, p, p), optional
            As in `partial_fit`.
        observation_noise : array_like, shape (n,), optional
            As in `partial_fit`.
        control : array_like or table, shape (n, p) or (n, p, c), optional
            As in `partial_fit`.

        Returns
        -------
        xarray.Dataset
            In host memory: "mean" with the dimensions (step, parameter, output), and "covariance" with (step,
            parameter, parameter_2), in the squared units of the state. The coordinate "step" counts steps from 1.

        Raises
        ------
        TypeError, ValueError
            As in `Regressor.partial_fit`.
        DivergedError
            If a step cannot be computed, or the covariance by which the smoother divides has too few digits.
        UnavailableError
            If the backend has no smoother.
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Warns
        -----
        AccuracyWarning
            If half of the digits may be lost: the covariances by which the smoother divides are nearly singular, a
            target contradicts forecasts that have few digits, or a variance is larger than the filtered one by more
            than sqrt(eps) times the largest of its step.

        Notes
        -----
        Survey, Theorem 7: smoothing never increases a covariance. The memory needed is 3 n p^2 numbers. A learner in
        float32 computes in float64, and rounds the result, unless its model or transition are functions.

        Examples
        --------
        The rows that follow lower the variances of all steps but the last.

        >>> import orfit_bench as ob
        >>> X, y = [[1.0], [1.0], [1.0]], [1.0, 2.0, 3.0]
        >>> kalman = ob.create("kalman", backend="numpy", process_noise=1.0)
        >>> kalman.smooth(X, y)["covariance"].values.ravel().round(3)
        array([0.385, 0.462, 0.615])
        >>> filtered = [kalman.learn_one(x, t).array("covariance")[0, 0] for x, t in zip(X, y)]
        >>> [round(float(v), 3) for v in filtered]
        [0.5, 0.6, 0.615]
        """
        require("smoothing", self.rule.kernel, self.method, self.backend)
        rows = self._rows(X, y, GivenWithRows(transition, process_noise, observation_noise, control))
        state = self._state_to_filter(rows)
        first = state.n_steps + 1
        try:
            mean, covariance = self.rule.smooth(state, rows.X, rows.Y, rows.inputs)
        except DivergedError as error:
            error.add_note(DIVIDES)
            raise
        finally:
            self.rule.warn_of_lost_precision(state)  # also if a step was refused
        to_host = self.backend.asnumpy
        parameters = rows.feature_names if self.rule.is_linear else ()
        names = {"parameter": parameters, "parameter_2": parameters, "output": rows.target_names}
        return smoother.make_dataset(to_host(mean), to_host(covariance), first, names)

    def log_likelihood(  # without `noise_variance`: the noise is a setting, or given with the rows
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        transition: object = None,
        process_noise: object = None,
        observation_noise: object = None,
        control: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **unknown: object,
    ) -> float:
        """Compute the logarithm of the density of y given X and the rows learned so far; the learner is unchanged.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows.
        y : array_like, shape (n,) or (n, c)
            Targets. On the linear model, a row with a missing target (NaN) contributes nothing, even if it has others.
            On another model with several outputs, the other targets are observed.
        transition, process_noise, observation_noise, control, sample_weight : array_like, optional
            As in `partial_fit`.

        Returns
        -------
        float
            The sum of the log densities of the innovations, each given the rows before it. With a nonlinear model or
            transition, that of the extended Kalman filter.

        Raises
        ------
        ValueError
            If the covariance of an observation is singular, so that it has no density; or as in `partial_fit`.
        DivergedError
            If a step cannot be computed.
        RuntimeError
            If an exception interrupted a kernel, so that the state cannot be trusted.

        Warns
        -----
        AccuracyWarning
            If half of the digits may be lost, because the state is vague or because targets contradict it.

        Notes
        -----
        A learner in float32 computes in float64, unless its model or transition are functions.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> kalman = ob.create("kalman", backend="numpy")
        >>> round(kalman.log_likelihood([[1.0], [2.0]], [1.0, float("nan")]), 3)
        -1.516
        """
        refuse_arguments(self.method, "log_likelihood", unknown, ("X", "y", *GivenWithRows._fields, "sample_weight"))
        given = GivenWithRows(transition, process_noise, observation_noise, control)
        rows = self._rows(X, y, given, sample_weight=sample_weight)
        state = self._state_to_filter(rows)
        found = self.rule.log_likelihood(state, rows.X, rows.Y, rows.inputs)
        self.rule.warn_of_lost_precision(state)
        return found

    def _state_to_filter(self, rows: EncodedRows) -> LearnerState:
        """A copy of the state for rows that are filtered but not learned."""
        state = self._usable()
        return self.rule.copy(state) if state else self.rule.init(rows.sizes)

    def _rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        given: GivenWithRows,
        *,
        block: bool = False,
        sample_weight: ArrayLike | None = None,
    ) -> EncodedRows:
        return read_rows(self.rule, self._usable(), X, y, given, block, sample_weight)
