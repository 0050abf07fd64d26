"""The limit of every method: what a row takes at least on a linear model, as far as anybody here knows.

One formula a method: floating-point operations, and numbers read or written, a row, leading order, in the letters of
the sources. d features, c outputs, k components, m directions kept, b rows of apa's window. The time of a row at the
limit is the larger of operations over the rate of matrix products, and bytes over the bandwidth where the state lies.

The declarations of the methods say the same for every setting (`method.theory.cost`), and tables of users' runs read
those; tests/bench/test_limits.py holds the two together. This file changes only with a page in docs/decisions/ (0030).
"""

BLOCK = 64  # rows for which a covariance is read and written once

LIMITS = {
    "lms": lambda d, c: (4 * d * c, (1 + 2 * c) * d),  # x, w; w is written
    "sgd": lambda d, c: (4 * d * c, (1 + 2 * c) * d),
    "softmax": lambda d, c: (4 * d * c, (1 + 2 * c) * d),
    "nlms": lambda d, c: ((4 * c + 2) * d, (1 + 2 * c) * d),
    "one_step_sgd": lambda d, c: ((4 * c + 2) * d, (1 + 2 * c) * d),
    "greedy": lambda d, c: (0, c),
    "apa": lambda d, c, b: (2 * (b * (1 + c) + c) * d, (b + 2 * c) * d),  # a row of the Gram matrix, A'z
    "icl": lambda d, c, m: ((4 * m + 4 * c + 4) * d, (2 + 2 * c) * d),  # Gram-Schmidt by blocks
    "ogd": lambda d, c, m: ((4 * m + 4 * c + 4) * d, (2 + 2 * c) * d),
    "orfit": lambda d, c, m: ((8 * m + 4 * c + 4) * d, (2 * m + 2 + 2 * c) * d),  # the rotation delayed
    "orfit, unlimited": lambda d, c, m: ((4 * m + 4 * c + 4) * d, (2 + 2 * c) * d),
    "rls": lambda d, c: (3 * d**2, 2 * d**2 / BLOCK),  # P X' and one triangle of P - V'V
    "rls, one row per call": lambda d, c: (3 * d**2, 2 * d**2),
    "ridge": lambda d, c: (d**2 + 2 * d * c, d**2 / BLOCK + d),  # one triangle of X'X, and X'Y
    "class_rls": lambda d, c: (3 * d**2 + 4 * d * c, 2 * d**2 / BLOCK + 2 * d * c),
    "kalman": lambda d, c: (3 * d**2, 2 * d**2 / BLOCK),
    "kalman, transition": lambda d, c: (3 * d**3, 6 * d**2),  # F P, and one triangle of (F P)F'
    "kalman, smooth": lambda d, c: (31 / 3 * d**3, 20 * d**2),  # filter 3, F P 2, Cholesky 1/3, L 2, L (P - P) L' 3
    "oja": lambda d, k: (4 * k * d, (1 + 2 * k) * d),
    "krasulina": lambda d, k: (6 * k * d, (1 + 3 * k) * d),
    "sanger": lambda d, k: (6 * k * d + 7 * k**2, (1 + 3 * k) * d + 2 * k**2),
    "implicit_krasulina": lambda d, k: (6 * k * d + 7 * k**2, (1 + 3 * k) * d + 2 * k**2),
    "incremental_pca": lambda d, k: (8 * k * d, (1 + 2 * k) * d),  # the rotation delayed
    "gp": lambda n, m, k: ((8 * k + 4) * n * m + 8 * k * n, 3 * n * m + 2 * k * n),  # a layer of n inputs, m outputs
    "owm": lambda n, m: (4 * n * m + 5 * n**2, 3 * n * m + 2 * n**2),
}
"""Name to operations and numbers of one row; a method by its name, a way of using it behind a comma."""
