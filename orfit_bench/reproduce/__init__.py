"""The sources' experiments, computed again: `orfit-bench reproduce NAME`, one file an experiment.

>>> from orfit_bench.reproduce import find
>>> find("orfit-rotated-digits").source
'thesis, section 5.1, Figure 5-1'
"""

from orfit_bench.reproduce.experiments import EXPERIMENTS
from orfit_bench.reproduce.running import find, run, setup

__all__ = ["EXPERIMENTS", "find", "run", "setup"]
