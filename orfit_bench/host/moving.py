"""How a filter's state moves: what its kernel gets instead of settings, constant or brought by the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.spec.backend import Array
from orfit_bench.spec.model import Transition
from orfit_bench.spec.setting import no_covariance

Host = np.ndarray[Any, Any]
VARYING = ("transition", "process_noise", "observation_noise")
"""What may come with the rows."""


class Moving(NamedTuple):
    """p of a filter. An array has one entry a step, or a single one for all: (n,), (n, size) or (n, size, size)."""

    transition: Array | Transition | None
    """None leaves the state where it is."""
    process_noise: Array | None
    """None adds nothing."""
    observation_noise: Array
    sizes: tuple[int, int]
    """Parameters p, and observations q of one step."""
    t: int
    batch_size: int

    def at(self, i: int) -> Moving:
        """The parameters of step i alone, as whole matrices (p, p) and (q, q)."""
        F, Q, R = self.transition, self.process_noise, self.observation_noise
        return self._replace(
            transition=F if F is None or isinstance(F, Transition) else whole(F[i % len(F)], self.sizes[0]),
            process_noise=None if Q is None else whole(Q[i % len(Q)], self.sizes[0]),
            observation_noise=whole(R[i % len(R)], self.sizes[1]),
            t=self.t + i,
        )


def whole(value: Any, size: int) -> Array:
    """A number, a diagonal (size,) or a matrix (size, size) as a matrix."""
    return value if value.ndim == 2 else value * value.__array_namespace__().eye(size, dtype=value.dtype)


class Motion:
    """The transition and noises of a filter with p parameters and c outputs."""

    def __init__(
        self, settings: Mapping[str, Any], p: int, c: int, linear: bool, place: Callable[[Host], Array]
    ) -> None:
        """Place puts a host array on the backend. ValueError where a setting does not fit the sizes."""
        self._p, self._c, self._linear, self._place = p, c, linear, place
        self._constant = {name: self._entry(settings[name], name, None, 1) for name in VARYING}
        self._settings = settings
        if not (self._constant["process_noise"]).any():
            self._constant["process_noise"] = None

    def given(self, varying: Mapping[str, Any], rows: int, block: bool) -> dict[str, Any]:
        """What came with `rows` rows, checked and placed: one entry a row, or one for a block of them."""
        steps, observed = (None, rows) if block else (rows, 1)
        return {n: self._entry(v, n, steps, observed) for n, v in varying.items() if v is not None}

    def parameters(self, given: Mapping[str, Any], t: int, observed: int) -> Moving:
        """P for steps from number t on, each of so many observed rows."""
        entries = {**self._constant, **given}
        if "observation_noise" not in given and observed > 1:
            entries["observation_noise"] = self._entry(self._settings["observation_noise"], VARYING[2], None, observed)
        return Moving(**entries, sizes=(self._p, self._observations(observed)), t=t, batch_size=observed)

    def _observations(self, rows: int) -> int:
        return rows if self._linear else rows * self._c

    def _entry(self, value: Any, name: str, steps: int | None, observed: int) -> Any:
        if name == "transition" and (value is None or isinstance(value, Transition)):
            if value is not None and self._linear and self._c > 1:
                raise ValueError(f"a nonlinear transition moves one output only: y has {self._c}")
            return value
        size = self._observations(observed) if name == "observation_noise" else self._p
        return self._place(by_step(value, name, size, steps, covariance=name != "transition"))


def by_step(value: Any, name: str, size: int, steps: int | None, covariance: bool) -> Host:
    """Value checked: one entry a step (steps is their number), or one for all (None).

    An entry is a number, a vector of length `size` or a matrix (size, size). ValueError naming it otherwise.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name}: got {type(value).__name__} of dtype {array.dtype}, want real numbers")
    array = (array if steps is not None else array[None]).astype(float)
    entry = {1: (), 2: (size,), 3: (size, size)}.get(array.ndim, (-1,))
    if array.shape[1:] != entry or len(array) != (1 if steps is None else steps):
        lead = () if steps is None else (steps,)
        shapes = [str((*lead, *rest)) for rest in ((), (size,), (size, size))]
        each = "" if steps is None else ": one entry for each row"
        raise ValueError(f"{name}: got shape {np.shape(value)}, want {', '.join(shapes[:2])} or {shapes[2]}{each}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: holds numbers that are not finite")
    if covariance and (said := no_covariance(array if array.ndim == 3 else array.ravel())):
        raise ValueError(f"{name}: want a covariance, it is {said}")
    return array
