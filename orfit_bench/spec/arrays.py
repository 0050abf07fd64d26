"""Arrays of any library and device, brought to host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_host(a: Any) -> NDArray[Any]:
    """A NumPy array of what may lie on a device, in its own dtype; what is in host memory already is not copied."""
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack_device__"):
        return np.asarray(a)
    return np.from_dlpack(a, device="cpu")
