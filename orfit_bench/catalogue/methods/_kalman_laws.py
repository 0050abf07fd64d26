"""Laws of the Kalman filter: every truth is a conditioned joint normal distribution or one least-squares problem."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from orfit_bench.catalogue.methods._batch import inverse_information
from orfit_bench.catalogue.methods._common import condition, least_energy, refused
from orfit_bench.catalogue.methods._gaussian import States, given, prior
from orfit_bench.catalogue.methods._merging import in_parts
from orfit_bench.spec.law import Measured, Rows, deviation, largest
from orfit_bench.spec.model import Model, Transition

Array = NDArray[Any]


class Scene(NamedTuple):
    """A moving state and what was seen of it, all in numbers that float32 holds."""

    X: Array
    y: Array
    """NaN where nothing was seen."""
    transition: Array
    process_noise: Array
    observation_noise: Array
    mean: Array
    covariance: Array

    def varying(self, rows: slice) -> dict[str, Array]:
        """What comes with these rows."""
        return {n: getattr(self, n)[rows] for n in ("transition", "process_noise", "observation_noise")}

    def start(self) -> dict[str, Array]:
        """The settings of the first state."""
        return {"initial_mean": self.mean, "initial_covariance": self.covariance}

    def states(self, n: int) -> States:
        """The joint moments of the first n states given the first n rows."""
        seen = [i for i in range(n) if not np.isnan(self.y[i])]
        rows = [(i, self.X[i : i + 1], self.y[i : i + 1, None], self.observation_noise[i].reshape(1, 1)) for i in seen]
        return given(prior(self.transition[:n], self.process_noise[:n], self.mean, self.covariance), rows)


def scene(rows: Rows, n: int) -> Scene:
    """The first n rows, a fifth of them unseen, of a state that is turned, shrunk and shaken from row to row.

    The noise of an observation is a tenth of its variance at the start.
    """
    rng, X, d = np.random.default_rng(rows.seed), rows.X[:n], rows.X.shape[1]
    turns = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    y = np.where(np.arange(n) % 5 == 3, np.nan, rows.y[:n])
    noise = 0.1 * (X * X).sum(1).mean() * rng.uniform(0.5, 2, n)
    start = rng.standard_normal((d, 1)), spd(rng, d)
    parts = X, y, 0.95 * turns, 0.05 * spd(rng, n, d), noise, *start
    return Scene(*(single(part) for part in parts))


def spd(rng: np.random.Generator, *shape: int) -> Array:
    """Positive definite matrices of size shape[-1], with eigenvalues between 0.3 and 5 or so."""
    d = shape[-1]
    A = rng.standard_normal((*shape[:-1], d, 2 * d))
    return np.asarray(A @ np.swapaxes(A, -1, -2) / (2 * d) + 0.2 * np.eye(d))


def single(a: Array) -> Array:
    """Rounded to float32, so that learners of either dtype and the truth see the same numbers."""
    return np.asarray(a, np.float32).astype(float)


def apart(learner: Any, want: tuple[Array, Array]) -> float:
    """How far a learner's mean and covariance are from these."""
    state = learner.state()
    return largest(*(deviation(state[n].values, w) for n, w in zip(("mean", "covariance"), want, strict=True)))


def conditioning(create: Any, rows: Rows) -> Measured:
    """Mean and covariance are those of the state given the rows so far, whatever varies in time or was not seen."""
    world, worst, cond = scene(rows, 40), 0.0, 1.0
    learner = create(**world.start())
    for lo, hi in ((0, 1), (1, 2), (2, 20), (20, 40)):
        learner.partial_fit(world.X[lo:hi], world.y[lo:hi], **world.varying(slice(lo, hi)))
        want = world.states(hi)
        worst, cond = largest(worst, apart(learner, want.of(hi - 1))), max(cond, want.condition)
    return Measured(worst, 40, cond)


def forgetting(create: Any, rows: Rows) -> Measured:
    """At rest, with prior N(0, I/lambda) and noise beta^i, the filter is RLS-(beta, lambda): theta^t and Phi_t."""
    X, y = rows.X, rows.y
    variance, worst, cond = single(np.asarray(1 / least_energy(X))), 0.0, condition(X)
    for beta in (0.97, 1.0, 1.02):
        noise = single(beta ** np.arange(1, len(X) + 1.0))
        learner = create(initial_covariance=variance).partial_fit(X, y, observation_noise=noise)
        A = np.vstack([X / np.sqrt(noise)[:, None], np.eye(X.shape[1]) / np.sqrt(variance)])
        theta = np.linalg.lstsq(A, np.append(y / np.sqrt(noise), np.zeros(X.shape[1]))[:, None], rcond=None)[0]
        worst, cond = largest(worst, apart(learner, (theta, inverse_information(A)))), max(cond, condition(A))
    return Measured(worst, len(X), cond)


def merges(create: Any, rows: Rows) -> Measured:
    """At rest, filters of a part of the rows each merge into the one of all rows: theta^t and Phi_t."""
    X, y = rows.X, rows.y
    variance = single(np.asarray(1 / least_energy(X)))
    learner = in_parts(partial(create, initial_covariance=variance), X, y, (len(X) // 3, len(X) // 2))
    A = np.vstack([X, np.eye(X.shape[1]) / np.sqrt(variance)])
    theta = np.linalg.lstsq(A, np.append(y, np.zeros(X.shape[1]))[:, None], rcond=None)[0]
    return Measured(apart(learner, (theta, inverse_information(A))), len(X), condition(A))


def blocks(create: Any, rows: Rows) -> Measured:
    """Several observations of one moment condition the state at once, like one after another where their noise does."""
    X, y, (size, d) = rows.X[:40], rows.y[:40], (5, rows.X.shape[1])
    rng, start = np.random.default_rng(rows.seed), (np.zeros((d, 1)), np.eye(d))
    scale, at_once, one_by_one = float((X * X).sum(1).mean()), create(), create()
    noise, number = single(scale * spd(rng, size)), float(single(np.asarray(0.1 * scale)))
    for i in range(0, 40, size):
        at_once.step(X[i : i + size], y[i : i + size], observation_noise=noise)
        one_by_one.step(X[i : i + size], y[i : i + size], observation_noise=number)
    still = prior(np.eye(d)[None], np.zeros((1, d, d)), *start)
    worst, cond = 0.0, 1.0
    row_by_row = create(observation_noise=number).partial_fit(X, y)
    for learners, R in (((at_once,), noise), ((one_by_one, row_by_row), number * np.eye(size))):
        want = given(still, [(0, X[i : i + size], y[i : i + size, None], R) for i in range(0, 40, size)])
        worst = largest(worst, *(apart(learner, want.of(0)) for learner in learners))
        cond = max(cond, want.condition)
    return Measured(worst, 40, cond)


def extended(create: Any, rows: Rows) -> Measured:
    """Linearised where they are linear already, a model and a transition in functions lose nothing."""
    world, d = scene(rows, 30), rows.X.shape[1]
    F, Q, noise = world.transition[0], world.process_noise[0], float(world.observation_noise[0])
    still = world._replace(
        transition=np.tile(F, (30, 1, 1)), process_noise=np.tile(Q, (30, 1, 1)), observation_noise=np.full(30, noise)
    )
    learner = create(
        model=Model("rows in functions", lambda w, X: (X @ w)[:, None], lambda w, x: x[None], d),
        transition=Transition("a matrix", lambda w: _like(w, F) @ w, lambda w: _like(w, F)),
        process_noise=Q,
        observation_noise=noise,
        **world.start(),
    ).partial_fit(world.X, world.y)
    want = still.states(30)
    return Measured(apart(learner, want.of(29)), 30, want.condition)


def _like(w: Array, F: Array) -> Array:
    """F where w is and of its dtype."""
    there: Array = w.__array_namespace__().asarray(F, dtype=w.dtype)
    return there


def smoothing(create: Any, rows: Rows) -> Measured:
    """The smoothed moments of every state are those given all rows, with the transition to it in the gain."""
    world = scene(rows, 40)
    found = create(**world.start()).smooth(world.X, world.y, **world.varying(slice(None)))
    want = world.states(40)
    covariances = np.stack([want.of(i)[1] for i in range(40)])
    worst = largest(deviation(found["mean"].values, want.mean), deviation(found["covariance"].values, covariances))
    return Measured(worst, 40, want.condition)


def backward_transfer(create: Any, rows: Rows) -> Measured:
    """Every further row shrinks the covariance of every earlier state: Sigma_(i|t) <= Sigma_(i|s) for i <= s <= t."""
    world, n = scene(rows, 12), 12
    smoothed = [
        create(**world.start()).smooth(world.X[:t], world.y[:t], **world.varying(slice(t)))["covariance"].values
        for t in range(1, n + 1)
    ]
    worst = 0.0
    for t in range(n):
        for s in range(t + 1):
            growth = np.linalg.eigvalsh(smoothed[t][: s + 1] - smoothed[s]).max(axis=-1)
            worst = largest(worst, *(growth / np.linalg.norm(smoothed[s], 2, axis=(1, 2))))
    want = world.states(n)  # shrunk by as much as the rows tell
    worst = largest(worst, *(deviation(smoothed[-1][i], want.of(i)[1]) for i in range(n)))
    return Measured(worst, n, want.condition)


def smoothing_of_what_is_known(create: Any, rows: Rows) -> Measured:
    """Directions known exactly stay as they are, and of a state at rest every row tells as much of every moment."""
    X, y = rows.X[:20] / np.linalg.norm(rows.X[:20], axis=1, keepdims=True), rows.y[:20] / abs(rows.y[:20]).max()
    known = np.arange(X.shape[1]) % 3 == 0
    mean, P = np.where(known, 0.3, 0.0), np.diag(np.where(known, 0.0, 2.0))
    found = create(initial_mean=mean, initial_covariance=P, transition=np.eye(len(P))).smooth(X, y)
    A = np.vstack([X[:, ~known], np.eye((~known).sum()) / np.sqrt(2.0)])
    b = np.concatenate([y - X @ mean, np.zeros((~known).sum())])
    w, S = mean.copy(), np.zeros_like(P)
    w[~known] += np.linalg.lstsq(A, b, rcond=None)[0]
    S[np.ix_(~known, ~known)] = np.linalg.inv(A.T @ A)
    means, covariances = found["mean"].values[:, :, 0], found["covariance"].values
    worst = largest(*(deviation(m, w) for m in means), *(deviation(C, S) for C in covariances))
    return Measured(worst, len(X), float(np.linalg.cond(A)))


def rows_without_noise(create: Any, rows: Rows) -> Measured:
    """As many independent rows without noise as there are parameters leave nothing unknown, whatever the prior's size.

    What they leave of the covariance is zero, not rounding, which a further row would divide by: that one is skipped.
    """
    d, worst = 5, 0.0
    Q = np.linalg.qr(np.random.default_rng(rows.seed).standard_normal((d, d)))[0]
    w = np.linspace(-1, 1, d)
    for k in (-60, 0, 60):
        learner = create(observation_noise=0.0, initial_covariance=2.0**k).partial_fit(Q, Q @ w)
        learner.partial_fit(Q[1:3] + Q[2:4], [5.0, -5.0])
        learner.step(np.vstack([Q[:1], np.zeros((1, d))]), [9.0, 9.0])  # nor does a row of zeros divide
        state = learner.state()
        left = float(abs(state["covariance"].values).max() > 0)
        worst = largest(worst, deviation(state["mean"].values[:, 0], w), left)
    return Measured(worst, d * d, 1.0)


def smoothing_without_noise(create: Any, rows: Rows) -> Measured:
    """Rows without noise of a state that nothing shakes tell all of its moments, once they are enough."""
    rng, n, d, worst, cond = np.random.default_rng(rows.seed), 12, 5, 0.0, 1.0
    for k in range(10):
        X, w, P = single(rng.standard_normal((n, d))), rng.standard_normal(d), single(spd(rng, d))
        F = single(np.linalg.qr(rng.standard_normal((d, d)))[0]) if k % 2 else np.eye(d)
        want = np.stack([np.linalg.matrix_power(F, i) @ w for i in range(n)])
        learner = create(observation_noise=0.0, transition=F, initial_covariance=P)
        found = learner.smooth(X, (X * want).sum(axis=1))
        left = float(abs(found["covariance"].values).max())
        worst = largest(worst, deviation(found["mean"].values[:, :, 0], want), left)
        pulled = [x @ np.linalg.matrix_power(F, i) for i, x in enumerate(X[:d])]  # as the first state meets them
        cond = max(cond, condition(np.array(pulled)) ** 2 * condition(P))  # a covariance holds the squares
    return Measured(worst, n, cond)


def what_is_known_stays(create: Any, rows: Rows) -> Measured:
    """Rows without noise, from a prior of variance 1, find the smallest weights that fit them; the rest is unknown."""
    A, y = np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [2, 1, 1, 0]]), np.array([1.0, 3, -2])
    worst = 0.0
    for n in (1, 2, 3):
        state = create(observation_noise=0.0).partial_fit(A[:n], y[:n]).state()
        known = np.linalg.pinv(A[:n])
        worst = largest(worst, deviation(state["mean"].values[:, 0], known @ y[:n]))
        worst = largest(worst, deviation(state["covariance"].values, np.eye(4) - known @ A[:n]))
        worst = largest(worst, float(state["digits_lost"].values))  # what is known to rounding lost none
    beside_zeros = create(observation_noise=0.0).step(np.array([0 * A[0], A[1]]), [0.0, 4.0]).state()
    worst = largest(worst, deviation(beside_zeros["mean"].values[:, 0], 2 * A[1]))
    return Measured(worst, 12, condition(A))


def shared_noise(create: Any, rows: Rows) -> Measured:
    """Rows that share one noise, each with a share of its own: the combinations without it are told exactly."""
    rng, worst, cond = np.random.default_rng(rows.seed), 0.0, 1.0
    for _ in range(10):
        A, y, P, share = rng.standard_normal((3, 4)), rng.standard_normal(3), spd(rng, 4), rng.uniform(0.5, 1, 3)
        R = np.outer(share, share)  # of rank 1, but for rounding
        state = create(initial_covariance=P).step(A, y, observation_noise=R).state()
        S = A @ P @ A.T + R
        K = P @ A.T @ np.linalg.inv(S)
        worst = largest(worst, deviation(state["mean"].values[:, 0], K @ y))
        worst = largest(worst, deviation(state["covariance"].values, P - K @ A @ P))
        cond = max(cond, condition(S) * condition(P))
    return Measured(worst, 12, cond)


def moved_out_of_the_floats(create: Any, rows: Rows) -> Measured:
    """A move that takes the mean or the covariance out of the floats is refused, also where nothing is seen."""
    wrong = 0
    for start in ({"initial_covariance": 1.0}, {"initial_covariance": 0.0, "initial_mean": 1.0}):
        learner = create(transition=1e10, **start)
        left = not refused(learner.partial_fit, np.eye(2)[[0] * 100], np.full(100, np.nan))
        wrong += left or not all(np.isfinite(learner.state()[name].values).all() for name in ("mean", "covariance"))
    return Measured(float("inf") if wrong else 0.0, len(rows.X), 1.0)
