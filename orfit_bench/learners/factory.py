"""Creation of learners by the name of their method."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from orfit_bench.learners.arguments import dtype_name, initial_weights_for, is_complex, model_for, require_complex_form
from orfit_bench.learners.automatic import AUTO, choose_backend
from orfit_bench.learners.classifier import Classifier
from orfit_bench.learners.filtering.filter import Filter
from orfit_bench.learners.filtering.rule import FilterRule
from orfit_bench.learners.names import ClassifierName, FilterName, RegressorName, SubspaceName
from orfit_bench.learners.regressor import Regressor
from orfit_bench.learners.rule import Rule
from orfit_bench.learners.subspace import Subspace
from orfit_bench.plugins.registry import registry
from orfit_bench.spec import LINEAR, Model
from orfit_bench.spec.capability import require, require_settings
from orfit_bench.spec.setting import Setting, refuse_lost_numbers
from orfit_bench.spec.types import Integer
from orfit_bench.state.state import LearnerState

AnyLearner = Regressor | Classifier | Filter | Subspace
LEARNERS: dict[str, tuple[type[AnyLearner], type[Rule]]] = {
    "regression": (Regressor, Rule),
    "classification": (Classifier, Rule),
    "filter": (Filter, FilterRule),
    "subspace": (Subspace, Rule),
}
"""The classes of learner and rule for each kind of method."""
RANDOM_STATE = Setting("random_state", Integer(0, 2**64 - 1), 0, "the seed of all random draws")


@overload
def create(
    method: RegressorName,
    *,
    backend: str = ...,
    dtype: DTypeLike = ...,
    random_state: int = ...,
    model: Model | str = ...,
    initial_weights: ArrayLike | None = ...,
    **settings: object,
) -> Regressor: ...
@overload
def create(
    method: ClassifierName,
    *,
    backend: str = ...,
    dtype: DTypeLike = ...,
    random_state: int = ...,
    model: Model | str = ...,
    initial_weights: ArrayLike | None = ...,
    **settings: object,
) -> Classifier: ...
@overload
def create(
    method: FilterName,
    *,
    backend: str = ...,
    dtype: DTypeLike = ...,
    random_state: int = ...,
    model: Model | str = ...,
    initial_weights: ArrayLike | None = ...,
    **settings: object,
) -> Filter: ...
@overload
def create(
    method: SubspaceName,
    *,
    backend: str = ...,
    dtype: DTypeLike = ...,
    random_state: int = ...,
    model: Model | str = ...,
    initial_weights: ArrayLike | None = ...,
    **settings: object,
) -> Subspace: ...
@overload
def create(
    method: str,
    *,
    backend: str = ...,
    dtype: DTypeLike = ...,
    random_state: int = ...,
    model: Model | str = ...,
    initial_weights: ArrayLike | None = ...,
    **settings: object,
) -> Any: ...
def create(
    method: str,
    *,
    backend: str = AUTO,
    dtype: DTypeLike = "float64",
    random_state: int = 0,
    model: Model | str = LINEAR,
    initial_weights: ArrayLike | None = None,
    **settings: object,
) -> Any:
    """Create a learner of a method.

    Parameters
    ----------
    method : str
        Name of the method; `orfit_bench.methods()` and `orfit-bench list` show them, with when to use each.
    backend : str, default "auto"
        Name of the backend that computes it: "numpy", "numba", "cupy" or a plugin's. With "auto", it is "numba" if that
        is installed and supports all that is requested, else "numpy"; the learner's repr and state name it.
    dtype : {"float64", "float32", "complex128", "complex64"}, default "float64"
        Dtype of the state and of the rows that kernels receive. Complex dtypes are available on NumPy and Numba for
        lms, nlms, apa, rls, ridge and sgd (squared loss), whose predictions are X w and whose steps are along the
        conjugate rows, and for oja, krasulina, sanger, implicit_krasulina and incremental_pca.
    random_state : int, default 0
        Seed of all random draws.
    model : Model or "linear", default linear
        The function that a regression method fits, for example `orfit_bench.MLP((32,))`.
    initial_weights : array_like, shape (p,) or (p, c), optional
        Weights before the first row. Default: zeros, or what the model draws.
    **settings
        Settings of the method, by name; `orfit-bench list METHOD` explains them.

    Returns
    -------
    Regressor, Classifier, Filter or Subspace
        The class of the method's kind.

    Raises
    ------
    ValueError
        If a name is unknown, or a setting is out of its range.
    TypeError
        If a setting is unknown or of the wrong type.
    UnavailableError
        If the backend cannot compute here, with the reason and the command that would help; as LackingError, if its
        kernel lacks a capability or setting that is needed.

    Examples
    --------
    >>> import orfit_bench as ob
    >>> ob.create("lms", backend="numpy", step_size=0.1)
    <lms, step_size=Constant(value=0.1); numpy, float64, 0 rows seen>
    """
    declared = registry().methods.find(method)
    values = declared.check_settings(settings)
    fitted = model_for(model, declared)
    type_name = dtype_name(dtype)
    refuse_lost_numbers(declared.name, declared.settings, values, type_name)
    if is_complex(type_name):
        require_complex_form(declared, values, fitted)
    if backend == AUTO:
        asked = {"float32": type_name == "float32", "complex": is_complex(type_name), "models": fitted is not LINEAR}
        backend = choose_backend(declared, [name for name, needed in asked.items() if needed], values)
    chosen = registry().backends.find(backend)
    kernel = registry().kernel(backend, method)
    if type_name == "float32":
        require("float32", kernel, declared, chosen)
    if is_complex(type_name):
        require("complex", kernel, declared, chosen)
    if fitted is not LINEAR:
        require("models", kernel, declared, chosen)
    if (values.get("batch_size") or 1) > 1:
        require("blocks", kernel, declared, chosen)
    require_settings(kernel, declared, chosen, values)
    _, rule = LEARNERS[declared.kind]
    return learner_of(
        rule(
            method=declared,
            settings=MappingProxyType(values),
            backend=chosen,
            kernel=kernel,
            dtype=np.dtype(type_name),
            random_state=RANDOM_STATE.check(random_state),
            model=fitted,
            initial_weights=initial_weights_for(initial_weights, declared, np.dtype(type_name)),
        )
    )


def learner_of(rule: Rule, state: LearnerState | None = None) -> AnyLearner:
    """A learner of this rule in this state; None before the first chunk."""
    learner, _ = LEARNERS[rule.method.kind]
    return learner(rule, state)
