"""The backend: its arrays and its hardware."""

from types import ModuleType

from orfit_bench.spec import Backend


def namespace() -> ModuleType:
    """The array module. Import large libraries here, on first use, not at the top of the file."""
    import numpy

    return numpy


BACKEND = Backend(
    "my_plugin",
    "NumPy arrays, in host memory",
    namespace=namespace,
    device="cpu",  # the kit verifies this for every array
    # Arrays of another type: how to convert from and to NumPy.
    #   asarray=lambda a: namespace().array(a), asnumpy=lambda a: a.get(),
    # Hardware or libraries that may be missing: return the reason and the remedy, or "" if the backend is available.
    #   probe=lambda: "" if there_is_a_device() else "no device: see ...",
    # Asynchronous execution: wait until all work is done; without this, timings are meaningless.
    #   synchronize=lambda: namespace().synchronize(),
    # A device: its name and driver, stored in results and states.
    #   device_info=lambda: {"device": "name of the hardware", "driver": "1.0"},
    # A compiler: the signatures that have been compiled for a kernel module.
    #   compiled=lambda kernel: kernel.loop.signatures,
    # Once every method of the catalogue has a kernel that supports everything the method allows:
    #   complete=True,
)
