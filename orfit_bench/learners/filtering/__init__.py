"""Filters: learners of a state that changes between the rows."""
