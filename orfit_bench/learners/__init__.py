"""Learners: a method, its settings, a backend and a state behind the verbs that users know."""
