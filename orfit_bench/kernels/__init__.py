"""Array functions that the kernels of several backends share; each exists here once.

- `guards`: decisions about precision: whether numbers are finite, how many digits of a covariance are left;
- `exact_observations`: the gain of a filter for rows observed without noise;
- `information`: normal equations: the weights of rows under forgetting, sums, solutions;
- `filtering`: one step of a filter, and the variance that a transition restores;
- `layers`: the weights and arrays of a network's layers, projections, propagated errors;
- `linalg`: matrix factors that LAPACK does not return directly;
- `regularized_inverse`: A'(A A' + eps I)^+ for the rows of affine projection;
- `loops`: `learn` and `step` of a kernel, made from the update of one step;
- `fleets`: a step of many members of a fleet at once;
- `limited_memory`: which directions a limited memory keeps, and how exact they are;
- `threads`: the number of threads that BLAS uses.

The functions know arrays and the parameters of a step: no learner, no backend. Some use the array library of their
arguments, as those of `layers` and `loops` do, or take it as an argument; the others take NumPy arrays. A rule itself
is not shared: each backend has its own code for it, so that comparing two backends compares two computations.
"""
