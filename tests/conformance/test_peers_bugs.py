"""Bugs that published libraries of the field had or have are detected by the kit."""

import pytest
from faults.peers_bugs import BUGS

from orfit_bench.conformance.result import FAILED


@pytest.mark.slow
@pytest.mark.parametrize("what", BUGS)
def test_a_bug_of_a_peer_is_caught(what):
    checks, fault = BUGS[what]
    found = fault.report()
    assert checks <= {r.check for r in found.results if r.status == FAILED}
    assert not found.passed
