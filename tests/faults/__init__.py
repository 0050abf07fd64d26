"""Learners with one thing wrong each, by where it is: in a kernel, a declaration, or the host."""

from faults import copies, declarations, hosts, numbers, states, steps
from faults.fault import FAULTS, Fault

__all__ = ["FAULTS", "Fault", "copies", "declarations", "hosts", "numbers", "states", "steps"]
