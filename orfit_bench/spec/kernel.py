"""What a kernel receives and returns: the state of a learner, the parameters of steps, and arrays of its backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import Network


class State(Protocol):
    """The arrays of a learner, one attribute a field of the method; kernels write into them in place.

    `s.w` is the field w. A method whose fields grow has `s.count` (1,) int64, the used length of the growing dimension;
    a layered method has one array per layer, `s.basis_1`, `s.basis_2`, ... `count` and fields without dimensions are
    NumPy arrays in host memory on every backend, all others arrays of the backend in C order and of one dtype.
    """

    def __getattr__(self, field: str) -> Any: ...


class Params(Protocol):
    """The parameters of consecutive steps; every setting is an attribute of its name.

    A schedule is an array with one value per step. None is infinity for a number and the largest integer for an
    integer. Methods that need them also find `targets` (q, r), and layered ones `shapes`, the (inputs, outputs) of each
    layer, and `inputs`, what each layer takes in (rows, inputs).
    """

    @property
    def t(self) -> int:
        """Number of the first step; steps are counted from 1."""

    @property
    def batch_size(self) -> int:
        """Rows of one step."""

    @property
    def draws(self) -> NDArray[Any]:
        """Uniform random numbers (steps, k)."""

    def at(self, i: int, n: int = 1, /) -> Self:
        """The parameters of n steps from step i on, counted from 0."""

    def __getattr__(self, setting: str) -> Any: ...


class FilterParams(Protocol):
    """The parameters of consecutive steps of a filter.

    What varies in time is an array with one entry for each step, or a single one for all steps. An entry is a number, a
    diagonal or a matrix: the arrays have shape (n,), (n, size) or (n, size, size), where size is that of `sizes`.
    """

    @property
    def transition(self) -> Any:
        """The transitions before the steps, or a `Transition`, a function of the user; None: the identity."""

    @property
    def process_noise(self) -> Array | None:
        """The process noises, as exactly symmetric matrices; None: zero."""

    @property
    def observation_noise(self) -> Array:
        """The observation noises."""

    @property
    def control(self) -> Array | None:
        """What each transition adds to the mean (n, p, r); None: zero."""

    @property
    def is_dynamic(self) -> Any:
        """Whether a transition and a process noise change the state before a step: (n, 2), or (1, 2) for all steps.

        In host memory. A bool for the parameters of a single step.
        """

    @property
    def sizes(self) -> tuple[int, int]:
        """Parameters p, and observations q of one step."""

    @property
    def t(self) -> int:
        """Number of the first step; steps are counted from 1."""

    @property
    def batch_size(self) -> int:
        """Rows of one step."""

    def at(self, i: int, /) -> Self:
        """The parameters of step i alone, with matrices (p, p) and (q, q); None for the identity and for zero."""


class FleetParams(Protocol):
    """The parameters of a call for N learners; the settings are attributes too.

    A number is an array (m,), a schedule an array (n,) for the rows; what all share is a read-only view of stride zero.
    """

    @property
    def members(self) -> NDArray[Any]:
        """The learners that get rows (m,), in ascending order, each once."""

    @property
    def starts(self) -> NDArray[Any]:
        """(m + 1,): the rows of members[j] are starts[j] to starts[j + 1], none or any number."""

    @property
    def rows_each(self) -> int | None:
        """The number of rows of each learner where all N have equally many; None where they may differ."""

    @property
    def t(self) -> NDArray[Any]:
        """The number of the next step of each of these (m,)."""

    @property
    def size(self) -> int:
        """N."""

    @property
    def dynamics(self) -> FilterParams:
        """Of filters: `FilterParams` with an entry for each of `members`.

        Entries lie in host memory; there is one where all members share it.
        """

    def of(self, j: int, /) -> Params:
        """The parameters of the rows of members[j] as `learn` gets them."""

    def __getattr__(self, setting: str) -> Any: ...


class Kernel(Protocol):
    """A kernel: a module or an object with the functions that its method needs.

    ============  =============================================================
    function      needed by
    ============  =============================================================
    learn         every method but layered ones
    update        methods with KernelSpec(models=True), and layered ones
    step          methods with KernelSpec(blocks=True)
    ahead, store  methods with `lookahead`, with `needs_post_step_gradients`
    solve         methods with StateSpec(solution=...)
    predict_step  filters
    rts_smooth    filters, unless LACKS names "smoothing"
    ============  =============================================================

    All others are optional, as faster ways to the same result; fleets need `fleet_learn`. s is the state, changed in
    place; p holds the parameters of the steps. A kernel neither changes nor keeps its other arguments. Rows of a filter
    may have NaN in Y, and its p are `FilterParams`.

    A module may say LACKS = {capability: why, "setting=value": why}, what it leaves out of what the method allows
    (spec/capability.py), and EXPECTED_FAILURES = {check: why}, which checks of the kit it fails ("check float32": in
    that dtype alone). With CHECKS_ROWS = True its `learn` gets unvalidated rows of batch_size 1, which saves a pass
    over them: where one is not finite, it returns -1 and leaves all as it was. With COMPLEX = True it also learns
    complex rows, which are x^H where a formula has x', of methods that have a complex form.
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
            Their targets; (n, 0) for a subspace. For a classification, the unit vector of each label, with a column for
            each class known after the call: the weights of a class that appears later in it are zero until then, so a
            method that changes the weights of other classes too keeps a field of those that it has seen.
        p : Params
            The parameters of the steps.
        out : array, shape (n, r), or None
            Where the prediction of each row before its step is written; None for a subspace.

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
            The fields, in which the function learns. A row was learned before.
        p : Params
            The parameters of a step. Arrays with an entry per step have one entry, which is set to that of the current
            step before each call, so that the function has to read it then. p.t is not the step of the row; all else
            is the same for all rows.

        Returns
        -------
        callable or None
            learn(x, y) for a row x (d,) and a number y: it returns 1 if it learned the row, or any other value if it
            changed nothing and `learn` has to take the row. None if there is no such function for these settings.

        Notes
        -----
        The result equals that of `learn` with a chunk of one row, to the last bit. x has the right shape and dtype and
        is C-contiguous, but may hold NaN or infinity, as may y: such a row is refused without a warning of NumPy.
        `validate_rows` of the method is not called.
        """

    def bind_sample(self, s: State, p: Params) -> Callable[[Array, int], int] | None:
        """Optional, for methods without targets: as `bind_row`, a function learn(x, t) for a row and its step t."""

    def bind_label(self, s: State, p: Params) -> Callable[[Array, int], int] | None:
        """Optional, for classifications: as `bind_row`, a function learn(x, k) for a row of class k, which is known."""

    def bind_rows(self, s: State, p: Params) -> Callable[[Array, Array, Array], int] | None:
        """Optional, beside `bind_row`: learn(X, y, out) for rows X (n, d) with y (n,), where p is the same for all.

        out is (n,), for the prediction of each row before its step, or (0,). It returns the number of rows learned, as
        `learn` does; or a negative number where it changed nothing and leaves the rows to `learn`, as it must where a
        number of X or y is not finite.
        """

    def record_rows(self, s: State, X: Array, Y: Array, p: Params, records: tuple[Array, ...]) -> int:
        """Optional, for filters: learn rows and record mean and covariance of each before and after its correction.

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
        """Optional, with `move`: the S (q, 1) of a step that depends on the gradients J (q, p) through J'S alone."""

    def move(self, s: State, g: Array, p: Params) -> bool:
        """Optional, with `slopes`: take the step of `update`, given g = J'S (p, 1). Returns what `update` does."""

    def ahead(self, s: State, p: Params) -> Array:
        """The weights (p, r) at which J and E of this step are to be taken; where the method declares `lookahead`."""

    def step(self, s: State, A: Array, Y: Array, p: Params) -> bool:
        """Learn the rows A (M, d) with targets Y (M, r) of a linear model as one step. Returns what `update` does."""

    def solve(self, s: State) -> tuple[Array, float]:
        """The weights (p, r) of a method that declares a `solution`, and the precision of its equations.

        The precision estimates the smallest eigenvalue of the equations scaled to a unit diagonal; at about eps no
        digit is left.
        """

    def store(self, s: State, J: Array, p: Params) -> None:
        """Keep the gradients J (q, p) taken after the step; only where the method declares `needs_post_step_gradients`.

        A layered method gets no J but p.inputs as they are after the step. `update` of such a method changes the
        weights alone: where what it would get here is not finite, the step is refused, and undone by setting these.
        """

    def for_network(self, network: Network, d: int, c: int, settings: Mapping[str, Any]) -> Any | None:
        """Optional, beside `update`: the same rule for the rows of a network (`ob.MLP`), one row in a step.

        Returns an object with `learn`, and perhaps `bind_row` or `bind_label`, which are as those of a linear model for
        rows of d features and c outputs, and perhaps predict(w, X), the outputs (n, c) at weights w (p, 1). These are
        the matrices of the layers one after another, (inputs, outputs) in C order, with the bias as their last row.
        `learn` gets rows that are finite, and refuses a step after which what `store` gets is not. Batches, blocks and
        weighted rows are still learned by `update` or `move`, as are all rows of a filter, and all rows where this
        returns None.
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
        belong to no move. m_pred and P_pred are the moments before each row. Rounding errors in P are relative to the
        variances `scale` (n, p), which are given for a filter that keeps a root, and otherwise to those of P_pred after
        the last move, from which the rows subtract.

        Returns the largest relative error of P_pred^-1, by which it multiplies; None if it does not estimate that. The
        learner warns above eps^(3/8). A learner in float32 calls it in float64, unless its steps call functions of the
        user, and then warns above eps^(1/3).
        """

    def fleet_learn(self, s: State, X: Array, Y: Array, p: FleetParams, out: Array | None) -> Array:
        """Learn the rows of many learners, X (n, d), Y (n, r), sorted by learner; optional, for `orfit_bench.fleet`.

        Every field of s has a leading axis of N learners. The fields, X, Y and out lie on the backend as those of one
        learner do. Return the number of rows that each of p.members learned (m,), in host memory: one that would not be
        finite stops there, the others go on. Each must equal a single learner.
        `orfit_bench.kernels.fleets.make_fleet_learn` makes this function from `learn`, as a loop.
        """

    def bind_members(self, s: State, p: FleetParams) -> Callable[[Array, Array, Array], int] | None:
        """Optional, beside `fleet_learn`: a function learn(X, y, out) for calls with a row for each of the N learners.

        X is (N, 1, d) and y (N, 1), one number for each row, both in host memory, C-contiguous and of the dtype of s.
        out is (N, 1), for the predictions before the step, or (0, 1). Every learner has learned a row. p is that of the
        binding and differs from that of a call by p.t only; `validate_rows` of the method is not called. It learns in s
        itself and returns how many learners have learned, from the first one on; `fleet_learn`, which also marks lost
        digits, gets the rows of all others. Where a number is not finite it must change nothing and return a number
        below 1. None where there is no such function for these settings.
        """
