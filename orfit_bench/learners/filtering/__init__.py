"""Filters: learners of a state that moves between the rows."""
