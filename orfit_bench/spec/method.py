"""A method: a learning rule, declared once and computed by any backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from orfit_bench.spec.kinds import KINDS, Kind
from orfit_bench.spec.law import Law
from orfit_bench.spec.merge import Merge
from orfit_bench.spec.setting import Setting
from orfit_bench.spec.types import Integer

Array = NDArray[Any]
Settings = Mapping[str, Any]
Sizes = Mapping[str, int]
"""Lengths by dimension name: "feature" d, "parameter" p, "output" r, "gradients" q of one row."""
Draw = Callable[[Any], Array]
COMPARED = ("entries", "span", "nothing")


def _always(settings: Settings) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Diagonal:
    """A start that is zero off its diagonal, which the host makes on the backend without copying a matrix there."""

    values: Any
    """The numbers on the diagonal (size,), or one number for all of them."""
    size: int


@dataclass(frozen=True, slots=True)
class Field:
    """One array of a method's state; with `layered`, one array a layer of the model, named basis_1, basis_2, ...

    dims are names: "feature" (d), "parameter" (p; on a linear model the d features), "output" (r), the method's
    growing dimension, an integer setting (n_components, say) or, layered, "input" (what the layer takes in, its
    constant included). A field starts at zero, or at start(settings, sizes, draw), draw(shape) being standard normal
    numbers of the host; `when` says under which settings it exists. A field without dimensions is a number: on every
    backend it lies in host memory, as a NumPy array of shape (), so that reading it waits for no device.
    """

    name: str
    dims: tuple[str, ...]
    meaning: str
    start: Callable[[Settings, Sizes, Draw], Array | Diagonal] | None = None
    when: Callable[[Settings], bool] = _always
    layered: bool = False
    compared: str = "entries"
    """What of it the rows determine, so that all kernels agree on it: its "entries", the "span" of its vectors (along
    "feature", "parameter" or "input"), or "nothing" beside the other fields."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The dimension along which a method's fields grow, always their first one.

    Kernels find the used length in s.count[0] and room for every gradient of the chunk behind it,
    up to limit(settings, sizes), which None leaves open.
    """

    dim: str
    limit: Callable[[Settings, Sizes], int | None]


@dataclass(frozen=True, slots=True)
class Cost:
    """The least that one row is known to take on a linear model, leading order, however its rows are put in blocks.

    The limit beside which throughput is judged. `sizes` also holds "count", the used length of a growing dimension.
    A layered method states that of one layer, which has as many "parameter" as its matrix has entries.
    """

    flops: Callable[[Settings, Sizes], float]
    """Floating-point operations."""
    floats: Callable[[Settings, Sizes], float]
    """Numbers that must be read or written."""


def _no_draws(settings: Settings) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Method:
    """A streaming learner, apart from any backend that computes it."""

    name: str
    summary: str
    formulas: str
    """The update with the sources' letters, as one reads it aloud."""
    source: str
    settings: tuple[Setting, ...]
    fields: tuple[Field, ...]
    cost: Cost
    laws: tuple[Law, ...]
    batch: Callable[[Array, Array, Array, Settings], Array | None] | None = None
    """batch(X, Y, w0, settings) -> w (p, r), by another road than the recursion; None for rows it does not cover."""
    information: tuple[str, Callable[[Array, Settings], Array | None]] | None = None
    """A field that is an inverse information, and rows(X, settings) -> A (m, d) with which it is (A'A)^-1 on a linear
    model, by another road than the recursion; None for rows and settings it does not cover."""
    kind: str = "regression"
    """One of orfit_bench.spec.kinds.KINDS, which says what a method of the kind must declare."""
    weights: str = "w"
    """The field (parameter, output) at which the model is evaluated."""
    models: bool = False
    """Whether it also learns nonlinear models, through the kernel's `update`."""
    blocks: bool = False
    """Whether `step(A, y)` may take several rows as one step."""
    grows: Growth | None = None
    lengths: Mapping[str, Callable[[Settings, Sizes], int]] = field(default_factory=dict)
    """Further dimensions that fields may name, with their length; of a layered field, sizes are those of its layer."""
    draws: Callable[[Settings], int] = _no_draws
    """How many uniform numbers in [0, 1) the host draws for each gradient (on a model a row has one an output)."""
    fresh: bool = False
    """Whether the kernel's `store` is to see the gradients at the weights after the step."""
    ahead: bool = False
    """Whether the gradients are to be taken at the kernel's `ahead(s, p)` and not at the weights."""
    targets: bool = False
    """Whether `update` wants the targets too, as p.targets (q, r), and not their distance to the prediction alone."""
    admit: Callable[[Settings, int, Array, Array, bool, bool], None] | None = None
    """admit(settings, steps done, X, Y, is_step, linear): ValueError where the rows cannot be learned."""
    answers: Callable[[Any, Settings], Array] | None = None
    """answers(s, settings) -> (p, r): the weights that predictions use, where it is another field than `weights`."""
    predict: Callable[[Any, Array, Settings], Array] | None = None
    """predict(s, X, settings) -> (n, r) where that is no model's prediction at all."""
    warns: tuple[str, str] | None = None
    """A 0-d field that a kernel sets to 1 once digits are being lost, and the text that the user then reads."""
    averages: tuple[str, ...] = ()
    """Fields that `average` may replace by their mean; empty: an average of learners means nothing here."""
    averages_by: Mapping[str, str] = field(default_factory=dict)
    """Those of them that count in this mean by a 0-d field, as a running mean does by its sum of weights."""
    derived: Callable[[Mapping[str, Array], Settings], dict[str, Array]] | None = None
    """derived(fields after `average`, settings): fields that follow from the averaged ones, in host memory."""
    merge: Merge | None = None
    """How `a.merge(b)` joins two states; None where no rule is known."""
    examples: tuple[Settings, ...] = ()
    """Settings that change together, for the kit to try; it finds other values of a single one by itself."""
    use_when: str = ""
    """When to choose this method, in one to three sentences that a user can compare with their problem."""
    avoid_when: str = ""
    """When another method serves better, and which one; in one to three sentences."""

    def __post_init__(self) -> None:
        """Refuse a declaration that a learner would stumble over later. ValueError naming the method."""
        names, fields = [s.name for s in self.settings], {f.name for f in self.fields}
        inverses = [self.information[0]] if self.information else []
        counts = {s.name for s in self.settings if isinstance(s.type, Integer)}
        known = {"feature", "parameter", "output", "input", *counts, *self.lengths}
        known |= {self.grows.dim} if self.grows else set()
        weighed = [name for pair in self.averages_by.items() for name in pair]
        wrong = [
            *self._missing(set(names), fields),
            *(f"two settings are named {n!r}" for n in names if names.count(n) > 1),
            *(f"field {f.name!r} has the dimension {d!r}" for f in self.fields for d in f.dims if d not in known),
            *(f"field {f.name!r} is compared by {f.compared!r}" for f in self.fields if f.compared not in COMPARED),
            *(f"{n!r} is averaged, but no field" for n in (*self.averages, *weighed) if n not in fields),
            *(f"{n!r} is an inverse information, but no field" for n in inverses if n not in fields),
        ]
        if "batch_size" in set(names) - counts:
            wrong.append("batch_size is no integer setting")
        if "batch_size" in names and not self.blocks:
            wrong.append("batch_size wants blocks=True, since a flush learns a shorter block")
        wrong += [f"an example has the setting {n!r}" for example in self.examples for n in example if n not in names]
        if wrong:
            raise ValueError(f"method {self.name!r}: {wrong[0]}; dimensions are {', '.join(sorted(known))}")

    def _missing(self, settings: set[str], fields: set[str]) -> Iterator[str]:
        """What a method of its kind must declare, and this one does not."""
        if self.kind not in KINDS:
            yield f"its kind is {self.kind!r}, want one of {', '.join(KINDS)}"
            return
        kind = KINDS[self.kind]
        for what, needed, declared in (("field", kind.fields, fields), ("setting", kind.settings, settings)):
            if missing := [name for name in needed if name not in declared]:
                yield f"a {kind.name} needs a {what} {missing[0]!r}: every {kind.name} has {', '.join(needed)}"
        if kind.supervised and self.weights not in fields and not self.predict:
            yield f"it has neither a field {self.weights!r} nor predict()"

    @property
    def traits(self) -> Kind:
        """What its learners are given and answer."""
        return KINDS[self.kind]

    @property
    def layered(self) -> bool:
        """Whether it learns layer by layer, which only layered models allow."""
        return any(f.layered for f in self.fields)

    def state_fields(self, settings: Settings) -> tuple[Field, ...]:
        """The fields that exist under these settings."""
        return tuple(f for f in self.fields if f.when(settings))
