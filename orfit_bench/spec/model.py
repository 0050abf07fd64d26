"""A model: what a regression method fits.

A method never sees a model and a model never sees a method: the learner asks the model for its prediction and
Jacobian, and passes one linearized block to the kernel. A kernel may have a faster rule of its own for an MLP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from orfit_bench.spec.part_types import wrong_values

Array = NDArray[Any]


def _nothing(draw: Callable[[int], Array], d: int, c: int) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Model:
    """A differentiable model f(x; w) with c outputs and one vector of p parameters.

    `name`, `predict`, `jacobian` and `parameters` suffice.

    Parameters
    ----------
    name : str
        The name of the model in saved states.
    predict : callable
        predict(w (p,), X (n, d)) -> outputs (n, c).
    jacobian : callable
        jacobian(w (p,), x (d,)) -> derivatives of the outputs with respect to the parameters (c, p).
    parameters : int or callable
        The number p, or a function (d, c) -> p.
    start : callable, optional
        start(draw, d, c) -> first weights (p,), from draw(k), k standard normal numbers. Without it the
        weights must be given as `initial_weights`.
    shapes : callable, optional
        Layered models: shapes(d, c) -> the (inputs, outputs) of the matrix of each layer; their rows fill w in turn.
    layers : callable, optional
        Layered models: layers(w (p,), x (d,)) -> the input (inputs,) of each layer, the constant of a bias last. The
        gradient of each output with respect to the matrix of a layer is this vector times a row.
    vjp : callable, optional
        vjp(w (p,), X (n, d), E (n, c)) -> (p,): the sum of the gradients of all outputs, each times its entry of E (a
        vector-Jacobian product). Gradient descent needs only this and uses it instead of the Jacobian.
    with_outputs : callable, optional
        Models that learn classes as they appear: with_outputs(w (p,), d, source) -> the parameters of a model whose
        output k was output source[k]. -1 stands for a new output, which scores zero and shares no parameters with
        others.
    jacobians : callable, optional
        jacobians(w (p,), X (n, d)) -> (n, c, p): the Jacobians of several rows at once, used instead of `jacobian` for
        steps with several rows and for standard deviations.

    Examples
    --------
    Fit w_0 exp(-w_1 x) to a decaying curve.

    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> def predict(w, X):
    ...     return w[0] * np.exp(-w[1] * X)
    >>> def jacobian(w, x):
    ...     return np.array([[1.0, -w[0] * x[0]]]) * np.exp(-w[1] * x[0])
    >>> decay = ob.Model("decay", predict, jacobian, parameters=2)
    >>> X = np.linspace(0.0, 2.0, 50)[:, None]
    >>> learner = ob.create("rls", backend="numpy", model=decay, initial_weights=[1.0, 1.0], ridge=1e-3)
    >>> learner.partial_fit(X, 3.0 * np.exp(-0.5 * X[:, 0])).array("w").ravel().round(2)
    array([3. , 0.5])
    """

    # The repr shows only the name: it is part of the signature of `create`, and functions would appear as addresses.
    name: str
    predict: Callable[[Array, Array], Array] = field(repr=False)
    jacobian: Callable[[Array, Array], Array] = field(repr=False)
    parameters: int | Callable[[int, int], int] = field(repr=False)
    start: Callable[[Callable[[int], Array], int, int], Array | None] = field(default=_nothing, repr=False)
    shapes: Callable[[int, int], tuple[tuple[int, int], ...]] | None = field(default=None, repr=False)
    layers: Callable[[Array, Array], tuple[Array, ...]] | None = field(default=None, repr=False)
    vjp: Callable[[Array, Array, Array], Array] | None = field(default=None, repr=False)
    with_outputs: Callable[[Array, int, Sequence[int]], Array] | None = field(default=None, repr=False)
    jacobians: Callable[[Array, Array], Array] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse a name that saved states could not hold, and functions that cannot be called."""
        if not isinstance(self.name, str) or not self.name:
            raise TypeError(f"model: name={self.name!r}, want a string")
        for wrong in wrong_values(self, "", {}):
            raise TypeError(f"model {self.name!r}: {wrong}")

    def size(self, d: int, c: int) -> int:
        """Return the number of parameters.

        Parameters
        ----------
        d : int
            Number of features.
        c : int
            Number of outputs.

        Returns
        -------
        int
            The number p.

        Raises
        ------
        ValueError
            If `parameters` does not give an integer of at least 1.

        Examples
        --------
        >>> import orfit_bench as ob
        >>> ob.MLP((2,)).size(3, 1)
        11
        """
        given = self.parameters(d, c) if callable(self.parameters) else self.parameters
        try:
            size = index(given)
        except TypeError:
            size = -1
        if size < min(1, c):  # without outputs there may be no parameters
            raise ValueError(
                f"model {self.name!r}: parameters gives {given!r}, want an integer of at least 1, or a function of "
                f"(d, c) to one"
            )
        return size


class Network(Protocol):
    """What a kernel needs to know of a multilayer perceptron that `MLP` made."""

    @property
    def hidden(self) -> tuple[int, ...]:
        """Widths of the hidden layers."""

    @property
    def activation(self) -> str:
        """Name in `MLP` of the activation after each hidden layer; empty without hidden layers."""

    @property
    def bias(self) -> bool:
        """Whether each layer has a bias."""


LINEAR = Model(
    "linear",
    predict=lambda w, X: X @ w,
    jacobian=lambda w, x: x[None, :],
    parameters=lambda d, c: d,
)
"""f(x) = x'w with w (d, c): one block of gradients J = x' serves all c outputs (q = 1, r = c)."""


@dataclass(frozen=True, slots=True)
class Transition:
    """A nonlinear transition of the state of a filter.

    Parameters
    ----------
    name : str
        The name of the transition in saved states.
    function : callable
        function(w (p,)) -> the next state (p,), before noise and control are added.
    jacobian : callable
        jacobian(w (p,)) -> derivatives of the next state with respect to the present one (p, p).

    Notes
    -----
    A filter with a nonlinear transition is an extended Kalman filter.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> sine = ob.Transition("sine", np.sin, lambda w: np.diag(np.cos(w)))
    >>> kalman = ob.create("kalman", backend="numpy", transition=sine, initial_covariance=1e9)
    >>> kalman.partial_fit([[1.0]], [1.0]).predict([[1.0]]).round(3)  # sin(1)
    array([0.841])
    """

    name: str
    function: Callable[[Array], Array]
    jacobian: Callable[[Array], Array]

    def __post_init__(self) -> None:
        """Refuse functions that cannot be called, and a name that is no text."""
        if not (isinstance(self.name, str) and self.name):
            raise TypeError(f"Transition: name={self.name!r}, want a string that saved states can name")
        for what, function in (("function", self.function), ("jacobian", self.jacobian)):
            if not callable(function):
                raise TypeError(f"Transition {self.name!r}: {what}={function!r}, want a function")


def as_transition(transition: object) -> Any:
    """A pair of callables (function, jacobian) as a Transition named like the function; anything else unchanged."""
    if not (isinstance(transition, tuple) and len(transition) == 2 and all(map(callable, transition))):
        return transition
    return Transition(getattr(transition[0], "__name__", "") or type(transition[0]).__name__, *transition)


def is_identity(transitions: Array) -> NDArray[np.bool_]:
    """Which of (n,) multiples of the identity, (n, p) diagonals or (n, p, p) matrices are the identity: (n,)."""
    equal = transitions == (np.eye(transitions.shape[-1]) if transitions.ndim == 3 else 1)
    return np.asarray(equal.all(axis=tuple(range(1, equal.ndim))))
