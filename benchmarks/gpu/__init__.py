"""The CuPy backend on a device, in parts that can be resumed: `python3 dev.py gpu --help`.

A part is a list of units. Every unit runs in a worker process, which is ended if the unit takes too long. Its results
are written to a file of JSON lines immediately, so a call can be killed at any moment, and the next call continues.
"""
