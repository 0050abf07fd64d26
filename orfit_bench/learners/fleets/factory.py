"""Creation of fleets: by the name of a method, from learners, from saved states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from orfit_bench.errors import UnavailableError
from orfit_bench.learners.arguments import dtype_name
from orfit_bench.learners.automatic import AUTO, COMPILED, choose_backend
from orfit_bench.learners.factory import RANDOM_STATE, create
from orfit_bench.learners.fleets import serialization
from orfit_bench.learners.fleets.classifier import ClassifierFleet
from orfit_bench.learners.fleets.fleet import Fleet
from orfit_bench.learners.fleets.member_settings import check_values, is_several, refuse_members, split
from orfit_bench.learners.fleets.members import SEED, Members
from orfit_bench.learners.fleets.regressor import RegressorFleet
from orfit_bench.learners.fleets.stacking import learners_of, stacked
from orfit_bench.learners.fleets.state import FleetState
from orfit_bench.learners.fleets.subspace import SubspaceFleet
from orfit_bench.learners.learner import Learner
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import REFERENCE, Transition
from orfit_bench.spec.capability import fleet_absence, require_fleets
from orfit_bench.spec.types import Integer


def fleet(
    method: str,
    N: int,
    *,
    backend: str = AUTO,
    dtype: DTypeLike = "float64",
    random_state: int | ArrayLike = 0,
    initial_weights: ArrayLike | None = None,
    **settings: object,
) -> Any:
    """Create a fleet: N independent learners of one method, on the linear model, that learn in one call.

    Parameters
    ----------
    method : str
        Name of the method.
    N : int
        Number of members, at least 1.
    backend : str, default "auto"
        "numpy", "numba", "cupy" or a plugin's; "auto" as in `create`.
    dtype : {"float64", "float32"}, default "float64"
        Dtype of the states.
    random_state : int, or array_like of int, shape (N,), default 0
        Seed of the random draws: one for all members, or one for each.
    initial_weights : array_like, shape (p,) or (p, c), optional
        Weights of every member before its first row. Default: zeros.
    **settings
        Settings of the method. A list, tuple or array of length N holds a value for each member; integers and choices
        must be the same for all.

    Returns
    -------
    Fleet
        A fleet with `partial_fit`, `prequential` and `predict` (or `transform`), for rows with a leading axis of N.

    Raises
    ------
    TypeError, ValueError
        As in `create`, or if a setting cannot differ between members.
    UnavailableError
        If the backend has no kernel for fleets of this method, with the reason.

    Examples
    --------
    >>> import numpy as np
    >>> import orfit_bench as ob
    >>> fleet = ob.fleet("lms", 3, backend="numpy", step_size=[0.1, 0.2, 0.5])
    >>> fleet.partial_fit(np.ones((3, 1, 1)), np.ones((3, 1))).predict(np.ones((3, 1, 1)))[:, 0]
    array([0.1, 0.2, 0.5])
    >>> fleet[2].predict([[1.0]])
    array([0.5])
    """
    try:
        size = Integer(1).check(N)
    except (TypeError, ValueError) as error:
        raise type(error)(f"N={N!r}: {error}, the number of members") from None
    shared, varying = split(method, size, {**settings, SEED: random_state})
    return _create_fleet(_members(method, size, backend, dtype, initial_weights, shared, varying))


def stack(learners: Iterable[Learner]) -> Any:
    """Make a fleet of copies of learners.

    Parameters
    ----------
    learners : iterable of learners
        Learners of the same method, backend, dtype and sizes, on the linear model, without pending rows. Their settings
        can differ like those of members in `fleet`.

    Returns
    -------
    Fleet
        Its members are in the order of the learners.

    Raises
    ------
    TypeError
        If one of them is not a learner.
    ValueError
        If they do not fit together, or there are none.
    UnavailableError
        If their backend has no kernel for fleets of the method.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> learners = [ob.create("lms", backend="numpy", step_size=s) for s in (0.1, 0.2)]
    >>> len(ob.stack(learners))
    2
    """
    found = learners_of(learners, "stack")
    if not found:
        raise ValueError("stack: got no learners, want at least one")
    rule = found[0].rule
    require_fleets(rule.kernel, rule.method, rule.backend)
    return _create_fleet(*stacked(found))


def fleet_from_header(head: Mapping[str, Any], arrays: dict[str, Any], backend: str | None) -> Any:
    """The fleet that a header and arrays describe."""
    size = Integer(1).check(head[serialization.KEY])
    varying = {name: list(values) for name, values in head["varying"].items()}
    if wrong := [name for name, values in varying.items() if len(values) != size]:
        raise ValueError(f"state: {wrong[0]} has {len(varying[wrong[0]])} values for {size} members")
    shared = {**head["settings"], SEED: head[SEED]}
    chosen = (backend or head["backend"], head["dtype"], arrays.get("initial_weights"))
    members = _members(head["method"], size, *chosen, shared, varying)
    return _create_fleet(members, serialization.state_from_header(members, dict(head), arrays))


def _create_fleet(members: Members, state: FleetState | None = None) -> Fleet:
    """The fleet of these members; UnavailableError or ValueError if they cannot form one."""
    rule = members.shared
    require_fleets(rule.kernel, rule.method, rule.backend)
    if rule.dtype.kind == "c":
        raise UnavailableError("fleets learn real numbers only: use single learners for complex ones")
    if not rule.is_linear:
        raise ValueError(f"fleet: its learners fit the linear model only, got {rule.model.name!r}")
    if any(isinstance(v, Transition) for i in range(members.size) for v in _transitions(members, i)):
        raise ValueError("fleet: a transition function is for single filters: pass numbers or matrices")
    if rule.method.traits.labels:
        return ClassifierFleet(members, state)
    return (RegressorFleet if rule.method.traits.supervised else SubspaceFleet)(members, state)


def _transitions(members: Members, i: int) -> Iterable[Any]:
    """The transition of member i, if it has such a setting of its own or is the first."""
    if "transition" in members.varying or i == 0:
        yield members.settings(i).get("transition")


def _members(
    method: str,
    size: int,
    backend: str,
    dtype: DTypeLike,
    weights: ArrayLike | None,
    shared: Mapping[str, Any],
    varying: dict[str, list[Any]],
) -> Members:
    """The members, with their settings checked as by `create`."""
    found = registry().methods.find(method)
    if backend == AUTO:
        backend = choose_backend(found, ["float32"] if dtype_name(dtype) == "float32" else [], {})
        if backend == COMPILED and fleet_absence(registry().kernel(backend, found.name), found):
            backend = REFERENCE
    chosen = registry().backends.find(backend)
    if found.state.layered:  # before `create`, which would ask for a model
        require_fleets(registry().kernel(backend, found.name), found, chosen)
    first = {name: values[0] for name, values in varying.items()}
    try:
        one = create(found.name, backend=backend, dtype=dtype, initial_weights=weights, **{**shared, **first})
    except (TypeError, ValueError) as error:
        if lists := [name for name, value in shared.items() if is_several(value)]:
            error.add_note(f"values for each member of this fleet have length {size}, but not {', '.join(lists)}")
            if wrong := [name for name in lists if f"{name}=" in str(error)]:
                error.args = (f"{error}; got {len(shared[wrong[0]])} values for {size} members",)
        raise
    known = {s.name: s for s in (*found.settings, RANDOM_STATE)}
    checked = check_values(found, known, varying)
    refuse_members(one.rule, known, size, checked)
    return Members(one.rule, size, checked)
