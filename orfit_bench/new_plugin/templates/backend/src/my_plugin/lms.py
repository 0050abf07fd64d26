"""LMS on the arrays of this backend."""

import numpy as np
from orfit_bench.spec import Array, Params, State

# Features of the method that this module does not support, with the reason. They are reported instead of tested:
#   LACKS = {"models": "no update() yet", "float32": "the device computes in double precision only"}
# Support for complex rows. A row is then x^H instead of x', so the step below must add np.outer(x.conj(), ...):
#   COMPLEX = True
# Checks that this module is known to fail, with the reason. It is an error if they pass:
#   EXPECTED_FAILURES = {"huge_and_tiny_scales float32": "the device flushes subnormal numbers to zero"}


def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
    """w <- w + step e x for all rows in order, in place on s.w. Returns the number learned before w overflows."""
    for i, (x, y, step) in enumerate(zip(X, Y, p.step_size, strict=True)):
        prediction = x @ s.w
        if out is not None:
            out[i] = prediction
        w = s.w + step * np.outer(x, y - prediction)
        if not np.isfinite(w).all():
            return i
        s.w[...] = w
    return len(X)


def update(s: State, J: Array, E: Array, p: Params) -> bool:
    """One step for a nonlinear model with gradients J (q, p) and errors E (q, r). Returns False if w would overflow."""
    w = s.w + p.step_size[0] * J.T @ E
    if not np.isfinite(w).all():
        return False
    s.w[...] = w
    return True
