"""Classes generated from the declarations of methods: signatures, docstrings and the mapping of all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import new_class
from typing import Any

from orfit_bench.plugins.registry import registry
from orfit_bench.spec import Method
from orfit_bench.spec.synonyms import suggest_method, suggest_setting

Parameters = dict[str, tuple[Any, str]]
"""The default and the documentation of each parameter, by name."""


def setting_parameters(method: Method) -> Parameters:
    """The settings of a method as parameters; the documentation is the type, a line break and the meaning."""
    return {
        s.name: (s.default, f"{s.type}{' or None' if s.optional else ''}, default {s.default!r}\n{s.meaning}")
        for s in method.settings
    }


def make_class(base: type, name: str, module: str, method: Method, given: Parameters, attributes: str = "") -> type:
    """A subclass with the attribute `method`, a constructor for these parameters, and numpydoc documentation."""
    namespace = {
        "__init__": _initializer(given),
        "__doc__": _docstring(method, given, attributes),
        "__module__": module,
        "__qualname__": name,
        "method": method,
    }
    return new_class(name, (base,), exec_body=lambda body: body.update(namespace))


def _initializer(given: Parameters) -> Callable[..., None]:
    """A constructor that stores its keyword arguments unchanged, as scikit-learn and River require."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    shown = [inspect.Parameter(name, keyword, default=default) for name, (default, _) in given.items()]
    signature = inspect.Signature([own, *shown])

    def __init__(self: Any, **values: Any) -> None:
        for name in values:
            if name not in given:
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}{suggest_setting(name, given)}")
        bound = signature.bind(self, **values)
        bound.apply_defaults()
        for name in given:
            setattr(self, name, bound.arguments[name])
        if begin := getattr(self, "begin", None):
            begin()

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def _docstring(method: Method, given: Parameters, attributes: str) -> str:
    lines = []
    for name, (_, text) in given.items():
        head, _, meaning = text.partition("\n")
        lines.append(f"{name} : {head}\n    {meaning}")
    summary = method.summary[:1].upper() + method.summary[1:]
    parts = [f"{summary}.", method.use_when, _section("Parameters", "\n".join(lines))]
    parts += [_section("Attributes", attributes) if attributes else "", _section("Notes", f"Source: {method.source}.")]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}"


class GeneratedClasses(Mapping[str, Any]):
    """The classes by method, those of plugins included; each is made when it is first asked for.

    Parameters
    ----------
    build : callable
        build(method) returns the class of a method.
    class_name : callable
        class_name(method) returns its name.
    base_class : callable
        base_class(method) returns the class from which it is derived.
    offers : callable
        offers(method) says whether there is a class for it.
    """

    def __init__(
        self,
        build: Callable[[Method], type],
        class_name: Callable[[Method], str],
        base_class: Callable[[Method], type],
        offers: Callable[[Method], bool] = lambda method: True,
    ) -> None:
        self._build, self._class_name, self._base_class, self._offers = build, class_name, base_class, offers
        self._built: dict[str, Any] = {}

    def _methods(self) -> dict[str, Method]:
        """The methods with a class; a setting with the name of an attribute of the class would be lost."""
        offered = {name: method for name, method in registry().methods.items() if self._offers(method)}
        return {name: method for name, method in offered.items() if not self._hidden_setting(method)}

    def _hidden_setting(self, method: Method) -> str:
        """The first setting with the name of an attribute, perhaps of one set by fitting; empty if there is none."""
        base = self._base_class(method)
        return next((s.name for s in method.settings if s.name.endswith("_") or hasattr(base, s.name)), "")

    def __getitem__(self, name: str) -> Any:
        """The class of a method; KeyError if there is none."""
        known = self._methods()
        if name not in known:
            method = registry().methods.get(name)
            if method and self._offers(method):
                hidden = self._hidden_setting(method)
                raise KeyError(
                    f"no estimator of {name!r}: its setting {hidden!r} has the name of an attribute: rename it"
                )
            raise KeyError(f"no estimator of the method {name!r}{suggest_method(name, known)}")
        method = known[name]
        if name not in self._built or self._built[name].method is not method:
            self._built[name] = self._build(method)
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        """The names of the methods."""
        return iter(self._methods())

    def __len__(self) -> int:
        """The number of methods."""
        return len(self._methods())

    def by_class_name(self, name: str) -> Any:
        """The class of this name, which pickle needs; AttributeError if no method has one."""
        for method in self._methods().values():
            if self._class_name(method) == name:
                return self[method.name]
        names = list(map(self._class_name, self._methods().values()))
        meant = next((f": did you mean {n!r}?" for n in names if n.lower() == name.lower()), "")
        raise AttributeError(f"there is no estimator {name!r}{meant}; there are {', '.join(names)}")
