"""Speed, memory of the state and closeness to the exact solution, over commits.

The names are literal and only ever appended to: names found at import would mislabel the results of older commits.
"""

import numpy as np

METHODS = ["lms", "nlms", "apa", "icl", "ogd", "orfit", "one_step_sgd", "greedy", "rls"]
BACKENDS = ["numpy"]


class Learners:
    """One method on one backend over 256 rows of 64 features."""

    params = [METHODS, BACKENDS]
    param_names = ["method", "backend"]
    timeout = 60

    def setup(self, method, backend):
        import orfit_bench as ob

        if method not in ob.methods() or backend not in ob.backends():
            raise NotImplementedError(f"{method} on {backend} is not in this commit")  # shown as n/a
        rng = np.random.default_rng(0)
        self.X = rng.standard_normal((256, 64))
        self.y = self.X @ rng.standard_normal(64) + 0.1 * rng.standard_normal(256)
        self.learner = ob.create(method, backend=backend).partial_fit(self.X, self.y)

    def time_chunk(self, method, backend):
        self.learner.partial_fit(self.X, self.y)

    def time_row(self, method, backend):
        self.learner.partial_fit(self.X[:1], self.y[:1])

    def track_state_bytes(self, method, backend):
        return self.learner.state_bytes

    track_state_bytes.unit = "B"

    def track_deviation(self, method, backend):
        import orfit_bench as ob

        declared = ob.methods()[method]
        fresh = ob.create(method, backend=backend).partial_fit(self.X[:48], self.y[:48])
        if declared.batch is None:
            return float("nan")
        want = declared.batch(self.X[:48], self.y[:48, None], np.zeros((64, 1)), fresh.settings)
        return float(abs(fresh.state()["w"].values - want).max() / abs(want).max())

    track_deviation.unit = "relative"
