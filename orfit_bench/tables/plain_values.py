"""Values that NumPy would convert to numbers without their meaning: masked values and categories."""

from __future__ import annotations

from typing import Any

import numpy as np

OF_LABELS = " (labels are for methods of classification, such as class_rls)"


def refuse_masked(value: object, name: str) -> None:
    """Raise TypeError for a masked array, or a list of them, whose masks would be ignored."""
    if defect := masked_defect(value):
        raise TypeError(f"{name}: {defect}")


def masked_defect(value: object) -> str:
    """Why a masked array, or a list of them, is refused; empty for anything else."""
    if isinstance(value, np.ma.MaskedArray):
        return "got a masked array, want plain values: drop or fill what is masked"
    if isinstance(value, (list, tuple)) and any(isinstance(part, np.ma.MaskedArray) for part in value):
        return f"got masked values in a {type(value).__name__}: drop or fill what is masked"
    return ""


def refuse_categories(value: object, name: str) -> None:
    """Raise TypeError for categories of pandas, which NumPy would convert to numbers if they are named by numbers."""
    if is_categorical(value):
        remedy = OF_LABELS if name == "y" else ""
        raise TypeError(f"{name}: got {type(value).__name__} of dtype category, want real numbers{remedy}")


def is_categorical(value: Any) -> bool:
    """Whether these are categories of pandas: a Categorical, an index or a column."""
    return type(value) is not np.ndarray and getattr(getattr(value, "dtype", None), "name", "") == "category"
