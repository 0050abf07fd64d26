"""Code that several methods of the catalogue share; nothing here is a method.

- `declarations`: fields and settings of several methods;
- `subspaces`: fields, settings, starts and merge rules of the methods for subspaces;
- `merging`, `state_merging`: rules by which the states of two learners are merged;
- `information_roots`: the merge and the batch solution of `rls` in square-root form;
- `least_squares`, `recursions`, `gaussian_states`, `cross_entropy`: batch solutions, computed without a streaming
  recursion;
- `losses`: the losses of `sgd`;
- `probabilities`: probabilities of classes from the predictions of a method;
- `lengths`: rows of length 1;
- `modules`: derives the lists of methods, metrics and streams from the files.
"""
