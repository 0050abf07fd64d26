"""Exit status of `orfit-bench conform`."""

import pytest
from helpers.conform import invoke

pytestmark = pytest.mark.integration


def test_exit_status_is_0_if_all_checks_pass():
    result = invoke("lms", "--backend", "numpy", "--check", "any_chunking", "--workers", 1)
    assert result.exit_code == 0
    assert "4 checks ran on cpu" in result.output
    assert "Conforming (selected checks only)." in result.output
    result = invoke("lms", "--check", "hundred_thousand_rows", "--dtype", "float32", "--timeout", "0.002")
    assert result.exit_code == 1
    assert "stopped after 0.02 s" in result.output  # ten times as long as a fast one


def test_exit_status_is_1_if_nothing_ran():
    result = invoke("kalman", "--check", "incomplete_batch_is_pending", "--dtype", "float64")
    assert result.exit_code == 1
    assert "problem: no checks ran" in result.output


@pytest.mark.parametrize(
    ("arguments", "stated"),
    [
        (("olja",), "no method, backend, plugin, stream, metric or experiment is named 'olja'. Did you mean 'oja'?"),
        (("--backend", "nunpy"), "no backend 'nunpy'. Did you mean 'numpy'?"),
        (("lms", "--check", "any_chunk"), "no check 'any_chunk'. Did you mean 'any_chunking'?"),
        (("lms", "--list", "--check", "any_chunk"), "no check 'any_chunk'. Did you mean 'any_chunking'?"),
        (("lms", "--dtype", "float16"), "dtype='float16': want one of float64, float32"),
        (("lms", "--seed", "-1"), "seed=-1: want an integer >= 0"),
        (("lms", "--seed", "x"), "'x' is not a valid integer"),
        (("lms", "--timeout", "0"), "timeout=0.0: want a number of seconds > 0"),
        (("lms", "--timeout", "nan"), "timeout=nan: want a number of seconds > 0"),
        (("lms", "--workers", "0"), "workers=0: want an integer >= 1"),
        (("lms", "--junit", "none/a.xml"), "none/a.xml: there is no folder none"),
        (("lms", "--json", "a", "--markdown", "./a"), "two of them name the same file"),
    ],
)
def test_usage_error_exits_with_2_and_writes_nothing(arguments, stated, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert stated in result.output
    assert not list(tmp_path.iterdir())
