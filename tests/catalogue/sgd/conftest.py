"""Data of the tests of SGD."""

import numpy as np
import pytest


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return rng.standard_normal((12, 4)), rng.standard_normal((4, 3))
