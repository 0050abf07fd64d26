"""Attributes that are computed when they are first used."""

import threading

from orfit_bench.learners.computed_once import ComputedOnce


class Square:
    def __init__(self, side, begun=None, goes_on=None):
        self.side, self.begun, self.goes_on, self.calls = side, begun, goes_on, 0

    @ComputedOnce
    def area(self):
        """The side squared."""
        self.calls += 1
        if self.begun:
            self.begun.set()
            self.goes_on.wait(10)
        return self.side**2


def test_the_value_is_computed_once_for_each_instance():
    one, other = Square(2), Square(3)
    assert (one.area, one.area, other.area) == (4, 4, 9)
    assert (one.calls, other.calls) == (1, 1)
    assert Square.area.__doc__ == "The side squared."


def test_no_lock_is_held_meanwhile():
    """With a lock, a process forked meanwhile could not compute the attribute of any instance."""
    begun, goes_on = threading.Event(), threading.Event()
    waiting = Square(2, begun, goes_on)
    thread = threading.Thread(target=lambda: waiting.area)
    thread.start()
    assert begun.wait(10)
    found = []
    other = threading.Thread(target=lambda: found.append(Square(3).area), daemon=True)
    other.start()
    other.join(5)
    goes_on.set()
    thread.join()
    assert found == [9]
