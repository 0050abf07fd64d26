"""Triangular solves."""

from cupy._triangular import solve_triangular

__all__ = ["solve_triangular"]
