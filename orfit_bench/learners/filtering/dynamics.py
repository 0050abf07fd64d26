"""The dynamics of a filter: transitions and noises, from the settings or given with the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orfit_bench.learners import validation
from orfit_bench.spec.backend import Array
from orfit_bench.spec.matrix_types import as_matrix, covariance_defect
from orfit_bench.spec.model import Transition, as_transition, is_identity

HostArray = np.ndarray[Any, Any]
SETTINGS = ("transition", "process_noise", "observation_noise")
"""Settings for which other values can be given with the rows."""


class GivenWithRows(NamedTuple):
    """Inputs given with the rows: an entry for each row, or one entry for a block of rows; None for the setting."""

    transition: Any = None
    process_noise: Any = None
    observation_noise: Any = None
    control: Any = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is given."""
        return all(value is None for value in self)


ARRAYS = "transition", "process_noise", "observation_noise", "control"
"""The parameters of a filter that are arrays of numbers, with one entry per step or one for all."""


class FilterParameters(NamedTuple):
    """Parameters `p` of a filter's kernel. Arrays have one entry per step, or a single one for all steps.

    An entry is a number, a diagonal or a matrix: arrays have shape (n,), (n, size) or (n, size, size).
    """

    transition: Array | Transition | None
    """None: the identity."""
    process_noise: Array | None
    """None: zero. Matrices are exactly symmetric."""
    observation_noise: Array
    is_dynamic: Any
    """Whether transition and process noise change the state before a step: (n, 2) in host memory, (1, 2) for all
    steps; a bool for a single step."""
    sizes: tuple[int, int]
    """Parameters p, and observations q per step."""
    t: int
    batch_size: int
    single: bool = False
    """Whether these are the parameters of a single step."""
    control: Array | None = None
    """Added to the mean by each transition: shape (n, p, r), or (p, r) for a single step; None: zero."""

    def at(self, i: int) -> FilterParameters:
        """Parameters of step i, with matrices (p, p) and (q, q); None for the identity and for zero."""
        if self.single:
            return self
        F: Any = self.transition
        Q: Any = self.process_noise
        R, (p, q) = self.observation_noise, self.sizes
        has_transition, has_noise = self.is_dynamic[i % len(self.is_dynamic)]
        if has_transition and not isinstance(F, Transition):
            F = as_matrix(F[i % F.shape[0], ...], p)
        return self._replace(
            transition=F if has_transition else None,
            process_noise=as_matrix(Q[i % Q.shape[0], ...], p) if has_noise else None,
            observation_noise=as_matrix(R[i % R.shape[0], ...], q),
            is_dynamic=bool(has_transition or has_noise),
            t=self.t + i,
            single=True,
            control=None if self.control is None else self.control[i, ...],
        )

    def rows(self, part: slice) -> FilterParameters:
        """Parameters of some of the steps, with an entry for each or one for all."""
        entries = {name: getattr(self, name) for name in (*ARRAYS, "is_dynamic")}
        arrays = {name: a for name, a in entries.items() if hasattr(a, "shape")}
        several = {name: a[part, ...] for name, a in arrays.items() if a.shape[0] > 1}
        return self._replace(t=self.t + part.start, **several)

    def transitions(self, count: int, identity: Array) -> list[Array]:
        """The transition matrix (p, p) to each of the first steps; one object where they share it."""
        F: Any = self.transition
        shared = F is not None and not isinstance(F, Transition) and F.shape[0] == len(self.is_dynamic) == 1
        if shared and self.is_dynamic[0][0]:
            found = [as_matrix(F[0, ...], self.sizes[0])] * count
        else:
            found = [identity if (A := self.at(i).transition) is None else A for i in range(count)]
        return [identity, *found[1:]] if self.t == 1 and count else found  # nothing precedes the first step

    def process_noises(self, count: int) -> list[Array | None]:
        """The process noise (p, p) added before each of the first steps, None for zero; one object if they share it."""
        Q = self.process_noise
        if Q is not None and Q.shape[0] == len(self.is_dynamic) == 1 and self.is_dynamic[0][1]:
            found: list[Array | None] = [as_matrix(Q[0, ...], self.sizes[0])] * count
        else:
            found = [self.at(i).process_noise for i in range(count)]
        return [None, *found[1:]] if self.t == 1 and count else found


class PerStep(NamedTuple):
    """A transition or noise as kernels get it: one entry per step, or one for all steps."""

    value: Array | Transition | None
    is_dynamic: HostArray
    """For each entry, whether it changes the state between two rows."""


STATIC = np.zeros(1, bool)
NO_INPUTS: Mapping[str, PerStep] = {}


class Dynamics:
    """The transition and the noises of a filter with p parameters and c outputs."""

    def __init__(
        self, settings: Mapping[str, Any], p: int, c: int, linear: bool, place: Callable[[HostArray, str], Array]
    ) -> None:
        """`place` copies a host array to the backend. ValueError if a setting does not fit the sizes."""
        self._p, self._c, self._linear, self._place = p, c, linear, place
        self._r = c if linear else 1
        self._constant = {name: self._per_step(settings[name], name, None, 1) for name in SETTINGS}
        self._noise = per_step(settings["observation_noise"], "observation_noise", self._observations(1), None)[0]
        self._single_rows = self._make(NO_INPUTS, 1, 1)

    def validate_inputs(self, given: GivenWithRows, rows: int, block: bool) -> dict[str, PerStep]:
        """Inputs given with the rows, on the backend: one entry for each row, or one for a block of rows."""
        steps, observed = (None, rows) if block else (rows, 1)
        noise = given.observation_noise
        if block and noise is not None and not self._linear:
            given = given._replace(observation_noise=self._noise_per_output(noise, rows))
        values = ((name, getattr(given, name)) for name in SETTINGS)
        found = {name: self._per_step(value, name, steps, observed) for name, value in values if value is not None}
        return found if given.control is None else found | {"control": self._control(given.control, steps)}

    def _control(self, value: ArrayLike, steps: int | None) -> PerStep:
        """Numbers (p,) or (p, c) for each step as an array (n, p, r) on the backend."""
        array, lead = validation.numbers(value, "control", np.dtype(float)), () if steps is None else (steps,)
        if array.shape not in ((*lead, self._p), (*lead, self._p, self._r)):
            each = "" if steps is None else ": one entry for each row"
            wanted = f"{(*lead, self._p)} or {(*lead, self._p, self._r)}"
            raise ValueError(f"control: got shape {np.shape(value)}, want {wanted}{each}")
        columns = array.reshape(1 if steps is None else steps, self._p, self._r if array.ndim > len(lead) + 1 else 1)
        moves = np.asarray(columns.any(axis=(1, 2)))
        full = np.ascontiguousarray(np.broadcast_to(columns, (*columns.shape[:2], self._r)))
        return PerStep(self._place(full, "control") if moves.any() else None, moves)

    def _noise_per_output(self, noise: ArrayLike, rows: int) -> ArrayLike:
        """The noise of a block for each of the c outputs of a row, if it is given per row."""
        shape = np.shape(noise)
        if shape == (rows,):
            return np.repeat(noise, self._c)
        return np.kron(np.asarray(noise), np.eye(self._c)) if shape == (rows, rows) else noise

    def parameters(self, inputs: Mapping[str, PerStep], t: int, observed: int) -> FilterParameters:
        """Parameters of steps of `observed` rows each, the first of which has the number t."""
        if not inputs and observed == 1:
            return self._single_rows._replace(t=t)
        return self._make(inputs, t, observed)

    def _make(self, inputs: Mapping[str, PerStep], t: int, observed: int) -> FilterParameters:
        F, Q, R = (inputs.get(name, self._constant[name]) for name in SETTINGS)
        noise = R.value
        if "observation_noise" not in inputs and observed > 1:  # every row has the noise of the settings
            of_all_rows = np.kron(np.eye(observed), as_matrix(self._noise, self._observations(1)))
            noise = self._place(of_all_rows[None], "observation_noise")
        is_dynamic = np.stack(np.broadcast_arrays(F.is_dynamic, Q.is_dynamic), axis=1)
        control = inputs["control"].value if "control" in inputs else None
        sizes = (self._p, self._observations(observed))
        return FilterParameters(F.value, Q.value, noise, is_dynamic, sizes, t, observed, control=control)

    def _observations(self, rows: int) -> int:
        return rows if self._linear else rows * self._c

    def _per_step(self, value: Any, name: str, steps: int | None, observed: int) -> PerStep:
        if name == "transition" and (value is None or isinstance(as_transition(value), Transition)):
            if value is not None and self._linear and self._c > 1:
                raise ValueError(f"a nonlinear transition allows one output only: y has {self._c}")
            return PerStep(as_transition(value), STATIC if value is None else ~STATIC)
        size = self._observations(observed) if name == "observation_noise" else self._p
        array = per_step(value, name, size, steps)
        if name == "observation_noise":
            return PerStep(self._place(array, name), STATIC)
        static = is_identity(array) if name == "transition" else ~np.asarray(array.any(axis=(*range(1, array.ndim),)))
        return PerStep(None if static.all() else self._place(array, name), ~static)


def per_step(value: ArrayLike, name: str, size: int, steps: int | None) -> HostArray:
    """Validate a transition or noise with one entry for each of `steps` steps, or one for all steps (None).

    An entry is a number, a vector of length `size` or a matrix (size, size). Transitions and process noises given per
    step may not be vectors: a single (p, p) matrix would be mistaken for p diagonals. Covariances are returned exactly
    symmetric. TypeErrors and ValueErrors name the argument.
    """
    array = validation.numbers(value, name, np.dtype(float))
    array = array if steps is not None else array[None]
    entries = ((), (size,), (size, size)) if steps is None or name == "observation_noise" else ((), (size, size))
    if not array.ndim or array.shape[1:] not in entries or len(array) != (1 if steps is None else steps):
        lead = () if steps is None else (steps,)
        *others, last = (str((*lead, *entry)) for entry in entries)
        each = "" if steps is None else ": one entry for each row"
        raise ValueError(f"{name}: got shape {np.shape(value)}, want {', '.join(others)} or {last}{each}")
    if name == "transition":
        return array
    check_covariances(array, name, has_rows=steps is not None)
    return array / 2 + array.mT / 2 if array.ndim == 3 else array


def check_covariances(array: HostArray, name: str, has_rows: bool) -> None:
    """Raise ValueError if an entry is not a covariance; it names the first such row if each row has an entry."""
    for row, entry in enumerate(array if _defect(array) else ()):
        if defect := _defect(entry[None]):
            where = f" in row {row}" if has_rows else ""
            raise ValueError(f"{name}: want a covariance, it is {defect}{where}")


def _defect(entries: HostArray) -> str:
    """Why not all entries, numbers, diagonals or matrices, are covariances; empty if they are."""
    return covariance_defect(entries if entries.ndim == 3 else entries.ravel())


def refuse_lost_noise(given: HostArray, kept: HostArray) -> None:
    """ValueError for a variance that becomes zero in the dtype of `kept`: its row would have no noise."""
    before, after = (np.diagonal(a, axis1=1, axis2=2) if a.ndim == 3 else a for a in (given, kept))
    lost = (before != 0) & (after == 0)
    if lost.any():
        place = tuple(int(i) for i in np.argwhere(lost)[0])
        entry = place if given.ndim < 3 else (*place, place[-1])
        raise ValueError(
            f"observation_noise[{', '.join(map(str, entry))}] = {given[entry]} is zero in {kept.dtype}, which would "
            f"make its row exact: scale it or take float64"
        )
