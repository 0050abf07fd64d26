"""The stream satisfies what orfit_bench requires of it."""

from my_plugin.stream import STREAM
from orfit_bench.conformance import check_stream


def test_stream() -> None:
    """Nothing is found."""
    assert check_stream(STREAM) == []
