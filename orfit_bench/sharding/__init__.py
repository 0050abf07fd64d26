"""One learner from shards: each shard is learned by a task of its own, and the states are merged in a tree."""

from __future__ import annotations

from orfit_bench.sharding.learn import learn

__all__ = ["learn"]
