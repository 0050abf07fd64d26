"""Laws of methods that store a covariance: when they warn of lost precision, and when they refuse a row.

The criteria are those of docs/decisions/0004 and 0010, evaluated here for one row from the state before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.catalogue.laws.helpers import is_refused
from orfit_bench.spec import Array
from orfit_bench.spec.law import Measured, Rows, measure_claim

AT_REST = 1.0, 1.0
"""The largest accepted errors of a state without a transition."""
UNCERTAIN = 0.05
"""A criterion within this relative distance of its threshold can be rounded to either side."""


class Outcome(NamedTuple):
    """The required outcome of a row; `unsure` if rounding decides."""

    lost: bool
    refused: bool
    unsure: bool


Expected = Callable[[Array, Array], Outcome]
"""The expected outcome of the row x (d,), from the covariance P (d, d) before it."""


def expected_outcome(
    P: Array,
    x: Array,
    noise: float,
    ff: float | None = 1.0,
    left: float | None = None,
    most: tuple[float, float] | None = None,
) -> Outcome:
    """The outcome for a row observed with this noise and P, which is then divided by ff (None: not; P can overflow).

    `left` is a lower bound of the variance along x for the next row (default: the noise). `most` are the largest
    accepted relative errors by rounding and by cancellation (default: chosen by the noise).
    """
    info, wide, x = np.finfo(P.dtype), P.astype(np.longdouble), x.astype(np.longdouble)
    s = x @ wide @ x + noise
    size = np.sqrt(np.diagonal(wide))
    rounded, cancelled = info.eps * (abs(x) @ size) ** 2 / s, info.eps * s / (noise if left is None else left)
    max_rounding, max_cancellation = most or ((0.01, 0.01) if noise < 1 else (1.0, 1.0))
    highest = (np.diagonal(wide) - (wide @ x) ** 2 / s).max() / ff if ff else 0.0
    lost = [(rounded, info.eps**0.5), (cancelled, info.eps ** (1 / 3)), (size.max(), float(info.max) ** 0.25)]
    refused = [(rounded, max_rounding), (cancelled, max_cancellation), (highest, info.max / 4)]
    unsure = any(abs(value / limit - 1) < UNCERTAIN for value, limit in lost + refused)
    return Outcome(any(a > b for a, b in lost), any(a > b for a, b in refused), unsure)


def count_mismatches(learner: Any, stream: Iterable[Array], name: str, expected: Expected) -> int:
    """The number of rows with an unexpected or missing warning or refusal, up to the first row that is refused."""
    y: list[Any] = [1] if learner.method.traits.labels else [0.5]
    wrong, lost = 0, False
    for x in stream:
        want = expected(learner.partial_fit(x[None][:0], y[:0]).array(name), x)
        if is_refused(learner.partial_fit, x[None], y):
            return wrong + (not want.refused and not want.unsure)
        warned = float(learner.array("precision_lost")) == 1
        lost = warned if want.unsure else lost or want.lost
        wrong += (warned != lost) + (want.refused and not want.unsure)
    return wrong


AXIS, DIAGONAL = np.eye(3)[0], np.full(3, 3**-0.5)
LARGE = [2.0**k * AXIS for k in range(1, 31)]


def warns_on_precision_loss(create: Any, rows: Rows, name: str = "P", **more: Any) -> Measured:
    """The learner warns exactly when half of the digits of P are lost, and refuses exactly when too few are left."""
    blank = create(forgetting_factor=1.0, ridge=1.0, **more)
    info = np.finfo(blank.partial_fit(np.zeros((0, 3)), []).array(name).dtype)
    tiny, highest = 2.0 ** -(info.maxexp // 2 + 4) * AXIS, float(info.max) / 4
    scenes = [(ff, 1.0, [x]) for ff in (0.9, 1.0, 2.0) for x in LARGE]
    scenes += [(ff, 1 / (ff * highest * share), [tiny]) for ff in (0.5, 1.0) for share in (0.7, 0.9, 1.1, 1.3)]
    wrong = 0
    scenes += [(ff, 1 / P, [x]) for ff in (0.9, 1.0) for P, x in _wide_states(info)]
    for ff, ridge, stream in [*scenes, (0.5, 1.0, [DIAGONAL] * 60), (0.5, 1.0, [AXIS] * 1100)]:
        learner = create(forgetting_factor=ff, ridge=ridge, **more)
        wrong += count_mismatches(learner, stream, name, partial(expected_outcome, noise=ff, ff=ff))
    if blank.method.kernel.blocks:
        singular = np.array([AXIS, AXIS])  # singular up to rounding
        wrong += not is_refused(create(forgetting_factor=1.0, ridge=2.0**-90, **more).step, singular, [1, 1])
    return measure_claim(wrong, rows)


def _wide_states(info: Any) -> Iterator[tuple[float, Array]]:
    """Variances just below and above the square root of the largest number, and small rows that lose no digits."""
    for bits in (-2, 2):
        yield 2.0 ** (info.maxexp // 2 + bits), 2.0 ** (2 - info.maxexp // 4) * AXIS


def filter_warns_on_precision_loss(create: Any, rows: Rows) -> Measured:
    """The filter warns exactly when half of the digits of the covariance are lost, and refuses likewise.

    For a constant state, a state with process noise and a state with a transition.
    """

    def wrong_of(stream: list[Array], expected: Expected, **settings: Any) -> int:
        return count_mismatches(create(**settings), stream, "covariance", expected)

    info = np.finfo(create().dtype)
    wrong, eps = 0, float(info.eps)
    for P, x in _wide_states(info):
        wrong += wrong_of([x], partial(expected_outcome, noise=1.0, most=AT_REST), initial_covariance=P)
    for R in (eps**0.6, 0.5, 1.0):
        for x in LARGE:
            wrong += wrong_of([x], partial(expected_outcome, noise=R, most=AT_REST), observation_noise=R)
            for P in (1.0, 2.0**20, 2.0**40):
                shaken = {"observation_noise": R, "process_noise": 0.25, "initial_covariance": P}
                wrong += wrong_of([x, x], _StateWithNoise(R, 0.25), **shaken)
        wrong += sum(_misjudges_block(create(observation_noise=R), x, R) for x in LARGE)
        for stream in ([AXIS] * 600, [DIAGONAL] * 60):
            wrong += wrong_of(stream, _StateWithTransition(R, 1.9), observation_noise=R, transition=1.9)
    return measure_claim(wrong, rows)


def _misjudges_block(learner: Any, x: Array, noise: float) -> bool:
    """Whether the outcome of a block of two rows along two axes, each as informative as one row, is unexpected."""
    want = expected_outcome(np.eye(3, dtype=learner.dtype), x, noise, most=AT_REST)
    if is_refused(learner.step, np.array([x, np.roll(x, 1)]), [0.5, 0.5]):
        return not (want.refused or want.unsure)
    warned = float(learner.array("precision_lost")) == 1
    return not want.unsure and (want.refused or warned != want.lost)


class _StateWithNoise:
    """Expected outcomes for a state with process noise from the second step."""

    def __init__(self, R: float, Q: float) -> None:
        self.R, self.Q, self.first = R, Q, True

    def __call__(self, P: Array, x: Array) -> Outcome:
        P = P if self.first else P + self.Q * np.eye(len(P), dtype=P.dtype)
        self.first = False
        return expected_outcome(P, x, self.R, left=self.R + self.Q * float(x @ x), most=AT_REST)


class _StateWithTransition:
    """Expected outcomes for a state that is multiplied by F from the second step."""

    def __init__(self, R: float, F: float) -> None:
        self.R, self.F, self.first = R, F, True

    def __call__(self, P: Array, x: Array) -> Outcome:
        with np.errstate(over="ignore"):
            P = P if self.first else P * P.dtype.type(self.F**2)
        self.first = False
        if not np.isfinite(P).all():
            return Outcome(False, True, False)
        return expected_outcome(P, x, self.R, ff=None, most=(0.01, np.inf))
