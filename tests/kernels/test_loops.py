"""The loop over the rows of a chunk."""

from types import SimpleNamespace

import numpy as np
import pytest

from orfit_bench.kernels.loops import keep_finite, make_learn


def test_an_update_that_returns_none_is_refused():
    learn = make_learn(lambda s, J, E, p: None)
    s, p = SimpleNamespace(w=np.zeros((2, 1))), SimpleNamespace(batch_size=1, at=lambda i: None)
    with pytest.raises(TypeError, match="want True"):
        learn(s, np.ones((1, 2)), np.ones((1, 1)), p, None)


class Rows(SimpleNamespace):
    """Parameters of rows: those from row i on are `at(i)`."""

    def at(self, i, n=1):
        return Rows(batch_size=1, first=self.first + i)


def test_rows_that_learn_rows_leaves_are_learned_by_update():
    """Rows 2 and 5 of seven are left, and the last is refused."""
    seen = []

    def update(s, J, E, p):
        seen.append(("update", p.first))
        return p.first != 6

    def learn_rows(s, X, y, p, out):
        n = next((i for i in range(len(X)) if p.first + i in (2, 5, 6)), len(X))
        seen.extend(("rows", p.first + i) for i in range(n))
        return n

    s, X = SimpleNamespace(w=np.zeros((1, 1))), np.ones((7, 1))
    assert make_learn(update, learn_rows)(s, X, X, Rows(batch_size=1, first=0), None) == 6
    want = [("update" if i in (2, 5, 6) else "rows", i) for i in range(7)]
    assert seen == want


@pytest.mark.parametrize("bad", [0, 3, 7])
def test_weights_are_those_before_the_row_that_makes_them_infinite(bad):
    @keep_finite
    def learn_rows(w, X, y, p, out):
        for i, x in enumerate(X):
            out[i] = w[0]
            w += x
        return len(X)

    X = np.ones((8, 1))
    X[bad] = np.inf
    s, out = SimpleNamespace(w=np.zeros((1, 1))), np.full(8, -1.0)
    assert learn_rows(s, X, X[:, 0], Rows(batch_size=1, first=0), out) == bad
    assert s.w == bad
    assert list(out[:bad]) == list(range(bad))
