"""Learners with one thing wrong each, by where it is: in a kernel, a declaration, or the host."""

from wrong import copies, declarations, hosts, numbers, states, steps
from wrong.fault import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "copies", "declarations", "hosts", "numbers", "states", "steps"]
