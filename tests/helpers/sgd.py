"""Losses and data of the tests of SGD."""

import numpy as np

from orfit_bench.catalogue.shared.losses import MARGINS


def weights(learner, name="w"):
    return learner.state()[name].values


def targets(loss, shape, seed=1):
    y = np.random.default_rng(seed).standard_normal(shape)
    return np.where(y > 0, 1.0, -1.0) if loss in MARGINS else y


AVERAGED = [
    {"averaging": "uniform"},
    {"averaging": "tail", "tail_start": 4},
    {"averaging": "tail", "tail_start": 1},
    {"averaging": "weighted", "weights": {"sequence": {"values": [1.0, 2.0, 5.0]}}},
    {"averaging": "weighted", "weights": {"power": {"eta0": 3.0, "power": 1.0}}},
    {"averaging": "weighted", "weights": {"slide": {"B": 1.0, "G": 4.0}}},
    {"averaging": "weighted", "weights": 0.5},
]
