"""How a filter's state moves: what its kernel gets instead of settings, constant or brought by the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.learners import validation
from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import Transition, named, resting
from orfit_bench.spec.types import covariance_defect

Host = np.ndarray[Any, Any]
VARYING = ("transition", "process_noise", "observation_noise")
"""What may come with the rows."""


class Moving(NamedTuple):
    """p of a filter. An array has one entry a step, or a single one for all: (n,), (n, size) or (n, size, size)."""

    transition: Array | Transition | None
    """None leaves the state where it is."""
    process_noise: Array | None
    """None adds nothing. Matrices are symmetric to the last bit."""
    observation_noise: Array
    moves: Any
    """In host memory, whether transition and process noise do anything before a step: (n, 2), (1, 2) for all; one bool
    for a single step."""
    sizes: tuple[int, int]
    """Parameters p, and observations q of one step."""
    t: int
    batch_size: int
    single: bool = False
    """Whether these are the parameters of one step alone."""

    def at(self, i: int) -> Moving:
        """The parameters of step i alone, as whole matrices (p, p) and (q, q); None where nothing moves."""
        if self.single:
            return self
        F: Any = self.transition
        Q: Any = self.process_noise
        R, (p, q) = self.observation_noise, self.sizes
        turned, shaken = self.moves[i % len(self.moves)]
        if turned and not isinstance(F, Transition):
            F = whole(F[i % len(F)], p)
        return self._replace(
            transition=F if turned else None,
            process_noise=whole(Q[i % len(Q)], p) if shaken else None,
            observation_noise=whole(R[i % len(R)], q),
            moves=bool(turned or shaken),
            t=self.t + i,
            single=True,
        )


def whole(value: Any, size: int) -> Array:
    """A number, a diagonal (size,) or a matrix (size, size) as a matrix."""
    return value if value.ndim == 2 else value * value.__array_namespace__().eye(size, dtype=value.dtype)


class Entries(NamedTuple):
    """One of `VARYING` as kernels get it, and whether it moves the state: one entry a step, or one for all."""

    value: Any
    moves: Host


STILL = np.zeros(1, bool)


class Motion:
    """The transition and noises of a filter with p parameters and c outputs."""

    def __init__(
        self, settings: Mapping[str, Any], p: int, c: int, linear: bool, place: Callable[[Host, str], Array]
    ) -> None:
        """Place puts a named host array on the backend. ValueError where a setting does not fit the sizes."""
        self._p, self._c, self._linear, self._place = p, c, linear, place
        self._constant = {name: self._entries(settings[name], name, None, 1) for name in VARYING}
        self._noise = by_step(settings["observation_noise"], "observation_noise", self._observations(1), None)[0]

    def given(self, varying: Mapping[str, Any], rows: int, block: bool) -> dict[str, Entries]:
        """What came with `rows` rows, checked and placed: one entry a row, or one for a block of them."""
        steps, observed = (None, rows) if block else (rows, 1)
        noise = varying.get("observation_noise")
        if block and noise is not None and not self._linear:
            varying = {**varying, "observation_noise": self._of_rows(noise, rows)}
        return {n: self._entries(v, n, steps, observed) for n, v in varying.items() if v is not None}

    def _of_rows(self, noise: Any, rows: int) -> Any:
        """The noise of a block, where it is given by row, for each of the row's c outputs."""
        shape = np.shape(noise)
        if shape == (rows,):
            return np.repeat(noise, self._c)
        return np.kron(noise, np.eye(self._c)) if shape == (rows, rows) else noise

    def parameters(self, given: Mapping[str, Entries], t: int, observed: int) -> Moving:
        """P for steps from number t on, each of so many observed rows."""
        F, Q, R = self._in_force(given)
        noise = R.value
        if "observation_noise" not in given and observed > 1:  # each row has that of the settings
            of_all = np.kron(np.eye(observed), whole(self._noise, self._observations(1)))
            noise = self._place(of_all[None], "observation_noise")
        sizes = self._p, self._observations(observed)
        return Moving(F.value, Q.value, noise, self.moves(given), sizes, t, observed)

    def moves(self, given: Mapping[str, Entries]) -> Host:
        """Whether transition and process noise do anything before a step: (n, 2), or (1, 2) for all."""
        F, Q, _ = self._in_force(given)
        return np.stack(np.broadcast_arrays(F.moves, Q.moves), axis=1)

    def _in_force(self, given: Mapping[str, Entries]) -> list[Entries]:
        return [given.get(name, self._constant[name]) for name in VARYING]

    def _observations(self, rows: int) -> int:
        return rows if self._linear else rows * self._c

    def _entries(self, value: Any, name: str, steps: int | None, observed: int) -> Entries:
        if name == "transition" and (value is None or isinstance(named(value), Transition)):
            if value is not None and self._linear and self._c > 1:
                raise ValueError(f"a nonlinear transition moves one output only: y has {self._c}")
            return Entries(named(value), STILL if value is None else ~STILL)
        size = self._observations(observed) if name == "observation_noise" else self._p
        array = by_step(value, name, size, steps)
        if name == "observation_noise":
            return Entries(self._place(array, name), STILL)
        still = resting(array) if name == "transition" else ~np.asarray(array.any(axis=tuple(range(1, array.ndim))))
        return Entries(None if still.all() else self._place(array, name), ~still)


def by_step(value: Any, name: str, size: int, steps: int | None) -> Host:
    """Value checked: one entry a step (steps is their number), or one for all (None).

    An entry is a number, a vector of length `size` or a matrix (size, size); of the moves to many steps no vector,
    since one (p, p) matrix for all of p rows would be taken for their diagonals. TypeError or ValueError naming it
    otherwise, also where a noise is no covariance. A covariance comes back symmetric to the last bit.
    """
    array = validation.numbers(value, name, np.dtype(float))
    array = array if steps is not None else array[None]
    entries = ((), (size,), (size, size)) if steps is None or name == "observation_noise" else ((), (size, size))
    if not array.ndim or array.shape[1:] not in entries or len(array) != (1 if steps is None else steps):
        lead = () if steps is None else (steps,)
        *some, last = (str((*lead, *entry)) for entry in entries)
        each = "" if steps is None else ": one entry for each row"
        raise ValueError(f"{name}: got shape {np.shape(value)}, want {', '.join(some)} or {last}{each}")
    if name == "transition":
        return array
    if defect := covariance_defect(array if array.ndim == 3 else array.ravel()):
        raise ValueError(f"{name}: want a covariance, it is {defect}")
    return array / 2 + array.mT / 2 if array.ndim == 3 else array
