"""Rules of structure in addition to import contracts: no private access, import cycles, or kinds compared by name."""

import ast
from functools import cache
from pathlib import Path

from orfit_bench.spec.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "orfit_bench").rglob("*.py"), *(ROOT / "plugins").glob("*/src/**/*.py")])
SOURCES = [path for path in SOURCES if "templates" not in path.parts]
PUBLIC = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Documented names that begin with an underscore: those of named tuples, and os._exit."""
NUMBA_CACHE = {"_cache", "_cache_file", "_load_index", "_source_stamp"}
"""Numba's cache, which has no public interface for further dependencies of a kernel."""


@cache
def trees():
    """Each source file, parsed."""
    return {path: ast.parse(path.read_text()) for path in SOURCES}


def offences(find):
    """The findings of find(path, tree) for each file, as file:line."""
    return [f"{path.relative_to(ROOT)}:{found}" for path, tree in trees().items() for found in find(path, tree)]


def private_accesses(tree):
    """Line and name of each `x._name` in which x is not self or cls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not own and node.attr not in PUBLIC:
                yield node.lineno, node.attr


def test_no_object_reads_the_private_attributes_of_another():
    def find(path, tree):
        allowed = NUMBA_CACHE if path.name == "_compile.py" else set()
        return [f"{line}: {name}" for line, name in private_accesses(tree) if name not in allowed]

    assert not offences(find), "use or make something public instead"


def test_a_private_access_is_seen():
    source = "class A:\n    def f(self, other):\n        return self._x + other._x + other._replace(x=1)\n"
    assert list(private_accesses(ast.parse(source))) == [(3, "_x")]


def module_of(path):
    start = ROOT if path.is_relative_to(ROOT / "orfit_bench") else path.parents[len(path.relative_to(ROOT).parts) - 4]
    parts = list(path.relative_to(start).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_at_start(tree):
    """Modules that are imported with this one: neither those used only for types, nor those inside functions."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module


def cycles(graph):
    """Modules that import themselves through others."""
    reached = {name: set(found) for name, found in graph.items()}
    for middle in graph:
        for found in reached.values():
            if middle in found:
                found |= reached[middle]
    return sorted(name for name, found in reached.items() if name in found)


def test_modules_import_each_other_in_one_direction():
    modules = {module_of(path): tree for path, tree in trees().items()}
    assert "orfit_bench.spec.method" in modules
    assert any(name.startswith("orfit_bench_numba.") for name in modules)
    packages = {name.rpartition(".")[0] for name in modules}
    graph = {
        name: {found for found in imports_at_start(tree) if found in modules and found not in packages}
        for name, tree in modules.items()
    }
    assert not cycles(graph)
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == ["a", "b", "c"]


def kinds_compared(tree):
    """Lines that compare a value with the names of kinds of methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            names = [getattr(side, "attr", getattr(side, "id", "")) for side in (node.left, *node.comparators)]
            texts = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
            if texts & set(KINDS) and "kind" in names:
                yield node.lineno


def test_kinds_are_compared_only_in_the_specification():
    """Other code uses the properties of orfit_bench.spec.kinds.Kind."""
    own = ("spec", "workloads")  # the workloads of the gate also run on earlier commits
    assert not offences(lambda path, tree: [] if path.parent.name in own else kinds_compared(tree))


def test_a_comparison_of_kinds_is_seen():
    source = 'a = method.kind == "filter"\nb = kind in ("subspace", "y")\nc = kind == other\nd = dtype.kind == "f"\n'
    assert list(kinds_compared(ast.parse(source))) == [1, 2]


def test_tests_lie_where_the_code_lies():
    """A folder of tests has the name of a package, except helpers, faults and tests of the repository."""
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    packages = {path.parent.name for path in (ROOT / "orfit_bench").glob("*/__init__.py")}
    assert folders - packages == {"helpers", "faults", "repository"}
    assert not list((ROOT / "tests").glob("test_*.py"))


def foreign_private_imports(tree, distribution):
    """Lines that import a private module or name of another distribution of this repository."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            package, *parts = name.split(".")
            private = any(part.startswith("_") and not part.startswith("__") for part in parts)
            if package.startswith("orfit_bench") and package != distribution and private:
                yield node.lineno, name


def test_distributions_import_only_public_names_of_each_other():
    def find(path, tree):
        return [f"{line}: {name}" for line, name in foreign_private_imports(tree, module_of(path).split(".")[0])]

    assert not offences(find)


def test_a_private_import_from_another_distribution_is_seen():
    source = (
        "from b._c import d\nfrom orfit_bench_b import _c, d\nimport orfit_bench_b._c.d\nfrom orfit_bench_a import _b\n"
    )
    found = list(foreign_private_imports(ast.parse(source), "orfit_bench_a"))
    assert found == [(2, "orfit_bench_b._c"), (3, "orfit_bench_b._c.d")]
