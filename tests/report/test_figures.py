"""Figures of results: what is drawn, what is left out and why, and whether all of it is readable."""

from itertools import combinations

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.outcomes import NUMBERS, created, failed, table

from orfit_bench.bench import collection, results
from orfit_bench.cli import main
from orfit_bench.report.figures import Omitted, RenderedFigure, render_figures
from orfit_bench.report.figures.style import STYLE
from orfit_bench.report.page import as_figure
from orfit_bench.report.plotting import close, matplotlib, pyplot


@pytest.fixture
def draw():
    """The figures of results by their names; all are closed at the end."""
    seen = []

    def figures_of(*records):
        seen.extend(found := list(render_figures(table(records) if isinstance(records[0], dict) else records[0])))
        return {rendered.name: rendered for rendered in found}

    yield figures_of
    for rendered in seen:
        if isinstance(rendered, RenderedFigure):
            close(rendered.figure)


def lines(figure):
    """The lines of the first axes by their labels."""
    return {line.get_label(): line.get_xydata() for line in figure.axes[0].lines}


def names(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def fits(figure):
    """Whether everything is inside the figure, the legend outside the axes, and ticks do not overlap."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    inside = box.x0 > -0.01 and box.y0 > -0.01 and box.x1 < width + 0.01 and box.y1 < height + 0.01
    axes = [one.get_tightbbox() for one in figure.axes]
    neighbour = not any(legend.get_window_extent().overlaps(one) for legend in figure.legends for one in axes)
    ticks = [axis._update_ticks() for one in figure.axes if one.axison for axis in (one.xaxis, one.yaxis)]
    labels = [tick.label1 for some in ticks for tick in some if tick.label1.get_visible()]
    places = [label.get_window_extent().padded(2) for label in labels if label.get_text()]
    return inside and neighbour and not any(a.overlaps(b) for a, b in combinations(places, 2))


class TestErrorAlongTheStream:
    def test_the_mean_over_seeds_of_one_backend(self, draw):
        cells = [created("lms", test_error=e, seed=s) for s, e in enumerate((1.0, 3.0))]
        figure = draw(*cells, created("rls", test_error=0.1), created("rls", "numba", test_error=0.1))[
            "error-drift"
        ].figure
        assert lines(figure)["lms"].tolist() == [[50, 4], [100, 2]]
        assert names(figure) == ["rls", "lms"]  # the best first
        (band,) = figure.axes[0].collections
        at_the_end = band.get_paths()[0].vertices[band.get_paths()[0].vertices[:, 0] == 100, 1]
        half = 12.7062 * 1.0  # Student's t of one degree of freedom, times the error of the mean
        assert [at_the_end.min(), at_the_end.max()] == pytest.approx([2 - half, 2 + half], rel=1e-4)

    def test_many_methods_have_a_short_legend(self, draw):
        cells = [created("lms", settings={"step_size": k / 64}, test_error=1 + k) for k in range(64)]
        found = draw(*cells)
        error, cost = names(found["error-drift"].figure), names(found["cost-drift"].figure)
        assert len(error) == 15
        assert error[-1] == "50 more, with larger final error"
        assert cost[14:] == ["50 more, worse", "on numpy", "Pareto front"]
        assert len(found["throughput-drift"].figure.axes[0].get_yticks()) == 30
        assert found["throughput-drift"].some == "30 of 64 methods, the fastest and the slowest"
        assert "(20 of 64 methods)" in found["forgetting-drift"].figure.get_suptitle()
        assert all(fits(rendered.figure) for rendered in found.values())

    def test_errors_of_all_sizes_are_seen(self, draw):
        small = draw(created(test_error=1.0), created("rls", test_error=1e-6))
        assert small["error-drift"].figure.axes[0].get_yscale() == "log"
        assert draw(created(test_error=1.0), created("rls"))["error-drift"].figure.axes[0].get_yscale() == "linear"

    @pytest.mark.parametrize("points", [1, 2, 3])
    def test_every_line_of_few_points_has_a_marker(self, draw, points):
        results = table([created(m) for m in ("lms", "rls", "nlms", "ogd", "icl", "apa")])
        results = results.isel(point=slice(min(points, 2)))
        if points == 3:
            results = results.pad(point=(0, 5))
        if points == 2:
            results["test_error_trajectory"].values[:, 1] = np.inf
        for line in draw(results)["error-drift"].figure.axes[0].lines:
            marked = line.get_xydata()[line.get_markevery()]
            assert len(marked)
            assert np.isfinite(marked).all()

    def test_infinite_errors_are_the_reason(self, draw):
        found = draw(created(test_error=np.inf))
        assert found["error-drift"].reason == found["cost-drift"].reason == "no error is finite"
        assert draw(created(test_error=np.nan))["error-drift"].reason == "the stream has no test set"


class TestCost:
    def test_nothing_is_below_the_front(self, draw):
        rng = np.random.default_rng(0)
        points = rng.uniform(1, 10, (12, 2))
        cells = [
            created("lms", settings={"step_size": k / 12}, seconds_per_sample=x, test_error=e)
            for k, (x, e) in enumerate(points)
        ]
        axes = draw(*cells)["cost-drift"].figure.axes[0]
        (front,) = [line for line in axes.lines if line.get_drawstyle() == "steps-post"]
        steps = front.get_xydata()
        best = [p for p in points if not ((points < p).all(axis=1)).any()]
        assert sorted(map(tuple, steps)) == sorted(map(tuple, best))

    def test_a_line_joins_the_backends(self, draw):
        cells = [created("lms", b, seconds_per_sample=s) for b, s in (("numpy", 1e-4), ("numba", 1e-6))]
        figure = draw(*cells)["cost-drift"].figure
        assert figure.axes[0].lines[0].get_xdata().tolist() == [1e-4, 1e-6]
        assert names(figure) == ["lms", "on numba", "on numpy", "Pareto front"]

    def test_ticks_of_two_panels_do_not_overlap(self, draw):
        seconds, memory = (3.7e-7, 9.7e-6), (12850.0, 20800.0)
        cells = [
            created(seed=k, settings={"step_size": k / 2}, seconds_per_sample=s, host_memory=b)
            for k, (s, b) in enumerate(zip(seconds, memory, strict=True), 1)
        ]
        assert fits(draw(*cells)["cost-drift"].figure)

    def test_errors_without_times_say_so(self, draw):
        cells = [created(seconds_per_sample=None, throughput=None), created(test_error=float("nan"))]
        assert draw(cells[0])["cost-drift"].reason == "nothing was timed"
        assert draw(cells[1])["cost-drift"].reason == "the stream has no test set"

    def test_nonlinear_models_have_their_names_in_pictures(self, draw):
        linear, deep = created("lms"), created("owm")
        deep["cell"]["model"] = {"hidden": [3], "activation": "tanh"}
        both = " ".join(names(draw(linear, deep)["cost-drift"].figure)).replace("\n", " ")
        assert "lms" in both
        assert "owm (mlp(3; tanh))" in both
        assert "owm" in names(draw(deep)["cost-drift"].figure)


class TestThroughput:
    def test_bars_are_drawn_with_the_roofline_limit(self, draw):
        cells = [created("lms", throughput=1e6, share_of_limit=0.5), created("rls", throughput=1e3)]
        figure = draw(*cells)["throughput-drift"].figure
        axes = figure.axes[0]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["lms", "rls"]
        assert figure.legends[0].get_title().get_text() == "fastest method first"  # backends are in alphabetical order
        assert [bar.get_width() for bar in axes.patches] == [1e6, 1e3]
        assert axes.get_xscale() == "log"
        (limits,) = axes.collections
        assert limits.get_offsets()[:, 0].tolist() == pytest.approx([2e6, 1e4])

    def test_lines_over_sizes(self, draw):
        cells = [
            created(m, d=d, throughput=r / d, share_of_limit=0.25)
            for m, r in (("lms", 1e8), ("rls", 1e6))
            for d in (8, 32, 128)
        ]
        found = draw(*cells)
        figure = found["throughput-drift"].figure
        assert [axes.get_title() for axes in figure.axes] == ["lms", "rls"]
        rates, limit = (line.get_xydata().tolist() for line in figure.axes[1].lines)
        assert rates == [[d, 1e6 / d] for d in (8, 32, 128)]
        assert limit == [[d, 4e6 / d] for d in (8, 32, 128)]
        assert {"error-drift-d=8", "error-drift-d=32", "error-drift-d=128"} <= set(found)
        assert fits(figure)

    def test_lines_of_many_backends(self, draw):
        cells = [created(backend=f"backend{k}", d=d, throughput=1e6 / (1 + k)) for k in range(9) for d in (8, 32)]
        assert len(names(draw(*cells)["throughput-drift"].figure)) == 10

    @pytest.mark.parametrize(("sizes", "most"), [((8,), 30), ((8, 32), 12)])
    def test_of_many_the_fastest_and_the_slowest(self, draw, sizes, most):
        cells = [
            created(settings={"step_size": k}, d=d, throughput=10.0 + k, tasks=0) for k in range(40) for d in sizes
        ]
        rendered = draw(*cells)["throughput-drift"]
        axes = rendered.figure.axes
        shown = [t.get_text() for t in axes[0].get_yticklabels()] if len(sizes) == 1 else [a.get_title() for a in axes]
        half = most // 2
        assert shown == [f"lms step_size={k}" for k in [*range(39, 39 - half, -1), *range(half - 1, -1, -1)]]
        assert rendered.some == f"{most} of 40 methods, the fastest and the slowest"

    def test_no_limit_is_drawn_where_none_is_known(self, draw):
        axes = draw(created(share_of_limit=np.nan))["throughput-drift"].figure.axes[0]
        assert not axes.collections


class TestForgetting:
    def test_maps_hold_the_errors_of_the_tasks(self, draw):
        cells = [created("rls", forgetting=0.2, test_error=2.0), created("lms", forgetting=0.1, tasks=5)]
        figure = draw(*cells)["forgetting-drift"].figure
        first, second = (image.get_array() for image in figure.axes[0].images)
        assert (first.shape, second.shape) == ((5, 5), (3, 3))  # the least forgetting first
        assert second.filled(-1).tolist() == [[2, -1, -1], [3, 4, -1], [4, 5, 6]]

    def test_of_many_those_that_forget_least_and_most(self, draw):
        cells = [created(settings={"step_size": k}, forgetting=k / 40 if k else np.nan) for k in range(40)]
        rendered = draw(*cells)["forgetting-drift"]
        shown = [text.get_text().split("\n")[0] for text in rendered.figure.axes[0].texts[:20]]
        assert shown == [f"lms step_size={k}" for k in [*range(1, 11), *range(30, 40)]]
        assert rendered.some == "20 of 40 methods, those with the least and the most forgetting"

    def test_an_exact_fit_does_not_take_all_the_colours(self, draw):
        cells = [created("icl", test_error=1e-30, tasks=1), created("lms", test_error=1.0, tasks=4)]
        norm = draw(*cells)["forgetting-drift"].figure.axes[0].images[0].norm
        assert norm.vmin > 1e-3

    def test_infinite_errors_have_the_colour_at_the_end_of_the_scale(self, draw):
        results = table([created("rls", test_error=1.0)])
        results["task_error"].values[0, 2, :] = np.inf
        (image,) = draw(results)["forgetting-drift"].figure.axes[0].images
        shown = image.get_array()
        assert shown[2].tolist() == [image.norm.vmax] * 3
        assert shown.mask.tolist() == (~np.tri(3, dtype=bool)).tolist()

    def test_a_stream_without_tasks_has_none(self, draw):
        found = draw(created(tasks=0))["forgetting-drift"]
        assert isinstance(found, Omitted)
        assert found.reason == "the stream has no tasks"


class TestAll:
    @pytest.mark.parametrize("length", [10, 60, 150])
    def test_long_titles_stay_in_the_picture(self, draw, length):
        results = table([created()])
        for rendered in draw(results.assign_coords(stream=("cell", ["wide " * (length // 5)]))).values():
            assert fits(rendered.figure)

    def test_long_labels_stay_in_the_picture(self, draw):
        settings = [{"step_size": {"power": {"eta0": 0.123456, "power": p}}, "momentum": 0.25 * p} for p in (1, 2)]
        cells = [
            created("implicit_krasulina", stream="digits_pca", settings=s, seed=k) for s in settings for k in (0, 1)
        ]
        found = draw(*cells)
        assert len(found) == 4
        assert all(fits(rendered.figure) for rendered in found.values())

    @pytest.mark.parametrize("ratio", [1.0, 1.9, 2.1, 9.0, 30.0, 1e5])
    def test_ticks_exist_and_do_not_overlap(self, draw, ratio):
        more = dict.fromkeys(("seconds_per_sample", "host_memory", "throughput", "test_error"), ratio)
        found = draw(created(), created("rls", **{name: NUMBERS[name] * factor for name, factor in more.items()}))
        assert all(fits(rendered.figure) for rendered in found.values())
        for axes in found["cost-drift"].figure.axes:
            assert len(axes.xaxis._update_ticks()) > 1

    def test_one_look_a_method_in_all_pictures(self, draw):
        found = draw(
            created("lms"), created("rls"), created("rls", stream="regression"), created("lms", stream="regression")
        )
        appearance = [
            (line.get_color(), line.get_marker())
            for name in ("error-drift", "error-regression")
            for line in found[name].figure.axes[0].lines
            if line.get_label() == "rls"
        ]
        assert appearance[0] == appearance[1]

    def test_errors_of_different_kinds_never_share_a_picture(self, draw):
        cells = [created("lms"), created("rls"), created("oja", test_error=40.0), created("oja", stream="digits_pca")]
        found = draw(*cells)
        assert {name for name in found if name.startswith("error")} == {
            "error-drift-root-mean-squared-error",
            "error-drift-mean-compression-loss",
            "error-digits_pca",  # has only one kind
        }
        for kind_ in ("error", "cost", "throughput", "forgetting"):
            numbers, losses = (
                found[f"{kind_}-drift-{kind}"] for kind in ("root-mean-squared-error", "mean-compression-loss")
            )
            assert numbers.stream == "drift, root mean squared error"
            assert losses.stream == "drift, mean compression loss"
        assert names(found["error-drift-root-mean-squared-error"].figure) == ["lms", "rls"]
        assert names(found["error-drift-mean-compression-loss"].figure) == ["oja"]
        norm = found["forgetting-drift-root-mean-squared-error"].figure.axes[0].images[0].norm
        assert norm.vmax < 40

    def test_failed_cells_are_not_drawn(self, draw):
        found = draw(created("lms"), failed("rls"))
        assert names(found["error-drift"].figure) == ["lms"]

    def test_a_stream_where_all_failed_is_left_out_with_the_reason(self, draw):
        found = draw(created("lms"), failed("rls", stream="regression"), failed("oja", status="absent"))
        assert {name: rendered.reason for name, rendered in found.items() if isinstance(rendered, Omitted)} == {
            f"{kind_}-{of}": "none of its cells was measured"
            for kind_ in ("error", "cost", "throughput", "forgetting")
            for of in ("regression", "drift-mean-compression-loss")
        }

    def test_latest_run_of_each_machine_is_drawn(self):
        def run(cpu, date, error):
            one = table([created(test_error=error)], machine={"cpu": cpu, "cores": 1, "memory": 1e9, "platform": "x"})
            return one.assign_attrs(date=date, commit=f'{{"id": "{date}"}}')

        both = collection.merge([run("a", "2026-01-01", 1.0), run("a", "2026-01-02", 2.0), run("b", "2026-01-01", 3.0)])
        found = {p.name: p for p in render_figures(both)}
        last = {name: p.figure.axes[0].lines[0].get_ydata()[-1] for name, p in found.items() if name[:5] == "error"}
        assert last == {"error-drift-run-2-a": 2.0, "error-drift-run-3-b": 3.0}
        for rendered in found.values():
            close(rendered.figure)

    def test_the_same_results_draw_the_same(self):
        cells = table([created("lms"), created("rls")])
        once, again = ([as_figure(p.figure, "", "").svg for p in render_figures(cells)] for _ in range(2))
        assert once == again


class TestPlot:
    def test_a_file_a_picture(self, tmp_path):
        results.write(table([created("lms"), created("rls", stream="regression", tasks=0)]), tmp_path / "r.nc")
        done = CliRunner().invoke(main, ["plot", str(tmp_path / "r.nc"), "--output", str(tmp_path / "p")])
        assert done.exit_code == 0, done.output
        assert "not drawn: forgetting-regression: the stream has no tasks" in done.output
        written = {path.name for path in (tmp_path / "p").iterdir()}
        kinds = ("cost", "error", "throughput")
        assert written == {f"{k}-{s}.svg" for k in kinds for s in ("drift", "regression")} | {"forgetting-drift.svg"}
        assert all(str(tmp_path / "p" / name) in done.output for name in written)

    def test_omitted_figures_are_reported(self, tmp_path):
        many = [created(settings={"step_size": k}) for k in range(40)]
        results.write(table([*many, failed("rls", stream="regression")]), tmp_path / "r.nc")
        done = CliRunner().invoke(main, ["plot", str(tmp_path / "r.nc"), "--output", str(tmp_path / "p")])
        assert "throughput-drift.svg (30 of 40 methods, the fastest and the slowest)" in done.output
        assert done.output.count("not drawn: ") == 4
        assert "not drawn: cost-regression: none of its cells was measured" in done.output

    def test_png(self, tmp_path):
        results.write(table([created(tasks=0)]), tmp_path / "r.nc")
        done = CliRunner().invoke(main, ["plot", str(tmp_path / "r.nc"), "--output", str(tmp_path), "--format", "png"])
        assert done.exit_code == 0
        assert (tmp_path / "error-drift.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize(
        ("arguments", "stated"),
        [
            (["none.nc"], "no such file"),
            (["r.nc", "--format", "gif"], "'gif' is not one of"),
            (["r.nc", "--output", "none/p"], "there is no folder"),
            (["r.nc", "--output", "r.nc"], "this is a file, want a folder"),
        ],
    )
    def test_usage_errors_exit_with_2(self, arguments, stated, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        results.write(table([created()]), tmp_path / "r.nc")
        done = CliRunner().invoke(main, ["plot", *arguments])
        assert done.exit_code == 2
        assert stated in done.output
        assert [path.name for path in tmp_path.iterdir()] == ["r.nc"]


@pytest.mark.parametrize("name", [r"$\frac{1}{$", "\x1b[31mred\x1b[0m", "a & <b>"])
@pytest.mark.filterwarnings("ignore:Glyph")
def test_no_name_makes_a_figure_fail(name):
    with matplotlib().rc_context(STYLE):
        figure = pyplot().figure()
        figure.suptitle(name)
    assert as_figure(figure, "caption", "text").svg.startswith("<svg")
