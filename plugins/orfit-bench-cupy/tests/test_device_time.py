"""Time and memory of a device, measured by its own clock and pool."""

from types import SimpleNamespace

import numpy as np
import pytest

from orfit_bench import create
from orfit_bench.bench.measuring import transfer_time
from orfit_bench.spec import Backend, Data
from orfit_bench.tracking.workloads import Missing, Workload
from orfit_bench.tracking.workloads import device as clock


def test_transfers_to_the_device_have_a_time_of_their_own(in_place):
    rows = Data(np.ones((40, 3)), np.array(["no", "yes"] * 20))
    assert transfer_time(lambda: create("class_rls", backend=in_place), rows) > 0
    assert transfer_time(lambda: create("class_rls", backend="numpy"), rows) is None


class Event:
    """A CUDA event; consecutive events are 250 ms apart."""

    now = 0

    def record(self):
        Event.now += 250
        self.at = Event.now

    def synchronize(self):
        pass


def test_device_clock():
    used = []
    cuda = SimpleNamespace(Event=Event, get_elapsed_time=lambda a, b: b.at - a.at)
    device = Backend("d", "", namespace=lambda: SimpleNamespace(cuda=cuda), memory=lambda: 1000 * len(used))
    assert clock.seconds(device, lambda: used.append(1)) == 0.25
    assert len(used) == 2
    assert clock.peak_bytes(device, lambda: used.append(1)) == 3000
    for measure in (clock.seconds, clock.peak_bytes):
        with pytest.raises(Missing, match="cpu has no device"):
            measure(Backend("cpu", "", lambda: np), used.clear)
    assert len(used) == 3


def test_without_a_device_a_chunk_has_no_time_of_one(in_place):
    assert Workload("orfit", in_place, 20).device_seconds_per_sample() > 0
    work = Workload("orfit", "numpy", 20)
    with pytest.raises(Missing, match="has no device"):
        work.device_seconds_per_sample()
