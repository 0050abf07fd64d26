"""Learners from saved states."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from orfit_bench.learners.arguments import as_model
from orfit_bench.learners.factory import AnyLearner, create, learner_of
from orfit_bench.learners.fleets import serialization as fleet_format
from orfit_bench.learners.fleets.factory import fleet_from_header
from orfit_bench.learners.pipelines import storage
from orfit_bench.learners.pipelines.factory import pipeline_from_header
from orfit_bench.learners.rule import Rule
from orfit_bench.models import model_named
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Model, Transition
from orfit_bench.spec.model import as_transition
from orfit_bench.state import binary, dataset, files, header, serialization

if TYPE_CHECKING:
    import xarray

MOST_RULES = 64
_rules: dict[tuple[Any, ...], tuple[Rule, Any]] = {}
"""The rules of the bytes read last, with their headers; learners with the same rule share it."""


class Replaced(NamedTuple):
    """What the user passes in addition to a saved state: another backend, and functions, which no state contains."""

    backend: str | None = None
    model: Model | None = None
    transition: object = None

    @property
    def has_functions(self) -> bool:
        """Whether a model or a transition is given."""
        return self.model is not None or self.transition is not None


def restore(
    state: xarray.Dataset,
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> AnyLearner:
    """Make a learner that continues from a state, on the same backend or another.

    Parameters
    ----------
    state : xarray.Dataset
        The result of `learner.state()`.
    backend : str, optional
        Backend to continue on. Default: that of the state.
    model : Model, optional
        The model, if it is one of your own, since a state contains no functions.
    transition : Transition or pair of functions, optional
        The nonlinear transition of a filter that has one.

    Returns
    -------
    Regressor, Classifier, Filter, Subspace, Pipeline or fleet
        A learner in this state.

    Raises
    ------
    ValueError
        If the state is incomplete, or belongs to another model or transition.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> learner = ob.create("lms", backend="numpy").partial_fit([[1.0]], [2.0])
    >>> ob.restore(learner.state()).n_samples_seen_
    1
    """
    learner = _from_header(*dataset.from_dataset(state), "state", Replaced(backend, model, transition))
    if not state.attrs.get("pipeline"):
        return learner
    with _located("state"):
        found: AnyLearner = pipeline_from_header(dataset.attribute(state, "pipeline"), learner)
        return found


def load(
    path: str | os.PathLike[str],
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> AnyLearner:
    """Make a learner that continues from a file that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        The file that `save` wrote.
    backend, model, transition
        As in `restore`.

    Returns
    -------
    Regressor, Classifier, Filter, Subspace, Pipeline or fleet
        A learner in the saved state.

    Raises
    ------
    ValueError
        If the file is damaged or not a state; the message names it.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import orfit_bench as ob
    >>> path = Path(tempfile.mkdtemp(), "learner.npz")
    >>> ob.create("lms", backend="numpy", step_size=0.5).partial_fit([[1.0]], [2.0]).save(path)
    >>> ob.load(path).partial_fit([[1.0]], [2.0]).predict([[1.0]])
    array([1.5])
    """
    replaced = Replaced(backend, model, transition)
    with open(os.fspath(path), "rb") as file:  # a number would be a file descriptor
        if storage.is_pipeline(file.read(8)):
            return _from_pipeline(Path(path).read_bytes(), str(path), replaced)
    return _from_header(*files.read(path), str(path), replaced)


def from_bytes(
    data: bytes | bytearray | memoryview,
    *,
    backend: str | None = None,
    model: Model | None = None,
    transition: Transition | tuple[Any, Any] | None = None,
) -> AnyLearner:
    """Make a learner that continues from bytes that `to_bytes` returned.

    Parameters
    ----------
    data : bytes-like
        The result of `learner.to_bytes()`.
    backend, model, transition
        As in `restore`.

    Returns
    -------
    Regressor, Classifier, Filter, Subspace, Pipeline or fleet
        A learner in this state.

    Raises
    ------
    TypeError
        If data is not bytes-like.
    ValueError
        If the bytes are damaged, cut, extended, of another version or not a learner's.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> learner = ob.create("rls", backend="numpy").partial_fit([[1.0]], [2.0])
    >>> ob.from_bytes(learner.to_bytes()).predict([[1.0]])
    array([1.])
    """
    replaced = Replaced(backend, model, transition)
    if not isinstance(data, (bytes, bytearray)):
        with suppress(TypeError):  # an error below names its type
            data = bytes(memoryview(data))
    if storage.is_pipeline(data):
        return _from_pipeline(data, "from_bytes", replaced)
    return _from_decoded(binary.decode(data), "from_bytes", replaced)


RULE = {"format", "spec_version", "method", "settings", "backend", "dtype", "random_state", "model"}
"""The keys of a header that decide which rule the learner has."""


def _from_decoded(found: binary.Decoded, where: str, replaced: Replaced) -> AnyLearner:
    """A learner or fleet from its decoded bytes; learners with the same rule share it."""
    is_fleet, of_rule = fleet_format.KEY in found.of_state, set(found.header_of_rule)
    if not is_fleet and (twice := of_rule.intersection(found.of_state) or RULE.intersection(found.of_state)):
        raise ValueError(f"{where}: {min(twice)!r} is in the part of the header that changes while a learner learns")
    if replaced.has_functions or is_fleet:
        return _from_header(found.header_of_rule | found.of_state, found.arrays, where, replaced)
    key = (replaced.backend, found.of_rule, *_bytes_of_rule(found.arrays))
    rule, head = _rules.get(key, (None, {}))
    if rule is None or not _is_registered(rule):
        head = found.header_of_rule
        learner = _from_header(head | found.of_state, found.arrays, where, replaced)
        if len(_rules) >= MOST_RULES:
            del _rules[next(iter(_rules))]
        _rules[key] = learner.rule, head
        return learner
    with _located(where):
        return learner_of(rule, serialization.state_from_header(rule, head | found.of_state, found.arrays))


def _from_pipeline(data: bytes | bytearray | memoryview, where: str, replaced: Replaced) -> AnyLearner:
    """A pipeline from its bytes."""
    with _located(where):
        steps, inner = storage.decode(data)
        decoded = binary.decode(inner)
    learner = _from_decoded(decoded, where, replaced)
    with _located(where):
        found: AnyLearner = pipeline_from_header(steps, learner)
        return found


def _is_registered(rule: Rule) -> bool:
    """Whether the plugins still supply the method, the backend and the kernel of a rule."""
    known, method, backend = registry(), rule.method, rule.backend
    if known.methods.get(method.name) is not method or known.backends.get(backend.name) is not backend:
        return False
    supplied = known.kernels.get((backend.name, method.name))
    return supplied is rule.kernel or supplied == getattr(rule.kernel, "__name__", None)


def _bytes_of_rule(arrays: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The arrays that belong to the rule of a learner, by name."""
    for name, a in arrays.items():
        if name == "initial_weights" or name.startswith(serialization.SETTING):
            yield f"{name} {a.shape}", a.tobytes()


@contextmanager
def _located(where: str) -> Iterator[None]:
    """Add to errors where the state came from."""
    try:
        yield
    except KeyError as error:
        raise ValueError(f"{where}: the header lacks {error}, which format {header.FORMAT} has") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from error


def _from_header(head: dict[str, Any], arrays: dict[str, Any], where: str, replaced: Replaced) -> AnyLearner:
    """A learner or fleet from a header and arrays."""
    header.check_header(head, where)
    if fleet_format.KEY in head:
        if replaced.has_functions:
            raise ValueError(f"{where}: it is the state of a fleet, which has no model or transition function")
        with _located(where):
            _ensure_declared(head["method"])
            return cast(AnyLearner, fleet_from_header(head, arrays, replaced.backend))  # types name learners only
    model = as_model(replaced.model or model_named(head.get("model")) or LINEAR)
    if model.name != (wanted := head.get("model")):
        remedy = "leave model= out" if wanted == LINEAR.name else "pass model="
        raise ValueError(f"{where}: the state belongs to the model {wanted!r}, got {model.name!r}: {remedy}")
    with _located(where):
        _ensure_declared(head["method"])
        blank = create(
            head["method"],
            backend=replaced.backend or head["backend"],
            dtype=head["dtype"],
            random_state=head["random_state"],
            model=model,
            initial_weights=arrays.get("initial_weights"),
            **_settings(head["settings"], arrays, replaced.transition),
        )
        _ensure_all_settings(head, arrays)
        return learner_of(blank.rule, serialization.state_from_header(blank.rule, head, arrays))


def _ensure_declared(method: object) -> None:
    """Raise ValueError for a method that no plugin declares: the one that declared it may not be installed here."""
    try:
        registry().methods.find(method)  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{error} If a plugin declares it, install or register that plugin first.") from None


def _ensure_all_settings(head: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Raise ValueError if a state of the present format lacks a setting, which would then have its default."""
    settings = registry().methods[head["method"]].settings
    needed = {s.name for s in settings if not s.added} if head["format"] == header.FORMAT else set()
    if missing := sorted(name for name in needed - set(head["settings"]) if serialization.SETTING + name not in arrays):
        raise ValueError(f"state: the setting {missing[0]!r} is missing")


def _settings(plain: dict[str, Any], arrays: dict[str, Any], transition: object) -> dict[str, Any]:
    """The settings of a state: plain values, arrays, and a function that the user passes again."""
    start, transition = len(serialization.SETTING), as_transition(transition)
    given = plain | {name[start:]: a for name, a in arrays.items() if name.startswith(serialization.SETTING)}
    saved = given.get("transition")
    got = transition.name if isinstance(transition, Transition) else None if transition is None else "a matrix"
    if isinstance(saved, dict):
        wanted = saved.get("transition")
        if not isinstance(transition, Transition) or got != wanted:
            raise ValueError(f"the transition is the function {wanted!r}, got {got!r}: pass transition=")
        given["transition"] = transition
    elif transition is not None:
        raise ValueError(f"transition: got {got!r}, but the state has its own or none: omit it")
    return given
