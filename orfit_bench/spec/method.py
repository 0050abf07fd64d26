"""A method: a learning rule, declared once and computed by any backend."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from orfit_bench.spec.kinds import KINDS, Kind, KindName
from orfit_bench.spec.law import Law
from orfit_bench.spec.merge import Combine, Merge
from orfit_bench.spec.part_types import wrong_values
from orfit_bench.spec.setting import Setting, check_settings
from orfit_bench.spec.state import (
    Array,
    Field,
    Growth,
    PrecisionWarning,
    Settings,
    Solution,
    StateSpec,
    WeightCovariance,
)
from orfit_bench.spec.theory import Cost, InverseGram, Theory
from orfit_bench.spec.types import Integer
from orfit_bench.spec.weighting import Weighting

WEIGHT_DIMS = ("parameter", "output")
"""The dimensions of weights, by which a linear model predicts X w."""
OF_LEARNERS = ("method", "backend", "dtype", "random_state", "model", "initial_weights")
"""The arguments of `create` that are not settings of a method."""
OF_ESTIMATORS = ("fit_intercept", "center", "whiten", "seed", "self")
"""Further parameters of estimators for scikit-learn and models for River."""


def _no_draws(settings: Settings) -> int:
    return 0


def refuses_nothing(settings: Settings) -> str:
    """The empty reason: all values of settings that are allowed alone are allowed together."""
    return ""


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """What kernels of a method compute, and what they receive.

    Parameters
    ----------
    models : bool
        Whether they learn nonlinear models too, by `update`.
    has_complex_form : callable, optional
        has_complex_form(settings) returns whether the formulas hold for complex numbers, with conjugate transposes;
        kernels that compute them declare COMPLEX = True. Default: never.
    blocks : bool
        Whether `step(A, y)` can learn several rows as one step.
    draws : callable, optional
        draws(settings) returns how many uniform numbers in [0, 1) are drawn for each gradient (on a nonlinear model
        each row has one gradient per output). Default: none.
    lookahead : bool
        Whether gradients are taken at the weights that the kernel's `ahead(s, p)` returns.
    needs_targets : bool
        Whether `update` needs the targets, as p.targets (q, r), and not only the errors.
    needs_post_step_gradients : bool
        Whether the kernel's `store` gets the gradients at the weights after the step.
    weighting : Weighting, optional
        How the weight of a row counts. Default: there is no rule, and `sample_weight` is refused.
    needs_dense_rows : callable, optional
        needs_dense_rows(settings) returns why sparse rows cannot be learned from their nonzero columns only, or an
        empty string if a step changes nothing in the other columns. Default: sparse rows are refused.
    validate_rows : callable, optional
        validate_rows(settings, steps done, X, Y, is_step, linear) raises ValueError for rows that cannot be learned.
    """

    models: bool = False
    has_complex_form: Callable[[Settings], bool] | None = None
    blocks: bool = False
    draws: Callable[[Settings], int] = _no_draws
    lookahead: bool = False
    needs_targets: bool = False
    needs_post_step_gradients: bool = False
    weighting: Weighting | None = None
    needs_dense_rows: Callable[[Settings], str] | None = None
    validate_rows: Callable[[Settings, int, Array, Array, bool, bool], None] | None = None


PARTS = {"state": StateSpec, "theory": Theory, "kernel": KernelSpec, "combine": Combine}
"""The classes of the parts of a method."""
WITHIN = Field, Growth, PrecisionWarning, Solution, WeightCovariance, Cost, InverseGram, Law, Merge, Weighting
CLASSES = {kind.__name__: kind for kind in (*PARTS.values(), *WITHIN)}
"""The classes of parts, and of what parts contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A streaming learner, independent of the backends that compute it.

    Parameters
    ----------
    name : str
        The name for `create`.
    summary : str
        One line for lists.
    formulas : str
        The update in the notation of the source.
    source : str
        Document and place.
    state : StateSpec
        The arrays of a learner.
    theory : Theory
        Cost, laws and batch solution.
    kind : {"regression", "classification", "filter", "subspace"}
        One of `orfit_bench.spec.kinds.KINDS`, which says what a method of the kind must declare.
    settings : tuple of Setting
        What users may choose.
    kernel : KernelSpec
        What kernels compute and receive.
    combine : Combine
        How learners are merged and averaged.
    examples : tuple of mappings
        Settings that change together, for the conformance kit; single settings are varied anyway.
    refuses : callable, optional
        refuses(settings) returns why these values of settings cannot be used together, or an empty string. Default: all
        values that are allowed alone are allowed together.
    use_when, avoid_when : str
        When to choose this method, and when to choose which other method instead, in one to three sentences each.

    Raises
    ------
    ValueError
        If something is missing or contradictory, with the name of the method and what is missing.
    TypeError
        If a part (state, theory, kernel, combine, settings, examples or refuses), or a value of one, is of another type
        than declared.
    """

    name: str
    summary: str
    formulas: str
    source: str
    state: StateSpec
    theory: Theory
    kind: KindName = "regression"
    settings: tuple[Setting, ...] = ()
    kernel: KernelSpec = KernelSpec()
    combine: Combine = field(default_factory=Combine)
    examples: tuple[Settings, ...] = ()
    refuses: Callable[[Settings], str] = refuses_nothing
    use_when: str = ""
    avoid_when: str = ""

    def __post_init__(self) -> None:
        """Refuse a declaration that a learner would fail on later."""
        if problem := self._wrong_part():
            raise TypeError(f"method {self.name!r}: {problem}")
        problems = self._kind_problems, self._setting_problems, self._field_problems, self._weight_problems
        for problem in chain.from_iterable(find() for find in (*problems, self._refused_problems)):
            raise ValueError(f"method {self.name!r}: {problem}")

    def check_settings(self, given: Mapping[str, object]) -> dict[str, Any]:
        """All settings by name: those given, checked alone and together, and the defaults of the others.

        Parameters
        ----------
        given : mapping
            Values by name.

        Returns
        -------
        dict
            The checked values.

        Raises
        ------
        TypeError
            For an unknown setting or a wrong type.
        ValueError
            For a value out of range, or values that cannot be used together.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.methods()["ridge"].check_settings({"ridge": 2})
        {'forgetting_factor': 1.0, 'ridge': 2.0}
        """
        values = check_settings(self.name, self.settings, given)
        if reason := self.refuses(values):
            raise ValueError(f"{self.name}: {reason}")
        return values

    @property
    def traits(self) -> Kind:
        """What learners of this kind receive and return."""
        return KINDS[self.kind]

    def _wrong_part(self) -> str:
        """The first part, or value of a part, of another type than declared, as a message; empty if there is none."""
        for name, kind in PARTS.items():
            if not isinstance(part := getattr(self, name), kind):
                return f"{name}={part!r}, want a {kind.__name__}"
        for name, of_one in (("settings", Setting), ("examples", Mapping)):
            given = getattr(self, name)
            if not isinstance(given, (tuple, list)) or not all(isinstance(one, of_one) for one in given):
                return f"{name}={given!r}, want a tuple of {'settings' if of_one is Setting else 'mappings'}"
        if not callable(self.refuses):
            return f"refuses={self.refuses!r}, want a function"
        return next((wrong for name in PARTS for wrong in wrong_values(getattr(self, name), name, CLASSES)), "")

    def _refused_problems(self) -> Iterator[str]:
        """The defaults, or examples, that the method itself refuses."""
        for given in ({}, *self.examples) if self.refuses is not refuses_nothing else ():
            if reason := self.refuses(check_settings(self.name, self.settings, given)):
                yield f"refuses {f'its example {dict(given)}' if given else 'its defaults'}: {reason}"

    def _kind_problems(self) -> Iterator[str]:
        """What a method of its kind must declare and this one does not."""
        if self.kind not in KINDS:
            yield f"its kind is {self.kind!r}, want one of {', '.join(KINDS)}"
            return
        kind, settings = self.traits, {s.name for s in self.settings}
        for what, needed, declared in (("field", kind.fields, self.state.names), ("setting", kind.settings, settings)):
            if missing := [name for name in needed if name not in declared]:
                yield f"a {kind.name} needs a {what} {missing[0]!r}: every {kind.name} has {', '.join(needed)}"
        if kind.supervised and not (
            self.state.weights in self.state.names or self.state.solution or self.state.predict
        ):
            yield f"it has neither a field {self.state.weights!r} nor a solution nor predict()"
        if not kind.supervised and self.kernel.weighting:
            yield f"a {kind.name} cannot learn weighted rows: omit weighting"
        if self.state.solution and (self.kernel.models or self.state.layered):
            yield "its weights are the solution of equations, which only a linear model has"

    def _setting_problems(self) -> Iterator[str]:
        """Settings that contradict each other or the rest."""
        names = [s.name for s in self.settings]
        yield from (f"two settings are named {n!r}" for n in names if names.count(n) > 1)
        yield from (f"a setting has the name of an argument of create, {n!r}" for n in names if n in OF_LEARNERS)
        yield from (f"a setting has the name of a parameter of estimators, {n!r}" for n in names if n in OF_ESTIMATORS)
        yield from (f"the name of the setting {n!r} begins with an underscore" for n in names if n.startswith("_"))
        yield from (f"an example has the setting {n!r}" for one in self.examples for n in one if n not in names)
        if "batch_size" in names and "batch_size" not in self._counts():
            yield "batch_size is no integer setting"
        if self.kernel.weighting and self.kernel.weighting.repeats_rows and "step_size" not in names:
            yield "weights as repetitions need a setting 'step_size', by which a fraction of a repetition is learned"
        if "batch_size" in names and not self.kernel.blocks:
            yield "batch_size needs kernel=KernelSpec(blocks=True), since flush() learns a shorter block"

    def _field_problems(self) -> Iterator[str]:
        """Dimensions and fields that are named but not declared."""
        known, fields = self.state.dimensions | self._counts(), self.state.names
        for f in self.state.fields:
            for dim in set(f.dims) - known:
                yield f"field {f.name!r} has the dimension {dim!r}; dimensions are {', '.join(sorted(known))}"
        yield from (f"{n!r} is averaged, but no field" for n in sorted(self.combine.names - fields))
        sums = self.kernel.weighting.sums if self.kernel.weighting else ()
        yield from (f"rows are subtracted from {n!r}, which is not a field" for n in sums if n not in fields)
        name, _ = self.theory.inverse_gram or ("", None)
        if name and name not in fields:
            yield f"{name!r} is an inverse Gram matrix, but no field"

    def _weight_problems(self) -> Iterator[str]:
        """Weights that cannot be used as such."""
        name = self.state.weights
        weights = next((f for f in self.state.fields if f.name == name), None)
        if not self.traits.supervised:
            return
        if weights and weights.dims != WEIGHT_DIMS:
            yield (
                f"its weights {name!r} have the dimensions {weights.dims}, want {WEIGHT_DIMS}: give a field that is "
                f"not a matrix of weights another name, and declare predict()"
            )
        merge = self.combine.merge
        if merge and merge.kind == "averaged" and not (weights or self.state.solution):
            yield f"a merge of kind 'averaged' takes the mean of the weights, but no field is named {name!r}"

    def _counts(self) -> set[str]:
        """The integer settings, which may be dimensions."""
        return {s.name for s in self.settings if isinstance(s.type, Integer)}
