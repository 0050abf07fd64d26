"""One array of a learner's state in host memory."""

import numpy as np
import pytest

import orfit_bench as ob


class TestArray:
    @pytest.mark.parametrize("method", ["rls", "ridge", "kalman", "sgd"])
    def test_equals_the_array_of_the_state(self, method):
        learner = ob.create(method, backend="numpy").partial_fit(np.eye(3), [1.0, -1.0, 1.0])
        state = learner.state()
        for name in set(state) - {"pending_X", "pending_y"}:
            np.testing.assert_array_equal(learner.array(name), state[name].values)

    def test_is_a_copy(self):
        learner = ob.create("lms", backend="numpy").partial_fit([[1.0]], [1.0])
        learner.array("w")[:] = 7.0
        assert learner.array("w") != 7.0

    def test_unknown_name(self):
        learner = ob.create("rls", backend="numpy")
        with pytest.raises(ValueError, match="has seen no chunk yet"):
            learner.array("w")
        with pytest.raises(KeyError, match="rls has no array 'v' in its state, which has w, P"):
            learner.partial_fit([[1.0]], [1.0]).array("v")
