"""Modules of PyTorch as models of learners. Needs the extra `torch`; without it, the import raises UnavailableError.

import torch
from orfit_bench.torch import model

net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
learner = ob.create("sgd", model=model(net), step_size=0.05)
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from threading import RLock
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
Tensors = dict[str, torch.Tensor]
ONE_CALL = RLock()
"""Held while a module is called: `functional_call` puts the given parameters into the module for that time."""
COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}


def model(module: torch.nn.Module, name: str | None = None) -> Model:
    """Make the model of a PyTorch module.

    Parameters
    ----------
    module : torch.nn.Module
        Maps rows (n, d) to outputs (n, c), or (n,) if c = 1. It is copied in evaluation mode, without dropout and with
        fixed statistics of batch normalization. Parameters that need no gradient, and buffers, stay as they are: what
        a call changes in a buffer is discarded after it.
    name : str, optional
        The name of the model in saved states; "torch(CLASS)" if it is left out.

    Returns
    -------
    Model
        A model for the argument `model` of `create`. Its first weights are those of the module.

    Raises
    ------
    TypeError
        If it is not a module, or has complex parameters. Learning raises it if the module does not return a tensor, or
        one without a gradient.
    ValueError
        If it has no parameters that need a gradient, or some that are not initialized. The first prediction of several
        rows raises it if the outputs of a row depend on the other rows or on chance, as with statistics of a batch.

    Notes
    -----
    The weights are one vector: the parameters that need a gradient in the order of `module.parameters()`, each in C
    order, as `torch.nn.utils.vector_to_parameters` reads it. Predictions and gradients are computed on the CPU, in the
    dtype of the learner, so the backends are those whose arrays are NumPy's. A Jacobian needs a backward pass for each
    output; `sgd` needs one for each step (`vjp`). A parameter that `forward` reaches through a list of its own, not as
    an attribute of a module, is not learned. `softmax` needs all classes in the first call, and output k of the module
    is the k-th class to appear: to go on from trained weights, let the first rows come in the order of the outputs. The
    layer-wise methods, `gp` and `owm`, need `ob.MLP` or a model with layers of your own.

    Examples
    --------
    Copy the weights that were learned back into the module::

        learner = ob.create("rls", model=model(net), ridge=0.1).partial_fit(X, y)
        w = torch.from_numpy(learner.array("w")[:, 0]).float()  # the dtype of the module
        torch.nn.utils.vector_to_parameters(w, (p for p in net.parameters() if p.requires_grad))
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
    own = copy.deepcopy(module).cpu().eval()
    learned = {name: p.detach() for name, p in own.named_parameters() if p.requires_grad}
    frozen = {name: p.detach() for name, p in own.named_parameters() if not p.requires_grad}
    net = ModuleFunctions(own, learned, frozen, dict(own.named_buffers()))
    name = f"torch({type(module).__name__})" if name is None else name
    return Model(name, net.predict, net.jacobian, net.size, net.start, vjp=net.vjp)


@dataclass(frozen=True, eq=False)
class ModuleFunctions:
    """Outputs of a module and their gradients by a vector of weights: w (p,), X (n, d), x (d,), E (n, c)."""

    module: torch.nn.Module
    learned: dict[str, torch.Tensor]
    """The first values of the parameters that are learned, by name."""
    frozen: dict[str, torch.Tensor]
    """The other parameters, by name."""
    buffers: dict[str, torch.Tensor]
    """The buffers, by name."""
    _by_dtype: dict[torch.dtype, tuple[Tensors, Tensors]] = field(default_factory=dict, init=False, repr=False)
    """`frozen` and `buffers` in the precision of the weights."""
    _compared: set[torch.dtype] = field(default_factory=set, init=False, repr=False)
    """The dtypes in which a row was predicted alone and with others."""

    @property
    def size(self) -> int:
        """The number of weights p."""
        return sum(p.numel() for p in self.learned.values())

    def start(self, _draw: Any, _d: int, _c: int) -> Array:
        """The weights of the module."""
        parts = [p.reshape(-1).to(torch.float64) for p in self.learned.values()]
        return np.array(torch.cat(parts).numpy())

    def predict(self, w: Array, X: Array) -> Array:
        """The outputs (n, c)."""
        with torch.no_grad():
            weights, rows = as_tensor(w), as_tensor(X)
            outputs = self._outputs(weights, rows)
            if len(rows) > 1 and weights.dtype not in self._compared:
                self._compare(outputs[:1], self._outputs(weights, rows[:1]))
                self._compared.add(weights.dtype)
            return as_array(outputs)

    def _compare(self, outputs: torch.Tensor, alone: torch.Tensor) -> None:
        """Raise ValueError if the outputs of a row differ when it is predicted alone."""
        if not outputs.is_floating_point():
            return
        limit = torch.finfo(outputs.dtype).eps ** 0.25
        if outputs.isfinite().all() and not torch.allclose(outputs, alone, rtol=limit, atol=limit):
            raise ValueError(
                f"{self._kind}: the outputs of a row depend on the other rows or on chance: want layers without "
                f"statistics of the batch, and no random numbers"
            )

    def jacobian(self, w: Array, x: Array) -> Array:
        """The gradients (c, p) of the outputs for one row, by a backward pass for each."""
        with torch.inference_mode(False), torch.enable_grad():
            weights = as_tensor(w).requires_grad_()
            (outputs,) = self._with_gradient(self._outputs(weights, as_tensor(x)[None]))
            gradients = [torch.autograd.grad(f, weights, retain_graph=True)[0] for f in outputs]
            return as_array(torch.stack(gradients))

    def vjp(self, w: Array, X: Array, E: Array) -> Array:
        """The sum (p,) of the gradients of all outputs, each times its entry of E, by one backward pass."""
        with torch.inference_mode(False), torch.enable_grad():
            weights = as_tensor(w).requires_grad_()
            outputs = self._with_gradient(self._outputs(weights, as_tensor(X)))
            (gradient,) = torch.autograd.grad(outputs, weights, as_tensor(E))
            return as_array(gradient)

    def _with_gradient(self, outputs: torch.Tensor) -> torch.Tensor:
        if not outputs.requires_grad:
            raise TypeError(
                f"{self._kind} returns outputs without a gradient: want floating-point outputs that depend on the "
                f"parameters and are not detached"
            )
        return outputs

    @property
    def _kind(self) -> str:
        return type(self.module).__name__

    def _outputs(self, w: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
        parts = torch.split(w, [p.numel() for p in self.learned.values()])
        given = {name: part.reshape(p.shape) for (name, p), part in zip(self.learned.items(), parts, strict=True)}
        frozen, buffers = self._fixed_in(w.dtype)
        own = {name: t.clone() for name, t in buffers.items()}  # which a module may change
        with ONE_CALL:
            found = torch.func.functional_call(self.module, {**frozen, **own, **given}, (X,))
        if not isinstance(found, torch.Tensor):
            raise TypeError(f"{self._kind} returns {type(found).__name__}, want a tensor of outputs (n, c)")
        if found.is_floating_point() and torch.finfo(found.dtype).bits < 32:
            raise TypeError(f"{self._kind} returns outputs of {found.dtype}, want float32 or float64")
        return found[:, None] if found.ndim == 1 else found

    def _fixed_in(self, dtype: torch.dtype) -> tuple[Tensors, Tensors]:
        """Frozen parameters and buffers, with floating-point and complex numbers in the precision of this dtype."""
        if dtype not in self._by_dtype:
            self._by_dtype[dtype] = _converted(self.frozen, dtype), _converted(self.buffers, dtype)
        return self._by_dtype[dtype]


def _converted(tensors: Tensors, dtype: torch.dtype) -> Tensors:
    return {
        name: t.to(COMPLEX[dtype]) if t.is_complex() else t.to(dtype) if t.is_floating_point() else t
        for name, t in tensors.items()
    }


def as_tensor(a: Array) -> torch.Tensor:
    """A copy as a tensor. TypeError for arrays of other libraries."""
    if not isinstance(a, np.ndarray):
        raise TypeError(
            f"models of modules accept only arrays of NumPy, got {type(a).__name__}: choose backend='numpy' or 'numba'"
        )
    return torch.tensor(a, device="cpu")


def as_array(t: torch.Tensor) -> Array:
    """An array of NumPy with the numbers of a tensor."""
    return np.asarray(t.detach().numpy())
