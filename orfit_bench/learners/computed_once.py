"""Attributes that are computed when they are first used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class ComputedOnce(Generic[T]):
    """`functools.cached_property` without the lock that it has before Python 3.12.

    A process that is forked while another thread holds that lock would wait for it forever. Without it, two threads may
    both compute the value; the later result is kept.
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
        """Compute the value and keep it in the instance, where later accesses find it."""
        if instance is None:
            return self
        value = vars(instance)[self._name] = self._compute(instance)
        return value
