"""Learners: a method, its settings, a backend and a state, with the methods that users call."""
