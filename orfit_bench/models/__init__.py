"""Models that ship: what a regression method may fit instead of a linear one. Array code, no method is known here."""

from orfit_bench.models.mlp import MLP, model_named, network_of

__all__ = ["MLP", "model_named", "network_of"]
