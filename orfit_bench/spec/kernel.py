"""The functions of a kernel, and what they receive and return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from orfit_bench.spec.backend import Array
from orfit_bench.spec.kernel_arguments import FleetParams, Params, State
from orfit_bench.spec.model import Network


class Kernel(Protocol):
    """A kernel: a module or an object with the functions that its method needs.

    ============  =============================================================
    function      needed by
    ============  =============================================================
    learn         every method except layered ones
    update        methods with KernelSpec(models=True), and layered ones
    step          methods with KernelSpec(blocks=True)
    ahead         methods with KernelSpec(lookahead=True)
    store         methods with KernelSpec(needs_post_step_gradients=True)
    solve         methods with StateSpec(solution=...)
    predict_step  filters
    rts_smooth    filters, unless LACKS names "smoothing"
    ============  =============================================================

    All other functions are optional: they compute the same results faster, except that fleets need `fleet_learn`. The
    state s is changed in place; p holds the parameters of the steps (in shapes, p is the number of weights). A
    kernel neither changes nor keeps its other arguments. For a filter, Y may contain NaN, and p is a `FilterParams`.

    A module may define LACKS = {capability: why, "setting=value": why}, the allowed features that it leaves out
    (spec/capability.py), and EXPECTED_FAILURES = {check: why}, the checks of the kit that it fails ("check float32":
    only in that dtype). With CHECKS_ROWS = True, its `learn` gets rows that have not been validated, with batch_size 1,
    which saves a pass over them: if a number is not finite, it returns -1 and changes nothing. With COMPLEX = True, it
    also learns complex rows, for methods that have a complex form; a row is then x^H where a formula has x'.
    """

    def learn(self, s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        """Learn rows in order on a linear model.

        Parameters
        ----------
        s : State
            The fields, written in place.
        X : array, shape (n, d)
            Rows, n a multiple of p.batch_size.
        Y : array, shape (n, r)
            Their targets; (n, 0) for a subspace. For classification, the unit vector of each label, with a column for
            each class known after the call. The weights of a class are zero until its first row, so a method that also
            changes the weights of other classes keeps a field of the classes seen so far.
        p : Params
            The parameters of the steps.
        out : array, shape (n, r), or None
            Receives the prediction of each row before its step, for classification 0 for classes that no earlier row
            had; None for a subspace.

        Returns
        -------
        int
            The number of rows learned. Fewer than n means that the next step would not have been finite, and was not
            applied.
        """

    def bind_row(self, s: State, p: Params) -> Callable[[Array, float], int] | None:
        """Optional: prepare a function that learns one row with one target in s, for calls with one row each.

        Parameters
        ----------
        s : State
            The fields, which the function changes in place. At least one row has been learned before.
        p : Params
            The parameters of a step. An array with an entry per step has one entry, which the learner sets for the row
            before each call, so the function must read the array at each call. p.t is not set, so it is not the step of
            the row. All other parameters are the same for all rows.

        Returns
        -------
        callable or None
            learn(x, y) for a row x (d,) and a number y: it returns 1 if it learned the row, or any other value if it
            changed nothing and leaves the row to `learn`. None if there is no such function for these settings.

        Notes
        -----
        The result equals that of `learn` with a chunk of one row, bit for bit. x has the right shape and dtype and is
        C-contiguous, but x and y may hold NaN or infinity: such a row must be refused without a NumPy warning.
        `validate_rows` of the method is not called.
        """

    def bind_sample(self, s: State, p: Params) -> Callable[[Array, int], int] | None:
        """Optional, for methods without targets: like `bind_row`, with learn(x, t) for a row and its step t."""

    def bind_label(self, s: State, p: Params) -> Callable[[Array, int], int] | None:
        """Optional, for classification: like `bind_row`, with learn(x, k) for a row of the known class k."""

    def bind_rows(self, s: State, p: Params) -> Callable[[Array, Array, Array], int] | None:
        """Optional, with `bind_row`: learn(X, y, out) for rows X (n, d) with y (n,), if p is the same for all.

        out is (n,), for the prediction of each row before its step, or (0,) if no predictions are needed. The function
        returns the number of rows learned, like `learn`, or a negative number if it changed nothing and leaves the rows
        to `learn`. It must leave them if a number in X or y is not finite, and must not cause NumPy warnings.
        """

    def record_rows(self, s: State, X: Array, Y: Array, p: Params, records: tuple[Array, ...]) -> int:
        """Optional, for filters: learn rows and record mean and covariance before and after the correction of each row.

        records are (n, d, r), (n, d, d), (n, d, r), (n, d, d). Returns the number of rows that it recorded; the learner
        computes the others.
        """

    def update(self, s: State, J: Array, E: Array, p: Params) -> bool:
        """Take one step on a linearized block.

        Parameters
        ----------
        s : State
            The fields, written in place.
        J : array, shape (q, p)
            Gradients of the predictions.
        E : array, shape (q, r)
            Their errors.
        p : Params
            The parameters of the step.

        Returns
        -------
        bool
            False if the step was not applied, because the result would not be finite; s is then as before.
        """

    def slopes(self, s: State, E: Array, p: Params) -> Array:
        """Optional, with `move`: the S (q, 1) of a step that depends on the gradients J (q, p) only through J'S."""

    def move(self, s: State, g: Array, p: Params) -> bool:
        """Optional, with `slopes`: take the step of `update`, given g = J'S (p, 1). Returns what `update` does."""

    def ahead(self, s: State, p: Params) -> Array:
        """The weights (p, r) at which J and E of this step are evaluated; for methods that declare `lookahead`."""

    def step(self, s: State, A: Array, Y: Array, p: Params) -> bool:
        """Learn the rows A (M, d) with targets Y (M, r) of a linear model as one step. Returns what `update` does."""

    def solve(self, s: State) -> tuple[Array, float]:
        """The weights (p, r) of a method that declares a `solution`, and the precision of its equations.

        The precision estimates the smallest eigenvalue of the equations scaled to a unit diagonal; at about eps, no
        correct digit is left.
        """

    def store(self, s: State, J: Array, p: Params) -> None:
        """Keep the gradients J (q, p) taken after the step; for methods that declare `needs_post_step_gradients`.

        A layered method gets p.inputs after the step instead of J. The `update` of a method with `store` changes only
        the weights. If the gradients or inputs that `store` would receive are not finite, the learner refuses the step
        and restores the old weights.
        """

    def for_network(self, network: Network, d: int, c: int, settings: Mapping[str, Any]) -> Any | None:
        """Optional, in addition to `update`: the same rule for rows of a network (`ob.MLP`), one row per step.

        Returns an object with `learn` and optionally `bind_row` or `bind_label`, like those of a linear model with d
        features and c outputs. It can also have predict(w, X), the outputs (n, c) at the weights w (p, 1): the matrices
        of the layers one after another, (inputs, outputs) in C order, each with the bias, if any, as its last row.
        `learn` gets finite rows. If the gradients or inputs that `store` would receive after a step are not finite, it
        refuses the step. Batches, blocks and weighted rows are still learned by `update` or `move`, as are all rows of
        a filter, and all rows if this returns None.
        """

    def predict_step(self, s: State, mean: Array, p: Params) -> bool:
        """Predict the state of a filter: the mean becomes `mean`, P becomes F P F' + Q. Returns what `update` does."""

    def can_smooth(self, s: State, p: Params) -> bool:
        """Optional, for filters that keep a root: whether the covariance after a move has enough digits to smooth.

        It marks lost digits.
        """

    def rts_smooth(
        self,
        F: Sequence[Array],
        m_pred: Array,
        P_pred: Array,
        m: Array,
        P: Array,
        Q: Sequence[Array | None] | None = None,
        scale: Array | None = None,
    ) -> float | None:
        """For filters: replace m (n, p, r) and P (n, p, p), the moments after each row, by those given all rows.

        The state moved from row j - 1 to row j by F[j] (p, p) with the noise Q[j] (p, p), None for zero; F[0] and Q[0]
        do not belong to a move. m_pred and P_pred are the moments before each row. Rounding errors in P are relative to
        the variances `scale` (n, p), which are given for a filter that keeps a root; otherwise to the variances of
        P_pred after the last move, from which the rows subtract.

        Returns the largest relative error of P_pred^-1, by which it multiplies, or None if it does not estimate this
        error. The learner warns above eps^(3/8). A learner in float32 calls it in float64, unless its steps call
        functions of the user, and then warns above eps^(1/3).
        """

    def fleet_learn(self, s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
        """Learn the rows of many learners, X (n, d), Y (n, r), sorted by learner; optional, for `orfit_bench.fleet`.

        Every field of s has a leading axis of N learners. The fields, X, Y and out are on the backend, as for a single
        learner. Returns the number of rows that each of p.members learned (m,), in host memory: a member stops before a
        step that would not be finite, and the others continue. Each member must equal a single learner.
        `orfit_bench.kernels.fleets.make_fleet_learn` makes this function from `learn`, as a loop over the learners.
        """

    def fleet_solve(self, s: State) -> tuple[Array, Array]:
        """Optional, with `fleet_learn` and `solve`: the weights (m, p, r) of m learners, and the precisions (m,).

        Every field of s has a leading axis of m learners. Each must equal the result of `solve`, which a fleet calls
        for one learner after the other if this function is missing. Both results are in host memory.
        """

    def bind_members(self, s: State, p: FleetParams) -> Callable[[Array, Array, Array], int] | None:
        """Optional, with `fleet_learn`: a function learn(X, y, out) for calls with a row for each of the N learners.

        X is (N, 1, d) and y (N, 1), one number for each row, both in host memory, C-contiguous and of the dtype of s.
        out is (N, 1), for the predictions before the step, or (0, 1) if none are needed. Every learner has learned at
        least one row. p was made when the function was bound; only p.t would differ in a call. `validate_rows` of the
        method is not called. The function changes s in place and returns the number of learners that have learned,
        counted from the first; the rows of the others go to `fleet_learn`, which also marks lost digits. If a number is
        not finite, it must change nothing and return a number below 1. Returns None if there is no such function for
        these settings.
        """
