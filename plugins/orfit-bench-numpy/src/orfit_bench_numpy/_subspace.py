"""What the kernels of subspaces share: the walk over steps, the orthonormal factor.

Shapes: A (N, d) the rows of a step, which are the y_n' of the sources; C (d, k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rule = Callable[[Any, Array, Any], bool]
"""rule(s, A, p): one step on the rows A; False where it was not applied."""


def by_steps(rule: Rule) -> Callable[..., int]:
    """`learn` of a rule: batch_size rows a step."""

    def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        B = p.batch_size
        for i in range(0, len(X), B):
            if not rule(s, X[i : i + B], p if len(X) == B else p.at(i // B)):
                return i
        return len(X)

    return learn


def by_block(rule: Rule) -> Callable[..., bool]:
    """`step` of a rule: all rows at once."""

    def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
        return rule(s, A, p)

    return step


def orthonormal(C: Array) -> Array | None:
    """The Q of C = Q R with a positive diagonal of R, which is unique; None where few of its digits are left.

    For a C that grew out of an orthonormal one and shrank in no direction: a column enters with size 1 at least and
    an error of eps |R|, of which no more than a hundredth is let pass.
    """
    Q, R = np.linalg.qr(C)
    if not np.finfo(C.dtype).eps * np.abs(R).max() <= 0.01:  # NaN and inf are refused too
        return None
    signed: Array = Q * np.copysign(1, np.diagonal(R))
    return signed
