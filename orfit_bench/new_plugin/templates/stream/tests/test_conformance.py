"""The stream satisfies what orfit_bench requires of it."""

from orfit_bench.conformance import check_stream

from my_plugin.stream import STREAM


def test_stream() -> None:
    """No faults are found."""
    assert check_stream(STREAM) == []
