"""The backend that `create` chooses if none is named."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from orfit_bench.plugins.registry import registry
from orfit_bench.spec import REFERENCE, Method
from orfit_bench.spec.capability import lacking_setting

AUTO = "auto"
COMPILED = "numba"


def choose_backend(method: Method, wanted: Collection[str], settings: Mapping[str, Any]) -> str:
    """Numba if it is installed and its kernel lacks nothing of the method, else NumPy; never a backend on a device.

    Parameters
    ----------
    method : Method
        What is to be computed.
    wanted : collection of str
        The capabilities among "float32", "complex" and "models" that the learner needs; all others are always needed.
    settings : mapping
        The settings of the learner, some of which a kernel may lack.
    """
    known = registry()
    if COMPILED not in known.backends or known.absence(COMPILED, method.name):
        return REFERENCE
    unwanted = {"float32", "complex", "models"} - set(wanted)
    lacks = known.capabilities(COMPILED, method.name)
    if any(reason for name, reason in lacks.items() if name not in unwanted and "=" not in name):
        return REFERENCE
    key, _ = lacking_setting(known.kernel(COMPILED, method.name), method, settings)
    return REFERENCE if key else COMPILED
