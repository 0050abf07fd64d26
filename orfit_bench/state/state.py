"""The state of a learner as a value, and the interface of its rule that this package needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol

import numpy as np

from orfit_bench.spec.backend import Array, Backend
from orfit_bench.spec.method import Method
from orfit_bench.spec.model import Model
from orfit_bench.state.layout import StateLayout
from orfit_bench.state.pending import PendingRows

Label = bool | int | str


class Sizes(NamedTuple):
    """The sizes that the first chunk fixes."""

    n_features: int
    n_outputs: int
    y_is_1d: bool = True
    """Whether targets and predictions have shape (n,)."""


class Bound(NamedTuple):
    """Functions that learn rows in the arrays of one state (orfit_bench/learners/bound_rows.py)."""

    arrays: Any
    """The arrays to which the functions are bound; they must not be called for others."""
    learn_row: Callable[[LearnerState, object, object], bool]
    """learn_row(state, x, y); False if the general path has to learn the row, and nothing has changed."""
    learn_rows: Callable[[LearnerState, object, object, bool], Array | None]
    """learn_rows(state, X, y, predict) returns predictions (n,), (0,) without `predict`; None like False above."""


class Minuend(NamedTuple):
    """Sums from which rows were subtracted (orfit_bench/learners/unlearning.py)."""

    squares: np.ndarray[Any, Any]
    """The largest sums of squares (p,) from which rows were unlearned."""
    n_steps: int
    """The number of steps done at that time."""


def larger_squares(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The larger of two sums of squares for each column (p,); the shorter array lacks columns that came later."""
    size = max(len(a), len(b))
    return np.asarray(np.maximum(*(np.pad(squares, (0, size - len(squares))) for squares in (a, b))))


@dataclass(slots=True)
class LearnerState:
    """Everything in a learner that changes. Kernels write to `arrays` in place; `Rule.copy` copies all of it."""

    sizes: Sizes
    arrays: Any
    """One array for each field, by name."""
    pending: PendingRows
    n_steps: int = 0
    """Steps done; the next one is number n_steps + 1."""
    n_samples: int = 0
    """Rows seen, pending ones included."""
    classes: tuple[Label, ...] = ()
    """The label of each output, in order of first appearance, if targets are labels."""
    feature_names: tuple[str, ...] = ()
    """The names of the columns of X, once rows came as a table."""
    target_names: tuple[str, ...] = ()
    """The names of the columns of y, once targets came as a table."""
    interrupted: str = ""
    """The exception that interrupted a kernel, after which the arrays cannot be trusted."""
    has_warned: bool = False
    """Whether the user was warned that precision is lost."""
    minuend: Minuend | None = field(default=None, compare=False)
    """The sums from which rows were unlearned, if any; a restored state starts without them."""
    notice: str = field(default="", compare=False)
    """A warning that is to be given once the call has succeeded."""
    permit: list[None] = field(default_factory=lambda: [None], init=False, compare=False, repr=False)
    """Empty while a thread learns rows, so that a second one is refused; a thread deletes the entry and puts it back.

    Both are atomic and take a fifth of the time of a lock. Ctrl-C cannot come between the deletion, which is not a
    call, and the block after it. Successive states of a learner share one permit; a copy has its own.
    """
    has_warned_of_names: bool = False
    """Whether the user was warned that rows came without names where the first ones had names, or the reverse."""
    bound: Bound | None = field(default=None, init=False, compare=False)
    """Functions of the kernel that learn in `arrays`; a copy or replacement starts without them."""
    bound_to_names: Bound | None = field(default=None, init=False, compare=False)
    """The same functions, for rows that come with names; `bound` is None if rows without names need a warning."""
    solved: tuple[int, Any] | None = field(default=None, init=False, compare=False)
    """A number of steps, and the weights that followed from `arrays` then; a copy or replacement starts without it."""

    @property
    def solved_weights(self) -> Any:
        """The weights that follow from `arrays`; None if they were not solved for since the last step."""
        found = self.solved  # another thread may replace it, or learn meanwhile
        return found[1] if found is not None and found[0] == self.n_steps else None

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return self.sizes.n_features

    @property
    def has_rows(self) -> bool:
        """Whether a row was seen."""
        return self.n_samples > 0

    @property
    def needs_names(self) -> bool:
        """Whether a row without names needs a warning."""
        return bool(self.feature_names) and not self.has_warned_of_names

    def assign(self, other: LearnerState) -> None:
        """Copy the value of a state of the same sizes into the arrays of this one, to which functions may be bound."""
        for mine, a in zip(self.arrays, other.arrays, strict=True):
            mine[...] = a
        for f in fields(self):
            if f.init and f.name not in ("sizes", "arrays"):
                setattr(self, f.name, getattr(other, f.name))
        self.solved = other.solved


class StateRule(Protocol):
    """The parts of a learner's rule that saving, restoring and merging need (orfit_bench.learners.rule.Rule)."""

    @property
    def method(self) -> Method:
        """The declared method."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings by name."""

    @property
    def backend(self) -> Backend:
        """The backend of its arrays."""

    @property
    def namespace(self) -> Any:
        """The backend's array functions."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its arrays."""

    @property
    def random_state(self) -> int:
        """The seed of its random draws."""

    @property
    def model(self) -> Model:
        """The model that it fits."""

    @property
    def is_linear(self) -> bool:
        """Whether the model is the linear one."""

    @property
    def initial_weights(self) -> Array | None:
        """The weights that it starts from, if the user gave them."""

    @property
    def batch_size(self) -> int:
        """Rows of a step."""

    def layout(self, sizes: Sizes) -> StateLayout:
        """The shapes of its arrays."""

    def no_rows(self, sizes: Sizes) -> PendingRows:
        """No pending rows, on the backend."""

    def solved_weights(self, state: LearnerState) -> Array:
        """The weights of a method whose weights are not a field."""

    def init(self, sizes: Sizes, classes: tuple[Label, ...] = ()) -> LearnerState:
        """The state before the first row."""
