"""Calls of the probes of plugins, which say why a backend or a stream cannot be used here."""

from __future__ import annotations

from collections.abc import Callable


def reason_of(probe: Callable[[], str]) -> str:
    """What a probe returned, or how it failed."""
    try:
        found: object = probe()
        return found if isinstance(found, str) else f"its probe returned {found!r}, want a string" if found else ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit: a plugin must not end the process
        return f"its probe failed: {type(error).__name__}: {error}"
