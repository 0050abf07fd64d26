"""The CuPy backend on a device, in parts that go on where they stopped: `python3 dev.py gpu --help`.

A part is a list of units. Every unit runs in a worker process, which is ended if the unit takes too long, and
what it tells is in a file of JSON lines at once. So a call may be killed at any moment: the next one does what is left.
"""
