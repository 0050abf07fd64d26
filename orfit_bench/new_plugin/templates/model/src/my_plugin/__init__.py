"""The model my_plugin. Models are passed to learners, and need no announcement."""

from my_plugin.model import MODEL

SPEC_VERSION = (1, 0)
"""The version of the plugin interface that this plugin was written for."""

__all__ = ["MODEL"]
