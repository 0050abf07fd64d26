"""Backward transfer: the decrease of the error on earlier tasks due to later ones."""

from orfit_bench.catalogue.metrics import forgetting
from orfit_bench.spec.metric import Metric, Record


def measure(record: Record) -> float | None:
    """The negative of forgetting; None for fewer than two tasks."""
    forgot = forgetting.measure(record)
    return None if forgot is None else -forgot


METRIC = Metric(
    name="backward_transfer",
    unit="by kind",
    summary="decrease of the error on earlier tasks",
    formula="(1/(T-1)) sum_(j<T) (E[j, j] - E[T, j]), above 0 if later tasks helped; the negative of forgetting",
    source="survey, Positive Backward Transfer (named there; the formula is the negative of its F_t)",
    better="higher",
    measure=measure,
    floor=1e-12,
)
