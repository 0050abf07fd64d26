"""The loop over the rows of a chunk."""

from types import SimpleNamespace

import numpy as np
import pytest

from orfit_bench.kernels.loops import make_learn


def test_an_update_that_returns_none_is_refused():
    learn = make_learn(lambda s, J, E, p: None)
    s, p = SimpleNamespace(w=np.zeros((2, 1))), SimpleNamespace(batch_size=1, at=lambda i: None)
    with pytest.raises(TypeError, match="want True"):
        learn(s, np.ones((1, 2)), np.ones((1, 1)), p, None)
