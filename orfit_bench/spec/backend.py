"""A backend: an array type, the place it computes, and kernels that know arrays only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of the backend: C order, one dtype."""


def _here() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Backend:
    """A set of kernels on some hardware. The functions import what is heavy when first called."""

    name: str
    summary: str
    namespace: Callable[[], Any]
    """The array module: ndarray, empty, zeros, eye, ascontiguousarray, concatenate, max, min, isfinite; for subspaces
    also copysign, diagonal and linalg.qr."""
    asarray: Callable[[NDArray[Any]], Array] = np.array
    """A host array copied to the backend, C order."""
    asnumpy: Callable[[Array], NDArray[Any]] = np.array
    """A backend's array copied to the host."""
    probe: Callable[[], str] = _here
    """Why the backend cannot compute here, with the command that would help; empty when it can."""
    synchronize: Callable[[], None] = lambda: None
    """Wait until all work is done."""
    memory: Callable[[], int] | None = None
    """The most bytes of the device that were taken since the last call; None without a device."""
    device: str = ""
    """What its arrays lie on, "cpu" or "cuda", as DLPack knows it; empty claims nothing. The kit looks."""
    device_info: Callable[[], Mapping[str, str]] = dict
    """What device it computes on and by what, its name, driver and runtime, for the record of results and states."""
    compiled: Callable[[Any], Sequence[str]] | None = None
    """The signatures that a kernel module has compiled so far; None for a backend that compiles nothing."""
    compile: Callable[[Any, str], None] | None = None
    """Compile all of a kernel module for a dtype and keep it for later processes; None where nothing is kept."""
    complete: bool = False
    """Whether it promises every method of the catalogue with all that each allows; then the kit wants all of it."""

    @property
    def described(self) -> dict[str, str]:
        """What `device_info` says, or how it failed: a plugin's code must not end what asks."""
        try:
            return {str(name): str(value) for name, value in self.device_info().items()}
        except Exception as error:
            return {"unknown": f"its device_info failed: {type(error).__name__}: {error}"}

    @property
    def reason(self) -> str:
        """Why it is not available; empty when it is."""
        try:
            return self.probe()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a probe is a plugin's code; SystemExit must not end the host
            return f"its probe failed: {type(error).__name__}: {error}"

    @property
    def available(self) -> bool:
        """Whether it can compute here."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Absent:
    """What a plugin registers instead of a kernel module that it does not have, with the reason."""

    reason: str


class Kernel(Protocol):
    """A kernel module. It has `learn`, and `update` for methods that learn models, `step` for those with blocks.

    A filter's p is an orfit_bench.learners.filtering.dynamics.StepModel; its rows may have NaN in Y, and it also has
    `predict_step` and `rts_smooth`.

    s is the record of the method's arrays, written in place: one attribute a field, and `count` (1,) int64 where
    the method grows. `count`, and fields without dimensions, are NumPy arrays in host memory on every backend. p holds
    numbers and per-step arrays: every setting by name (schedules evaluated, None as the largest integer, or infinity
    for a number), p.t the number of the chunk's first step, p.batch_size the rows of a step, p.draws (steps, k). For
    layered methods p.shapes are the (inputs, outputs) of the layers and p.inputs what each takes in (rows, inputs).
    p.at(i) is p with the per-step arrays cut down to step i, p.at(i, n) to n steps from it on. Inputs must not be
    written to nor kept.

    A module may say LACKS = {capability: why}, what it leaves out of what the method allows (spec/capability.py), and
    EXPECTED_FAILURES = {check: why}, which checks of the kit it fails ("check float32": in that dtype alone). With
    CHECKS_ROWS = True its `learn` is handed rows of batch_size 1 that nobody looked at, which saves a pass over them:
    where one is not finite, it returns -1 and leaves all as it was.
    """

    def learn(self, s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
        """Learn the rows of X (n, d), Y (n, r) in order on a linear model, n a multiple of p.batch_size.

        Write each row's prediction before its step to out (n, r) unless it is None. Return the number of rows
        learned: fewer than n means that the next step would not have been finite and was not applied. A subspace
        has no targets: Y is (n, 0) and out is None.
        """

    def update(self, s: Any, J: Array, E: Array, p: Any) -> bool:
        """One linearised block: gradients J (q, p), errors E (q, r). False: not finite, not applied."""

    def ahead(self, s: Any, p: Any) -> Array:
        """The weights (p, r) at which J and E of this step are to be taken; where the method declares `lookahead`."""

    def step(self, s: Any, A: Array, Y: Array, p: Any) -> bool:
        """One observation block A (M, d), Y (M, r) of a linear model. False: not finite, not applied."""

    def store(self, s: Any, J: Array, p: Any) -> None:
        """Keep the gradients J (q, p) taken after the step; only where the method declares `needs_post_step_gradients`.

        A layered method gets no J but p.inputs as they are after the step.
        """

    def predict_step(self, s: Any, mean: Array, p: Any) -> bool:
        """A filter's prediction: the mean becomes `mean`, P becomes F P F' + Q. False: not finite, not applied."""

    def rts_smooth(self, F: Sequence[Array], m_pred: Array, P_pred: Array, m: Array, P: Array) -> None:
        """A filter's smoother: m (n, p, r) and P (n, p, p), the moments after each row, become those given all rows.

        F[j] (p, p) took step j - 1 to j, and F[0] nothing; m_pred and P_pred are the moments before each row.
        """
