"""The arguments of kernels: the state of a learner, and the parameters of its next steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self

from numpy.typing import NDArray

from orfit_bench.spec.backend import Array


class State(Protocol):
    """The arrays of a learner, one attribute for each field of the method; kernels change them in place.

    `s.w` is the field w. A method whose fields grow has `s.count` (1,) int64, the used length of the growing dimension;
    a layered method has one array per layer, `s.basis_1`, `s.basis_2`, ... `count` and fields without dimensions are
    NumPy arrays in host memory on every backend. All others are arrays of the backend, in C order and of one dtype.
    """

    def __getattr__(self, field: str) -> Any: ...

    def __iter__(self) -> Iterator[Any]:
        """The arrays, in the order of the fields."""


class Params(Protocol):
    """The parameters of consecutive steps; every setting is an attribute.

    A schedule is an array with one value per step. A setting that is None becomes infinity if it is a number, and the
    largest integer if it is an integer. Methods with `needs_targets` also get `targets` (q, r). Layered methods get
    `shapes`, the (inputs, outputs) of each layer, and `inputs`, the inputs of each layer (rows, inputs).
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
        """The parameters of n steps, starting at step i, counted from 0."""

    def __getattr__(self, setting: str) -> Any: ...


class FilterParams(Protocol):
    """The parameters of consecutive steps of a filter.

    Parameters that may vary in time are arrays with one entry per step, or with a single entry for all steps. An entry
    is a number, a diagonal or a matrix: the arrays have shape (n,), (n, size) or (n, size, size), where size is p or q
    of `sizes`.
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
        """The vectors added to the mean by each transition (n, p, r); None: zero."""

    @property
    def is_dynamic(self) -> Any:
        """Whether a transition and a process noise change the state before a step: (n, 2), or (1, 2) for all steps.

        The array is in host memory. For the parameters of a single step it is a bool.
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
        """The parameters of step i, with matrices (p, p) and (q, q); None for the identity and for zero."""

    def _replace(self, *, observation_noise: Array = ...) -> Self:
        """A copy with another noise; as of any named tuple, other parameters can be replaced too."""


class FleetParams(Protocol):
    """The parameters of a call for N learners; the settings are attributes too.

    A number is an array (m,), a schedule an array (n,) with a value for each row. A value that all share is a read-only
    view of stride zero.
    """

    @property
    def members(self) -> NDArray[Any]:
        """The learners that get rows (m,), in ascending order, each once."""

    @property
    def starts(self) -> NDArray[Any]:
        """Row offsets (m + 1,): members[j] has the rows from starts[j] to before starts[j + 1], possibly none."""

    @property
    def rows_each(self) -> int | None:
        """The number of rows of each learner if it is the same for all N; None if it can differ."""

    @property
    def t(self) -> NDArray[Any]:
        """The number of the next step of each of `members` (m,)."""

    @property
    def size(self) -> int:
        """N."""

    @property
    def dynamics(self) -> FilterParams:
        """For filters: `FilterParams` with an entry for each of `members`.

        Arrays are in host memory; an array that all members share has a single entry.
        """

    def of(self, j: int, /) -> Params:
        """The parameters of the rows of members[j] as `learn` gets them."""

    def __getattr__(self, setting: str) -> Any: ...
