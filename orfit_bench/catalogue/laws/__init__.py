"""The theorems about the methods of the catalogue, as executable laws.

The module with the name of a method holds the laws of that method, `LAWS`. `equalities` holds the laws that compare
two methods and `theorems` those that involve no learner. The other modules are shared by several laws:

- `helpers`: weights, condition numbers and small experiments;
- `covariance`: warnings and refusals when a covariance loses precision;
- `networks`: layered models followed step by step;
- `subspaces`: laws and measurements of rules for subspaces;
- `state_space`, `smoothing`: time-varying states, and the laws of the smoother;
- `orfit_memory`: the laws of ORFit's limited memory.

Laws import `orfit_bench.catalogue.shared` and the specification, never a declaration: `catalogue.methods` imports them.
"""
