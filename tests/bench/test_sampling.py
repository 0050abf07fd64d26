"""Orders of the rows: views of a stream that gather the requested rows, the same for the same seed."""

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import orfit_bench as ob
from orfit_bench.bench import Suite, run
from orfit_bench.cli import main
from orfit_bench.sampling import with_sampling
from orfit_bench.spec import Data, Integer, Setting, Stream
from orfit_bench.visit_order import VisitOrder

LEARNERS = [
    ("sgd", {"loss": "huber", "step_size": 0.1, "momentum": 0.5, "averaging": "uniform"}),
    ("sgd", {"batch_size": 5}),
    ("orfit", {"memory": 1, "summary": "random"}),
    ("rls", {"forgetting_factor": 0.9}),
]


def numbered(n, **more):
    """Rows of three features that contain their number: row i of X is (i, i, ...), of y it is -i."""
    return Data(np.repeat(np.arange(n)[:, None], 3, 1).astype(float), -np.arange(n, dtype=float), **more)


def visits(data):
    """The numbers of the rows in the order of the data."""
    X, y = np.asarray(data.X), np.asarray(data.y)
    np.testing.assert_array_equal(X[:, 0], -y)  # rows and targets stay together
    return X[:, 0].astype(int)


class OnlySlices:
    """Rows with slices only, as in a file, and the count of rows read."""

    def __init__(self, rows):
        self._rows, self.read = rows, 0

    def __len__(self):
        return len(self._rows)

    def __getitem__(self, piece):
        assert isinstance(piece, slice)
        self.read += len(self._rows[piece])
        return self._rows[piece]


def test_once_is_the_data():
    data = numbered(5, tasks=(0, 2, 5))
    assert ob.sampling.once(data) is data


@pytest.mark.parametrize("data", [np.ones((2, 3)), (np.ones((2, 3)),), np.ones((3, 2)), 5])
def test_data_that_are_no_pair_are_refused(data):
    """An array of two rows would be taken as X and y."""
    with pytest.raises(TypeError, match=r"data: got .*, want Data or a pair \(X, y\); \(X, None\) for rows only"):
        ob.sampling.reshuffled(data, 1)


@given(n=st.integers(0, 20), passes=st.integers(1, 4), seed=st.integers(0, 2**70))
def test_reshuffled_visits_every_row_once_a_pass(n, passes, seed):
    order = visits(ob.sampling.reshuffled(numbered(n), passes, seed))
    assert order.shape == (n * passes,)
    for part in order.reshape(passes, n):
        assert sorted(part) == list(range(n))


def test_each_pass_has_an_order_of_its_own():
    orders = visits(ob.sampling.reshuffled(numbered(50), 4)).reshape(4, 50)
    assert len({tuple(part) for part in orders} | {tuple(range(50))}) == 5


def test_uniform_draws_every_row_equally_often_and_independently():
    order = visits(ob.sampling.uniform(numbered(10), 20_000, seed=3))
    assert len(order) == 20_000
    counts = np.bincount(order, minlength=10)
    assert abs(counts - 2000).max() < 4 * np.sqrt(20_000 * 0.1 * 0.9)
    pairs = np.bincount(order[:-1] * 10 + order[1:], minlength=100)  # with replacement: also itself
    assert abs(pairs - 200).max() < 5 * np.sqrt(20_000 * 0.01 * 0.99)


MAKERS = {
    "uniform": lambda data, seed: ob.sampling.uniform(data, 3000, seed),
    "reshuffled": lambda data, seed: ob.sampling.reshuffled(data, 3, seed),
}


@pytest.mark.parametrize("maker", MAKERS)
@given(
    n=st.sampled_from([1, 2, 7, 1000, 1500]),
    seed=st.integers(0, 9),
    piece=st.builds(slice, *[st.none() | st.integers(-3100, 4600)] * 2, st.sampled_from([None, 1, 2, 7, -1, -3])),
)
def test_slices_are_parts_of_one_order(maker, n, seed, piece):
    data, again = (MAKERS[maker](numbered(n), seed) for _ in range(2))
    complete = np.asarray(again.X)
    assert data.X.shape == complete.shape
    np.testing.assert_array_equal(data.X[piece], complete[piece])
    np.testing.assert_array_equal(data.y[piece], np.asarray(again.y)[piece])
    chunks = np.concatenate([X for X, _ in data.chunks(640)])
    np.testing.assert_array_equal(chunks, complete)


@pytest.mark.parametrize("maker", MAKERS)
def test_the_seed_alone_decides(maker):
    before = repr(np.random.get_state())  # noqa: NPY002
    first, again, other = (visits(MAKERS[maker](numbered(40), seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert repr(np.random.get_state()) == before  # noqa: NPY002


@pytest.mark.parametrize("maker", MAKERS)
def test_only_the_needed_rows_are_read_by_slices(maker):
    rows = np.arange(6000.0).reshape(2000, 3)
    X, y = OnlySlices(rows), OnlySlices(-rows[:, 0])
    data, plain = (MAKERS[maker](Data(*pair), 0) for pair in ((X, y), (rows, -rows[:, 0])))
    assert (len(data.X), data.X.shape) == (len(plain.X), (len(plain.X), 3))
    assert X.read == y.read == 0
    np.testing.assert_array_equal(data.X[100:105], plain.X[100:105])
    assert (X.read, y.read) == (5, 0)
    np.testing.assert_array_equal(data.y[100:105], plain.y[100:105])
    assert data.X[:0].shape == (0, 3)


@pytest.mark.parametrize("maker", MAKERS)
def test_held_out_rows_stay_and_tasks_go(maker):
    test, validation = ((np.ones((k, 3)), np.ones(k)) for k in (2, 4))
    data = MAKERS[maker](numbered(9, test=test, validation=validation, tasks=(0, 4, 9)), 0)
    assert (data.test, data.validation, data.tasks) == (test, validation, ())


def test_rows_are_copies():
    data = numbered(5)
    view = ob.sampling.reshuffled(data, 1)
    view.X[:][...] = np.asarray(view.y)[...] = 99.0
    assert visits(view).max() == visits(data).max() == 4


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("method", "settings"), LEARNERS)
def test_learning_the_view_is_learning_its_rows(maker, method, settings, same_state):
    stream = ob.streams()["regression"].load(n=200, d=4)
    order = visits(MAKERS[maker](numbered(200), 5))
    data, learner = MAKERS[maker](stream, 5), ob.create(method, **settings)
    for X, y in data.chunks(64):
        learner.partial_fit(X, y)
    same_state(learner, ob.create(method, **settings).partial_fit(stream.X[order], stream.y[order]))


def test_multi_pass_sgd_ends_where_one_pass_of_orfit_does():
    """Thesis, Corollary 4, with a new order in each pass."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((5, 12)), rng.standard_normal(5)
    sgd = ob.create("sgd", step_size=1 / (X * X).sum(1).max())
    for A, b in ob.sampling.reshuffled(Data(X, y), 1000).chunks(500):
        sgd.partial_fit(A, b)
    want = ob.create("orfit").partial_fit(X, y).array("w")
    np.testing.assert_allclose(sgd.array("w"), want, atol=1e-10)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ob.sampling.uniform(numbered(3), 0), ValueError, "n=0: want an integer >= 1"),
        (lambda: ob.sampling.uniform(numbered(3), 2.0), TypeError, "n=2.0: want an integer"),
        (lambda: ob.sampling.uniform(numbered(0), 2), ValueError, "no rows to draw from"),
        (lambda: ob.sampling.reshuffled(numbered(3), True), TypeError, "passes=True"),
        (lambda: ob.sampling.reshuffled(numbered(3), 0), ValueError, "passes=0"),
        (lambda: ob.sampling.uniform(numbered(3), 4).X[1], TypeError, r"slices only: got 1, want X\[a:b\]"),
        (
            lambda: ob.streams()["drift"].load(passes=2),
            ValueError,
            "passes=2 requires sampling='uniform'",
        ),
        (lambda: ob.streams()["drift"].load(sampling="twice"), ValueError, "want one of once, uniform, reshuffled"),
        (lambda: ob.streams()["drift"].load(sampling="uniform", passes=0), ValueError, "passes=0"),
    ],
)
def test_refused_settings(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---------------------------------------------------------------------- by name


@pytest.mark.parametrize("seed", [None, -1, "a", 1.5, True])
def test_an_order_without_a_seed_is_refused(seed):
    for maker in (ob.sampling.uniform, ob.sampling.reshuffled):
        with pytest.raises((TypeError, ValueError), match=f"seed={seed!r}: "):
            maker(numbered(10), 2, seed=seed)


def test_every_registered_stream_takes_an_order():
    for stream in ob.streams().values():
        assert {"sampling", "passes", "seed"} <= {s.name for s in stream.settings}
        assert with_sampling(stream) is stream  # not twice


@pytest.mark.parametrize("name", ["regression", "drift", "digits"])
def test_a_stream_by_name_is_its_data_in_that_order(name):
    stream = ob.streams()[name]
    plain = stream.load(n=30, seed=4)
    assert isinstance(plain.X, np.ndarray)
    for sampling, created in (
        ("uniform", ob.sampling.uniform(plain, 60, 4)),
        ("reshuffled", ob.sampling.reshuffled(plain, 2, 4)),
    ):
        got = stream.load(n=30, seed=4, sampling=sampling, passes=2)
        np.testing.assert_array_equal(np.asarray(got.X), np.asarray(created.X))
        np.testing.assert_array_equal(np.asarray(got.y), np.asarray(created.y))
        np.testing.assert_array_equal(got.test[0], plain.test[0])


def test_a_stream_without_a_seed_gets_one_and_one_with_such_settings_keeps_them():
    bare = with_sampling(Stream("bare", "", lambda: numbered(20)))
    orders = [visits(bare.load(sampling="reshuffled", seed=seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(orders[0], orders[1])
    assert not np.array_equal(orders[0], orders[2])
    own = Stream("own", "", lambda passes: numbered(passes), (Setting("passes", Integer(1), 3, ""),))
    assert with_sampling(own) is own


def test_a_suite_learns_and_measures_in_that_order():
    settings = {"sampling": "reshuffled", "passes": 3}
    suite = Suite(["lms", "sgd"], ["numpy"], [{"name": "regression", "settings": settings}], rows=[50], seeds=[0, 1])
    created = run(suite, isolate=False)
    assert list(created["status"].values) == ["ok"] * 4
    assert set(created["n"].values) == {150}
    assert created["deviation"].max() < 1e-12
    data = ob.streams()["regression"].load(n=50, seed=1, **settings)
    want = ob.create("sgd").partial_fit(np.asarray(data.X), np.asarray(data.y)).predict(data.test[0])
    got = created["test_error"].values[(created["method"] == "sgd") & (created["seed"] == 1)]
    np.testing.assert_allclose(got, np.sqrt(np.mean((want - data.test[1]) ** 2)))


def test_the_command_line_sets_an_order(tmp_path):
    path = tmp_path / "r.nc"
    words = ["run", "--method", "sgd", "--backend", "numpy", "--stream", "regression", "--rows", "20"]
    words += ["--set", "regression.sampling=uniform", "--set", "regression.passes=2"]
    done = CliRunner().invoke(main, [*words, "--output", str(path)])
    assert done.exit_code == 0, done.output
    assert "sampling" in CliRunner().invoke(main, ["list", "regression"]).output
    import xarray

    with xarray.open_dataset(path, engine="h5netcdf") as created:
        assert created["n"].values.tolist() == [40]


def test_a_target_for_each_row_is_wanted():
    for sample in (
        ob.sampling.once,
        lambda data: ob.sampling.reshuffled(data, 2),
        lambda data: ob.sampling.uniform(data, 3),
    ):
        with pytest.raises(ValueError, match="y: got 6 targets, want 4, one for each row of X"):
            sample((np.ones((4, 2)), np.ones(6)))


def test_rows_at_any_positions_are_those_of_the_full_order():
    drawn = []

    def draw(rng):
        drawn.append(1)
        return rng.permutation(7)

    order = VisitOrder(70, 7, draw, seed=3)
    everything = order.rows_at(np.arange(70))
    assert len(drawn) == 10
    for block in everything.reshape(10, 7):
        assert sorted(block.tolist()) == list(range(7))
    positions = np.random.default_rng(0).integers(0, 70, 200)
    np.testing.assert_array_equal(order.rows_at(positions), everything[positions])
    assert order.rows_at(np.arange(0)).tolist() == []
