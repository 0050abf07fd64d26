"""Whether the values in a declaration have the types that its classes declare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

PLAIN: dict[str, type] = {"str": str, "bool": bool, "int": Integral}
SEQUENCE = re.compile(r"tuple\[(\w+), \.\.\.\]")


def wrong_values(part: Any, name: str, classes: Mapping[str, type]) -> Iterator[str]:
    """Messages about values of a part, such as "theory.cost=None, want a Cost".

    Functions, strings, integers, booleans, these classes and tuples of them are checked, also within parts of these
    classes; other types are left to the code that uses them.
    """
    kinds, known = {**PLAIN, **classes}, tuple(classes.values())
    for field, declared in type(part).__annotations__.items():
        value, where = getattr(part, field), f"{name}.{field}"
        text = str(getattr(declared, "__forward_arg__", declared))  # a named tuple wraps its annotations
        wanted = text.removesuffix(" | None")
        if value is None and wanted != text:
            continue
        several = SEQUENCE.fullmatch(wanted)
        if wanted.startswith("Callable["):
            if not callable(value):
                yield f"{where}={value!r}, want a function"
        elif several and several[1] in kinds:
            if not isinstance(value, (tuple, list)) or not all(isinstance(one, kinds[several[1]]) for one in value):
                yield f"{where}={value!r}, want a tuple of {several[1]}"
            else:
                for one in value:
                    yield from wrong_values(one, f"{where}: {several[1]}", classes) if isinstance(one, known) else ()
        elif wanted in kinds:
            if not isinstance(value, tuple if issubclass(kinds[wanted], tuple) else kinds[wanted]):
                yield f"{where}={value!r}, want {'a' if wanted not in PLAIN else 'of type'} {wanted}"
            elif isinstance(value, known):
                yield from wrong_values(value, where, classes)
