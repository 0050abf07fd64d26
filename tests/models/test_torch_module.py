"""The model of docs/models.md that wraps a PyTorch module; where PyTorch is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob

PAGE = Path(__file__).parents[2] / "docs" / "models.md"


def test_sgd_on_a_module_takes_the_steps_of_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    page: dict[str, Any] = {"ob": ob, "X": X, "y": np.sin(3 * X[:, 0]) * X[:, 1]}
    (code,) = (part for part in PAGE.read_text().split("```") if part.startswith("python\nimport torch\n"))
    exec(code.removeprefix("python"), page)
    assert np.sqrt(np.mean((page["on_torch"].predict(X) - page["y"]) ** 2)) < 0.2 * page["y"].std()

    net = page["net"]
    learner = ob.create("sgd", model=page["module"], backend="numpy", step_size=0.05).partial_fit(X, page["y"])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in zip(torch.tensor(X), torch.tensor(page["y"]), strict=True):
        optimizer.zero_grad()
        (0.5 * (net(x)[0] - y) ** 2).backward()
        optimizer.step()
    want = torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
    np.testing.assert_allclose(learner.array("w")[:, 0], want, rtol=1e-13, atol=1e-14)
