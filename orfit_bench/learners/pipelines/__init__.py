"""Rows that are standardized and get an intercept on their way to a learner, in one pass."""
