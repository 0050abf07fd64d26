"""Fields of a declaration that must be a string, a function or a bool, checked when its plugin is loaded."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def wrong_field(declared: Any) -> str:
    """The first field that is not a string, function or bool although its annotation says so, as a message, or ""."""
    for field in fields(declared):
        value, annotation = getattr(declared, field.name), str(field.type)
        if value is None and annotation.endswith("| None"):
            continue
        if annotation == "str" and not isinstance(value, str):
            return f"{field.name}={value!r}, want a string"
        if annotation == "bool" and not isinstance(value, bool):
            return f"{field.name}={value!r}, want True or False"
        if annotation.startswith("Callable[") and not callable(value):
            return f"{field.name}={value!r}, want a function"
    return ""
