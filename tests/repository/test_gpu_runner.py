"""`python3 dev.py gpu`: units that fail, hang or are killed lose only their own results; nothing is measured twice."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import wait_for

from benchmarks.gpu import __main__ as command
from benchmarks.gpu.runner import Call, run, summary
from benchmarks.gpu.units import DONE, FAILED, LEFT, Journal, Part, Unit, status

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
ACTS = """
import os, signal, time
from pathlib import Path

def note(tell, folder, name):
    with open(Path(folder, "log"), "a") as file:
        print(name, file=file)
    print("what is printed is no answer")
    tell(pid=os.getpid())
    tell(name=name)

def hold(tell, folder, name):
    note(tell, folder, name)
    if Path(folder, "hold").exists():
        Path(folder, "held").write_text(str(os.getpid()))
        time.sleep(60)

def fail(tell, folder, name):
    tell(before=1)
    raise MemoryError("too large\\nfor this")

def leave(tell, folder, name):
    raise SystemExit(5)

def end(tell, folder, name):
    os._exit(3)

def crash(tell, folder, name):
    tell(before=1)
    os.kill(os.getpid(), signal.SIGKILL)

def hang(tell, folder, name):
    tell(before=1)
    time.sleep(60)
"""
RUN = """
from benchmarks.gpu.runner import Call, run
from benchmarks.gpu.units import Part, Unit
from pathlib import Path
from types import MappingProxyType as mappingproxy
run(Call(Path({1!r}), 1.0), [{0!r}])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of the files, and a module of units."""
    (tmp_path / "acts.py").write_text(ACTS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path)]))
    return tmp_path


def units(folder, *acts):
    """One unit for each act, with a number before its name."""
    named = [(str(number), act) for number, act in enumerate(acts)]
    return [Unit(f"{n} {act}", f"acts:{act}", {"folder": str(folder), "name": n}, 30.0) for n, act in named]


def do(folder, part, **how):
    """The outcome of each unit of the part after a call, and the output of the call."""
    stated = []
    call = Call(folder, how.pop("minutes", 1.0), say=stated.append, **how)
    run(call, [part])
    found = call.journal(part).found()
    return {unit.name: status(unit, found) for unit in part.units}, found, "\n".join([*stated, *summary(call, [part])])


def log(folder):
    return (folder / "log").read_text().split()


def test_units_are_done_in_one_process_and_once(folder):
    part = Part("look", units(folder, "note", "note"))
    became, found, _ = do(folder, part, where={"device": "one"})
    assert [*became.values()] == [DONE, DONE]
    assert len({one.results["pid"] for one in found.values()}) == 1
    assert [one.results["name"] for one in found.values()] == ["0", "1"]
    assert {one.where["device"] for one in found.values()} == {"one"}
    do(folder, part)
    assert log(folder) == ["0", "1"]


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="the system has no groups of processes")
def test_killed_call_loses_only_its_running_unit(folder):
    (folder / "hold").touch()
    part = Part("tables", units(folder, "note", "note", "hold", "note"))
    with subprocess.Popen([sys.executable, "-c", RUN.format(part, str(folder))]) as process:
        wait_for(lambda: (folder / "held").exists() and (folder / "held").read_text())
        process.send_signal(signal.SIGKILL)
    held = int((folder / "held").read_text())
    wait_for(lambda: ended(held))
    (folder / "hold").unlink()
    before = Journal(folder / "tables.jsonl").found()
    assert [one.status for one in before.values()] == [DONE, DONE, LEFT]
    became, found, _ = do(folder, part)
    assert {*became.values()} == {DONE}
    assert log(folder) == ["0", "1", "2", "2", "3"]
    assert [one.results["name"] for one in found.values()] == ["0", "1", "2", "3"]


def ended(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{process}/stat")  # a zombie process still has an entry
    return state.exists() and state.read_text().split()[2] == "Z"


def test_failure_affects_only_its_own_unit(folder):
    wrong = {
        "fail": "MemoryError: too large for this (acts.py, line",
        "leave": "SystemExit: 5",
        "end": "ended: 3",
        "crash": "killed by signal 9",
        "hang": "stopped after 0.5 s",
        "missing": "AttributeError",
    }
    acts = [name for act in wrong for name in (act, "note")]
    part = Part("look", [unit._replace(limit=0.5) if "hang" in unit.name else unit for unit in units(folder, *acts)])
    became, found, stated = do(folder, part)
    assert [*became.values()] == [FAILED, DONE] * len(wrong)
    for name, one in found.items():
        assert wrong.get(name.split()[1], "") in one.why
    assert [name for name, one in found.items() if "before" in one.results] == ["0 fail", "6 crash", "8 hang"]
    assert "6 done, 6 failed" in stated
    assert "failed: 0 fail: MemoryError: too large for this" in stated


def test_failed_units_are_repeated_on_request(folder):
    part = Part("look", units(folder, "note", "fail", "end", "note"))
    do(folder, part)
    do(folder, part)
    assert log(folder) == ["0", "3"]
    (folder / "acts.py").write_text(ACTS.replace("raise MemoryError", "return; raise MemoryError"))
    became, _, stated = do(folder, part, again=True)
    assert [*became.values()] == [DONE, DONE, FAILED, DONE]
    assert "[look 2/2] 2 end" in stated
    assert log(folder) == ["0", "3"]


def test_oldest_failure_is_repeated_first(folder):
    part = Part("look", units(folder, "fail", "end"))
    do(folder, part._replace(units=part.units[::-1]))
    _, _, stated = do(folder, part, again=True)
    assert "[look 1/2] 1 end" in stated


class Short(Call):
    """A call whose time is over when its folder has a log of three units."""

    def left(self):
        done = len(log(self.folder)) if (self.folder / "log").exists() else 0
        return 30.0 if done < 3 else self.end


@pytest.mark.parametrize("end", [-1.0, 0.3])
def test_the_time_is_kept(folder, end):
    call, part = Short(folder, 1.0, say=lambda text: None), Part("look", units(folder, *["note"] * 3, "hang"))
    call.end = end
    run(call, [part])
    found = call.journal(part).found()
    assert [status(unit, found) for unit in part.units] == [DONE, DONE, DONE, LEFT]
    (folder / "acts.py").write_text(ACTS.replace("time.sleep(60)", "pass"))
    became, _, _ = do(folder, part)
    assert {*became.values()} == {DONE}


def test_a_unit_that_takes_more_than_a_full_call_has_failed(folder):
    became, found, _ = do(folder, Part("look", units(folder, "hang", "note")), minutes=0.5 / 60)
    assert [*became.values()] == [FAILED, LEFT]
    assert "--minutes" in found["0 hang"].why


def test_other_arguments_are_another_measurement(folder):
    part = Part("look", units(folder, "note"))
    do(folder, part)
    other = folder / "other"
    other.mkdir()
    moved = [unit._replace(arguments=unit.arguments | {"folder": str(other)}) for unit in part.units]
    became, _, _ = do(folder, Part("look", moved))
    assert [*became.values()] == [DONE]
    assert log(other) == ["0"]


CUT = ['{"unit": "0", "stat', '{"unit": "0"', "\0\0\0", "7", '{"unit": "9", "status": "done"}\n\n']


@pytest.mark.parametrize("cut", CUT)
def test_a_damaged_last_line_is_passed_over(tmp_path, cut):
    journal, unit = Journal(tmp_path / "look.jsonl"), Unit("0", "acts:note", {"a": 1}, 1.0)
    journal.begin(unit)
    with journal.path.open("a") as file:
        file.write(cut)
    assert status(unit, journal.found()) == LEFT
    journal.write(unit="0", status=DONE)
    assert status(unit, journal.found()) == DONE
    assert status(unit._replace(arguments={"a": 2}), journal.found()) == LEFT


def test_the_end_says_how_to_go_on(folder):
    part, stated = Part("look", units(folder, "fail", "note")), []
    call = Call(folder, 1.0, say=stated.append)
    assert command.ending(call, [part], "python3 dev.py gpu look --again") == 3
    assert stated == ["what is left:   python3 dev.py gpu look"]
    run(call, [part])
    stated.clear()
    assert command.ending(call, [part], "python3 dev.py gpu look --list") == 1
    assert stated == ["what failed:    python3 dev.py gpu look --again"]
    assert command.ending(call, [part._replace(units=part.units[1:])], "") == 0
