"""Rows of complex numbers, one after another: gradient steps and recursive least squares.

A row a of X is x^H in the formulas: its prediction is a w, and a step goes along conj(a). Sums are written by their
real and imaginary parts, which machine code can add in any order. A gradient step takes three passes over w, one of
them to check that it stays finite. Only the lower triangle of P is read and written; it is mirrored at the end of a
chunk, so that P is exactly Hermitian. A row takes one pass for the product and one for the update, d^2 / 2 numbers
each.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import DEGRADED, REFUSED, Limits
from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numba._arrays import Array, Scalar
from orfit_bench_numba._compile import compiled_complex, inline, inline_reordered
from orfit_bench_numba._finite import NOT_FINITE
from orfit_bench_numba._normalized_step import is_divisor, is_exact
from orfit_bench_numba._precision_guard import is_clearly_safe, judge, measure_rounding


def learn_by_gradient(s: State, X: Array, Y: Array, step: Array, eps: float | None, out: Array | None) -> int:
    """Learn rows by steps divided by eps + |x|^2, or not divided if eps is None; returns how many were learned."""
    W, predictions = np.ascontiguousarray(s.w.T), np.empty((0, 0), X.dtype) if out is None else out
    if W is s.w or np.may_share_memory(W, s.w):
        W = W.copy()
    learned = int(learn_gradient_rows(W, X, Y, step, eps or 0.0, eps is not None, predictions))
    if learned < len(X) and not np.isfinite(X).all():
        return NOT_FINITE
    s.w[...] = W.T
    return learned


def learn_covariance_rows(s: State, X: Array, Y: Array, limits: Limits, out: Array | None) -> int:
    """Learn rows by recursive least squares with the noise limits.ff; returns how many were learned."""
    W, degraded = np.ascontiguousarray(s.w.T), s.precision_lost.reshape(1)  # W is w itself if it has one column
    predictions = np.empty((0, 0), X.dtype) if out is None else out
    learned = int(update_covariance_rows(s.P, W, X, Y, tuple(limits), degraded, predictions))
    s.w[...] = W.T
    return learned


@compiled_complex("W R R s x b W")
def learn_gradient_rows(W: Array, X: Array, Y: Array, step: Array, eps: Scalar, normalized: bool, out: Array) -> Any:
    """Learn rows with the weights W (c, d) by output; stops before a step that would make them non-finite."""
    e, info = np.empty(len(W), W.dtype), np.finfo(step.dtype)
    tiny = info.tiny / info.eps
    for i in range(len(X)):
        a, share, exact, finite = X[i], step[i], True, True
        for k in range(len(W)):
            e[k] = product(a, W[k])
            if len(out):
                out[i, k] = e[k]
            e[k] = Y[i, k] - e[k]
        if normalized:
            energy = eps + measure_energy(a)
            share /= energy
            exact = is_divisor(energy, share, tiny)
            for k in range(len(W)):
                exact &= is_exact(largest_part(e[k] * share), largest_part(e[k]), tiny)
        if not exact:
            if not step_by_exponents(W, a, e, step[i], eps):
                return i
            continue
        for k in range(len(W)):
            e[k] *= share
            finite = finite and is_step_finite(W[k], e[k], a)
        if not finite:
            return i
        for k in range(len(W)):
            add_conjugate(W[k], e[k], a)
    return len(X)


@inline
def step_by_exponents(W: Array, a: Array, e: Array, step: Scalar, eps: Scalar) -> Any:
    """The normalized step for errors e (c,) of any size, like `_normalized_step` for real numbers.

    If W (c, d) would not be finite, nothing changes. Returns whether the step was taken.
    """
    scaled = np.empty(len(a), W.dtype)
    for applies in (False, True):
        for k in range(len(e)):
            gain, power = gain_and_power(a, e[k], step, eps)
            for j in range(len(a)):
                scaled[j] = times_power(a[j], power)
            if applies:
                add_conjugate(W[k], gain, scaled)
            elif not is_step_finite(W[k], gain, scaled):
                return False
    return True


@inline
def gain_and_power(a: Array, e: Any, step: Scalar, eps: Scalar) -> Any:
    """The gain and power for which the step is gain (conj(a) 2^power); the gain is 0 for a row of zeros."""
    size = np.sqrt(eps)
    for j in range(len(a)):
        size = max(size, largest_part(a[j]))
    k = math.frexp(size)[1]
    energy = math.ldexp(eps, -2 * k)
    for j in range(len(a)):
        part = times_power(a[j], -k)
        energy += part.real * part.real + part.imag * part.imag
    if size == 0:
        return e * size, 0
    i, (v, h) = math.frexp(largest_part(e))[1], math.frexp(step)
    gain = times_power(e, -i) * (v / energy)
    n = math.frexp(largest_part(gain))[1] - 1
    return times_power(gain, -n), i + h + n - 2 * k


@inline
def largest_part(z: Any) -> Any:
    """The larger absolute value of the real and imaginary parts."""
    return max(abs(z.real), abs(z.imag))


@inline
def times_power(z: Any, n: int) -> Any:
    """The product z 2^n."""
    return complex(math.ldexp(z.real, n), math.ldexp(z.imag, n))


@inline_reordered
def measure_energy(a: Array) -> Any:
    """The squared norm |a|^2."""
    total = type(a[0].real)(0)
    for j in range(len(a)):
        total += a[j].real * a[j].real + a[j].imag * a[j].imag
    return total


@inline_reordered
def product(a: Array, w: Array) -> Any:
    """The product a w, without conjugation."""
    real = imag = type(a[0].real)(0)
    for j in range(len(a)):
        real += a[j].real * w[j].real - a[j].imag * w[j].imag
        imag += a[j].real * w[j].imag + a[j].imag * w[j].real
    return complex(real, imag)


@inline
def add_conjugate(w: Array, e: Any, a: Array) -> None:
    """w <- w + e conj(a)."""
    for j in range(len(w)):
        w[j] += complex(e.real * a[j].real + e.imag * a[j].imag, e.imag * a[j].real - e.real * a[j].imag)


@inline_reordered
def is_step_finite(w: Array, e: Any, a: Array) -> Any:
    """Whether all of w + e conj(a) is finite, without a branch."""
    nothing = type(a[0].real)(0)
    for j in range(len(w)):
        nothing += (w[j].real + (e.real * a[j].real + e.imag * a[j].imag)) * 0
        nothing += (w[j].imag + (e.imag * a[j].real - e.real * a[j].imag)) * 0
    return nothing == 0


@compiled_complex("W W R R (x x x x) w W")
def update_covariance_rows(P: Array, W: Array, X: Array, Y: Array, limits: Limits, degraded: Array, out: Array) -> Any:
    """s = ff + a P a^H, v = P a^H / sqrt(s), w <- w + v e / sqrt(s), P <- (P - v v^H) / ff; returns how many rows.

    Stops before a row that is refused.
    """
    limits = Limits(*limits)
    n, d = X.shape
    ff, zero = limits.ff, limits.ff - limits.ff
    v, z = np.empty(d, P.dtype), np.empty(len(W), P.dtype)
    diagonal, parts, sizes = np.empty(d, X.real.dtype), np.empty(d, X.real.dtype), np.empty(d, X.real.dtype)
    learned = n
    for t in range(n):
        a, trace, along = X[t], zero, zero
        multiply_hermitian(P, a, v)
        for i in range(d):
            diagonal[i] = P[i, i].real
            trace += abs(diagonal[i])
        s = ff + product(a, v).real
        for i in range(d):
            v[i] /= np.sqrt(s)
        rounded, widest, highest = zero, zero, zero
        if not is_clearly_safe(measure_energy(a), trace, s, min(type(ff)(1), ff)):
            for i in range(d):
                parts[i], sizes[i] = abs(v[i]), abs(a[i])
            rounded, widest, highest = measure_rounding(diagonal, parts, sizes, s)
        verdict = judge(s, ff, ff, rounded, widest, limits)
        for k in range(len(W)):
            z[k] = product(a, W[k])
            if len(out):
                out[t, k] = z[k]
            z[k] = (Y[t, k] - z[k]) / np.sqrt(s)
            for i in range(d):
                moved = W[k, i] + z[k] * v[i]
                along += (moved.real + moved.imag) * 0
        if verdict == REFUSED or not highest / ff < limits.max_variance or along != 0:
            learned = t
            break
        for k in range(len(W)):
            for i in range(d):
                W[k, i] += z[k] * v[i]
        downdate_hermitian(P, v, ff)
        if verdict == DEGRADED:
            degraded[0] = 1
    for i in range(d if learned else 0):  # conjugation changes the sign of zeros, so a refused row leaves P alone
        for j in range(i):
            P[j, i] = P[i, j].conjugate()
    return learned


@inline_reordered
def multiply_hermitian(P: Array, a: Array, u: Array) -> None:
    """u <- P a^H from the lower triangle."""
    u[:] = 0
    for i in range(len(a)):
        ar, ai = a[i].real, a[i].imag
        real = imag = type(ar)(0)
        for j in range(i):
            p, q, xr, xi = P[i, j].real, P[i, j].imag, a[j].real, a[j].imag
            real += p * xr + q * xi  # P_ij conj(a_j)
            imag += q * xr - p * xi
            u[j] += complex(p * ar - q * ai, -p * ai - q * ar)  # conj(P_ij) conj(a_i)
        u[i] += complex(real + P[i, i].real * ar, imag - P[i, i].real * ai)


@inline
def downdate_hermitian(P: Array, v: Array, ff: Any) -> None:
    """The lower triangle of P <- (P - v v^H) / ff."""
    by = type(ff)(1) / ff
    for i in range(len(v)):
        r, m = v[i].real, v[i].imag
        for j in range(i):
            x, y = v[j].real, v[j].imag
            P[i, j] = complex((P[i, j].real - (r * x + m * y)) * by, (P[i, j].imag - (m * x - r * y)) * by)
        P[i, i] = complex((P[i, i].real - (r * r + m * m)) * by, type(ff)(0))
