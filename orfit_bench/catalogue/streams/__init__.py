"""The streams that come with the package, one file a family."""

from orfit_bench.catalogue.streams.class_digits import CLASS_DIGITS
from orfit_bench.catalogue.streams.delay_line import DELAY_LINE
from orfit_bench.catalogue.streams.digits import DIGITS
from orfit_bench.catalogue.streams.digits_pca import DIGITS_PCA
from orfit_bench.catalogue.streams.drift import DRIFT
from orfit_bench.catalogue.streams.ill_conditioned import ILL_CONDITIONED
from orfit_bench.catalogue.streams.mnist import MNIST
from orfit_bench.catalogue.streams.mnist_files import DataNotFound
from orfit_bench.catalogue.streams.recurring import RECURRING
from orfit_bench.catalogue.streams.regression import REGRESSION
from orfit_bench.catalogue.streams.rotated_digits import ROTATED_DIGITS, ROTATED_MNIST
from orfit_bench.catalogue.streams.state_space import STATE_SPACE
from orfit_bench.spec.stream import Stream

STREAMS: tuple[Stream, ...] = (
    REGRESSION,
    DRIFT,
    RECURRING,
    ILL_CONDITIONED,
    DELAY_LINE,
    STATE_SPACE,
    DIGITS,
    DIGITS_PCA,
    CLASS_DIGITS,
    ROTATED_DIGITS,
    MNIST,
    ROTATED_MNIST,
)

__all__ = ["STREAMS", "DataNotFound"]
