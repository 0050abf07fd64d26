"""The command line. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import atexit
import gc
import select
import sys
from typing import Any

import click

from orfit_bench import __version__
from orfit_bench.cli.conform import conform_command
from orfit_bench.cli.gate import gate_command
from orfit_bench.cli.laws import laws_command, map_command
from orfit_bench.cli.list import list_command
from orfit_bench.cli.new_plugin import new_plugin_command
from orfit_bench.cli.report import plot_command, report_command
from orfit_bench.cli.reproduce import reproduce_command
from orfit_bench.cli.results import compare_command, export_command, merge_command, show_command
from orfit_bench.cli.roofline import roofline_command
from orfit_bench.cli.run import run_command
from orfit_bench.cli.warm import warm_command
from orfit_bench.errors import PluginError, UnavailableError

__all__ = ["main"]

atexit.register(gc.freeze)  # or the end of the process looks for garbage in all that it holds: 0.3 s after a page

MISTAKES = (ValueError, TypeError, OSError, PluginError, UnavailableError)
"""What a user can put right."""


class Mistake(click.ClickException):
    """What a user can put right, said in one line."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user's Ctrl-C."""

    exit_code = 130


def _reader_gone() -> bool:
    """Whether stdout is a pipe that its reader closed. Writing again would not tell: what failed is not tried again."""
    try:
        watched = select.poll()
        watched.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError):  # a system without poll, or a stdout that is no file
        return False
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in watched.poll(0))


class Commands(click.Group):
    """A group whose errors end in one line and 2, or 1 where they are ours; under --debug in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt:
            goes_on = (
                "; the same command goes on after the last finished cell"
                if ctx.invoked_subcommand in ("run", "reproduce")
                else ""
            )
            raise Interrupted(f"interrupted{goes_on}") from None
        except Exception as error:
            if ctx.params["debug"] or (isinstance(error, BrokenPipeError) and _reader_gone()):
                raise  # a pipe that its reader closed (as head does) is no mistake: click ends quietly
            if isinstance(error, MISTAKES):
                raise Mistake(str(error)) from None
            said = f"{type(error).__name__}: {error} (a fault of ours; --debug shows where)"
            raise click.ClickException(said) from None


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="orfit-bench")
@click.option("--strict-plugins", is_flag=True, help="A broken plugin is an error, and nothing runs.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(strict_plugins: bool, debug: bool) -> None:
    """Compare streaming learners: what is there, and how well and fast it learns.

    \b
    orfit-bench list                  what is installed, and what computes here
    orfit-bench list rls              all about a method, stream, backend, metric
    orfit-bench run                   compare every method on every backend
    orfit-bench show results.nc       print results again
    orfit-bench report results.nc     make a page of results for the browser
    orfit-bench plot results.nc       draw results, a picture a file
    orfit-bench compare A.nc B.nc     say what got worse; also merge, export
    orfit-bench conform               check that learners are as they are declared
    orfit-bench gate main             say what got worse between two commits
    orfit-bench laws                  measure the theorems that the methods obey
    orfit-bench map                   draw which methods equal which
    orfit-bench reproduce             compute the figures of papers once more
    orfit-bench roofline              measure what this machine allows a kernel
    orfit-bench warm                  compile kernels before anybody waits
    orfit-bench new-plugin my-lms     write a plugin of your own to start from
    orfit-bench --debug run ...       the same, with tracebacks
    """


RESULTS = (show_command, report_command, plot_command, compare_command, merge_command, export_command)
CHECKS = (conform_command, gate_command, laws_command, map_command, reproduce_command)

for command in (list_command, run_command, *RESULTS, *CHECKS, roofline_command, warm_command, new_plugin_command):
    main.add_command(command)
