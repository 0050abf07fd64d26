"""A multilayer perceptron, row by row: the inputs of its layers, its outputs, and their derivatives.

Work space of a row: `a` contains the input of each layer, with the constant 1 for a bias last, one layer after another.
`z` contains the slopes of the activations of each layer, followed by the c outputs. If the outputs are replaced by the
slopes of a loss, `propagate_back` computes the derivatives with respect to the sums of every layer; the gradient for
Theta_l is then a_l z_l'.

The weights Theta_l (n, m), with n inputs and m sums, are stored in w one after another. A row takes 4 flops per weight.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from orfit_bench_numba._arrays import Array, Indices
from orfit_bench_numba._compile import inline
from orfit_bench_numba._precision_guard import dot
from orfit_bench_numba._products import row_times

TANH, RELU, LEAKY_RELU, ELU, SIGMOID, SOFTPLUS, SILU, GELU = range(8)
ACTIVATIONS = {
    "": TANH,  # no hidden layer
    "tanh": TANH,
    "relu": RELU,
    "leaky_relu": LEAKY_RELU,
    "elu": ELU,
    "sigmoid": SIGMOID,
    "softplus": SOFTPLUS,
    "silu": SILU,
    "gelu": GELU,
}

LEAK, BEND, CUBIC = 0.01, math.sqrt(2 / math.pi), 0.044715
"""The same numbers as in `orfit_bench/models/activations.py`, which kernels do not import."""


class Shape(NamedTuple):
    """The numbers of features, hidden units and outputs; the number of the activation; 1 if there are biases."""

    widths: Indices
    activation: int
    bias: int


def work_sizes(shape: Shape) -> tuple[int, int]:
    """The numbers of entries of the work spaces a and z."""
    return int(shape.widths[:-1].sum()) + shape.bias * (len(shape.widths) - 1), int(shape.widths[1:].sum())


def shape_of(network: Any, d: int, c: int) -> Shape:
    """The shape of a network for compiled functions."""
    widths = np.array([d, *network.hidden, c], np.int64)
    return Shape(widths, ACTIVATIONS[network.activation], int(network.bias))


@inline
def propagate(w: Array, x: Array, widths: Indices, activation: int, bias: int, a: Array, z: Array) -> None:
    """Compute a and z for row x at the weights w."""
    for j in range(len(x)):
        a[j] = x[j]
    taken, summed, begin, last = 0, 0, 0, len(widths) - 2
    for layer in range(last + 1):
        n, m = widths[layer] + bias, widths[layer + 1]
        if bias:
            a[taken + n - 1] = 1
        multiply_transposed(w[begin : begin + n * m].reshape((n, m)), a[taken : taken + n], z[summed : summed + m])
        for i in range(m if layer < last else 0):
            a[taken + n + i], z[summed + i] = value_and_slope(activation, z[summed + i])
        taken, summed, begin = taken + n, summed + m, begin + n * m


@inline
def multiply_transposed(Theta: Array, a: Array, sums: Array) -> None:
    """Compute sums (m,) <- Theta'a for Theta (n, m), four rows at a time."""
    n, m = Theta.shape
    if m == 1:
        sums[0] = dot(Theta.reshape(n), a)
        return
    for i in range(m):
        sums[i] = 0
    fours = n // 4 * 4
    for j in range(0, fours, 4):
        p, q, r, s = a[j], a[j + 1], a[j + 2], a[j + 3]
        for i in range(m):
            sums[i] += (p * Theta[j, i] + q * Theta[j + 1, i]) + (r * Theta[j + 2, i] + s * Theta[j + 3, i])
    for j in range(fours, n):
        for i in range(m):
            sums[i] += a[j] * Theta[j, i]


@inline
def propagate_back(w: Array, widths: Indices, bias: int, z: Array) -> None:
    """Replace z by the derivatives with respect to the sums; z contains slopes, then the derivatives by the outputs."""
    end, summed = len(w), len(z)
    for layer in range(len(widths) - 2, 0, -1):
        n, m = widths[layer], widths[layer + 1]
        begin = end - (n + bias) * m
        Theta, D, below = w[begin:end].reshape((n + bias, m)), z[summed - m : summed], z[summed - m - n : summed - m]
        for j in range(n):
            below[j] *= row_times(Theta, j, D)
        end, summed = begin, summed - m


@inline
def write_gradient(g: Array, widths: Indices, bias: int, a: Array, z: Array) -> None:
    """Compute the gradient g, a_l z_l' for every layer."""
    taken, summed, begin = 0, 0, 0
    for layer in range(len(widths) - 1):
        n, m = widths[layer] + bias, widths[layer + 1]
        G, al, D = g[begin : begin + n * m].reshape((n, m)), a[taken : taken + n], z[summed : summed + m]
        for j in range(n):
            for i in range(m):
                G[j, i] = al[j] * D[i]
        taken, summed, begin = taken + n, summed + m, begin + n * m


@inline
def value_and_slope(activation: int, z: Any) -> Any:
    """The activation of one sum and its slope. No intermediate result overflows; NaN stays NaN."""
    real = type(z)
    zero, one = real(0), real(1)
    if activation == TANH:
        t = math.tanh(z)
        return t, (one - t) * (one + t)
    if activation == RELU:
        return (zero, zero) if z <= 0 else (z, one)
    if activation == LEAKY_RELU:
        return (real(LEAK) * z, real(LEAK)) if z <= 0 else (z, one)
    if activation == ELU:
        return (z, one) if z > 0 else (math.expm1(z), math.exp(z))
    if activation == GELU:
        near = min(max(z, real(-10)), real(10)) if z == z else z
        t = math.tanh(real(BEND) * (near + real(CUBIC) * near * near * near))
        bend = real(0.5) * near * (one - t) * (one + t) * real(BEND) * (one + real(3 * CUBIC) * near * near)
        return real(0.5) * z * (one + t), real(0.5) * (one + t) + bend
    e = math.exp(-abs(z))
    share = one / (one + e)
    sigmoid, slope = share if z >= 0 else e * share, e * share * share
    if activation == SIGMOID:
        return sigmoid, slope
    if activation == SOFTPLUS:
        return (zero if z <= 0 else z) + math.log1p(e), sigmoid
    return z * sigmoid, sigmoid + z * slope
