"""Short names for what was asked: the same in every process, and another where anything differs."""

from __future__ import annotations

import hashlib
import json

LENGTH = 16
"""Hexadecimal digits of a key."""


def make_key(description: object) -> str:
    """The key of plain values that JSON knows; the order of a mapping's names does not matter."""
    return make_text_key(json.dumps(description, sort_keys=True))


def make_text_key(text: str) -> str:
    """The key of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
