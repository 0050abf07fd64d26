"""Models of PyTorch modules, and the page that describes them; if PyTorch is installed."""

from __future__ import annotations

import importlib.util
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.conformance import check_model

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed")
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (200, 3))
Y = np.stack([np.sin(3 * X[:, 0]) * X[:, 1], X[:, 2] ** 2], axis=1)


@pytest.mark.skipif(HAS_TORCH, reason="PyTorch is installed")
def test_without_torch_the_import_says_what_to_install() -> None:
    with pytest.raises(ob.UnavailableError, match=r"PyTorch is not installed: pip install 'orfit-bench\[torch\]'"):
        importlib.import_module("orfit_bench.torch")


def make(outputs: int = 1, width: int = 8, inputs: int = 3) -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, width), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(width, outputs)
    )


def wrapped(module: Any, **given: Any) -> ob.Model:
    from orfit_bench.torch import model

    return model(module, **given)


@needs_torch
def test_it_conforms() -> None:
    assert check_model(wrapped(make())) == []
    assert wrapped(make()).name == "torch(Sequential)"
    assert wrapped(make(), name="net").name == "net"


@needs_torch
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("method", ["sgd", "rls", "orfit", "ogd", "kalman"])
def test_methods_learn_it_as_the_same_network_of_this_package(method: str, backend: str, dtype: str) -> None:
    """An MLP keeps its matrices transposed, so its weights are those of the module in another order."""
    import torch

    net, mlp = make(2), ob.MLP((8,))
    first, last = net[0], net[3]
    parts = [first.weight.T, first.bias[None], last.weight.T, last.bias[None]]
    start = torch.cat([part.reshape(-1) for part in parts]).detach().numpy().astype(float)
    given = {"backend": backend, "dtype": dtype} | ({"memory": 20} if method == "orfit" else {})
    mine = ob.create(method, model=wrapped(net), **given)
    want = ob.create(method, model=mlp, **given, **{"initial_mean" if method == "kalman" else "initial_weights": start})
    rounding = 1e-9 if dtype == "float64" else 2e-2
    np.testing.assert_allclose(
        mine.prequential(X[:40], Y[:40]), want.prequential(X[:40], Y[:40]), rtol=0, atol=rounding
    )
    assert mine.predict(X).dtype == dtype


@needs_torch
def test_sgd_takes_the_steps_of_torch() -> None:
    import torch

    net = make(1).double().eval()
    learner = ob.create("sgd", model=wrapped(net), backend="numpy", step_size=0.05).partial_fit(X, Y[:, 0])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for x, y in zip(torch.tensor(X), torch.tensor(Y[:, 0]), strict=True):
        optimizer.zero_grad()
        (0.5 * (net(x[None])[0, 0] - y) ** 2).backward()
        optimizer.step()
    want = torch.nn.utils.parameters_to_vector(net.parameters()).detach().numpy()
    np.testing.assert_allclose(learner.array("w")[:, 0], want, rtol=1e-13, atol=1e-14)


@needs_torch
def test_frozen_parameters_and_the_module_itself_stay() -> None:
    import torch

    net = make(1)
    net[0].weight.requires_grad_(False)
    before = {name: p.clone() for name, p in net.named_parameters()}
    learner = ob.create("rls", model=wrapped(net), backend="numpy").partial_fit(X, Y[:, 0])
    assert learner.array("w").shape == (8 + 8 + 1, 1)
    assert net.training
    assert all(torch.equal(p, before[name]) for name, p in net.named_parameters())


@needs_torch
def test_learners_are_saved_and_pickled_with_it(tmp_path: Path) -> None:
    net = wrapped(make(1))
    learner = ob.create("sgd", model=net, backend="numpy").partial_fit(X, Y[:, 0])
    learner.save(tmp_path / "net.npz")
    np.testing.assert_array_equal(ob.load(tmp_path / "net.npz", model=net).predict(X), learner.predict(X))
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again.predict(learner.array("w")[:, 0], X), net.predict(learner.array("w")[:, 0], X))


@needs_torch
def test_threads_may_share_it() -> None:
    net = wrapped(make(1))
    steps = (0.01, 0.02, 0.03, 0.04)
    learners = [ob.create("sgd", model=net, backend="numpy", step_size=step) for step in steps]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda learner: learner.partial_fit(X, Y[:, 0]), learners))
    for learner, step in zip(learners, steps, strict=True):
        alone = ob.create("sgd", model=net, backend="numpy", step_size=step).partial_fit(X, Y[:, 0])
        np.testing.assert_array_equal(learner.array("w"), alone.array("w"))


@needs_torch
def test_outputs_of_one_dimension_are_one_output() -> None:
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0))
    learner = ob.create("rls", model=wrapped(net), backend="numpy", ridge=1e-9).partial_fit(X, X @ [1.0, 2.0, 3.0] + 1)
    np.testing.assert_allclose(learner.predict(X[:5]), X[:5] @ [1.0, 2.0, 3.0] + 1, atol=1e-5)


@needs_torch
def test_what_cannot_be_learned_is_refused() -> None:
    import torch

    with pytest.raises(TypeError, match=r"got int, want a torch\.nn\.Module"):
        wrapped(3)
    with pytest.raises(ValueError, match="there is nothing to learn"):
        wrapped(torch.nn.Tanh())
    with pytest.raises(ValueError, match="call the module on some rows first"):
        wrapped(torch.nn.LazyLinear(2))
    with pytest.raises(TypeError, match="complex parameters, want real ones"):
        wrapped(torch.nn.Linear(3, 1, dtype=torch.complex128))
    with pytest.raises(TypeError, match=r"LSTM returns tuple, want a tensor of outputs \(n, c\)"):
        ob.create("sgd", model=wrapped(torch.nn.LSTM(3, 1)), backend="numpy").partial_fit(X, Y[:, 0])
    with pytest.raises(TypeError, match="arrays of NumPy, got list"):
        wrapped(make()).predict([1.0], [[1.0]])


@needs_torch
def test_the_page_runs() -> None:
    page: dict[str, Any] = {"ob": ob, "X": X[:, :2], "y": Y[:, 0]}
    (code,) = (part for part in PAGE.read_text().split("```") if part.startswith("python\nimport torch\n"))
    exec(code.removeprefix("python"), page)
    assert np.sqrt(np.mean((page["on_torch"].predict(X[:, :2]) - Y[:, 0]) ** 2)) < 0.3 * Y[:, 0].std()
    w = page["torch"].nn.utils.parameters_to_vector(page["net"].parameters()).detach().numpy()
    np.testing.assert_allclose(w, page["on_torch"].array("w")[:, 0], rtol=1e-6)


def module_with(forward: Callable[[Any, Any], Any]) -> Any:
    """A module with a linear layer `l`, buffers `n` of zero and `phase`, and this function of it and x as forward."""
    import torch

    class Module(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.l = torch.nn.Linear(3, 1)
            self.register_buffer("n", torch.zeros(()))
            self.register_buffer("phase", torch.exp(1j * torch.arange(3.0)))

        def forward(self, x: Any) -> Any:
            return forward(self, x)

    return Module()


def with_noise(net: Any, x: Any) -> Any:
    import torch

    return net.l(x) + torch.randn(1)


def plus_a_learner(net: Any, x: Any) -> Any:
    import torch

    return net.l(x) + torch.tensor(net.inner.predict(x.detach().numpy()))[:, None]


ROWS = np.random.default_rng(0).uniform(-1, 1, (20, 3))


@needs_torch
def test_complex_buffers_keep_their_imaginary_part() -> None:
    import torch

    net = module_with(lambda net, x: net.l((x * net.phase * net.phase).real))
    wave = wrapped(net)
    want = net.l.double()((torch.tensor(ROWS) * net.phase.to(torch.complex128) ** 2).real)
    found = wave.predict(wave.start(lambda k: np.zeros(k), 3, 1), ROWS)
    np.testing.assert_allclose(found, want.detach().numpy(), rtol=1e-6)


@needs_torch
def test_calls_do_not_change_buffers() -> None:
    net = module_with(lambda net, x: net.n.add_(1) + net.l(x))
    learner = ob.create("lms", model=wrapped(net), backend="numpy", step_size=0.01).partial_fit(ROWS, ROWS[:, 0])
    assert learner.predict(ROWS[:1]) == learner.predict(ROWS[:1]) == learner.copy().predict(ROWS[:1])
    assert net.n == 0


@needs_torch
@pytest.mark.parametrize(
    ("forward", "error", "stated"),
    [
        (with_noise, ValueError, "depend on the other rows or on chance"),
        (lambda net, x: net.l(x) - net.l(x).mean() * len(x), ValueError, "depend on the other rows or on chance"),
        (lambda net, x: net.l(x).detach(), TypeError, "returns outputs without a gradient"),
        (lambda net, x: net.l(x) > 0, TypeError, "returns outputs without a gradient"),
        (lambda net, x: net.l(x).half(), TypeError, "returns outputs of torch.float16, want float32 or float64"),
    ],
)
@pytest.mark.parametrize("method", ["sgd", "rls"])
def test_modules_that_cannot_be_learned_are_named(forward: Any, error: Any, stated: str, method: str) -> None:
    learner = ob.create(method, model=wrapped(module_with(forward)), backend="numpy")
    with pytest.raises(error, match=f"Module.*{stated}"):
        learner.partial_fit(ROWS, ROWS[:, 0]).predict(ROWS)


@needs_torch
def test_modules_learn_within_contexts_without_gradients_and_on_other_default_devices() -> None:
    import torch

    want = ob.create("sgd", model=wrapped(net := module_with(lambda net, x: net.l(x))), backend="numpy")
    want.partial_fit(ROWS, ROWS[:, 0])
    for context in (torch.no_grad(), torch.inference_mode(), torch.device("meta")):
        learner = ob.create("sgd", model=wrapped(net), backend="numpy")
        with context:
            learner.partial_fit(ROWS, ROWS[:, 0])
        np.testing.assert_array_equal(learner.array("w"), want.array("w"))


@needs_torch
def test_a_module_may_call_a_learner_of_another_module() -> None:
    import torch

    inner = ob.create("rls", model=wrapped(module_with(lambda net, x: net.l(x))), backend="numpy").partial_fit(
        ROWS, ROWS[:, 0]
    )
    outer = module_with(plus_a_learner)
    outer.inner = inner
    learner = ob.create("sgd", model=wrapped(outer), backend="numpy").partial_fit(ROWS, ROWS[:, 0])
    assert learner.n_samples_seen_ == len(ROWS)
    with torch.no_grad():
        assert learner.predict(ROWS).shape == (20,)
