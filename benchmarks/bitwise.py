"""Record the results of every method before and after a change of the code, and compare them bit by bit.

    python benchmarks/bitwise.py record FILE [--backend numpy --backend numba]
    python benchmarks/bitwise.py compare BEFORE AFTER [--rename old=new]

FILE is an .npz with the keys method/backend/dtype/settings/model/input/way/field. Its fields `events` list the form of
the result of each call, or the type and row of its exception, and the categories of its warnings. `compare` exits with
status 1 if an array differs or is missing. Both files must come from the same machine.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "ORFIT_BENCH_THREADS"), "1"))

import click
import numpy as np

import orfit_bench as ob

Array = np.ndarray[Any, Any]
Rows = dict[str, Array]  # the arguments of a call by name: X, for most methods y, and what varies from row to row
SINE = ob.Transition("sine", lambda w: 0.9 * np.sin(w), lambda w: np.diag(0.9 * np.cos(w)))
MORE: dict[str, list[dict[str, Any]]] = {
    "lms": [{"step_size": {"power": {"eta0": 0.1, "power": 0.5}}}],
    "sgd": [{"loss": "hinge", "step_size": 0.1}, {"loss": "logistic", "step_size": 0.1, "batch_size": 7}],
    "icl": [{"memory": 3}],
    "orfit": [{"memory": 3}],
    "rls": [{"ridge": 0.0}],
    "gp": [{"rank": 2, "step_size": 0.05}],
    "kalman": [{"transition": SINE, "process_noise": 0.1}],
    "subspace": [{"n_components": 3, "batch_size": 7}],
}
"""Settings of a method, or of all methods of a kind, in addition to the defaults and the examples."""
MODELS: dict[str, dict[str, Any]] = {"linear": {}, "mlp": {"model": ob.MLP(hidden=(4,))}}
CHUNKS = {"whole": (None,), "rows": (*[1] * 40, None), "uneven": (7, 1, 20, 3, None), "empty": (0, None, 0)}
FEWER = {"long": ("whole", "uneven"), "wide": ("whole", "rows")}
main = click.Group(help="Record results before and after a change of the code, and compare them bit by bit.")


def inputs(method: str, kind: str, model: str, dtype: str) -> Iterator[tuple[str, Rows]]:
    """All inputs for a method, by name; the same at every call."""
    draw, at = np.random.default_rng(0).standard_normal, np.arange(60)
    linear = {
        "normal": draw((60, 5)),
        "outputs": draw((60, 5)),
        "correlated": np.tril(0.99 ** np.subtract.outer(at, at)) @ draw((60, 8)),  # AR(0.99)
        "scaled": draw((60, 6)) * 10.0 ** np.arange(-6, 6, 2),
        "repeated": np.tile(draw((12, 5)), (5, 1)),
        "features": draw((60, 80)),
        "long": draw((1100 if kind == "subspace" else 300, 6)),  # beyond the blocks and renewals of fast kernels
    } | ({"wide": draw((60, 450))} if method in ("rls", "class_rls", "kalman") else {})
    for name, X in (linear if model == "linear" else {n: draw((40, 3)) for n in ("normal", "outputs")}).items():
        (n, d), outputs = X.shape, 3 if name == "outputs" else 1
        y = X / X.std(axis=0) @ draw((d, outputs)) + 0.1 * draw((n, outputs))
        y = y if outputs > 1 else np.sign(y[:, 0]) if name == "repeated" else y[:, 0]
        if kind == "classification":  # the second class appears in the second third of the rows, the third in the last
            y = np.array([*"abc"] if name == "outputs" else [0, 1, 2])[np.arange(n) * 7 % (1 + 3 * np.arange(n) // n)]
        rows = {"X": X.astype(dtype), "y": y.astype(dtype) if y.dtype.kind == "f" else y}
        yield name, {"X": rows["X"]} if kind == "subspace" else rows
        if kind == "filter" and name in ("normal", "outputs"):  # missing targets, and motion and noise that vary
            y, noise, A = rows["y"].copy(), abs(draw(n)) + 0.1, draw((n, d, d))
            y[4::7] = np.nan
            motion = {"transition": 1 - 0.1 * noise, "process_noise": 0.1 * noise, "observation_noise": noise}
            if name == "normal" and model == "linear":
                motion |= {"transition": 0.9 * np.linalg.qr(A)[0], "process_noise": 0.1 * A @ A.swapaxes(1, 2)}
            yield f"{name}, gaps", rows | {"y": y}
            yield f"{name}, gaps and motion", rows | {"y": y} | motion


class Trial:
    """A learner, the arrays that it returned (fields), and what each call did (events)."""

    def __init__(self, learner: Any = None) -> None:
        self.learner, self.events, self.fields = learner, list[str](), dict[str, Array]()

    def call(self, act: str, *arguments: Any, owner: Any = None, **named: Any) -> Any:
        """The result of a method or property of the learner, or of the owner; None if it raised an error."""
        result = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = getattr(owner or self.learner, act)
                result = found(*arguments, **named) if callable(found) else found
                stated = f"{result.dtype} {result.shape}" if isinstance(result, np.ndarray) else "done"
            except Exception as error:
                stated = f"{type(error).__name__}, row {getattr(error, 'row', None)}"
        kinds = {w.category for w in caught if not w.category.__module__.startswith("numba")}  # not those of Numba
        self.events.append(", ".join([f"{act}: {stated}", *sorted(k.__name__ for k in kinds)]))
        return result

    def learn(self, rows: Rows, *sizes: int | None) -> Trial:
        """Learn chunks of these sizes (None: all remaining rows): in turns by prequential, if any, and partial_fit."""
        start, answers = 0, []
        for i, size in enumerate(sizes):
            part = {name: a[start : None if size is None else start + size] for name, a in rows.items()}
            act = "prequential" if i % 2 == 0 and hasattr(self.learner, "prequential") else "partial_fit"
            result, start = self.call(act, **part), start + len(part["X"])
            answers += [result.ravel()] if isinstance(result, np.ndarray) else []
        self.fields |= {"prequential": np.concatenate(answers)} if answers else {}
        return self

    def observe(self, X: Array) -> dict[str, Array]:
        """All fields, with the answers for the rows X, the arrays and the counters of the state, and the events."""
        found = {n: self.call(n, X) for n in ("predict", "decision_function", "transform") if hasattr(self.learner, n)}
        state, seen = self.call("state"), self.call("n_samples_seen_")
        if state is not None:
            found |= {str(name): a.values for name, a in state.variables.items()}
            found["counters"] = np.array([state.attrs.get("t", -1), seen])
        return self.fields | {n: a for n, a in found.items() if a is not None} | {"events": np.array(self.events)}


def trials(make: Callable[[], Any], name: str, rows: Rows, functions: dict[str, Any]) -> Iterator[tuple[str, Trial]]:
    """Run a new learner for every chunking of the rows, and for every other way to use them."""
    for chunks in FEWER.get(name, tuple(CHUNKS)):
        yield chunks, Trial(make()).learn(rows, *CHUNKS[chunks])
    last, moved = {k: a[25:] for k, a in rows.items()}, {k: a[0] for k, a in rows.items() if k not in "Xy"}
    for way in ("step", "restore", "smooth", "flush", "merge", "average") if name not in FEWER else ():
        one, other = Trial(make()), Trial(make()).learn(last, None)
        block = [rows[k][:25] for k in "Xy" if k in rows]
        one.call("step", *block, **moved) if way == "step" else one.learn(rows, 7, 18)
        if way == "restore":
            one.learner = one.call("restore", one.call("state"), owner=ob, **functions)
        elif way == "smooth":
            smoothed = one.call("smooth", **last)
            one.fields |= {f"smoothed {n}": a.values for n, a in getattr(smoothed, "variables", {}).items()}
        elif way in ("flush", "merge", "average"):
            one.call("flush"), other.call("flush")
        if way == "merge":
            one.call("merge", other.learner)
        elif way == "average":
            one.call("average", [one.learner, other.learner], owner=ob)
        yield way, one.learn(last, None) if way in ("step", "restore") else one


@main.command()
@click.argument("file")
@click.option("--backend", "backends", multiple=True, default=["numpy", "numba"], show_default=True)
def record(file: str, backends: Sequence[str]) -> None:
    """Write the results of every method on these backends to FILE."""
    found: dict[str, Array] = {}
    for (name, method), backend, dtype in product(sorted(ob.methods().items()), backends, ("float64", "float32")):
        kind, examples = getattr(method, "kind", ""), getattr(method, "examples", ())
        choices = [{}, *examples, *MORE.get(name, ()), *MORE.get(kind, ())]
        for settings, (title, model) in product(choices, MODELS.items()):
            label = ", ".join(f"{k}={getattr(v, 'name', v)}" for k, v in settings.items()) or "defaults"
            key = f"{name}/{backend}/{dtype}/{label}/{title}"
            functions = {k: v for k, v in settings.items() if v is SINE}
            make = partial(ob.create, name, backend=backend, dtype=dtype, **model, **settings)
            created = (trial := Trial()).call("create", name, owner=ob, **make.keywords)
            found[f"{key}/events"] = np.array(trial.events)
            for which, rows in inputs(name, kind, title, dtype) if created is not None else ():
                for way, trial in trials(make, which, rows, model | functions):
                    found |= {f"{key}/{which}/{way}/{n}": a for n, a in trial.observe(rows["X"][:3]).items()}
    np.savez_compressed(file, allow_pickle=False, **found)
    print(f"{len(found)} arrays of {ob.__file__} in {file}")


def difference(one: Array, other: Array) -> str:
    """The difference of two arrays; empty if they are bitwise equal."""
    if one.shape != other.shape or (one.dtype != other.dtype and (one.dtype.kind, other.dtype.kind) != ("U", "U")):
        return f"{one.dtype} {one.shape} became {other.dtype} {other.shape}"
    if one.tobytes() == other.tobytes():
        return ""
    differing = ~((one == other) | ((one != one) & (other != other)))  # all False: the sign of a zero, or bits of a NaN
    a, b = one[differing], other[differing]
    if one.dtype.kind not in "fc":
        return f"{len(a)} entries, {a[:1]} became {b[:1]}"
    return f"{len(a)} entries, largest relative deviation {(abs(a - b) / np.fmax(abs(a), abs(b))).max(initial=0):.2g}"


@main.command()
@click.argument("before")
@click.argument("after")
@click.option("--rename", multiple=True, metavar="OLD=NEW", help="A field of BEFORE that has another name in AFTER.")
def compare(before: str, after: str, rename: Sequence[str]) -> None:
    """Print each difference between two files, and the counts by method and backend."""
    old, new, renamed = np.load(before), np.load(after), dict(pair.split("=") for pair in rename)
    place = {f"{head}/{renamed.get(last, last)}": k for k in old.files for head, _, last in [k.rpartition("/")]}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for key in sorted({*place, *new.files}):
        stated = difference(old[place[key]], new[key]) if key in place and key in new else ""
        kind = "new" if key not in place else "missing" if key not in new else "different" if stated else "equal"
        counts[" ".join(key.split("/")[:2])][kind] += 1
        if kind in ("different", "missing"):
            print(f"{kind}: {key}  {stated}")
    for group, number in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        print(f"{group}: {', '.join(f'{number[kind]} {kind}' for kind in ('equal', 'different', 'missing', 'new'))}")
    raise SystemExit(any(number["different"] or number["missing"] for number in counts.values()))


if __name__ == "__main__":
    main()
