"""What the backend's arrays are, and where they lie."""

from types import ModuleType

from orfit_bench.spec import Backend


def namespace() -> ModuleType:
    """The array module. What is heavy is imported here, on first use, and not at the top of a file."""
    import numpy

    return numpy


BACKEND = Backend(
    "my_plugin",
    "NumPy arrays, in host memory",
    namespace=namespace,
    device="cpu",  # a claim: the kit asks every array where it lies
    # Arrays that are not NumPy's: how to bring them here and back.
    #   asarray=lambda a: namespace().array(a), asnumpy=lambda a: a.get(),
    # Hardware or libraries that may be missing: why it cannot compute here, with the remedy; "" where it can.
    #   probe=lambda: "" if there_is_a_device() else "no device: see ...",
    # Work that is queued: wait until it is done, or the clock measures nothing.
    #   synchronize=lambda: namespace().synchronize(),
    # A device: its name and what drives it, for the record of results and states.
    #   device_info=lambda: {"device": "name of the hardware", "driver": "1.0"},
    # A compiler: the signatures that a kernel module has compiled so far.
    #   compiled=lambda kernel: kernel.loop.signatures,
    # Once every method of the catalogue has a kernel with all that the method allows:
    #   complete=True,
)
