"""The loop over the rows of a chunk: `learn` and `step` of a method from its rule for one step.

Shapes: X (n, d) rows, Y (n, r) targets, w (d, r), out (n, r) predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from orfit_bench.kernels.guards import is_finite
from orfit_bench.spec.kernel_arguments import Params, State

Array = NDArray[Any]
Update = Callable[[Any, Array, Array, Any], bool]
"""update(s, J, E, p): a step with the gradients J (q, p) and errors E (q, r); False if it was not applied."""
Rule = Callable[[Any, Array, Any], bool]
"""rule(s, A, p): a step with the rows A (N, d), which have no targets; False if it was not applied."""
LearnRows = Callable[[Any, Array, Array, Any, "Array | None"], int]
"""learn_rows(s, X, y, p, out): learn rows X (n, d) of a linear model with one output, y and out (n,), in order.

Returns the number of rows learned; `update` decides about the next one.
"""


def make_learn(update: Update, learn_rows: LearnRows | None = None) -> Callable[..., int]:
    """Return `learn` on a linear model f = X w, whose gradients are the rows: batch_size rows per step.

    Parameters
    ----------
    update : function
        update(s, A, E, p) takes one step with rows A (q, d) and errors E = y - f (q, c). It returns True, or False if
        the state would not be finite, and then changes nothing.
    learn_rows : function, optional
        Learns rows with one output in steps of one row, faster than `update`.

    Returns
    -------
    function
        `learn` of `orfit_bench.spec.Kernel`.
    """
    learn_steps = make_learn_steps(update)

    def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        if not learn_rows or Y.shape[1] != 1:
            return learn_steps(s, X, Y, p, out)
        n, done = len(X), 0
        while True:
            rest = slice(done, None)
            here, predictions = p.at(done, n - done) if done else p, None if out is None else out[rest, 0]
            done += learn_rows(s, X[rest], Y[rest, 0], here, predictions)
            if done == n:
                return n
            row = slice(done, done + 1)
            if not learn_steps(s, X[row], Y[row], p.at(done), None if out is None else out[row]):
                return done
            done += 1

    return learn


def make_learn_steps(update: Update) -> Callable[..., int]:
    """`learn` on a linear model with `update` only, batch_size rows per step."""

    def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        B = p.batch_size
        for i in range(0, len(X), B):
            A = X[i : i + B]
            f = A.dot(s.w)  # on small arrays half the time of A @ w
            if out is not None:
                out[i : i + B] = f
            applied = update(s, A, Y[i : i + B] - f, p if len(X) == B else p.at(i // B))
            if not applied:
                if applied is None:
                    raise TypeError("update returned None, want True (applied) or False (not finite, s untouched)")
                return i
        return len(X)

    return learn


def keep_finite(step_rows: Callable[[Array, Array, Array, Any, Array | None], int]) -> LearnRows:
    """`learn_rows` from step_rows(w, X, y, p, out), which changes the weights w (d,) without checking them.

    If they are not finite after the rows, the weights before the row that made them so are restored.
    """

    def learn_rows(s: State, X: Array, y: Array, p: Params, out: Array | None) -> int:
        w: Array = s.w[:, 0]
        before = w.copy()
        learned = step_rows(w, X, y, p, out)
        if is_finite(w):
            return learned
        w[:] = before
        for i in range(learned if len(X) > 1 else 0):
            if not learn_rows(s, X[i : i + 1], y[i : i + 1], p.at(i), None if out is None else out[i : i + 1]):
                return i
        return 0

    return learn_rows


def make_step(update: Update) -> Callable[..., bool]:
    """Return `step` on a linear model, which learns all rows as one step.

    Parameters
    ----------
    update : function
        As in `make_learn`.

    Returns
    -------
    function
        `step` of `orfit_bench.spec.Kernel`.
    """

    def step(s: State, A: Array, Y: Array, p: Params) -> bool:
        return update(s, A, Y - A @ s.w, p)

    return step


def make_subspace_learn(rule: Rule) -> Callable[..., int]:
    """`learn` of a method for subspaces: batch_size rows per step."""

    def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        B = p.batch_size
        for i in range(0, len(X), B):
            if not rule(s, X[i : i + B], p if len(X) == B else p.at(i // B)):
                return i
        return len(X)

    return learn


def make_subspace_step(rule: Rule) -> Callable[..., bool]:
    """`step` of a method for subspaces: all rows as one step."""

    def step(s: State, A: Array, Y: Array, p: Params) -> bool:
        return rule(s, A, p)

    return step
