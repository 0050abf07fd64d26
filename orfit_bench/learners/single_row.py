"""Learning and prediction of one row per call: everything that does not change between calls is computed once."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from orfit_bench.learners.bound_rows import bind, is_safe_integer
from orfit_bench.spec.backend import Array
from orfit_bench.state.state import LearnerState, Sizes
from orfit_bench.tables.integers import largest_safe

if TYPE_CHECKING:
    from orfit_bench.learners.rule import Rule


class SingleRow:
    """Learns single rows in states of the same sizes, with the same result as `Rule.learn`.

    It accepts NumPy arrays of the learner's dtype with finite numbers only. All other input takes the general path,
    which converts or refuses it. `Rule.single_row` returns None for rules without this path.
    """

    def __init__(self, rule: Rule, sizes: Sizes) -> None:
        self.sizes = sizes
        self._rule, self._layout, self._dtype = rule, rule.layout(sizes), rule.dtype
        self._kernel = rule.kernel_for(sizes, None)
        self._n_features, self._n_outputs, self._y_is_1d = sizes
        self._largest, self._safe = float(np.finfo(rule.dtype).max), largest_safe(rule.dtype)
        self._validate, self._checks_x = rule.method.kernel.validate_rows, not rule.kernel_checks_rows
        self._gradients = self._layout.sizes["gradients"]
        self._is_dynamic = rule.is_dynamic(sizes)
        warning = rule.method.state.warning.field if rule.method.state.warning else ""
        self._warning_field = warning if any(f.name == warning for f in self._layout.fields) else ""
        p = rule.constant_parameters(sizes)
        self._is_constant, self._p = p is not None, p
        self._can_bind = hasattr(self._kernel, self._name_of_function())
        self._x_shape = (self._n_features,)
        fields = rule.method.state
        self._is_linear = rule.is_linear
        self._predict: Callable[[Array, Array], Array] = (
            (lambda w, X: X @ w) if rule.is_linear else rule.model_for(sizes).predict
        )
        self._predicts = not (rule.moves_weights(sizes) or fields.predict) and self._dtype.kind == "f"
        self._solves, choose, settings = bool(fields.solution), fields.prediction_weights, rule.settings
        self._find_weights: Callable[[Any], Array] = (
            (lambda s: choose(s, settings)) if choose else attrgetter(fields.weights)
        )
        if p is not None:
            t = p._fields.index("t")
            self._parameter_type, self._before_t, self._after_t = type(p), p[:t], p[t + 1 :]

    def _name_of_function(self) -> str:
        """The name of the kernel's function that learns such rows; empty for rows with several targets."""
        if self._rule.method.traits.labels:
            return "bind_label"
        if self._y_is_1d:
            return "bind_row"
        return "" if self._n_outputs else "bind_sample"

    def bind(self, state: LearnerState) -> None:
        """After rows were learned, let the kernel prepare further ones, if it can."""
        if self._can_bind:
            self._can_bind = bind(self._rule, state, self._p)

    def learn_number(self, state: LearnerState | None, x: object, y: object) -> bool:
        """Learn x (d,) with y, a number or (c,). Return False if the general path has to learn it."""
        if self._y_is_1d:
            if not isinstance(y, (float, np.floating)) and not is_safe_integer(y, self._safe):
                return self._dtype.kind == "c" and self._learn_complex(state, x, y)
            number = float(y)  # type: ignore[arg-type]  # of a number
            if not -self._largest <= number <= self._largest:
                return False
            return self._learn(state, x, np.array([[number]], self._dtype))
        if type(y) is not np.ndarray or y.shape != (self._n_outputs,) or y.dtype != self._dtype:
            return False
        return math.isfinite(np.vdot(y, y).real) and self._learn(state, x, np.ascontiguousarray(y[None]))

    def _learn_complex(self, state: LearnerState | None, x: object, y: object) -> bool:
        """Learn x (d,) with one complex number. Return False if the general path has to learn it."""
        if not isinstance(y, (complex, np.complexfloating)):
            return False
        number = complex(y)
        if not (abs(number.real) <= self._largest and abs(number.imag) <= self._largest):  # refuses NaN too
            return False
        return self._learn(state, x, np.array([[number]], self._dtype))

    def learn_label(self, state: LearnerState | None, x: object, y: object) -> bool:
        """Learn x (d,) with a label that is known. Return False if the general path has to learn it."""
        label = y.item() if isinstance(y, np.generic) else y
        if state is None or state.sizes != self.sizes:
            return False
        if type(label) is not type(next(iter(state.classes), None)) or label not in state.classes:
            return False
        Y = np.zeros((1, self._n_outputs), self._dtype)
        Y[0, state.classes.index(label)] = 1
        return self._learn(state, x, Y)

    def learn_row(self, state: LearnerState | None, x: object) -> bool:
        """Learn x (d,), which has no target. Return False if the general path has to learn it."""
        return self._learn(state, x, np.empty((1, 0), self._dtype))

    def predict_number(self, state: LearnerState | None, x: object) -> Any:
        """The prediction for x (d,), a scalar of NumPy; None if the general path has to find it or refuse x."""
        if not self._is_linear:
            outputs = self.predict_outputs(state, x) if self._y_is_1d else None
            return None if outputs is None else outputs[0, 0]
        if (
            not (self._predicts and self._y_is_1d)
            or type(x) is not np.ndarray
            or state is None
            or state.interrupted
            or state.sizes != self.sizes
            or x.shape != self._x_shape
            or x.dtype is not self._dtype
            or not x.flags.c_contiguous  # sums of other rows are in another order
        ):
            return None
        if self._solves:
            solved = state.solved  # not by the property `solved_weights`, which would take a tenth of the time
            if solved is None or solved[0] != state.n_steps:
                return None
            w = solved[1]
        else:
            w = self._find_weights(state.arrays)
        prediction = np.vdot(x, w)  # which does not warn of overflow: a prediction may be infinite
        return prediction if math.isfinite(prediction) else None

    def predict_outputs(self, state: LearnerState | None, x: object) -> Array | None:
        """The predictions (1, c) for x (d,); None if the general path has to find them or refuse x."""
        X = self.as_rows(state, x) if self._predicts else None
        if X is None or state is None:
            return None
        w = state.solved_weights if self._solves else self._find_weights(state.arrays)
        if w is None:
            return None
        with np.errstate(all="ignore"):  # a prediction may be infinite
            return self._predict(w, X)

    def as_rows(self, state: LearnerState | None, x: object, check: bool = True) -> Array | None:
        """Return x (d,) as rows (1, d), finite with `check`; None if the general path has to be taken."""
        if (
            type(x) is not np.ndarray
            or state is None
            or state.interrupted
            or state.sizes != self.sizes
            or x.shape != self._x_shape
            or x.dtype != self._dtype
            or not x.flags.c_contiguous
            or (check and not math.isfinite(np.vdot(x, x).real))
        ):
            return None
        return x[None]

    def _learn(self, state: LearnerState | None, x: object, Y: Array) -> bool:
        """Learn x (d,) with its targets Y (1, c) by the kernel; False if the general path has to learn it."""
        X = self.as_rows(state, x, self._checks_x)
        if X is None or state is None:
            return False
        try:
            permit = state.permit
            del permit[0]
        except IndexError:  # another thread learns, or the learner has another state now
            return False
        try:
            rule, t = self._rule, state.n_steps + 1
            if state.permit is not permit:
                return False
            if self._validate:
                try:
                    self._validate(rule.settings, state.n_steps, X, Y, False, rule.is_linear)
                except ValueError:  # the general path tells whether the row is finite
                    return False
            if self._layout.grows:
                state.arrays = self._layout.reserve(state.arrays, self._gradients)
            begun = False
            try:
                with np.errstate(all="ignore"):  # kernels report overflow by their result
                    if self._is_constant:
                        p = tuple.__new__(self._parameter_type, (*self._before_t, t, *self._after_t))
                    else:
                        p = rule.step_parameters(state, 1, 1, self._gradients, None)
                    begun = True
                    learned = int(self._kernel.learn(state.arrays, X, Y, p, None))
                if learned > 0:
                    state.n_steps = t
                    state.n_samples += 1
                    if self._is_dynamic and t > 1:
                        state.arrays.moved[...] = 1
            except BaseException as error:
                if begun:
                    state.interrupted = type(error).__name__
                raise
        finally:
            permit.append(None)
        if learned < 0:  # the kernel found that x is not finite
            return False
        if not learned:
            diverged = rule.discard_refused_step(state, 0)
            rule.warn_of_lost_precision(state)
            raise diverged
        if (
            self._warning_field
            and not state.has_warned
            and (getattr(state.arrays, self._warning_field) or t > rule.longest_sum)
        ):
            rule.warn_of_lost_precision(state)
        if self._can_bind:
            self._can_bind = bind(rule, state, self._p)
        return True
