"""The theorems about the methods of the catalogue, as executable laws.

The module with the name of a method holds the laws of that method, `LAWS`. `equalities` holds the laws that compare
two methods and `theorems` those that involve no learner. The other modules are shared by several laws:

- `helpers`: weights, condition numbers and small experiments;
- `covariance`: warnings and refusals when a covariance loses precision;
- `networks`: layered models followed step by step;
- `subspaces`: laws and measurements of rules for subspaces;
- `complex_numbers`, `weights`, `uncertainty`: complex rows, weighted rows, standard deviations;
- `state_space`, `smoothing`: time-varying states, and the laws of the smoother;
- `conditioning`, `exact_rows`, `moving_states`: further laws of the filter;
- `first_rows`, `information_roots`, `wind_up`: laws of RLS, the last one of the filter too;
- `cross_entropy`: laws of `sgd` with the cross-entropy;
- `orfit_memory`: the laws of ORFit's limited memory.

Laws import `orfit_bench.catalogue.shared` and the specification, never a declaration: `catalogue.methods` imports them.
"""
