"""Views of arrays that plugins get and must not change."""

from __future__ import annotations

from typing import Any

import numpy as np


def read_only(value: Any) -> Any:
    """A view of an array that cannot be written to; other values are returned as they are."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view
