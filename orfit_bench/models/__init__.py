"""Models that come with the package, which a regression method can fit instead of a linear one."""

from orfit_bench.models.mlp import MLP, model_named, network_of

__all__ = ["MLP", "model_named", "network_of"]
