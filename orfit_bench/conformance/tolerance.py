"""The largest deviation between two correct implementations.

Every bound comes from `spec.bound`: a random walk of n roundings of size eps, amplified by the condition number of the
problem. The condition number is measured, for any method, by its definition: perturb every input number of the kernel
by a tiny relative amount, and observe how much more the state changes. A backward stable kernel returns the exact
result for numbers within a few eps of its input, and therefore stays within the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.conformance.comparison import comparable_state, max_deviation
from orfit_bench.conformance.inspection import with_kernel
from orfit_bench.conformance.rows import Chunk
from orfit_bench.errors import DivergedError
from orfit_bench.spec import LINEAR, bound

if TYPE_CHECKING:
    from orfit_bench.conformance.context import CheckContext

Array = NDArray[Any]
LearnFunction = Callable[["CheckContext", Any, Chunk], Any]
"""Lets a learner learn the rows, and returns an array to compare in addition to its state."""
N_LARGE, N_SMALL = 2, 5
"""Number of perturbations of each size: a single one can miss the sensitive direction or one side of a cut-off."""
N_MORE = 16
"""Number of additional perturbations if a deviation exceeds the bound of the first ones."""
N_RESULTS = 2
"""Two results are compared, each of which may differ from the exact result by the bound."""
ROUNDINGS_PER_ROW = 8
"""Operations of a step on single numbers, in addition to those for each feature: error, gain, weight, settings."""


def learn_rows(context: CheckContext, learner: Any, chunk: Chunk) -> Array | None:
    """Learn the rows, and return the prediction before each step."""
    return context.learn(learner, chunk)


def tolerance(
    context: CheckContext, chunk: Chunk, found: float = float("inf"), learn: LearnFunction = learn_rows
) -> float:
    """The bound on the deviation after these rows. The condition number is measured only as precisely as needed."""
    n = chunk.X.size + ROUNDINGS_PER_ROW * max(1, len(chunk.X))
    limit = N_RESULTS * bound(context.dtype, n, 1.0, 1)
    for condition in conditions(context, chunk, learn) if found > limit else ():
        limit = N_RESULTS * bound(context.dtype, n, condition, 1)
        if found <= limit:
            break
    return limit


def perturbation_size(dtype: str) -> float:
    """A tiny relative change: far above rounding, and far below sqrt(eps), where rows begin to count as dependent."""
    return float(np.finfo(dtype).eps ** 0.7)


def few_ulps(dtype: str) -> float:
    """The relative change caused by a few roundings."""
    return 8 * float(np.finfo(dtype).eps)


def conditions(context: CheckContext, chunk: Chunk, learn: LearnFunction = learn_rows) -> Iterator[float]:
    """The factor by which a relative change of the kernel's input is amplified in the state and the predictions.

    It is the larger of two factors: for changes far above rounding, which is the condition of the problem, and for
    changes of a few ulps, which the algorithm of the reference can amplify more (the square, for a covariance without
    noise). The second is omitted if there is no reference, since it would be measured on the code under test.

    Yields the factor for a few perturbations, then after each additional one.
    """
    reference = context.reference
    large, small = perturbation_size(context.dtype), few_ulps(context.dtype)
    sizes = [large] * N_LARGE + [small] * (N_SMALL if reference is not context else 0)
    random = np.random.default_rng([context.seed, *chunk.X.shape])

    def outcome(size: float) -> tuple[dict[str, Array], dict[str, Array]]:
        learner = perturbed(reference, size, random)
        predictions = learn(reference, learner, chunk)
        return comparable_state(learner), comparable_state(predictions)

    def amplification(size: float) -> float:
        return max(map(_change, plain, outcome(size))) / size

    try:
        plain = outcome(0.0)
        largest = max(1.0, *map(amplification, sizes))
        yield largest
        for i in range(N_MORE):
            largest = max(largest, amplification(sizes[-1] if i % 2 else sizes[0]))
            yield largest
    except DivergedError:
        yield float("inf")


def _change(a: dict[str, Array], b: dict[str, Array]) -> float:
    change, _ = max_deviation(a, b)
    return change if change < 1 else float("inf")  # chaotic: it would not grow further with the perturbation


def perturbed(context: CheckContext, size: float, random: np.random.Generator) -> Any:
    """A new learner whose kernel receives every number with a relative change of at most `size`."""

    def perturb(a: Any) -> Any:
        return a * context.backend.asarray((1 + size * random.uniform(-1, 1, tuple(a.shape))).astype(context.dtype))

    learner = context.create(**_perturbed_model(context, perturb))
    return with_kernel(learner, lambda kernel: PerturbedKernel(kernel, perturb))


def _perturbed_model(context: CheckContext, perturb: Callable[[Any], Any]) -> dict[str, Any]:
    """The model with perturbed weights in its predictions, which matter even before the first row."""
    model = context.variant.model
    if model is LINEAR:
        return {}
    name = f"perturbed {model.name}"  # the name of an MLP belongs to its own functions
    return {"model": replace(model, name=name, predict=lambda w, X: model.predict(perturb(w), X))}


class PerturbedKernel:
    """A kernel that receives perturbed rows, gradients, errors, inputs of layers and equations."""

    def __init__(self, kernel: Any, perturb: Callable[[Any], Any]) -> None:
        self._kernel, self._perturb = kernel, perturb

    def __getattr__(self, name: str) -> Any:
        if name == "for_network":  # networks then use `update`, which gets perturbed numbers
            raise AttributeError(name)
        function = getattr(self._kernel, name)
        if name == "solve":  # its inputs are the fields
            return lambda s: function(type(s)(*map(self._argument, s)))
        if name not in ("learn", "step", "update", "slopes", "move", "store"):
            return function
        return lambda s, *given: function(s, *map(self._argument, given[:3]), *given[3:])

    def _argument(self, given: Any) -> Any:
        if hasattr(given, "dtype"):
            return self._perturb(given)
        if layers := getattr(given, "inputs", None):
            return given._replace(inputs=tuple(map(self._perturb, layers)))
        return given
