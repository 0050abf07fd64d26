"""Mutation testing of the reference kernels, and of what kernels share, with the conformance kit as the only test.

`python benchmarks/mutants.py [MODULE...]` changes one operator, comparison, number or branch at a time (cosmic-ray
decides which and how), runs the kit on the methods that use the module, and writes the verdict on each mutant to
mutants.jsonl, from which a run that was killed resumes. Modules are named like `orfit_bench_numpy.rls` or
`orfit_bench.kernels.guards`. Two forked children at a time keep it to about a second a mutant.
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import signal
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import scipy.linalg  # noqa: F401  # imported once, not in every child
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

import orfit_bench.kernels  # after the threads of BLAS are fixed
import orfit_bench_numpy
from orfit_bench.conformance.plan import plan_checks
from orfit_bench.conformance.result import PASSED, PlannedCheck
from orfit_bench.conformance.runner import run_check

PACKAGES = (orfit_bench_numpy, orfit_bench.kernels)
OUTPUT = Path("mutants.jsonl")
CHILDREN, TIMEOUT = 2, 300.0
ODD = ("LShift", "RShift", "BitOr", "BitAnd", "BitXor")
"""Operators that floats do not have: mutants by them, and of them (only annotations have any), tell nothing."""
FIRST = ("law_", "agrees_with_batch", "any_chunking", "separate_gradients", "linear_model", "rows_of", "no_step")
"""How the checks begin that kill most, run before the others."""
LAST = ("thousands_of_rows", "law_warns_on_precision_loss")
"""How the checks begin that take seconds."""
LEFT_OUT = (
    *("wrong_", "what_is_no_number", "numbers_that_are", "other_columns", "a_saved", "a_copy", "a_restored"),
    *("any_place", "inputs_", "what_is_handed", "the_seed", "learners_side", "nothing_is", "arrays_", "predicting_"),
)
"""Checks of what the host does around a kernel. Without them, and without most in single precision, a survivor costs a
quarter; the score can only be lower for it."""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """A name and the code of every mutant that is another program, annotations apart."""
    seen = {_program(source)}
    for operator in sorted(operator_names()):
        made = get_operator(operator)
        if made.arguments() or any(word in operator for word in ODD):
            continue
        for occurrence in itertools.count():
            code = mutate_code(source, made(), occurrence)
            if code is None:
                break
            with suppress(SyntaxError):  # cosmic-ray knows no walrus
                if (program := _program(code)) not in seen:
                    seen.add(program)
                    yield f"{operator.removeprefix('core/')} {occurrence}", code


def _program(code: str) -> str:
    tree = ast.parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Name("Any")
    return ast.dump(tree)


SHARED = {
    "orfit_bench_numpy._gram_schmidt": ("icl", "orfit", "rls", "ogd"),
    "orfit_bench_numpy._incremental_svd": ("orfit", "gp"),
    "orfit_bench_numpy._rts_smoother": ("kalman",),
    "orfit_bench.kernels.exact_observations": ("kalman",),
    "orfit_bench.kernels.filtering": ("kalman",),
    "orfit_bench.kernels.guards": ("rls", "kalman", "owm", "one_step_sgd", "orfit"),
    "orfit_bench.kernels.information": ("ridge",),
    "orfit_bench.kernels.layers": ("gp", "owm"),
    "orfit_bench.kernels.linalg": ("apa", "nlms", "oja", "krasulina", "implicit_krasulina"),
    "orfit_bench.kernels.loops": ("lms", "rls", "oja"),
}
"""The methods by which a module of helpers is judged: together they call all of it, in each of its ways."""


def users(module: str) -> tuple[str, ...]:
    """The methods whose kernels use the module."""
    return SHARED.get(module, (module.rpartition(".")[2],))


def module_names() -> list[str]:
    """The modules of the reference and of what kernels share."""
    return [
        f"{package.__name__}.{path.stem}"
        for package in PACKAGES
        for path in sorted(Path(package.__path__[0]).glob("*.py"))
        if path.stem != "__init__"
    ]


def source_of(module: str) -> str:
    """The source of a module, which is not imported."""
    return Path(getattr(find_spec(module), "origin", "")).read_text()


@cache
def plan(methods: tuple[str, ...]) -> list[PlannedCheck]:
    """All checks of these methods, those that kill most first. Made before anything is mutated."""
    read, write = os.pipe()
    if os.fork() == 0:  # planning imports kernels, which must not be in the parent
        items = [i for method in methods for i in plan_checks([method], backends=["numpy"]) if _is_tried(i)]
        with os.fdopen(write, "w") as out:
            json.dump([[i.check, i.method, i.backend, i.dtype, i.seed] for i in items], out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        items = [PlannedCheck(*fields) for fields in json.load(said)]
    return sorted(items, key=lambda i: (i.check.startswith(LAST), i.dtype == "float32", not i.check.startswith(FIRST)))


def _is_tried(item: PlannedCheck) -> bool:
    return not item.check.startswith(LEFT_OUT) and (item.dtype == "float64" or item.check.startswith(FIRST))


def _describe(item: PlannedCheck) -> str:
    return f"{item.check} of {item.method} ({item.dtype})"


def judge(module: str, code: str, items: list[PlannedCheck], out: int) -> None:
    """In a child: run the checks until one fails, and say which."""
    sys.modules[module] = mutated = types.ModuleType(module)
    said = "survived"
    try:
        exec(compile(code, module, "exec"), mutated.__dict__)
        for item in items:
            record = run_check(item)
            if record.status != PASSED:
                said = f"killed by {_describe(item)}: {record.reason[:200]}"
                break
    except BaseException as error:
        said = f"killed on import: {type(error).__name__}: {error}"
    os.write(out, said.encode())


class Mutant(NamedTuple):
    """A program to judge: the module it stands in for, what was changed, the changed line, and the code."""

    module: str
    mutant: str
    line: str
    code: str


class Child(NamedTuple):
    """A process that judges a mutant, and the pipe with its verdict."""

    judges: Mutant
    pid: int
    said: int
    began: float


def main(modules: list[str]) -> None:
    """Judge every mutant that was not judged before."""
    done = {(r["module"], r["mutant"], r["code"]) for r in _records()}
    made = [one for module in modules or module_names() for one in found(module)]
    waiting = [one for one in made if one[:3] not in done]
    print(f"{len(made)} mutants, {len(waiting)} to judge", file=sys.stderr)
    running: list[Child] = []
    try:
        while waiting or running:
            while waiting and len(running) < CHILDREN:
                running.append(start(waiting.pop(0)))
            time.sleep(0.01)
            for child in running[:]:
                if said := verdict(child):
                    running.remove(child)
                    keep(child.judges, said)
    finally:
        for child in running:
            os.kill(child.pid, signal.SIGKILL)


def found(module: str) -> Iterator[Mutant]:
    """The mutants of a module."""
    source = source_of(module)
    for name, code in mutants(source):
        yield Mutant(module, name, diff(source, code), code)


KILLS: Counter[str] = Counter()
"""How often each check was the one that killed: it is tried first on what comes next."""


def start(one: Mutant) -> Child:
    """Judge in a child, which a kernel that hangs or crashes ends with."""
    items = sorted(plan(users(one.module)), key=lambda i: -KILLS[_describe(i)])
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        judge(one.module, one.code, items, write)
        os._exit(0)
    os.close(write)
    return Child(one, pid, read, time.monotonic())


def verdict(child: Child) -> str:
    """What became of the mutant; empty while it is being judged."""
    ended, status = os.waitpid(child.pid, os.WNOHANG)
    late = time.monotonic() - child.began > TIMEOUT
    if not ended and not late:
        return ""
    if not ended:
        os.kill(child.pid, signal.SIGKILL)
        os.waitpid(child.pid, 0)
    with os.fdopen(child.said) as pipe:
        return pipe.read() or ("killed by the time limit" if late else f"killed by a crash ({status})")


def keep(one: Mutant, said: str) -> None:
    """Append what became of it."""
    KILLS[said.split(":")[0].removeprefix("killed by ")] += 1
    with OUTPUT.open("a") as file:
        print(json.dumps({"module": one.module, "mutant": one.mutant, "code": one.line, "said": said}), file=file)


def diff(source: str, code: str) -> str:
    """The line that was changed, before and after."""
    pairs = zip(source.splitlines(), code.splitlines(), strict=False)
    return next((f"{i}: {a.strip()}  ->  {b.strip()}" for i, (a, b) in enumerate(pairs, 1) if a != b), "")


def _records() -> list[dict[str, Any]]:
    return [json.loads(line) for line in OUTPUT.read_text().splitlines()] if OUTPUT.exists() else []


if __name__ == "__main__":
    main(sys.argv[1:])
    failed = [r for r in _records() if r["said"] == "survived"]
    print(f"{len(_records()) - len(failed)} of {len(_records())} killed")
    print(*(f"{r['module']}: {r['code']}" for r in failed), sep="\n")
