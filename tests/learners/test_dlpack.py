"""Arrays of other libraries: those with DLPack are accepted, or refused by name."""

import numpy as np
import pytest

import orfit_bench as ob

rng = np.random.default_rng(0)
X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)


class Other:
    """An array that only supports DLPack."""

    def __init__(self, a, device=(1, 0), error=None):
        self.a, self.device, self.error = a, device, error

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, dl_device=None, **more):
        if self.error:
            raise self.error
        if dl_device not in (None, (1, 0)) or (self.device != (1, 0) and dl_device is None):
            raise BufferError("it lies elsewhere")
        return self.a.__dlpack__(**more)


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def learned(X, y, method="lms", backend="numba"):
    return ob.create(method, backend=backend).partial_fit(X, y)


FORMS = {
    "plain": np.array,
    "read-only": read_only,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: np.array(a[::-1])[::-1],
    "columns first": np.asfortranarray,
}


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("device", [(1, 0), (2, 0)], ids=["host", "device"])
@pytest.mark.parametrize("form", FORMS)
def test_is_taken(form, device, backend):
    given = Other(FORMS[form](X), device), Other(FORMS[form](y), device)
    want = learned(X, y, backend=backend)
    got = learned(*given, backend=backend)
    np.testing.assert_array_equal(got.array("w"), want.array("w"))
    np.testing.assert_array_equal(got.predict(given[0]), want.predict(X))


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, np.float16, np.float32])
def test_numbers_of_any_kind_are(kind):
    given = (10 * X).astype(kind)
    got, want = learned(Other(given), Other(given[:, 0])), learned(given, given[:, 0])
    np.testing.assert_array_equal(got.array("w"), want.array("w"))


@pytest.mark.parametrize("device", [(1, 0), (2, 0)], ids=["host", "device"])
def test_labels_noises_and_weights_are(device):
    labels = np.arange(12) % 3
    assert learned(Other(X, device), Other(labels, device), "class_rls").classes_.tolist() == [0, 1, 2]
    noise = np.linspace(1, 2, 12)
    a, b = (ob.create("kalman").partial_fit(X, y, observation_noise=n) for n in (noise, Other(noise, device)))
    np.testing.assert_array_equal(a.array("mean"), b.array("mean"))
    weights = ob.create("lms", initial_weights=Other(X[0], device)).partial_fit(X[:0], y[:0])
    np.testing.assert_array_equal(weights.predict(X), X @ X[0])


BROKEN = {
    "says no": (Other(X, error=BufferError("needs gradients")), "BufferError: needs gradients"),
    "old and elsewhere": (Other(X, error=TypeError("unexpected keyword 'dl_device'")), "'dl_device'"),
    "no device": (type("Half", (), {"__dlpack__": lambda self: 0})(), "__dlpack_device__"),
    "no array": (type("Wrong", (Other,), {"__dlpack__": lambda self, **more: 3})(X), "got a Wrong that cannot"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_failed_conversion_names_the_array(what):
    given, stated = BROKEN[what]
    learner = ob.create("lms")
    with pytest.raises(TypeError, match=r"X: got a .* that cannot be read through DLPack .* a NumPy array") as error:
        learner.partial_fit(given, y)
    assert stated in str(error.value)
    assert learner.n_samples_seen_ == 0
    with pytest.raises(TypeError, match="y: got a"):
        learner.partial_fit(X, given)
    with pytest.raises(TypeError, match="y: got a"):
        ob.create("class_rls").partial_fit(X, given)


def test_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="X: got Other of dtype complex128, want real numbers"):
        ob.create("lms").partial_fit(Other(X + 0j), y)


def test_nan_is_named():
    bad = X.copy()
    bad[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"X\[4, 1\] is nan \(row 4, column 1"):
        ob.create("lms").partial_fit(Other(bad, (2, 0)), y)
