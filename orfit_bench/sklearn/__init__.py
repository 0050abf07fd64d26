"""Estimators for scikit-learn, one for each method, including methods of plugins. Requires the extra `sklearn`.

>>> from orfit_bench.sklearn import ESTIMATORS
>>> rls = ESTIMATORS["rls"](forgetting_factor=1.0, ridge=1e-9)
>>> float(rls.fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).predict([[3.0]]).round(6)[0])
7.0
"""

from __future__ import annotations

from typing import Any

from orfit_bench.generated import GeneratedClasses

try:
    import sklearn  # noqa: F401
except ImportError as error:
    remedy = "pip install 'orfit-bench[sklearn]'"
    raise ImportError(f"orfit_bench.sklearn: scikit-learn is not installed: {remedy}") from error

from orfit_bench.sklearn.generation import base_class, build, class_name

__all__ = ["ESTIMATORS"]

ESTIMATORS = GeneratedClasses(build, class_name, base_class)
"""The estimator classes by name of the method."""


def __getattr__(name: str) -> Any:
    """A class by its name, such as RlsRegressor, as requested by pickle."""
    if name.startswith("_"):
        raise AttributeError(name)
    return ESTIMATORS.by_class_name(name)
