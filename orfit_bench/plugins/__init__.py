"""Plugins: hooks, discovery of installed plugins, and the registry of their declarations."""
