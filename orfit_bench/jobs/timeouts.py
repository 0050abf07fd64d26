"""Default time limits in seconds, for functions and for the command line."""

OF_CELL = 300.0
OF_CHECK = 60.0
