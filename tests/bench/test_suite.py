"""Suites: what is selected, defaults and errors."""

import pytest
from helpers.suites import suite

import orfit_bench as ob
from orfit_bench.bench import Protocol, Suite, run
from orfit_bench.bench.suite import DEFAULT_STREAMS, read
from orfit_bench.spec.method import KINDS


class TestSuite:
    def test_default_is_every_method_and_backend(self):
        cells = [c for c, _ in Suite().cells()]
        assert {c.method for c in cells} == set(ob.methods())
        assert {c.backend for c in cells} == {name for name, b in ob.backends().items() if b.available}
        assert {c.stream for c in cells} >= {"rotated_digits", "drift"}
        assert {c.seed for c in cells} == {0}
        for c in cells:
            assert c.stream in DEFAULT_STREAMS[ob.methods()[c.method].kind]

    def test_default_streams_suit_their_kinds(self):
        assert set(DEFAULT_STREAMS) == set(KINDS)
        for kind, names in DEFAULT_STREAMS.items():
            assert all(ob.streams()[name].suits(kind) for name in names)

    def test_settings_are_laid_over_all_entries_of_a_name(self):
        entries = ["lms", {"name": "lms", "settings": {"step_size": 0.1}}, {"name": "rls", "settings": {"ridge": 2}}]
        over = {"lms": {"step_size": 0.5}, "rls": {"forgetting_factor": 0.9}, "regression": {"d": 2}}
        cells = [c for c, _ in suite(*entries, settings=over).cells()]
        half = {"step_size": ob.schedules.constant(0.5).config()}
        later = {"forgetting": "exponential", "form": "covariance"}
        assert [c.settings for c in cells] == [half, {"forgetting_factor": 0.9, "ridge": 2.0, **later}]
        assert {c.stream_settings["d"] for c in cells} == {2}

    def test_all_combinations_none_twice(self):
        created = suite("lms", "rls", "lms", rows=[10, 20], features=[2, 3], seeds=[0, 1, 1])
        cells = [c for c, _ in created.cells()]
        assert len(cells) == len({c.key for c in cells}) == 2 * 2 * 2 * 2

    def test_settings_are_complete_and_plain(self):
        ((one, _),) = suite({"name": "lms", "settings": {"step_size": ob.schedules.power(1.0, 0.5)}}).cells()
        assert one.settings == {"step_size": {"power": {"eta0": 1.0, "power": 0.5}}}
        order = {"sampling": "once", "passes": 1}
        assert one.stream_settings == {"n": 60, "d": 16, "outputs": 1, "noise": 0.1, **order}

    @pytest.mark.parametrize(
        ("arguments", "error", "stated"),
        [
            ({"methods": ["rsl"]}, ValueError, "no method 'rsl'. Did you mean 'rls'"),
            ({"backends": ["nunpy"]}, ValueError, "no backend 'nunpy'. Did you mean 'numpy'"),
            ({"streams": ["drifts"]}, ValueError, "no stream 'drifts'. Did you mean 'drift'"),
            (
                {"methods": [{"name": "rls", "settings": {"rigde": 1}}]},
                TypeError,
                "rls has no setting 'rigde'. Did you mean 'ridge'",
            ),
            ({"methods": [{"name": "rls", "settings": {"ridge": -1}}]}, ValueError, "rls: ridge=-1: want a number"),
            ({"methods": [{"name": "rls", "setings": {}}]}, ValueError, "Did you mean 'settings'"),
            ({"methods": [{"settings": {}}]}, TypeError, "want a name or"),
            ({"methods": [{"name": "rls", "settings": 3}]}, TypeError, "settings=3: want a table"),
            ({"methods": "rls"}, TypeError, "methods='rls': want a list"),
            ({"seeds": 3}, TypeError, "seeds=3: want a list"),
            ({"seeds": [-1]}, ValueError, "random_state=-1"),
            ({"seeds": []}, ValueError, "at least one seed"),
            ({"settings": {"drift": 3}}, TypeError, "settings=.*want a table of tables"),
            (
                {"settings": {"drift": {"d": 2}}},
                ValueError,
                "settings of 'drift': no such method or stream",
            ),
            ({"settings": {"lms": {"ridge": 2}}}, TypeError, "lms has no setting 'ridge'"),
            ({"streams": [{"name": "drift", "model": {}}]}, ValueError, "an entry of streams has no 'model'"),
            ({"rows": [0]}, ValueError, "regression: n=0"),
            (
                {"streams": ["rotated_digits"], "features": [5]},
                ValueError,
                "'rotated_digits' has a fixed number of features",
            ),
            (
                {"streams": [{"name": "drift", "settings": {"seed": 1}}]},
                ValueError,
                "set its seed by the seeds",
            ),
            ({"dtype": "int8"}, ValueError, "dtype='int8': want one of float64, float32"),
            ({"protocol": 3}, TypeError, "want a Protocol"),
        ],
    )
    def test_refuses(self, arguments, error, stated, tmp_path):
        with pytest.raises(error, match=stated):
            run(suite(**{"methods": ["lms"], **arguments}), tmp_path / "r.nc")
        assert not list(tmp_path.iterdir())

    def test_reads_toml(self, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text(
            'methods = ["lms", {name = "rls", settings = {forgetting_factor = 0.99}}]\n'
            'streams = [{name = "drift", settings = {d = 3}}]\nbackends = ["numpy"]\nrows = [20]\nseeds = [1, 2]\n'
            'dtype = "float32"\nprotocol = {passes = 2}\nsettings = {rls = {ridge = 3}}\n'
        )
        cells = [c for c, _ in read(path).cells()]
        assert [(c.method, c.seed) for c in cells] == [("lms", 1), ("rls", 1), ("lms", 2), ("rls", 2)]
        assert cells[1].settings.items() >= {"forgetting_factor": 0.99, "ridge": 3.0}.items()
        assert cells[0].stream_settings["d"] == 3
        assert {(c.dtype, c.protocol) for c in cells} == {("float32", Protocol(2))}

    def test_reads_toml_that_begins_with_a_byte_order_mark(self, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text('methods = ["lms"]\nbackends = ["numpy"]\n', encoding="utf-8-sig")
        assert read(path).methods == ["lms"]

    @pytest.mark.parametrize(
        ("text", "stated"),
        [
            ("methods = [", "not a TOML file"),
            ("metods = ['lms']", "a suite has no 'metods'. Did you mean 'methods'"),
            ("protocol = {pases = 2}", "a protocol has no 'pases'. Did you mean 'passes'"),
            ("protocol = 3", "a protocol: got 3, want a table"),
            ("methods = ['rsl']", "no method 'rsl'"),
            ("seeds = 3", "seeds=3: want a list"),
        ],
    )
    def test_refuses_toml(self, text, stated, tmp_path):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        with pytest.raises(ValueError, match=stated) as caught:
            read(path)
        assert str(path) in str(caught.value)
