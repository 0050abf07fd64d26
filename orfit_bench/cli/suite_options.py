"""The options of `orfit-bench run` that choose what is measured, and the suite built from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orfit_bench.cli.output import Decorated

if TYPE_CHECKING:
    from orfit_bench.bench import Suite

OPTIONS = (
    click.option(
        "--suite",
        "file",
        type=click.Path(path_type=Path),
        metavar="PATH",
        help="Suite in a TOML file; options override it.",
    ),
    click.option("--method", "methods", multiple=True, metavar="NAME", help="Run this method. Default: all."),
    click.option("--backend", "backends", multiple=True, metavar="NAME", help="Run this backend. Default: all."),
    click.option(
        "--stream",
        "streams",
        multiple=True,
        metavar="NAME",
        help="Run on this stream. Default: depends on the kind of method.",
    ),
    click.option(
        "--data",
        multiple=True,
        metavar="FILE",
        help="Run on the rows of this file or URL; may be repeated. The options that mention FILE apply to every file.",
    ),
    click.option(
        "--target", "targets", multiple=True, metavar="COLUMN", help="Column of FILE to predict. Default: none."
    ),
    click.option("--test", type=float, metavar="SHARE", help="Share of the rows of FILE, the last ones, to test on."),
    click.option("--time", metavar="COLUMN", help="Column of FILE that orders the rows; it is not learned."),
    click.option("--drop", "dropped", multiple=True, metavar="COLUMN", help="Column of FILE that is not learned."),
    click.option(
        "--one-hot", is_flag=True, help="Encode each string column of FILE as one 0/1 column per distinct value."
    ),
    click.option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Encode this column of FILE (strings, integers or booleans) as one 0/1 column per distinct value.",
    ),
    click.option(
        "--indicators", is_flag=True, help="Replace missing values of FILE by 0, and add a 0/1 column that marks them."
    ),
    click.option(
        "--gaps", is_flag=True, help="Keep rows of FILE that have no target; filters predict them without a correction."
    ),
    click.option(
        "--rows",
        multiple=True,
        type=int,
        metavar="N",
        help="Number of samples of the streams; of a file the first ones, before --time orders them. Default: set by "
        "each stream.",
    ),
    click.option(
        "--features",
        multiple=True,
        type=int,
        metavar="D",
        help="Number of features of the streams. Default: set by each stream.",
    ),
    click.option(
        "--seed",
        "seeds",
        multiple=True,
        type=int,
        metavar="S",
        help="Random seed of learner and stream, an integer. Default: 0.",
    ),
    click.option(
        "--set",
        "sets",
        multiple=True,
        metavar="NAME.SETTING=VALUE",
        help="Setting of a method or a stream, e.g. rls.ridge=0.1 or drift.drift=0.1. VALUE is a TOML value or none.",
    ),
    click.option("--dtype", metavar="DTYPE", help="float64 or float32. Default: float64."),
    click.option("--passes", type=int, metavar="E", help="Number of passes over the stream. Default: 1."),
    click.option(
        "--learners",
        type=int,
        metavar="M",
        help="Number of learners that share the stream and are averaged. Default: 1.",
    ),
    click.option(
        "--round", "rounds", type=int, metavar="R", help="Samples per learner between two averages. Default: one pass."
    ),
    click.option(
        "--standardize",
        "--standardise",
        "standardise",
        is_flag=True,
        default=None,
        help="Standardize rows by the running moments of their columns, in the same pass.",
    ),
    click.option("--intercept", is_flag=True, default=None, help="Add a column of ones to the rows."),
)


def with_suite_options(command: Decorated) -> Decorated:
    """Add the options to a command, which passes their values to `make_suite`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def make_suite(chosen: dict[str, Any]) -> Suite:
    """The suite from the file, or the default suite, overridden by the options."""
    from dataclasses import replace

    from orfit_bench.bench import Suite
    from orfit_bench.bench.suite import read

    suite = read(chosen["file"]) if chosen["file"] else Suite()
    lists = {name: chosen[name] for name in ("methods", "backends", "streams", "rows", "features", "seeds")}
    if files := _streams_of_files(chosen):
        lists["streams"] = [*(chosen["streams"] or ()), *files]
    suite = suite.with_other(**{name: value for name, value in lists.items() if value})
    if chosen["dtype"]:
        suite = replace(suite, dtype=chosen["dtype"])
    given = {"passes": chosen["passes"], "learners": chosen["learners"], "round": chosen["rounds"]}
    given |= {name: chosen[name] for name in ("standardise", "intercept")}
    changed = {name: value for name, value in given.items() if value is not None}
    suite = replace(suite, protocol=replace(suite.protocol, **changed))
    return _with_settings(suite, chosen) if chosen["sets"] else suite


def _options_of_files(chosen: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """The options for the user's files with their values, by the settings of the streams of these files."""
    return {
        "target": ("--target", list(chosen["targets"])),
        "test": ("--test", chosen["test"]),
        "time": ("--time", chosen["time"]),
        "drop": ("--drop", list(chosen["dropped"])),
        "texts": ("--one-hot", "one_hot" if chosen["one_hot"] else None),
        "categorical": ("--categorical", list(chosen["categorical"])),
        "missing": ("--indicators", "indicators" if chosen["indicators"] else None),
        "gaps": ("--gaps", "keep" if chosen["gaps"] else None),
    }


def _streams_of_files(chosen: dict[str, Any]) -> list[dict[str, Any]]:
    """The selectors of the user's files. Raises ValueError for file options without a file, or a file given twice."""
    options = _options_of_files(chosen)
    given = {name: value for name, (_, value) in options.items() if value not in (None, [])}
    for option, names in ((o, v) for o, v in options.values() if isinstance(v, list)):
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise ValueError(f"{option} {twice[0]} is given {names.count(twice[0])} times: name each column once")
    files = list(chosen["data"])
    if given and not files:
        raise ValueError(f"{options[next(iter(given))][0]} names a column or a part of a file: add --data FILE")
    if twice := [path for path in files if files.count(path) > 1]:
        raise ValueError(f"--data {twice[0]} is given {files.count(twice[0])} times: name each file once")
    return [{"name": "file", "settings": {"path": path, **given}} for path in files]


def _setters(suite: Suite, chosen: dict[str, Any], streams: Sequence[str]) -> dict[tuple[str, str], str]:
    """The sources of stream settings other than --set, by stream and setting: options, and sizes in a suite file."""
    options = {"path": ("--data", list(chosen["data"]))} | _options_of_files(chosen)
    found = {("file", name): option for name, (option, value) in options.items() if value not in (None, [])}
    for name, option, sizes in (("n", "rows", suite.rows), ("d", "features", suite.features)):
        setter = f"--{option}" if chosen[option] else f"{option} of the suite"
        found |= {(stream, name): setter for stream in streams if sizes}
    return found


def _with_settings(suite: Suite, chosen: dict[str, Any]) -> Suite:
    """The suite with the chosen NAME.SETTING=VALUE applied. Raises ValueError if something else sets it too."""
    from dataclasses import replace

    names = dict(zip(("method", "stream"), suite.names(), strict=True))
    settings = {name: dict(given) for name, given in suite.settings.items()}
    setters = _setters(suite, chosen, names["stream"])
    for text in chosen["sets"]:
        name, setting, value = parse_setting(text)
        if other := setters.get((name, setting)):
            raise ValueError(f"--set {text}: {name}.{setting} is set by {other} too: set it once")
        setters[name, setting] = f"--set {text}"
        if name not in names[kind := _kind(text, name)]:
            raise ValueError(f"--set {text}: {name} is not among the {kind}s of this run; add --{kind} {name}")
        settings.setdefault(name, {})[setting] = value
    return replace(suite, settings=settings)


def _kind(text: str, name: str) -> str:
    """Whether the name is that of a "method" or a "stream"."""
    from orfit_bench.plugins.registry import registry
    from orfit_bench.spec.synonyms import suggest_method

    known = registry()
    streams = {*known.streams, "file"}
    if name not in known.methods and name not in streams:
        raise ValueError(
            f"--set {text}: no method or stream {name!r}{suggest_method(name, {*known.methods, *streams})}"
        )
    return "method" if name in known.methods else "stream"


def parse_setting(text: str) -> tuple[str, str, Any]:
    """Name, setting and value. The value is parsed as TOML; `none` is None, and a bare word is a string."""
    import tomllib

    name, equals, value = text.partition("=")
    owner, dot, setting = name.strip().partition(".")
    if not (equals and dot and owner and setting):
        raise ValueError(
            f"--set {text}: want NAME.SETTING=VALUE for a method or stream, e.g. rls.ridge=0.1 or drift.drift=0.1"
        )
    if value.strip().lower() == "none":
        return owner, setting, None
    try:
        return owner, setting, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return owner, setting, value.strip()
