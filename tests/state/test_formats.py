"""States that were saved in an earlier format: format_1 holds files written before `digits_lost` was renamed."""

from pathlib import Path

import numpy as np
import pytest

import orfit_bench as ob

FORMAT_1 = Path(__file__).parent / "format_1"


@pytest.mark.parametrize(("name", "settings"), [("rls", {"forgetting_factor": 0.9}), ("kalman", {})])
def test_states_of_format_1_load_and_continue(name: str, settings: dict[str, float], tmp_path: Path) -> None:
    """The loaded learner is the one that learned the same rows now, and is saved in the present format."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 2)), rng.standard_normal(8)
    with np.load(FORMAT_1 / f"{name}.npz") as file:
        assert "digits_lost" in file.files
    loaded, learned = ob.load(FORMAT_1 / f"{name}.npz"), ob.create(name, **settings).partial_fit(X, y)
    for learner in (loaded, learned):
        learner.partial_fit(X, y)
    for field, values in learned.state().data_vars.items():
        np.testing.assert_array_equal(loaded.state()[field], values)
    loaded.save(tmp_path / "now.npz")
    with np.load(tmp_path / "now.npz") as file:
        assert "precision_lost" in file.files
        assert "digits_lost" not in file.files
