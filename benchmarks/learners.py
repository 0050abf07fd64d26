"""Speed, memory of the state and closeness to the exact solution, over commits.

The names are literal and only ever appended to: names found at import would mislabel the results of older commits.
"""

import numpy as np

METHODS = ["lms", "nlms", "apa", "icl", "ogd", "orfit", "one_step_sgd", "greedy", "rls"]
METHODS += ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
METHODS += ["kalman", "sgd", "class_rls", "gp", "owm"]
BACKENDS = ["numpy"]


class Learners:
    """One method on one backend over 256 rows of 64 features: with numbers, with labels, or the rows alone."""

    params = [METHODS, BACKENDS]
    param_names = ["method", "backend"]
    timeout = 60

    def setup(self, method, backend):
        import orfit_bench as ob

        if method not in ob.methods() or backend not in ob.backends():
            raise NotImplementedError(f"{method} on {backend} is not in this commit")  # shown as n/a
        self.declared = ob.methods()[method]
        self.kind = getattr(self.declared, "kind", "regression")  # older commits know no other
        rng = np.random.default_rng(0)
        X = rng.standard_normal((256, 64))
        y = X @ rng.standard_normal(64) + 0.1 * rng.standard_normal(256)
        self.X, self.y = X, {"classification": (y > 0).astype(int), "subspace": None}.get(self.kind, y)
        self.learner = self.fitted(method, backend, 256)

    def fitted(self, method, backend, n):
        import orfit_bench as ob

        more = {"model": ob.MLP()} if getattr(self.declared, "layered", False) else {}
        return ob.create(method, backend=backend, **more).partial_fit(*self.rows(n))

    def rows(self, n):
        return self.X[:n], None if self.y is None else self.y[:n]

    def time_chunk(self, method, backend):
        self.learner.partial_fit(self.X, self.y)

    def time_row(self, method, backend):
        self.learner.partial_fit(*self.rows(1))

    def track_state_bytes(self, method, backend):
        return self.learner.state_bytes

    track_state_bytes.unit = "B"

    def track_deviation(self, method, backend):
        if self.declared.batch is None or self.kind == "subspace":
            return float("nan")
        X, y = self.rows(48)
        fresh = self.fitted(method, backend, 48)
        Y = y[:, None] == fresh.classes_ if self.kind == "classification" else y[:, None]
        want = self.declared.batch(X, np.asarray(Y, float), np.zeros((64, Y.shape[1])), fresh.settings)
        got = fresh.state()[getattr(self.declared, "weights", "w")].values
        return float("nan") if want is None else float(abs(got - want).max() / abs(want).max())

    track_deviation.unit = "relative"
