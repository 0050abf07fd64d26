"""A model: what a regression method fits.

A method never sees a model and a model never sees a method: the host asks the model for its prediction and
Jacobian and hands the kernel one linearised block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def _nothing(draw: Callable[[int], Array], d: int, c: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Model:
    """A differentiable model f(x; w) with c outputs and one vector of p parameters.

    Two functions suffice: predict(w (p,), X (n, d)) -> (n, c) and jacobian(w (p,), x (d,)) -> (c, p).
    parameters is p, or a function of (d, c). start(draw, d, c) -> (p,) makes the first weights from
    draw(k), k standard normal numbers of the host; without it they must be given as initial_weights.
    """

    name: str
    predict: Callable[[Array, Array], Array]
    jacobian: Callable[[Array, Array], Array]
    parameters: int | Callable[[int, int], int]
    start: Callable[[Callable[[int], Array], int, int], Array | None] = _nothing
    shapes: Callable[[int, int], tuple[tuple[int, int], ...]] | None = None
    """Layered models: shapes(d, c) -> the (inputs, outputs) of each layer's matrix, whose rows fill w in turn."""
    layers: Callable[[Array, Array], tuple[Array, ...]] | None = None
    """Layered models: layers(w (p,), x (d,)) -> what each layer takes in, (inputs,), the constant of a bias last.

    Every output's gradient by a layer's matrix is this vector times a row."""
    pullback: Callable[[Array, Array, Array], Array] | None = None
    """pullback(w (p,), X (n, d), S (n, c)) -> (p,): the sum of all outputs' gradients, each by its entry of S.

    Steps that need no more than this sum, those of gradient descent, take it in place of the Jacobian."""
    with_outputs: Callable[[Array, int, Sequence[int]], Array] | None = None
    """Models that learn classes as they come: with_outputs(w (p,), d, source) -> the parameters of a model whose output
    k was output source[k], or for -1 is a new one that scores zero and whose parameters are not used by others."""

    def size(self, d: int, c: int) -> int:
        """The number of parameters p."""
        given = self.parameters(d, c) if callable(self.parameters) else self.parameters
        try:
            return index(given)
        except TypeError:
            raise ValueError(
                f"model {self.name!r}: parameters gives {given!r}, want an integer, or a function of (d, c) to one"
            ) from None


LINEAR = Model(
    "linear",
    predict=lambda w, X: X @ w,
    jacobian=lambda w, x: x[None, :],
    parameters=lambda d, c: d,
)
"""f(x) = x'w with w (d, c): one block of gradients J = x' serves all c outputs (q = 1, r = c)."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A nonlinear motion of a filter's state: function(w (p,)) -> (p,), jacobian(w (p,)) -> (p, p)."""

    name: str
    function: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]


def as_transition(transition: object) -> Any:
    """A pair of callables (function, jacobian) as a Transition named like the function; anything else unchanged."""
    if not (isinstance(transition, tuple) and len(transition) == 2 and all(map(callable, transition))):
        return transition
    return Transition(getattr(transition[0], "__name__", type(transition[0]).__name__), *transition)


def is_identity(transitions: Array) -> NDArray[np.bool_]:
    """Which of (n,) multiples of the identity, (n, p) diagonals or (n, p, p) matrices are the identity: (n,)."""
    equal = transitions == (np.eye(transitions.shape[-1]) if transitions.ndim == 3 else 1)
    return np.asarray(equal.all(axis=tuple(range(1, equal.ndim))))
