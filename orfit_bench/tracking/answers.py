"""The answers of a process of a commit: a value, or the error that replaced it."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.tracking import workloads
from orfit_bench.tracking.commit_process import CommitProcess, MeasureError, MissingError

Answer = Any
"""A value, or the `MeasureError` that replaced it."""


def answer_of(process: CommitProcess) -> Answer:
    """The answer of a process, or its error."""
    try:
        return process.finish()
    except MeasureError as error:
        return error


def trajectory_of(answer: Answer) -> Answer:
    """The arrays of a trajectory from their transmitted form, or the error."""
    if isinstance(answer, Exception):
        return answer
    return {name: np.frombuffer(data, float).reshape(shape) for name, (shape, data) in answer.items()}


def deviation_of(got: Answer, want: Answer) -> Answer:
    """The deviation of one trajectory from another, or an error."""
    if isinstance(got, Exception):
        return got
    if isinstance(want, Exception):
        return MissingError("no trajectory to compare with")
    try:
        return workloads.trajectory_deviation(got, want)
    except ValueError as error:
        return MeasureError(str(error))
