"""Messages about broken plugins state the file, the line and the remedy."""

from __future__ import annotations

import importlib.util
import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from orfit_bench.plugins import discovery
from orfit_bench.plugins.registry import Registry

DECLARATION = """
from orfit_bench.spec import Cost, Field, Method, StateSpec, Theory

method = Method(
    nme="mine",
    summary="",
)
"""


def test_misspelt_field_of_a_method_is_reported_with_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(DECLARATION)

    def find() -> ModuleType:
        spec = importlib.util.spec_from_file_location("mine", path)
        assert spec
        assert spec.loader
        spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
        return module

    plugin = discovery.load(find, "mine", "my-plugin", "1.0")
    assert plugin.state == "broken"
    assert "unexpected keyword argument 'nme'" in plugin.reason
    assert plugin.reason.endswith(f"({path}, line 4)")
    with pytest.raises(ValueError, match=r"no method 'mine'.* Broken plugins: mine \(my-plugin 1.0\): TypeError"):
        Registry([plugin]).methods.find("mine")


def test_error_of_the_loader_itself_has_no_place() -> None:
    assert discovery.load(lambda: None, "mine", "", "").reason.endswith("the contract that it requires")


def test_missing_file_of_laws_is_reported_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    source = inspect.getsource(import_module("orfit_bench.catalogue.methods"))

    def declared(*arguments: object) -> None:
        raise ModuleNotFoundError("No module named ...", name="orfit_bench.catalogue.laws.toy")

    monkeypatch.setattr("orfit_bench.catalogue.shared.modules.declared", declared)
    with pytest.raises(ImportError, match=r"create the file orfit_bench/catalogue/laws/toy\.py with LAWS = \(\)"):
        exec(source, {"__name__": "methods", "__path__": []})
