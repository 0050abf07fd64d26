"""Keys: short hashes of descriptions, equal in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

LENGTH = 16
"""Number of hexadecimal digits of a key."""


def make_key(description: object) -> str:
    """Return the key of JSON values; the order of the keys of mappings does not matter."""
    return make_text_key(json.dumps(description, sort_keys=True))


def make_array_key(arrays: Iterable[np.ndarray[Any, Any]]) -> str:
    """Return the key of the dtypes, shapes and values (numbers or strings) of arrays."""
    found = hashlib.sha256()
    for a in arrays:
        found.update(f"{a.dtype.str} {a.shape}".encode())
        found.update(np.ascontiguousarray(a).data if a.size and a.dtype.kind in "biufc" else repr(a.tolist()).encode())
    return found.hexdigest()[:LENGTH]


def make_text_key(text: str) -> str:
    """Return the key of a string."""
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
