"""Whether the values in a declaration have the types that its classes declare."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np

PLAIN: dict[str, Any] = {"str": str, "bool": (bool, np.bool_), "int": Integral}
WORDS = {"str": "a string", "bool": "True or False", "int": "an integer"}
SEQUENCE = re.compile(r"tuple\[(\w+), \.\.\.\]")


def wrong_values(part: Any, name: str, classes: Mapping[str, type]) -> Iterator[str]:
    """Messages about values of a part with this name, such as "theory.cost=None, want a Cost".

    Functions, mappings, strings, integers, booleans, these classes and tuples of them are checked, also within parts of
    these classes; other types are left to the code that uses them.
    """
    kinds, known = {**PLAIN, **classes}, tuple(classes.values())
    declarations = [vars(kind).get("__annotations__", {}) for kind in reversed(type(part).__mro__)]
    for field, declared in {name: of for one in declarations for name, of in one.items()}.items():
        if not hasattr(part, field):  # an annotation of a subclass without a value
            continue
        value, where = getattr(part, field), f"{name}.{field}" if name else field
        text = str(getattr(declared, "__forward_arg__", declared))  # a named tuple wraps its annotations
        wanted = text.removesuffix(" | None")
        if value is None and wanted != text:
            continue
        several = SEQUENCE.fullmatch(wanted)
        if wanted.startswith("Callable["):
            if not callable(value):
                yield f"{where}={value!r}, want a function"
        elif wanted.startswith("Mapping["):
            if not isinstance(value, Mapping):
                yield f"{where}={value!r}, want a mapping"
        elif several and several[1] in kinds:
            if not isinstance(value, (tuple, list)) or not all(isinstance(one, kinds[several[1]]) for one in value):
                yield f"{where}={value!r}, want a tuple of {several[1]}"
            else:
                for one in value:
                    yield from wrong_values(one, f"{where}: {several[1]}", classes) if isinstance(one, known) else ()
        elif wanted in kinds:
            named_tuple = wanted in classes and issubclass(kinds[wanted], tuple)
            if not isinstance(value, tuple if named_tuple else kinds[wanted]):
                yield f"{where}={value!r}, want {WORDS.get(wanted) or f'a {wanted}'}"
            elif isinstance(value, known):
                yield from wrong_values(value, where, classes)
