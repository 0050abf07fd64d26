"""CuPy's place taken by NumPy: all that is not the device itself is proven there.

Its arrays are as apart from the host's as CuPy's: neither NumPy's functions nor operations with NumPy's arrays take
them. What is done with them is counted: operations, waits of the host for one of them, the numbers that
it gets, and copies there.
"""

from collections.abc import Iterator

import numpy as np
import pytest

import orfit_bench as ob
from orfit_bench.spec import Backend
from orfit_bench_cupy import METHODS


class Device(np.ndarray):
    """An array that only `get`, a number of it, and DLPack on request bring to the host."""

    operations = waits = numbers = sent = 0

    def __array_namespace__(self, **_):
        return Namespace(np)

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **more):
        more |= {"out": tuple(map(plain, out))} if out else {}
        result = counted(getattr(ufunc, method), *inputs, **more)
        return uneven(result) if ufunc is np.matmul else result

    def __array_function__(self, function, types, args, kwargs):
        raise TypeError(f"numpy.{function.__name__} of an array on the device")

    def __getitem__(self, key):
        return lifted(super().__getitem__(key))  # a number too stays on the device

    def __setitem__(self, key, value):
        plain(value)
        super().__setitem__(key, value)

    def get(self):
        Device.waits += 1
        Device.numbers += self.size
        return np.array(self.view(np.ndarray))

    def __dlpack_device__(self):
        return 2, 0  # CUDA, the first

    def __dlpack__(self, *, dl_device=None, **more):
        if dl_device != (1, 0):
            raise BufferError("it lies on a device")
        return self.get().__dlpack__(**more)

    def item(self):
        return self.get().item()

    def __float__(self):
        return float(self.get())

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __index__(self):
        raise TypeError("CuPy's arrays are no indices")


def uneven(product):
    """A product of matrices whose upper half has other last bits than its lower one, as a device's may."""
    a = plain(product)
    if a.ndim == 2 and len(a) == a.shape[1]:
        np.nextafter(a, np.inf, out=a, where=np.triu(np.ones(a.shape, bool), 1))
    return product


def sent(a, **more):
    """A copy on the device."""
    Device.sent += 1
    return np.array(a, **more).view(Device)


def plain(a):
    """What is on the device as NumPy's arrays; an array of the host is refused."""
    if isinstance(a, (list, tuple)):
        return type(a)(map(plain, a))
    if isinstance(a, Device):
        return a.view(np.ndarray)
    if isinstance(a, np.ndarray) and a.ndim:
        raise TypeError("an array of the host among those of the device")
    return a


def counted(function, *arguments, **more):
    Device.operations += 1
    return lifted(function(*map(plain, arguments), **more))


def lifted(result):
    """Results as arrays on the device, numbers too."""
    if isinstance(result, tuple):
        return tuple(map(lifted, result))
    return np.asarray(result).view(Device)


class Namespace:
    """NumPy's functions for arrays on the device."""

    ndarray = Device

    def __init__(self, module):
        self._module = module

    def asarray(self, a, **more):
        return a if isinstance(a, Device) else sent(a, **more)

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if name == "linalg":
            return Namespace(found)
        if isinstance(found, type) or not callable(found):
            return found
        return lambda *given, **more: counted(found, *given, **more)


IN_PLACE = Backend(
    "cupy-on-numpy",
    "the CuPy backend's code on NumPy arrays",
    namespace=lambda: Namespace(np),
    asarray=lambda a: sent(a, order="C"),
    asnumpy=Device.get,
    device="cuda",
    device_info=lambda: {"device": "NumPy"},
    complete=True,
)


class Plugin:
    """The backend's kernels under another name."""

    SPEC_VERSION = (1, 0)

    @ob.hookimpl
    def backends(self):
        return (IN_PLACE,)

    @ob.hookimpl
    def kernels(self):
        return {(IN_PLACE.name, method): f"orfit_bench_cupy.{method}" for method in METHODS}


@pytest.fixture
def in_place() -> Iterator[str]:
    """The name of the backend while it is registered."""
    ob.register(Plugin(), IN_PLACE.name)
    yield IN_PLACE.name
    ob.unregister(IN_PLACE.name)
