"""Attributes that are computed when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class ComputedOnce(Generic[T]):
    """`functools.cached_property` without the lock that it has before Python 3.12.

    A process that is forked while another thread holds that lock would wait for it for ever. Without it, two threads
    may both compute the value, of which the later one is kept.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> Self | T:
        """Compute the value and keep it in the instance, where it is found from then on."""
        if instance is None:
            return self
        value = vars(instance)[self._name] = self._compute(instance)
        return value
