"""Pipelines: rows are standardized and get an intercept before a learner learns them, in one pass."""
