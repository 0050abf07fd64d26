"""Names of the measured methods and backends, their availability, and sizes."""

from __future__ import annotations

# Do not rename: asv identifies the results of older commits by these names.
METHODS = ["lms", "nlms", "apa", "icl", "ogd", "orfit", "one_step_sgd", "greedy", "rls"]
METHODS += ["oja", "krasulina", "sanger", "implicit_krasulina", "incremental_pca"]
METHODS += ["kalman", "sgd", "class_rls", "gp", "owm"]
METHODS += ["ridge", "softmax"]
BACKENDS = ["numpy", "numba", "cupy"]
QUICK_SIZE = 64
FULL_SIZES = [16, 256, 784]


class Missing(NotImplementedError):
    """The commit has no such method, backend or device; asv shows n/a."""


def pairs() -> dict[tuple[str, str], str]:
    """Return the available (method, backend), with the distributions that provide the kernel and the method."""
    from orfit_bench.plugins.registry import registry

    known = registry()
    found = {}
    for backend, method in known.kernels:
        if method in known.methods and not known.absence(backend, method):
            owners = {known.suppliers[key] for key in (("kernels", (backend, method)), ("methods", method))}
            found[method, backend] = " ".join(sorted(owner.rpartition(" ")[0] for owner in owners))
    return found


def broken() -> dict[str, str]:
    """Return the reasons why plugins cannot be loaded, by distribution."""
    from orfit_bench.plugins.registry import registry

    return {plugin.distribution: plugin.reason for plugin in registry().plugins if plugin.state == "broken"}
