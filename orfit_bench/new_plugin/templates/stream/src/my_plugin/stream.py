"""A noisy linear function whose weights change once: replace `make` with your own data."""

import numpy as np
from orfit_bench import spec


def make(n: int, d: int, noise: float, seed: int) -> spec.Data:
    """X (n, d) standard normal; y = X w + noise; w changes after the first half, where the second task begins."""
    rng = np.random.default_rng(seed)  # the settings determine the data
    first, second = rng.standard_normal((2, d))
    X, X_test = rng.standard_normal((n, d)), rng.standard_normal((200, d))
    y = np.where(np.arange(n) < n // 2, X @ first, X @ second) + noise * rng.standard_normal(n)
    return spec.Data(X, y, test=(X_test, X_test @ second), tasks=(0, n // 2, n))


STREAM = spec.Stream(
    name="my_plugin",
    summary="a noisy linear function whose weights change once",
    make=make,
    settings=(
        spec.Setting("n", spec.Integer(2), 1000, "number of rows"),
        spec.Setting("d", spec.Integer(1), 10, "number of features"),
        spec.Setting("noise", spec.Number(0), 0.1, "standard deviation of the noise"),
        spec.Setting("seed", spec.Integer(0), 0, "seed of the random numbers"),
    ),
    source="synthetic",
)
