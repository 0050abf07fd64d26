"""Small cells and suites."""

from orfit_bench.bench import Cell, Protocol, Suite

SMALL = {"n": 60, "d": 4, "outputs": 1, "noise": 0.1}


def hook(name, value):
    """A hook function that returns value."""

    def function():
        return value

    function.__name__ = name
    return function


def cell(method="lms", stream="regression", protocol=None, settings=None, sizes=SMALL):
    return Cell(method, "numpy", stream, settings or {}, sizes, protocol=protocol or Protocol())


def suite(*methods, **more):
    return Suite(**{"methods": methods, "backends": ["numpy"], "streams": ["regression"], "rows": [60], **more})
