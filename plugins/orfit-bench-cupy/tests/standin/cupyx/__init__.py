"""A stand-in for the package `cupyx`, as far as the plugin uses it."""
