"""Pipelines from their steps, and from what was saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orfit_bench.errors import suggest
from orfit_bench.learners.learner import Learner
from orfit_bench.learners.pipelines.pipeline import Pipeline
from orfit_bench.learners.pipelines.position import Position
from orfit_bench.learners.pipelines.saved_values import check_keys
from orfit_bench.learners.pipelines.standardizer import Standardizer
from orfit_bench.learners.pipelines.transforms import TRANSFORMS, Intercept, Transform


def pipeline(*steps: str | Standardizer | Intercept | Learner) -> Pipeline:
    """Create a learner whose rows are transformed first, in one pass.

    Parameters
    ----------
    *steps : Standardizer, "standardize" or "intercept", and last a learner
        The transforms in order, each of which gets the rows that the one before returns; the last step is a learner
        that has seen no row, as `create` returns it.

    Returns
    -------
    Pipeline
        A pipeline that learns and predicts like the learner, from rows before the transforms.

    Raises
    ------
    TypeError
        If the last step is not a learner, or another is not a transform.
    ValueError
        If a name is unknown, the learner has seen rows, or a standardizer follows an intercept.

    Notes
    -----
    The moments of "standardize" change with every row, and weights are only meaningful together with the moments that
    were used. After ("standardize", "intercept"), the state of a linear method is therefore transformed to the present
    moments at the rows 1, 2, 4, 8, ... and at rows that are far out: predictions stay the same, and pipelines can be
    merged like their learners (exactly if the learners merge exactly). Other learners keep their weights, so that their
    predictions change with the moments; they learn each row with the moments of the rows up to and including it, and
    such pipelines cannot be merged. `docs/pipelines.md` says what is exact.

    `prequential` predicts each row from the rows before it and the row's own features.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> p = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy", ridge=1e-6))
    >>> p.partial_fit([[1e6], [2e6], [3e6], [4e6]], [10.0, 20.0, 30.0, 40.0]).n_features_in_
    1
    """
    if not steps or not isinstance(steps[-1], Learner):
        raise TypeError(f"pipeline: the last step is {steps[-1] if steps else None!r}, want a learner: ob.create(...)")
    if steps[-1].live_state is not None:
        raise ValueError("pipeline: the learner has seen rows already, which were not transformed: create a new one")
    transforms = tuple(_transform(step) for step in steps[:-1])
    _check_order(transforms)
    return Pipeline(transforms, steps[-1])


def _check_order(transforms: tuple[Transform, ...]) -> None:
    """Raise ValueError if a standardizer follows an intercept."""
    kinds = [type(t) for t in transforms]
    if Intercept in kinds and Standardizer in kinds[kinds.index(Intercept) :]:
        raise ValueError("pipeline: a standardizer behind the intercept would turn its ones into zeros: put it first")


def _transform(step: object) -> Transform:
    if isinstance(step, str):
        if step not in TRANSFORMS:
            raise ValueError(f"pipeline: no step {step!r}{suggest(step, TRANSFORMS)}")
        found: Transform = TRANSFORMS[step]()
        return found
    if not isinstance(step, (Standardizer, Intercept)):
        raise TypeError(f"pipeline: got {type(step).__name__}, want ob.Standardizer(), a name, or last a learner")
    return step


def pipeline_from_header(header: dict[str, Any], learner: Learner) -> Any:
    """The pipeline that a header describes, around its learner; ValueError if it is not such a header."""
    try:
        check_keys(header, {"steps", "n_features", "names"}, {"position"})
        transforms = tuple(TRANSFORMS[step["name"]].from_dict(step) for step in header["steps"])
        _check_order(transforms)
        position = Position.from_dict(header["position"]) if "position" in header else _guessed(transforms)
        _check_columns(header["n_features"], header["names"], transforms, position, learner)
        return Pipeline(transforms, learner, header["n_features"], header["names"], position)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ValueError(f"not the header of a pipeline ({type(error).__name__}: {error})") from error


def _check_columns(
    d: object, names: object, transforms: Sequence[Transform], position: Position, learner: Learner
) -> None:
    """Raise ValueError unless the transforms, the position and the learner of a saved pipeline have d columns."""
    if d is not None and (type(d) is not int or d < 1):
        raise ValueError(f"n_features is {d!r}, want null or an integer of at least 1")
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"names are {names!r}, want a list of strings")
    if names and (len(names) != d or len(set(names)) != d):
        raise ValueError(f"names are {names!r}, want {d} different ones")
    found = [("moments", t.mean) for t in transforms if isinstance(t, Standardizer)]
    found += [("center", at.center) for at in (position.current, position.prior) if at]
    for name, a in found:
        if a is not None and d is not None and len(a) != d:
            raise ValueError(f"{name}: got {len(a)} columns, want {d}")
    state, added = learner.live_state, sum(isinstance(t, Intercept) for t in transforms)
    if state is not None and d is not None and state.sizes.n_features != d + added:
        raise ValueError(f"the learner has {state.sizes.n_features} columns, want {d + added}, those after its steps")


def _guessed(transforms: tuple[Transform, ...]) -> Position:
    """The position of a pipeline that was saved before pipelines had one: its present moments."""
    first = transforms[0] if transforms else None
    if not isinstance(first, Standardizer) or not first.count:
        return Position()
    return Position(first.coordinates(), first.coordinates(), int(first.count))
