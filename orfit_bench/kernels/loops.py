"""The loop over the rows of a chunk: `learn` and `step` of a method from its rule for one step.

Shapes: X (n, d) rows, Y (n, r) targets, w (d, r), out (n, r) predictions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Update = Callable[[Any, Array, Array, Any], bool]
"""update(s, J, E, p): a step with the gradients J (q, p) and errors E (q, r); False where it was not applied."""
Rule = Callable[[Any, Array, Any], bool]
"""rule(s, A, p): a step with the rows A (N, d), which have no targets; False where it was not applied."""


def make_learn(update: Update) -> Callable[..., int]:
    """`learn` on a linear model f = X w, whose gradients are the rows: batch_size rows a step, with errors y - f."""

    def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
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


def make_step(update: Update) -> Callable[..., bool]:
    """`step` on a linear model: all rows as one step."""

    def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
        return update(s, A, Y - A @ s.w, p)

    return step


def make_subspace_learn(rule: Rule) -> Callable[..., int]:
    """`learn` of a method for subspaces: batch_size rows a step."""

    def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        B = p.batch_size
        for i in range(0, len(X), B):
            if not rule(s, X[i : i + B], p if len(X) == B else p.at(i // B)):
                return i
        return len(X)

    return learn


def make_subspace_step(rule: Rule) -> Callable[..., bool]:
    """`step` of a method for subspaces: all rows as one step."""

    def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
        return rule(s, A, p)

    return step
