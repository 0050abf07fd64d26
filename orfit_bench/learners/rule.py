"""The rule of a learner: a configured method that learns rows in states which it makes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from orfit_bench.errors import AccuracyWarning, DivergedError, warn
from orfit_bench.learners import validation
from orfit_bench.learners.computed_once import ComputedOnce
from orfit_bench.learners.configuration import Configuration
from orfit_bench.learners.configured_kernel import StepInputs
from orfit_bench.learners.function_results import is_applied, rows_learned
from orfit_bench.learners.permits import BUSY
from orfit_bench.learners.single_row import SingleRow
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Sizes


def steps_until_half(dtype: np.dtype[Any]) -> float:
    """The number of steps whose rounding errors cost half of the digits of a sum over them (docs/decisions/0004)."""
    return 256 / math.sqrt(np.finfo(dtype).eps)


class marked_if_interrupted:  # used as a context manager, which costs half of one made by contextlib
    """Mark a state whose kernel ends with an error or Ctrl-C: it may be half written, and is refused afterwards.

    A DivergedError does not mark it: the state is then that before the refused step.
    """

    __slots__ = ("_state",)

    def __init__(self, state: LearnerState) -> None:
        self._state = state

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and not issubclass(kind, DivergedError):
            self._state.interrupted = kind.__name__


@dataclass(frozen=True, eq=False, kw_only=True)
class Rule(Configuration):
    """How rows change a state: `init` makes a state, and `learn` changes it in place.

    A rule never changes, so that several states may share it.
    """

    def learn(
        self, state: LearnerState, X: Array, Y: Array, predict: bool = False, inputs: StepInputs | None = None
    ) -> Array | None:
        """Learn rows X (n, d) with Y (n, c), both on the backend, in steps of batch_size.

        With `predict`, return the prediction of each row before its step.
        """
        if X.shape[0]:
            self._validate(state, X, Y, "X")
        if self.batch_size > 1:
            return self._learn_batches(state, X, Y, predict)
        out = self.empty(Y.shape) if predict else None
        if X.shape[0]:
            self.advance(state, X, Y, 1, out, inputs)
        state.n_samples += X.shape[0]
        return out

    def _learn_batches(self, state: LearnerState, X: Array, Y: Array, predict: bool) -> Array | None:
        """Learn the complete batches of the pending rows and these; the remainder becomes pending."""
        waited, rows, B = state.pending.count, X.shape[0], self.batch_size
        if waited + rows < B:
            state.pending = state.pending.with_rows(X, Y)
            state.n_samples += rows
            return self.predict(state, X) if predict else None
        X, Y = state.pending.concatenate(X, Y)
        end = X.shape[0] // B * B
        out = self.empty(Y.shape) if predict else None
        self.advance(state, X[:end, ...], Y[:end, ...], B, None if out is None else out[:end, ...])
        state.pending = state.pending.without_rows().with_rows(X[end:, ...], Y[end:, ...])
        state.n_samples += rows
        if out is None:
            return None
        out[end:, ...] = self.predict(state, X[end:, ...])  # their step is the next one, so the weights will be these
        return out[waited:, ...]

    def step(self, state: LearnerState, A: Array, Y: Array, inputs: StepInputs | None = None) -> None:
        """Learn all rows of A as one step."""
        if not A.shape[0]:
            raise ValueError("A: got no rows, want at least one")
        if state.pending.count:  # there were none when the call began
            raise RuntimeError(BUSY)
        self._validate(state, A, Y, "A", is_step=True)
        self.advance(state, A, Y, A.shape[0], None, inputs, block=True)
        state.n_samples += A.shape[0]

    def _validate(self, state: LearnerState, X: Array, Y: Array, name: str, is_step: bool = False) -> None:
        """Let the method refuse rows. If some are not finite, that error comes first."""
        if validate := self.method.kernel.validate_rows:
            try:
                validate(self.settings, state.n_steps, X, Y, is_step, self.is_linear)
            except ValueError:
                validation.check_finite(X, name, state.feature_names)
                raise

    def flush(self, state: LearnerState) -> None:
        """Learn the pending rows as one shorter step."""
        X, Y = state.pending.concatenate()
        if X.shape[0]:
            self.advance(state, X, Y, X.shape[0], None, block=True)
        state.pending = state.pending.without_rows()

    def advance(
        self,
        state: LearnerState,
        X: Array,
        Y: Array,
        batch_size: int,
        out: Array | None,
        inputs: StepInputs | None = None,
        block: bool = False,
    ) -> None:
        """Learn X in steps of batch_size rows, len(X) a multiple of it; or all of X as one block."""
        layout, n = self.layout(state.sizes), X.shape[0]
        steps = n // batch_size
        gradients = batch_size * layout.sizes["gradients"]
        if layout.grows:
            state.arrays = layout.reserve(state.arrays, steps * gradients)
        with np.errstate(all="ignore"):  # kernels return False instead
            p = self.step_parameters(state, steps, batch_size, gradients, inputs)
            kernel = self.kernel_for(state.sizes, inputs, block or batch_size > 1)
            with marked_if_interrupted(state):
                if block:
                    learned = n if is_applied(kernel.step(state.arrays, X, Y, p), kernel.step) else 0
                else:
                    learned = rows_learned(kernel.learn(state.arrays, X, Y, p, out), kernel.learn)
        if learned < 0:
            validation.check_finite(X, "X", state.feature_names)
            raise TypeError(f"the kernel's learn returned {learned}, but all of X is finite")
        state.n_steps += learned // batch_size
        if learned < n:
            raise self.discard_refused_step(state, learned)

    def discard_refused_step(self, state: LearnerState, learned: int) -> DivergedError:
        """Discard the rows of the refused step, pending ones included, and return the error that names it."""
        waited = state.pending.count
        state.n_samples = max(0, state.n_samples + (learned - waited if learned else -state.pending.rows))
        state.pending = state.pending.without_rows()
        return self.divergence(state.n_steps + 1, max(0, learned - waited))

    def divergence(self, step: int, row: int, is_scaled: bool = False) -> DivergedError:
        """The error of a step that was not applied and began at this row of the call."""
        scale = "Check this row for outliers" if is_scaled else "Scale the data, as a pipeline can (standardize)"
        if not self.is_linear:
            scale = f"Check that {self.model.name} and its derivatives are finite for this row. {scale}"
        smaller = "use a smaller step_size, " if "step_size" in self.settings else ""
        others = [name for name in self.settings if name != "step_size"]
        change = f"or choose other settings ({', '.join(others)})" if others else "or choose another method"
        wider = "use dtype='float64', " if self.dtype == np.float32 else ""
        return DivergedError(
            f"{self.method.name} diverged at step {step}, row {row} of this call: the step would not be finite, or "
            f"would leave too few digits. It was not applied, and the state before it is kept. "
            f"{scale}, {wider}{smaller}{change}",
            step,
            row,
        )

    @ComputedOnce
    def longest_sum(self) -> float:
        """The number of steps after which half of the digits of a sum over the steps are lost; infinite if never."""
        warning, longest = self.method.state.warning, steps_until_half(self.dtype)
        return longest if warning and warning.summed_steps(self.settings) >= longest else math.inf

    def warn_of_lost_precision(self, state: LearnerState) -> None:
        """Warn once per state. It is called last, since a filter may turn the warning into an error."""
        warning = self.method.state.warning
        if warning and state.n_steps > self.longest_sum and hasattr(state.arrays, warning.field):
            getattr(state.arrays, warning.field)[...] = 1
        if state.notice:
            text, state.notice = state.notice, ""
            warn(f"{self.method.name}: {text}", AccuracyWarning)
        if warning and not state.has_warned and bool(getattr(state.arrays, warning.field, False)):
            state.has_warned = True
            warn(f"{self.method.name}: {warning.text}", AccuracyWarning)

    # ------------------------------------------------------------------ one row per call

    @ComputedOnce
    def _single_rows(self) -> dict[Sizes, SingleRow]:
        return {}

    def single_row(self, sizes: Sizes) -> SingleRow | None:
        """The short path for calls with one row; None if every row needs the general one."""
        if sizes not in self._single_rows:
            if not (self.on_host and self.batch_size == 1):
                return None
            if self.runs_user_code(None) and not self.network_kernel(sizes):
                return None
            self._single_rows[sizes] = SingleRow(self, sizes)
        return self._single_rows[sizes]

    def is_dynamic(self, sizes: Sizes) -> bool:
        """Whether the settings change the state between rows."""
        return False

    def moves_weights(self, sizes: Sizes) -> bool:
        """Whether the settings change the weights between rows, so that a prediction needs those after the change."""
        return False
