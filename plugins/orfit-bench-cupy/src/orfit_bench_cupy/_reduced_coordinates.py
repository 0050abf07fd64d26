"""Rules whose steps stay in the span of rows and state: a block of rows is learned in coordinates of that span.

M (r, d) contains the rows of the block and the fields of the state with an axis of features. With M = C Q, Q (k, d)
orthonormal, every operation of the rule on M is the same operation on C: products are C C' = M M', and combinations
T C represent T M. Thus the Numba kernel learns the rows of C, with k numbers each instead of d, and a change Z of the
state in coordinates is Z Q. Only about r^2 numbers leave the device for each block, and a block takes two matrix
products, of r^2 d and r d (r - b) flops, for any number b of rows up to ROWS.

If its rows are combinations of the rows of M without loss of digits, Q is never formed: C is the Cholesky factor L of M
M' and Q = L^-1 M. Otherwise Q comes from Householder reflections, panel by panel for a large M, so that no array except
Q is as large as M. If there are at most as many features as rows, Q is I, which causes no rounding. Blocks with numbers
whose squares overflow or underflow are learned in host memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_cupy._transfers import Array, Host, assign_fields, copy_host_fields, fetch, invert_lower, run_on_host

ROWS = 256
"""Largest number of rows of a block, unless a batch has more; the flops of the products per row grow with it."""
MAX_GROWTH = 2.0
"""Largest squared norm of a row of L^-1, for rows of M of norm 1; its square root is the factor of lost precision."""

LARGE_BYTES, PANELS = 2**28, 8
"""With at least LARGE_BYTES in M, reflections process PANELS panels of features one by one; each needs two copies."""

Act = Callable[[Any, Host, Host], Any]
"""A function of a Numba kernel, applied to a state in host memory, with rows and targets."""


class Subspace(NamedTuple):
    """Rows M = C Q: the coordinates C (r, k), and a function from coordinates Z (q, k) to Z Q (q, d) on the device."""

    C: Host
    vectors: Callable[[Host], Array]


def subspace_of(M: Array, K: Host) -> Subspace:
    """The subspace spanned by the rows of M, for K = M M'."""
    xp = M.__array_namespace__()
    if len(M) >= M.shape[1]:
        return Subspace(fetch(M)[0], xp.asarray)
    size = np.sqrt(np.diagonal(K))
    unit = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    try:
        L = np.linalg.cholesky(K * unit * unit[:, None] + np.diag((size == 0).astype(K.dtype)))
        T = invert_lower(L)
    except np.linalg.LinAlgError:
        T = np.full_like(K, np.inf)
    if (T * T).sum(axis=1).max() <= MAX_GROWTH:
        return Subspace(L * size[:, None], lambda Z: xp.asarray(Z @ T * unit) @ M)
    return subspace_by_reflections(M)


def subspace_by_reflections(M: Array) -> Subspace:
    """The subspace of M by Householder reflections: M_i' = Q_i R_i for each panel i, then a QR of all R_i."""
    xp, width = M.__array_namespace__(), -(-M.shape[1] // (PANELS if M.nbytes > LARGE_BYTES else 1))
    factors = [xp.linalg.qr(M[:, begin : begin + width].T) for begin in range(0, M.shape[1], width)]
    if len(factors) == 1:
        Q, R = factors[0]
        return Subspace(np.ascontiguousarray(fetch(R)[0].T), lambda Z: xp.asarray(Z) @ Q.T)
    top, R = xp.linalg.qr(xp.concatenate([R for _, R in factors]))
    ends = np.cumsum([len(R) for _, R in factors])
    parts = [(Q, top[end - len(R) : end]) for (Q, R), end in zip(factors, ends, strict=True)]

    def vectors(Z: Host) -> Array:
        there = xp.asarray(Z)
        return xp.concatenate([(there @ T.T) @ Q.T for Q, T in parts], axis=1)

    return Subspace(np.ascontiguousarray(fetch(R)[0].T), vectors)


class ReducedKernel:
    """The kernel of a rule on the device, by the Numba kernel of the same rule in reduced coordinates.

    Parameters
    ----------
    kernel : module
        The Numba kernel.
    *columns : str
        Fields (p, n) of the state whose columns have one entry per feature.
    rows : str
        A field (n, p) with `count` used rows.
    """

    def __init__(self, kernel: Any, *columns: str, rows: str = "") -> None:
        self._kernel, self._columns, self._rows = kernel, columns, rows

    def learn(self, s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        """See `Kernel.learn`. A block with a refused row is learned again without it, the row alone on the host."""
        B = p.batch_size
        done, most = 0, max(1, ROWS // B) * B
        size = most
        while done < len(X):
            rows = slice(done, done + size)
            size, predictions = len(X[rows]), None if out is None else np.empty(Y[rows].shape, Y.dtype)
            act = self._learning(p.at(done // B, size // B), predictions)
            learned = self._run(s, act, X[rows], Y[rows], size)
            if learned < size and size > B:
                size = max(B, learned // B * B)
                continue
            if learned < size and not run_on_host(s, act, X[rows], Y[rows]):
                break
            if out is not None:
                out[rows] = X.__array_namespace__().asarray(predictions)
            done, size = done + size, most
        return done

    def step(self, s: State, A: Array, Y: Array, p: Params) -> bool:
        """See `Kernel.step`."""
        return self._applied(s, lambda t, C, y: self._kernel.step(t, C, y, p), A, Y)

    def update(self, s: State, J: Array, E: Array, p: Params) -> bool:
        """See `Kernel.update`."""
        here = p if p.targets is None else p._replace(targets=fetch(p.targets)[0])
        return self._applied(s, lambda t, C, e: self._kernel.update(t, C, e, here), J, E)

    def store(self, s: State, J: Array, p: Params) -> None:
        """See `Kernel.store`."""
        self._applied(s, lambda t, C, _: self._kernel.store(t, C, p) or True, J, J[:, :1])

    def _learning(self, p: Params, predictions: Host | None) -> Act:
        return lambda t, C, y: int(self._kernel.learn(t, C, y, p, predictions))

    def _applied(self, s: State, act: Act, J: Array, Y: Array) -> bool:
        return self._run(s, act, J, Y, 1) == 1 or bool(run_on_host(s, act, J, Y))

    def _run(self, s: State, act: Act, J: Array, Y: Array, want: int) -> int:
        """Return act(t, C, y), with t the state s and C the rows J in coordinates, and y = Y in host memory.

        The state s changes only if the result is `want`; a smaller result is the number of rows that can be learned.
        """
        columns = [name for name in self._columns if hasattr(s, name)]
        rows = [self._rows] if hasattr(s, self._rows or " ") else []
        here = copy_host_fields(s)
        others = [name for name in s._fields if name not in (*columns, *rows, *here)]
        state = [*(getattr(s, name).T for name in columns), *(getattr(s, name)[: int(s.count[0])] for name in rows)]
        M = J.__array_namespace__().concatenate([J, *state])
        K, y, *values = fetch(M @ M.T, Y, *(getattr(s, name) for name in others))
        if (n_safe := safe_prefix(M, K, y)) < len(M):
            return min(n_safe, len(J) - 1) if want > 1 else 0
        here |= {name: np.array(value) for name, value in zip(others, values, strict=True)}
        with limit_blas_threads(float(len(M)) ** 3):
            span = subspace_of(M, K)
            C, *parts = np.split(span.C, np.cumsum([len(J), *map(len, state)])[:-1])
            t = s._replace(**_in_coordinates(s, columns, rows, parts), **here)
            before = {name: getattr(t, name).copy() for name in (*columns, *rows)}
            result = int(act(t, np.ascontiguousarray(C), np.ascontiguousarray(y)))
            if result < want or not all(_is_safe(getattr(t, name)) for name in before):
                return min(result, want - 1)
            for name in columns:
                apply_change(getattr(s, name).T, span, before[name].T, getattr(t, name).T)
            for name in rows:
                used = int(t.count[0])
                apply_change(getattr(s, name)[:used], span, before[name][:used], getattr(t, name)[:used])
            assign_fields(s, t, [*here])
            return result


def _in_coordinates(s: State, columns: list[str], rows: list[str], parts: list[Host]) -> dict[str, Host]:
    """The fields with an axis of features, in coordinates; fields of rows have as much room as in s."""
    found = {name: np.array(part.T, order="C") for name, part in zip(columns, parts, strict=False)}
    for name, part in zip(rows, parts[len(columns) :], strict=True):
        found[name] = np.zeros((len(getattr(s, name)), part.shape[1]), part.dtype)
        found[name][: len(part)] = part
    return found


def _is_safe(a: Host) -> bool:
    """Whether the squares of all numbers can be squared again without over- or underflow."""
    return bool(np.abs(a).max(initial=0) < safe_magnitude(a.dtype))


def apply_change(field: Array, span: Subspace, before: Host, after: Host) -> None:
    """Change the rows of field from the coordinates `before` to those `after`.

    The difference is added, so that parts that did not change stay exact. Rows that became smaller are computed again,
    since they would keep the rounding errors of the larger rows.
    """
    kept = np.linalg.norm(after, axis=1) >= np.linalg.norm(before, axis=1) / 2
    kept = kept[:, None].astype(after.dtype)
    if not kept.all():
        field *= field.__array_namespace__().asarray(kept)
    field += span.vectors(after - kept * before)


def safe_magnitude(dtype: Any) -> float:
    """The largest number whose square can be squared, which is also the inverse of the smallest."""
    return 2.0 ** (np.finfo(dtype).maxexp // 8)


def safe_prefix(M: Array, K: Host, y: Host) -> int:
    """The number of rows of M before the first with an extreme square K_ii or target; zeros are not extreme.

    len(M) if there is none.
    """
    energy, most = np.diagonal(K), safe_magnitude(K.dtype)
    safe = (energy < most) & ((energy > 1 / most) | (energy == 0))
    least = float(np.finfo(K.dtype).tiny / np.finfo(K.dtype).eps) * most  # for errors, so that steps do not underflow
    safe[: len(y)] &= ((np.abs(y) < most) & ((np.abs(y) > least) | (y == 0))).all(axis=1)
    zero = np.flatnonzero(energy == 0)
    if len(zero):
        safe[zero] &= ~fetch((M[M.__array_namespace__().asarray(zero)] != 0).any(axis=1))[0]
    if not safe[len(y) :].all():
        return 0
    return len(safe) if safe.all() else int(np.argmin(safe))
