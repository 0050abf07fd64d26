"""The state of a learner: its arrays, its pending rows, files and merging."""
