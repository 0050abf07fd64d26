"""Fleets: many independent learners of one method, learned by one call."""
