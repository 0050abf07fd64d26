"""Models for River, one for each method that fits a linear model, including methods of plugins (extra `river`).

>>> from orfit_bench.river import ESTIMATORS
>>> rls = ESTIMATORS["rls"](ridge=1e-9)
>>> for x in range(5):
...     rls.learn_one({"x": float(x)}, 2.0 * x + 1.0)
>>> round(rls.predict_one({"x": 5.0}), 6)
11.0
"""

from __future__ import annotations

from typing import Any

from orfit_bench.generated import GeneratedClasses

try:
    import river  # noqa: F401
except ImportError as error:
    raise ImportError("orfit_bench.river: River is not installed: pip install 'orfit-bench[river]'") from error

from orfit_bench.river.generation import base_class, build, class_name

__all__ = ["ESTIMATORS"]

ESTIMATORS = GeneratedClasses(build, class_name, base_class, lambda method: not method.state.layered)
"""The classes by name of the method, except methods that learn layer by layer, since rows have no fixed length."""


def __getattr__(name: str) -> Any:
    """A class by its name, such as RlsRegressor, as requested by pickle."""
    if name.startswith("_"):
        raise AttributeError(name)
    return ESTIMATORS.by_class_name(name)
