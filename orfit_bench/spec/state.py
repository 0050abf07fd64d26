"""The state of a method: its arrays with their dimensions, and how predictions are read from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, Literal, NamedTuple, get_args

from numpy.typing import NDArray

Array = NDArray[Any]
Settings = Mapping[str, Any]
Sizes = Mapping[str, int]
"""Lengths by dimension name: "feature" d, "parameter" p, "output" r, "class" c, "gradients" q of one row."""
Draw = Callable[[Any], Array]
"""draw(shape): standard normal numbers, in host memory."""
Compared = Literal["entries", "span", "nothing"]
Role = Literal[
    "",
    "rows",
    "basis",
    "weights",
    "moment",
    "covariance",
    "covariance_root",
    "variances",
    "information",
    "information_root",
]
"""How a field depends on the rows X of a linear model; this determines how it changes with their coordinates."""
RESERVED = ("pending_X", "pending_y", "initial_weights", "header", "checksum")
"""Names of other arrays in a saved state."""
DIMENSIONS = ("feature", "parameter", "output", "class", "input")


def _always(settings: Settings) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Diagonal:
    """A diagonal matrix as initial value; it is made on the backend and never copied there."""

    values: Any
    """The numbers on the diagonal (size,), or one number for all of them."""
    size: int


@dataclass(frozen=True, slots=True)
class Field:
    """One array of a method's state.

    Parameters
    ----------
    name : str
        Attribute of the state that kernels get.
    dims : tuple of str
        "feature" (d), "parameter" (p; on a linear model the d features), "output" (r; 1 on a nonlinear model), "class"
        (c, one per label), the method's growing dimension, an integer setting (for example n_components), one of
        `StateSpec.lengths` or, with `layered`, "input" (the inputs of the layer, including its constant). A field
        without dimensions is a number; on every backend it lies in host memory as a NumPy array of shape (), so that
        reading it does not wait for a device.
    meaning : str
        One line for users.
    start : callable, optional
        start(settings, sizes, draw) returns the array before the first row. Default: zeros.
    when : callable, optional
        when(settings) says whether the field exists.
    layered : bool
        Whether there is one array for each layer of the model, named basis_1, basis_2, ...
    compared : {"entries", "span", "nothing"}
        How kernels are compared in this field: by its entries; by the span of its vectors (along "feature", "parameter"
        or "input"), if the rows determine only the span; or not at all ("nothing"), for example in an estimate of
        rounding errors.
    role : str
        How the field depends on the rows X of the linear model. If the rows are X M instead, it becomes:
        "rows" A: A M; "basis": an orthonormal basis of the span of its rows times M; "weights" W: M^-1 W;
        "moment" X'Y: M'X'Y; "covariance" P: M^-1 P M^-T; "variances": the diagonal of that;
        "information" X'X (lower triangle): M'X'X M; "covariance_root" S (lower, P = S S') and "information_root" R
        (upper, X'X = R'R): the roots of the changed matrices. Fields without the dimensions "parameter" and "feature"
        do not change. Empty: unknown; then the learner cannot follow the moments of a pipeline.
    later : bool
        Whether states of earlier versions of the method lack it; they are loaded with zeros.
    """

    name: str
    dims: tuple[str, ...]
    meaning: str
    start: Callable[[Settings, Sizes, Draw], Array | Diagonal] | None = None
    when: Callable[[Settings], bool] = _always
    layered: bool = False
    compared: Compared = "entries"
    role: Role = ""
    later: bool = False

    def __post_init__(self) -> None:
        """Refuse a name that is not a valid attribute, an unknown way to compare, and an unknown role."""
        if not self.name.isidentifier() or iskeyword(self.name) or self.name.startswith("_"):
            raise ValueError(
                f"field {self.name!r}: want a name that is a Python identifier, no keyword, and begins with a letter"
            )
        if self.compared not in get_args(Compared):
            raise ValueError(
                f"field {self.name!r} is compared by {self.compared!r}, want {', '.join(get_args(Compared))}"
            )
        if self.role not in get_args(Role):
            raise ValueError(f"field {self.name!r} has the role {self.role!r}, want {', '.join(get_args(Role)[1:])}")


@dataclass(frozen=True, slots=True)
class Growth:
    """The dimension along which fields grow, always their first one.

    s.count[0] is the used length. The entries after it have room for every gradient of the chunk, up to a total length
    of limit(settings, sizes); None means no limit.
    """

    dim: str
    limit: Callable[[Settings, Sizes], int | None]


def sums_no_steps(settings: Settings) -> float:
    """The `summed_steps` of fields whose rounding errors do not add up over the steps."""
    return 0.0


class PrecisionWarning(NamedTuple):
    """A 0-d field that is set to 1 when precision is being lost, and the text of the warning that users then get.

    Parameters
    ----------
    field : str
        The field, which kernels set.
    text : str
        What is being lost, and the remedies.
    summed_steps : callable
        summed_steps(settings) is the number of steps whose rounding errors add up in the fields; infinite if no step is
        forgotten. The learner also sets the field once these errors have cost half of the digits.
    """

    field: str
    text: str
    summed_steps: Callable[[Settings], float] = sums_no_steps


@dataclass(frozen=True, slots=True)
class Solution:
    """Weights that are not a field: the kernel's `solve(s)` computes them from the fields when predictions need them.

    Parameters
    ----------
    initial_fields : callable
        initial_fields(w0, settings) returns the fields that follow from initial weights w0 (p, r).
    warning : str
        The warning for users when half of the digits of the weights are lost.
    """

    initial_fields: Callable[[Array, Settings], dict[str, Array]]
    warning: str


@dataclass(frozen=True, slots=True)
class WeightCovariance:
    """The covariance C of the weights when the next row comes, for observation noise of variance 1.

    The step on a row x with error e must be that of the posterior mean, w <- w + C x e / (1 + x'C x). A rule that takes
    other steps, because it limits errors for example, has no such covariance.

    Parameters
    ----------
    scale : callable
        scale(settings, steps) returns the factor after this number of steps: the covariance is the field times this
        factor.
    field : str, optional
        The field (parameter, parameter).
    right_side : str, optional
        Instead of a field: the right side of the equations of a `solution`, whose matrix is the inverse.
    root : str, optional
        The field with an upper triangular root R of the inverse, R'R, if the settings keep it instead of the field.
    refuses : callable, optional
        refuses(settings, steps) returns why there is no covariance, or an empty string.
    """

    scale: Callable[[Settings, int], float]
    field: str = ""
    right_side: str = ""
    root: str = ""
    refuses: Callable[[Settings, int], str] = lambda settings, steps: ""


@dataclass(frozen=True, slots=True)
class StateSpec:
    """What a learner of the method keeps, and how it predicts.

    Parameters
    ----------
    fields : tuple of Field
        The arrays.
    weights : str
        The field (parameter, output) at which the model is evaluated.
    prediction_weights : callable, optional
        prediction_weights(s, settings) returns the weights (p, r) of predictions if they are not `weights`.
    predict : callable, optional
        predict(s, X, settings) returns the predictions (n, r) if they are not those of a model.
    growth : Growth, optional
        The dimension along which fields grow.
    lengths : mapping
        Further dimensions, each with a function length(settings, sizes); for layered fields, sizes are those of the
        layer.
    warning : PrecisionWarning, optional
        The warning for users when precision is lost.
    solution : Solution, optional
        How weights that are not a field follow from the fields; `weights` is then their name in `learner.state()`.
    covariance : WeightCovariance, optional
        The covariance of the weights, from which the standard deviation of predictions follows.
    probabilities : callable, optional
        probabilities(predictions, settings) returns the probabilities of the classes (n, k) in host memory, or None if
        the settings do not define them.
    """

    fields: tuple[Field, ...]
    weights: str = "w"
    prediction_weights: Callable[[Any, Settings], Array] | None = None
    predict: Callable[[Any, Array, Settings], Array] | None = None
    growth: Growth | None = None
    lengths: Mapping[str, Callable[[Settings, Sizes], int]] = field(default_factory=dict)
    warning: PrecisionWarning | None = None
    solution: Solution | None = None
    covariance: WeightCovariance | None = None
    probabilities: Callable[[Array, Settings], Array | None] | None = None

    def __post_init__(self) -> None:
        """Refuse fields of another type or of one name, and a warning about a field that does not exist."""
        if not isinstance(self.fields, (tuple, list)) or not all(isinstance(f, Field) for f in self.fields):
            raise TypeError(f"state: fields={self.fields!r}, want a tuple of Field")
        if self.warning is not None and not isinstance(self.warning, PrecisionWarning):
            raise TypeError(f"state: warning={self.warning!r}, want a PrecisionWarning")
        names = [f.name for f in self.fields]
        if twice := [n for n in names if names.count(n) > 1]:
            raise ValueError(f"state: two fields are named {twice[0]!r}")
        if reserved := [n for n in names if n in RESERVED or n.startswith("setting_")]:
            raise ValueError(f"state: {reserved[0]!r} is the name of another array in saved states: rename the field")
        if self.solution and self.weights in names:
            raise ValueError(f"state: {self.weights!r} is a field, but also the solution of equations: declare one")
        if self.warning and self.warning.field not in names:
            raise ValueError(f"state: its warning reads a field {self.warning.field!r}, which is not declared")

    @property
    def names(self) -> set[str]:
        """The names of all fields."""
        return {f.name for f in self.fields}

    @property
    def dimensions(self) -> set[str]:
        """The dimensions that fields may have, besides integer settings."""
        return {*DIMENSIONS, *self.lengths, *({self.growth.dim} if self.growth else ())}

    @property
    def layered(self) -> bool:
        """Whether the method learns layer by layer, which only layered models allow."""
        return any(f.layered for f in self.fields)

    def fields_under(self, settings: Settings) -> tuple[Field, ...]:
        """The fields that exist under these settings."""
        return tuple(f for f in self.fields if f.when(settings))
