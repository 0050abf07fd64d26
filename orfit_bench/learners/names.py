"""Names of the methods that come with the package, by kind, so that type checkers know what `create` returns."""

from __future__ import annotations

from typing import Literal

RegressorName = Literal[
    "apa", "gp", "greedy", "icl", "lms", "nlms", "ogd", "one_step_sgd", "orfit", "owm", "ridge", "rls", "sgd"
]
ClassifierName = Literal["class_rls", "softmax"]
FilterName = Literal["kalman"]
SubspaceName = Literal["implicit_krasulina", "incremental_pca", "krasulina", "oja", "sanger"]
