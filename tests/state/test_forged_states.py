"""Saved states that were changed on purpose, with valid checksums, are refused and change nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.learners.pipelines import storage
from orfit_bench.state import binary

ROWS, TARGETS = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 1.0]]), np.array([1.0, 2.0, 0.5])


def trained(method: str = "rls", **settings: Any) -> Any:
    return ob.create(method, backend="numpy", **settings).partial_fit(ROWS, TARGETS)


@pytest.mark.parametrize(
    "changes", [{"settings": {"forgetting_factor": 0.5}}, {"method": "lms"}, {"dtype": "float32"}, {"format": 3}]
)
def test_the_part_of_a_state_cannot_replace_that_of_its_rule(changes: dict[str, Any]) -> None:
    learner = trained(forgetting_factor=0.99)
    data = learner.to_bytes()
    found = binary.decode(data)
    with pytest.raises(ValueError, match="is in the part of the header that changes while a learner learns"):
        ob.from_bytes(binary.pack(found.of_rule, {**found.of_state, **changes}, found.arrays))
    without = json.dumps({k: v for k, v in found.header_of_rule.items() if k not in changes}).encode()
    with pytest.raises(ValueError, match=r"is in the part of the header|reads formats"):
        ob.from_bytes(binary.pack(without, {**found.of_state, **changes}, found.arrays))
    assert ob.from_bytes(data).settings == learner.settings


@pytest.mark.parametrize(
    ("method", "settings", "name"),
    [
        ("kalman", {"transition": 0.5 * np.eye(2)}, "transition"),
        ("rls", {"forgetting_factor": 0.9}, "forgetting_factor"),
    ],
)
def test_a_missing_setting_is_no_default(method: str, settings: dict[str, Any], name: str) -> None:
    state = trained(method, **settings).state()
    if f"setting_{name}" in state:
        state = state.drop_vars(f"setting_{name}")
    head = json.loads(state.attrs["orfit_bench"])
    head["settings"].pop(name, None)
    state.attrs["orfit_bench"] = json.dumps(head)
    with pytest.raises(ValueError, match=f"'(setting_)?{name}' is missing"):
        ob.restore(state)


def test_missing_initial_weights_are_noticed() -> None:
    state = trained("lms", initial_weights=[1.0, 2.0]).state()
    with pytest.raises(ValueError, match="the array 'initial_weights' is missing"):
        ob.restore(state.drop_vars("initial_weights"))


def test_dimensions_may_be_in_another_order() -> None:
    X = np.random.default_rng(0).standard_normal((9, 3))
    learner = ob.create("rls", backend="numpy", form="square_root").partial_fit(X, X @ np.diag([1.0, 2.0, 3.0]))
    state = learner.state()
    other = ob.restore(state.transpose(*sorted(map(str, state.dims), reverse=True)))
    assert other.to_bytes() == learner.to_bytes()
    turned = state.assign(w=state["w"].transpose("output", "parameter"))
    assert ob.restore(turned).to_bytes() == learner.to_bytes()
    renamed = state.rename(parameter="p")  # by position
    assert ob.restore(renamed).to_bytes() == learner.to_bytes()


@pytest.mark.parametrize("saved", ['{"w": [["a"]]}', "[" * 100_000, "[]", "{"])
def test_forged_dimensions_raise_no_other_error(saved: str) -> None:
    learner = trained()
    try:
        restored = ob.restore(learner.state().assign_attrs(dimensions=saved))
    except ValueError as error:
        assert "'dimensions' was changed or damaged" in str(error)  # noqa: PT017
    else:  # read by position
        assert restored.to_bytes() == learner.to_bytes()


def test_bytes_of_any_kind() -> None:
    pipeline = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(ROWS, TARGETS)
    for one in (pipeline, trained()):
        data = one.to_bytes()
        for given in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
            assert ob.from_bytes(given).to_bytes() == data  # type: ignore[arg-type]


# ---------------------------------------------------------------------- pipelines


def at(header: Any, *keys: Any) -> Any:
    for key in keys:
        header = header[key]
    return header


STANDARDIZER, CURRENT = ("steps", 0), ("position", "current")
FORGED: list[tuple[tuple[Any, ...], Any, Any, str]] = [
    (STANDARDIZER, "scale", "false", "scale: got 'false', want true or false"),
    (STANDARDIZER, "count", -5, "count: got -5"),
    (STANDARDIZER, "count", float("nan"), "count: got nan"),
    (STANDARDIZER, "count", 10**400, "too large"),
    (STANDARDIZER, "moments", [[0.0, 10**400], [1.0, 1.0]], "too large"),
    ((), "steps", [{"name": "intercept"}, ob.Standardizer().to_dict()], "a standardizer behind the intercept"),
    (STANDARDIZER, "count", True, "count: got True, want a number"),
    (STANDARDIZER, "moments", [None], "moments: got"),
    (STANDARDIZER, "moments", [[0.0, float("nan")], [1.0, 1.0]], "mean: got"),
    (STANDARDIZER, "moments", [[0.0, 1.0], [1.0, -1.0]], "squares: got"),
    (STANDARDIZER, "moments", [[0.0, 1.0], [1.0]], "got 2 means and 1 squares"),
    (STANDARDIZER, "moments", [[0.0] * 3, [1.0] * 3], "moments: got 3 columns, want 2"),
    (STANDARDIZER, "more", 1, "'more' is unknown"),
    ((), "n_features", "2", "n_features is '2'"),
    ((), "n_features", 3, "got 2 columns, want 3"),
    ((), "names", ["a"], "want 2 different ones"),
    ((), "names", ["a", "a"], "want 2 different ones"),
    ((), "names", [1, 2], "want a list of strings"),
    ((), "names", "ab", "want a list of strings"),
    ((), "more", 1, "'more' is unknown"),
    (("position",), "count", -3, "count: got -3"),
    (("position",), "current", None, "want both or none"),
    (CURRENT, "center", [0.0], "got 1 centers, 2 spreads"),
    (CURRENT, "spread", [0.0, 1.0], "spread: got"),
    (CURRENT, "varied", [0, 1], "varied: got"),
]


@pytest.mark.parametrize(("place", "key", "value", "words"), FORGED)
def test_forged_pipelines_are_refused(place: tuple[Any, ...], key: str, value: Any, words: str) -> None:
    pipeline = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(ROWS, TARGETS)
    header, inner = storage.decode(pipeline.to_bytes())
    at(header, *place)[key] = value
    with pytest.raises(ValueError, match="not the header of a pipeline") as info:
        ob.from_bytes(storage.encode(header, inner))
    assert words in str(info.value)


def test_a_pipeline_without_a_step_is_refused() -> None:
    pipeline = ob.pipeline("standardize", "intercept", ob.create("rls", backend="numpy")).partial_fit(ROWS, TARGETS)
    header, inner = storage.decode(pipeline.to_bytes())
    del header["steps"][1]
    with pytest.raises(ValueError, match="the learner has 3 columns, want 2"):
        ob.from_bytes(storage.encode(header, inner))


def test_pipelines_of_given_moments_are_read_before_the_first_row() -> None:
    known = ob.Standardizer.from_dict(ob.Standardizer(True, 5, np.zeros(3), np.ones(3)).to_dict())
    pipeline = ob.pipeline(known, "intercept", ob.create("rls", backend="numpy"))
    assert ob.from_bytes(pipeline.to_bytes()).to_bytes() == pipeline.to_bytes()


# ---------------------------------------------------------------------- fleets


def fleet_of_labels() -> tuple[dict[str, Any], dict[str, Any]]:
    X = np.stack([ROWS, ROWS + 1])
    fleet = ob.fleet("class_rls", 2, backend="numpy").partial_fit(X, np.array([["a", "b", "a"], ["b", "a", "b"]]))
    found = binary.decode(fleet.to_bytes())
    return found.of_state, found.arrays


@pytest.mark.parametrize("classes", [["a", "a"], ["a", 1], [["a"], {}], "xy", ["a"]])
def test_forged_classes_of_fleets_are_refused(classes: Any) -> None:
    head, arrays = fleet_of_labels()
    with pytest.raises(ValueError, match="classes"):
        ob.from_bytes(binary.pack(b"{}", {**head, "classes": classes}, arrays))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("class_order", np.array([[0, 99], [1, 0]]), "integers from -1 to 1"),
        ("class_order", np.array([[0, 0], [1, 0]]), "want each class once"),
        ("has_warned", np.array([7, 0]), "integers from 0 to 1"),
        ("steps", np.array([2**63 - 1, 3]), "integers from 0 to"),
        ("precision_lost", np.array([0.5, 0.0]), "want 0 or 1 for each member"),
        ("setting_foo", np.zeros(2), "the array 'setting_foo' is unknown"),
        ("pending_X", np.zeros((0, 2)), "the array 'pending_X' is unknown"),
    ],
)
def test_forged_arrays_of_fleets_are_refused(name: str, value: Any, words: str) -> None:
    head, arrays = fleet_of_labels()
    with pytest.raises(ValueError, match=words):
        ob.from_bytes(binary.pack(b"{}", head, {**arrays, name: value}))


def test_fleets_of_earlier_versions_have_no_marks() -> None:
    fleet = ob.fleet("rls", 2, backend="numpy", form="square_root").partial_fit(np.stack([ROWS, ROWS]), [TARGETS] * 2)
    found = binary.decode(fleet.to_bytes())
    arrays = {name: a for name, a in found.arrays.items() if name != "precision_lost"}
    assert len(arrays) < len(found.arrays)
    assert ob.from_bytes(binary.pack(b"{}", found.of_state, arrays)).to_bytes() == fleet.to_bytes()
