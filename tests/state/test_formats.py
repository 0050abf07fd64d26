"""States that were saved in an earlier format.

format_1 holds files from before `digits_lost` was renamed, format_2 files and bytes from before files had a checksum,
format_3 those from before every array had a digest. The files come from another processor, whose products may round
differently: saved numbers are compared to the bit, learned ones up to rounding.
"""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import orfit_bench as ob

FORMAT_1, FORMAT_2, FORMAT_3 = (Path(__file__).parent / f"format_{n}" for n in (1, 2, 3))


@pytest.mark.parametrize(
    ("name", "settings"), [("rls", {"forgetting_factor": 0.9}), ("orfit", {"memory": 2, "batch_size": 3})]
)
@pytest.mark.parametrize("folder", [FORMAT_2, FORMAT_3])
def test_earlier_states_load_and_continue(name: str, settings: dict[str, float], folder: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((8, 2)), rng.standard_normal(8)
    learned = ob.create(name, backend="numpy", **settings).partial_fit(X, y)
    for loaded in (ob.load(folder / f"{name}.npz"), ob.from_bytes((folder / f"{name}.bytes").read_bytes())):
        with np.load(folder / f"{name}.npz") as file:
            for field, values in loaded.state().data_vars.items():
                np.testing.assert_array_equal(values, file[str(field)])
        xr.testing.assert_allclose(loaded.state(), learned.state(), rtol=1e-12, atol=1e-14)
        assert loaded.state().attrs == learned.state().attrs
        assert loaded.partial_fit(X, y).n_samples_seen_ == 16


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
        np.testing.assert_allclose(loaded.state()[field], values, rtol=1e-12, atol=1e-14)
    loaded.save(tmp_path / "now.npz")
    with np.load(tmp_path / "now.npz") as file:
        assert "precision_lost" in file.files
        assert "digits_lost" not in file.files


def test_states_from_before_the_square_root_form_had_a_mark() -> None:
    learned = ob.create("rls", backend="numpy", form="square_root", forgetting_factor=0.9).partial_fit([[1.0]], [2.0])
    state = learned.state()
    loaded = ob.restore(state.drop_vars("precision_lost"))
    assert loaded.to_bytes() == learned.to_bytes()
