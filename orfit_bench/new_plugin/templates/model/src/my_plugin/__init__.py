"""The model my_plugin. Models are passed to learners; they need not be announced to orfit_bench."""

from my_plugin.model import MODEL

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""

__all__ = ["MODEL"]
