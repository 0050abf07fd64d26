"""Code that several methods of the catalogue share; nothing here is a method.

- `declarations`: fields and settings of several methods;
- `subspaces`: fields, settings, starts and merge rules of the methods for subspaces;
- `merging`: rules by which the states of two learners are merged;
- `least_squares`, `recursions`, `gaussian_states`: batch solutions, computed without a streaming recursion;
- `losses`: the losses of `sgd`;
- `modules`: derives the lists of methods, metrics and streams from the files.
"""
