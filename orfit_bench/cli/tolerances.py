"""Options that name a metric and a relative change, such as latency=0.5."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from orfit_bench.errors import suggest


def parse_tolerances(texts: Sequence[str], known: Collection[str], example: str) -> dict[str, float]:
    """Parse the values METRIC=SHARE of --tolerate.

    Raises ValueError for an unknown or repeated metric, or if a share is not a number >= 0.
    """
    found: dict[str, float] = {}
    for text in texts:
        name, _, share = (part.strip() for part in text.partition("="))
        if name not in known:
            raise ValueError(f"--tolerate {text}: no metric {name!r}{suggest(name, known)}")
        if name in found:
            raise ValueError(f"--tolerate {text}: {name} is given twice")
        try:
            found[name] = float(share)
        except ValueError:
            found[name] = -1.0
        if not found[name] >= 0:
            raise ValueError(f"--tolerate {text}: want METRIC=SHARE, a relative change >= 0, e.g. {example}")
    return found
