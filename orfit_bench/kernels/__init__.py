"""Array functions that the kernels of several backends share; each exists here once.

- `guards`: decisions about precision: whether numbers are finite, how many digits of a covariance are left;
- `exact_observations`: the gain of a filter for rows observed without noise;
- `information`: normal equations: the weights of rows under forgetting, sums, solutions;
- `filtering`: one step of a filter, and the variance that a transition restores;
- `layers`: the weights and arrays of a network's layers, projections, propagated errors;
- `linalg`: matrix factors that LAPACK does not return directly.

The functions know arrays only: no learner, no settings, no backend. Those of `layers` use the array library of their
arguments; the others take NumPy arrays. A rule itself is not shared: each backend has its own lines for it, so that
comparing two backends compares two computations.
"""
