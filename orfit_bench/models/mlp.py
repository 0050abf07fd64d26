"""A multilayer perceptron: matrices with an activation between any two of them, the last one linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from itertools import accumulate
from math import sqrt
from operator import index
from typing import Any

from orfit_bench.errors import suggest
from orfit_bench.models.activations import ACTIVATIONS
from orfit_bench.spec.model import Model

Array = Any


def MLP(hidden: Sequence[int] = (32,), activation: str = "tanh", bias: bool = True) -> Model:
    """Make the model of a multilayer perceptron, with any number of outputs; its last layer is linear.

    Parameters
    ----------
    hidden : sequence of int, default (32,)
        Widths of the hidden layers; () is a linear model with a bias.
    activation : str, default "tanh"
        The function after each hidden layer: tanh, relu, leaky_relu (0.01 z below 0), elu, sigmoid, softplus, silu or
        gelu (its tanh form). At 0 the slope of relu is 0 and that of leaky_relu 0.01.
    bias : bool, default True
        Whether each layer has a bias.

    Returns
    -------
    Model
        A model for the argument `model` of `create`. The same arguments return the same model.

    Raises
    ------
    TypeError
        If an argument is of the wrong type.
    ValueError
        If a width is less than 1, or the activation is unknown.

    Notes
    -----
    The parameters are the matrices Theta_1, Theta_2, ... of the layers in turn, each (inputs + 1, outputs) in C order.
    The last row of each is the bias; bias=False leaves these rows out. The weights start as normal numbers of standard
    deviation 1/sqrt(inputs), the biases at 0. The functions compute on the arrays that they get, of any namespace and
    dtype.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> net = ob.MLP((8,))
    >>> net.name, net.size(2, 1)  # (2 + 1) * 8 + (8 + 1) * 1 parameters
    ('mlp(8; tanh)', 33)
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [1.0, 1.0, 0.0, 0.0]
    >>> learner = ob.create("rls", backend="numpy", model=net, ridge=0.01)
    >>> for _ in range(50):
    ...     learner = learner.partial_fit(X, y)
    >>> abs(learner.predict(X).round(1))
    array([1., 1., 0., 0.])
    """
    try:
        widths = tuple(map(_width, hidden))
    except TypeError:
        wanted = "the widths of the hidden layers, integers such as (32, 32)"
        raise TypeError(f"MLP: hidden={hidden!r}, want {wanted}") from None
    if min(widths, default=1) < 1:
        raise ValueError(f"MLP: hidden={hidden!r}, want widths of at least 1; () is a linear model")
    if not isinstance(activation, str):
        raise TypeError(f"MLP: activation={activation!r}, want one of {', '.join(ACTIVATIONS)}")
    if activation not in ACTIVATIONS:
        raise ValueError(f"MLP: no activation {activation!r}{suggest(activation, ACTIVATIONS)}")
    if not isinstance(bias, bool):
        raise TypeError(f"MLP: bias={bias!r}, want True or False")
    return _model(Network(widths, activation if widths else "", bias))


def _width(given: Any) -> int:
    """An integer; TypeError for anything else, and for a boolean, which Python counts as one."""
    if isinstance(given, bool):
        raise TypeError
    return index(given)


@dataclass(frozen=True, slots=True)
class Network:
    """The description of an MLP, and its functions. Shapes: w (p,), Theta (n, m), x (d,), X (rows, d), c outputs."""

    hidden: tuple[int, ...]
    activation: str
    bias: bool

    @property
    def name(self) -> str:
        """The name of the model in states."""
        parts = (", ".join(map(str, self.hidden)), self.activation, "" if self.bias else "no bias")
        return f"mlp({'; '.join(p for p in parts if p)})"

    def shapes(self, d: int, c: int) -> tuple[tuple[int, int], ...]:
        """The (n, m) of each layer's matrix."""
        return tuple((n + self.bias, m) for n, m in zip((d, *self.hidden), (*self.hidden, c), strict=True))

    def parameters(self, d: int, c: int) -> int:
        """The number of parameters p."""
        return sum(n * m for n, m in self.shapes(d, c))

    def start(self, draw: Callable[[int], Array], d: int, c: int) -> Array:
        """The first weights (p,), draw(k) being k standard normal numbers."""
        layers = []
        for n, m in self.shapes(d, c):
            inputs = n - self.bias
            numbers = draw(inputs * m) / sqrt(inputs)
            xp = numbers.__array_namespace__()
            layers += [numbers, xp.zeros(m)] if self.bias else [numbers]
        return xp.concat(layers)

    def matrices(self, w: Array, d: int) -> list[Array]:
        """The layers' matrices, views of w."""
        xp = w.__array_namespace__()
        return [xp.reshape(w[start:end], shape) for start, end, shape in _parts(self, w.shape[0], d)]

    def with_outputs(self, w: Array, d: int, source: Sequence[int]) -> Array:
        """The parameters with other columns of the last matrix: column k was column source[k], zero for -1."""
        xp, (*before, (n, _)) = w.__array_namespace__(), self.shapes(d, 1)
        start = sum(k * m for k, m in before)
        last = xp.reshape(w[start:], (n, (w.shape[0] - start) // n))
        columns = [xp.zeros(n, dtype=w.dtype) if k < 0 else last[:, k] for k in source]
        return xp.concat([w[:start], xp.reshape(xp.stack(columns, axis=1), (-1,))]) if columns else w[:start]

    def predict(self, w: Array, X: Array) -> Array:
        """The outputs (rows, c)."""
        *before, last = self.matrices(w, X.shape[1])
        xp = w.__array_namespace__()
        for Theta in before:
            X = ACTIVATIONS[self.activation].value(xp, self._sums(X, Theta))
        return self._sums(X, last)

    def layers(self, w: Array, x: Array) -> tuple[Array, ...]:
        """The input (n,) of each layer: the activations of the layer before, and last a 1 for its bias."""
        return tuple(a for a, _ in self._walk(self.matrices(w, x.shape[0]), x))

    def jacobian(self, w: Array, x: Array) -> Array:
        """The outputs' gradients (c, p) by backpropagation, all outputs at once."""
        xp, matrices = w.__array_namespace__(), self.matrices(w, x.shape[0])
        D, end = xp.eye(matrices[-1].shape[1], dtype=w.dtype), w.shape[0]  # D (c, m): d outputs / d sums of the layer
        J = xp.empty((D.shape[0], end), dtype=w.dtype)
        for (a, slope), Theta in zip(reversed(self._walk(matrices, x)), reversed(matrices), strict=True):
            start = end - Theta.shape[0] * Theta.shape[1]
            J[:, start:end] = xp.reshape(a[None, :, None] * D[:, None, :], (D.shape[0], -1))
            if slope is not None:
                D = D @ Theta[: slope.shape[0], :].T * slope
            end = start
        return J

    def jacobians(self, w: Array, X: Array) -> Array:
        """The outputs' gradients for each row, (rows, c, p)."""
        xp, matrices = w.__array_namespace__(), self.matrices(w, X.shape[1])
        rows, c, end = X.shape[0], matrices[-1].shape[1], w.shape[0]
        D = xp.broadcast_to(xp.eye(c, dtype=w.dtype), (rows, c, c))  # (rows, c, m): d outputs / d sums of the layer
        J = xp.empty((rows, c, end), dtype=w.dtype)
        for (a, slope), Theta in zip(reversed(self._walk(matrices, X)), reversed(matrices), strict=True):
            start = end - Theta.shape[0] * Theta.shape[1]
            J[:, :, start:end] = xp.reshape(a[:, None, :, None] * D[:, :, None, :], (rows, c, -1))
            if slope is not None:
                D = D @ Theta[: slope.shape[-1], :].T * slope[:, None, :]
            end = start
        return J

    def vjp(self, w: Array, X: Array, E: Array) -> Array:
        """The sum (p,) of the outputs' gradients, weighted by the entries of E (rows, c), at once."""
        xp, matrices, end = w.__array_namespace__(), self.matrices(w, X.shape[1]), w.shape[0]
        D, g = E, xp.empty(end, dtype=w.dtype)  # D (rows, m): d weighted outputs / d sums of the layer
        for (a, slope), Theta in zip(reversed(self._walk(matrices, X)), reversed(matrices), strict=True):
            start = end - Theta.shape[0] * Theta.shape[1]
            g[start:end] = xp.reshape(a.T @ D, (-1,))
            if slope is not None:
                D = D @ Theta[: slope.shape[-1], :].T * slope
            end = start
        return g

    def _walk(self, matrices: list[Array], x: Array) -> list[tuple[Array, Array]]:
        """For each layer, its input (n,), and the slopes of the activations that made the input (None for x).

        For rows (rows, d), both have a leading axis of rows.
        """
        xp, found, slope = x.__array_namespace__(), [], None
        for Theta in matrices:
            a = xp.empty((*x.shape[:-1], x.shape[-1] + self.bias), dtype=x.dtype)
            a[..., : x.shape[-1]] = x
            a[..., x.shape[-1] :] = 1
            found.append((a, slope))
            if Theta is not matrices[-1]:
                z = self._sums(x, Theta)
                x, slope = (f(xp, z) for f in ACTIVATIONS[self.activation])
        return found

    def _sums(self, X: Array, Theta: Array) -> Array:
        return X @ Theta[:-1, :] + Theta[-1, :] if self.bias else X @ Theta


@lru_cache(maxsize=64)
def _parts(net: Network, p: int, d: int) -> tuple[tuple[int, int, tuple[int, int]], ...]:
    """Where the matrix of each layer starts and ends among p parameters on d features, and its shape."""
    *before, (n, _) = net.shapes(d, 1)
    c, more = divmod(p - sum(k * m for k, m in before), n)
    if more or c < 1:
        raise ValueError(f"{net.name}: {p} parameters fit no number of outputs on {d} features")
    shapes = (*before, (n, c))
    ends = accumulate(k * m for k, m in shapes)
    return tuple((end - k * m, end, (k, m)) for (k, m), end in zip(shapes, ends, strict=True))


@dataclass(frozen=True, slots=True)
class NetworkModel(Model):
    """The model of a network. Copies and unpickled models are the same object, unless `replace` has made the model."""

    network: Network | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        if self.network and _model(self.network) is self:
            return _model, (self.network,)
        return NetworkModel, tuple(getattr(self, field.name) for field in fields(self))  # made by `replace`


@cache
def _model(net: Network) -> Model:
    """One object for equal networks: learners whose models differ are not merged."""
    functions = net.predict, net.jacobian, net.parameters, net.start, net.shapes, net.layers
    return NetworkModel(net.name, *functions, net.vjp, net.with_outputs, net.jacobians, net)


def network_of(model: Model) -> Network | None:
    """The network of an MLP; None for other models, and for an MLP of which a function was replaced."""
    network = model.network if isinstance(model, NetworkModel) else None
    return network if network and _model(network) is model else None


def model_named(name: object) -> Model | None:
    """The model of this name, as used in states; None if it is not an MLP."""
    if not (isinstance(name, str) and name.startswith("mlp(") and name.endswith(")")):
        return None
    *layers, last = name[len("mlp(") : -1].split("; ")
    bias = last != "no bias"
    widths, activation = (*layers, last, "tanh")[:2] if bias else (*layers, "", "tanh")[:2]
    try:
        model = MLP([int(width) for width in widths.split(", ") if width], activation or "tanh", bias)
    except ValueError:
        return None
    return model if model.name == name else None
