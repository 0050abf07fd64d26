"""The checks as pytest tests: `test_conforms = suite("myplugin")` is the complete conformance suite of a plugin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orfit_bench.conformance.result import EXPECTED, PASSED, SKIPPED, UNPROVEN, CheckResult, PlannedCheck
from orfit_bench.conformance.runner import run_check
from orfit_bench.plugins.discovery import IN_PROCESS
from orfit_bench.plugins.registry import registry


def suite(*names: str, backends: Sequence[str] = ()) -> Callable[..., None]:
    """Create a test function that pytest runs once for every check.

    Parameters
    ----------
    *names : str
        Methods, backends, plugins or distributions. Default: those of the option --orfit, or everything installed.
    backends : sequence of str
        Check only on these backends.

    Returns
    -------
    callable
        A function to assign to a name that starts with `test_`; the pytest plugin of orfit-bench turns it into tests.

    Examples
    --------
    >>> test_conforms = suite("lms", backends=["numpy"])
    """
    import pytest

    @pytest.mark.orfit(*names, backends=tuple(backends))
    def conforms(orfit_item: PlannedCheck, request: pytest.FixtureRequest) -> None:
        """The check passes."""
        result = run_check(orfit_item)
        reported = {name: value for name, value in result.to_dict().items() if value is not None}
        request.node.user_properties.extend(reported.items())
        if result.status == SKIPPED:
            pytest.skip(result.reason)
        if result.status == EXPECTED:
            pytest.xfail(result.reason)
        if result.status == UNPROVEN and request.config.getoption("--orfit-allow-unproven"):
            pytest.xfail(f"unproven: {result.reason}")
        if result.status != PASSED:  # with --runxfail, xfail returns
            pytest.fail(_failure(result, request.node.nodeid), pytrace=False)

    return conforms


def _failure(result: CheckResult, nodeid: str) -> str:
    """The reason of a failure, and how to repeat the check: with pytest if the plugin exists only in this process."""
    pair = result.backend, result.method
    names = {"methods": result.method, "backends": result.backend, "kernels": pair}
    local = IN_PROCESS in {registry().suppliers[hook, name] for hook, name in names.items()}
    repeat = f"pytest {nodeid!r} --orfit-seed {result.seed}" if local else result.repeat
    unproven = "unproven: " if result.status == UNPROVEN else ""
    return f"{result.label}: {unproven}{result.reason}\nrepeat: {repeat}"
