"""The kinds of methods: what each must declare, and what its learners receive and return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KindName = Literal["regression", "classification", "filter", "subspace"]
Targets = Literal["numbers", "numbers with gaps", "labels", "none"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a method of a kind must declare; `Method` refuses a declaration that lacks some of it."""

    name: KindName
    targets: Targets
    """The targets of the rows; in "numbers with gaps", NaN is a missing value."""
    fields: tuple[str, ...] = ()
    """Fields that the learner itself reads or writes."""
    settings: tuple[str, ...] = ()
    """Settings that the learner itself reads."""
    rows: tuple[str, ...] = ("learn",)
    """Functions with which a kernel learns the rows of a linear model."""
    smoothing: tuple[str, ...] | None = None
    """Functions of a kernel that a smoother needs; None if learners of the kind have no smoother."""

    @property
    def labels(self) -> bool:
        """Whether targets are labels, each with an output of its own."""
        return self.targets == "labels"

    @property
    def numbers(self) -> bool:
        """Whether targets are numbers."""
        return self.targets.startswith("numbers")

    @property
    def gaps(self) -> bool:
        """Whether NaN in the targets is a missing value."""
        return self.targets == "numbers with gaps"

    @property
    def supervised(self) -> bool:
        """Whether rows come with targets."""
        return self.targets != "none"


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("regression", "numbers"),
        Kind("classification", "labels"),
        Kind(
            "filter",
            "numbers with gaps",
            fields=("mean", "covariance", "moved"),
            settings=("transition", "process_noise", "observation_noise", "initial_mean"),
            rows=("learn", "predict_step"),
            smoothing=("rts_smooth",),
        ),
        Kind("subspace", "none", fields=("basis",), settings=("n_components",)),
    )
}
