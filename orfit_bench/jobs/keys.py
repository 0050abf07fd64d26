"""Keys: short hashes of descriptions, equal in every process."""

from __future__ import annotations

import hashlib
import json

LENGTH = 16
"""Number of hexadecimal digits of a key."""


def make_key(description: object) -> str:
    """Return the key of JSON values; the order of the keys of mappings does not matter."""
    return make_text_key(json.dumps(description, sort_keys=True))


def make_text_key(text: str) -> str:
    """Return the key of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
