"""Modules of PyTorch as models of learners. Needs the extra `torch`; without it, the import raises UnavailableError.

import torch
from orfit_bench.torch import model

net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
learner = ob.create("sgd", model=model(net), step_size=0.05)
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench.errors import UnavailableError
from orfit_bench.spec.model import Model

try:
    import torch
except ImportError as error:
    raise UnavailableError("orfit_bench.torch: PyTorch is not installed: pip install 'orfit-bench[torch]'") from error

__all__ = ["model"]

Array = NDArray[Any]
ONE_CALL = Lock()
"""Held while a module is called: `functional_call` puts the given parameters into the module for that time."""


def model(module: torch.nn.Module, name: str | None = None) -> Model:
    """Make the model of a PyTorch module.

    Parameters
    ----------
    module : torch.nn.Module
        Maps rows (n, d) to outputs (n, c), or (n,) if c = 1. It is copied in evaluation mode, without dropout and with
        fixed statistics of batch normalization: a step depends only on its row. Parameters that need no gradient, and
        buffers, stay as they are.
    name : str, optional
        The name of the model in saved states; "torch(CLASS)" if it is left out.

    Returns
    -------
    Model
        A model for the argument `model` of `create`. Its first weights are those of the module.

    Raises
    ------
    TypeError
        If it is not a module, or has complex parameters. Predictions raise it if the module does not return a tensor.
    ValueError
        If it has no parameters that need a gradient, or some that are not initialized.

    Notes
    -----
    The weights are one vector: the parameters that need a gradient in the order of `module.parameters()`, each in C
    order, as `torch.nn.utils.vector_to_parameters` reads it. Predictions and gradients are computed on the CPU, in the
    dtype of the learner, so the backends are those whose arrays are NumPy's. A Jacobian needs a backward pass for each
    output; `sgd` needs one for each step (`vjp`). `softmax` needs all classes in the first call. The layer-wise
    methods, `gp` and `owm`, need `ob.MLP` or a model with layers of your own.

    Examples
    --------
    Copy the weights that were learned back into the module::

        learner = ob.create("rls", model=model(net), ridge=0.1).partial_fit(X, y)
        w = torch.from_numpy(learner.array("w")[:, 0]).float()  # the dtype of the module
        torch.nn.utils.vector_to_parameters(w, net.parameters())
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"model: got {type(module).__name__}, want a torch.nn.Module")
    found = list(module.parameters())
    if any(isinstance(p, torch.nn.parameter.UninitializedParameter) for p in found):
        raise ValueError("model: some parameters are not initialized: call the module on some rows first")
    if any(p.is_complex() for p in found):
        raise TypeError("model: the module has complex parameters, want real ones")
    if not any(p.requires_grad for p in found):
        raise ValueError("model: no parameter of the module needs a gradient: there is nothing to learn")
    net = ModuleFunctions(copy.deepcopy(module).cpu().eval())
    name = f"torch({type(module).__name__})" if name is None else name
    return Model(name, net.predict, net.jacobian, net.size, net.start, vjp=net.vjp)


@dataclass(frozen=True, eq=False)
class ModuleFunctions:
    """Outputs of a module and their gradients by a vector of weights: w (p,), X (n, d), x (d,), E (n, c)."""

    module: torch.nn.Module
    _by_dtype: dict[torch.dtype, torch.nn.Module] = field(default_factory=dict, init=False, repr=False)

    @property
    def learned(self) -> dict[str, torch.nn.Parameter]:
        """The parameters that are learned, by name."""
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad}

    @property
    def size(self) -> int:
        """The number of weights p."""
        return sum(p.numel() for p in self.learned.values())

    def start(self, _draw: Any, _d: int, _c: int) -> Array:
        """The weights of the module."""
        parts = [p.detach().reshape(-1).to(torch.float64) for p in self.learned.values()]
        return np.array(torch.cat(parts).numpy())

    def predict(self, w: Array, X: Array) -> Array:
        """The outputs (n, c)."""
        with torch.no_grad():
            return as_array(self._outputs(as_tensor(w), as_tensor(X)))

    def jacobian(self, w: Array, x: Array) -> Array:
        """The gradients (c, p) of the outputs for one row, by a backward pass for each."""
        weights = as_tensor(w).requires_grad_()
        (outputs,) = self._outputs(weights, as_tensor(x)[None])
        gradients = [torch.autograd.grad(f, weights, retain_graph=True)[0] for f in outputs]
        return as_array(torch.stack(gradients))

    def vjp(self, w: Array, X: Array, E: Array) -> Array:
        """The sum (p,) of the gradients of all outputs, each times its entry of E, by one backward pass."""
        weights = as_tensor(w).requires_grad_()
        (gradient,) = torch.autograd.grad(self._outputs(weights, as_tensor(X)), weights, as_tensor(E))
        return as_array(gradient)

    def _outputs(self, w: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        learned = self.learned
        parts = torch.split(w, [p.numel() for p in learned.values()])
        given = {name: part.reshape(p.shape) for (name, p), part in zip(learned.items(), parts, strict=True)}
        with ONE_CALL:
            found = torch.func.functional_call(self._of_dtype(w.dtype), given, (X,))
        if not isinstance(found, torch.Tensor):
            kind = type(self.module).__name__
            raise TypeError(f"{kind} returns {type(found).__name__}, want a tensor of outputs (n, c)")
        return found[:, None] if found.ndim == 1 else found

    def _of_dtype(self, dtype: torch.dtype) -> torch.nn.Module:
        """The module, with everything that is not learned in this dtype."""
        if dtype not in self._by_dtype:
            self._by_dtype[dtype] = copy.deepcopy(self.module).to(dtype)
        return self._by_dtype[dtype]


def as_tensor(a: Array) -> torch.Tensor:
    """A copy as a tensor. TypeError for arrays of other libraries."""
    if not isinstance(a, np.ndarray):
        raise TypeError(
            f"models of modules accept only arrays of NumPy, got {type(a).__name__}: choose backend='numpy' or 'numba'"
        )
    return torch.tensor(a)


def as_array(t: torch.Tensor) -> Array:
    """An array of NumPy with the numbers of a tensor."""
    return np.asarray(t.detach().numpy())
