"""The command line. Heavy modules are imported only when a command needs them."""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from traceback import walk_tb
from typing import Any

import click

from orfit_bench import __version__
from orfit_bench.cli.conform import conform_command
from orfit_bench.cli.gate import gate_command
from orfit_bench.cli.laws import laws_command, map_command
from orfit_bench.cli.list import list_command
from orfit_bench.cli.mutants import mutants_command
from orfit_bench.cli.new_plugin import new_plugin_command
from orfit_bench.cli.output import WRITTEN, say
from orfit_bench.cli.report import plot_command, report_command
from orfit_bench.cli.reproduce import reproduce_command
from orfit_bench.cli.results import compare_command, export_command, merge_command, show_command
from orfit_bench.cli.roofline import roofline_command
from orfit_bench.cli.run import run_command
from orfit_bench.cli.verify import verify_command
from orfit_bench.cli.warm import warm_command
from orfit_bench.errors import PluginError, UnavailableError

__all__ = ["main"]

atexit.register(gc.freeze)  # skip the last garbage collection, which takes 0.3 s after an HTML page was written

USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, PluginError, UnavailableError)
"""Errors that the user can correct."""


class Error(click.ClickException):
    """An error, reported in one line; on a terminal the line is wrapped between words."""

    def show(self, file: Any = None) -> None:
        """Print the message."""
        say(f"Error: {self.format_message()}", err=True)


class UsageError(Error):
    """An error that the user can correct."""

    exit_code = 2


class Interrupted(Error):
    """The user pressed Ctrl-C."""

    exit_code = 130


class Ended(Error):
    """The process received SIGTERM."""

    exit_code = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command in the same way as Ctrl-C."""


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Raise Terminated at the first SIGTERM; the second one ends the process immediately."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Print each warning once, in the format of errors: without the line of code that issued it."""
    before, printed = warnings.showwarning, set[str]()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if (text := f"Warning: {message}") not in printed:
            printed.add(text)
            say(text, err=True)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


@contextmanager
def _let_cupy_start() -> Iterator[None]:
    """Give CuPy a temporary folder if it cannot create its own: otherwise Dask, which xarray imports, would fail."""
    with ExitStack() as stack:
        if not (CUPY_FOLDER in os.environ or "cupy" in sys.modules or find_spec("cupy") is None):
            usual = os.path.expanduser("~/.cupy/kernel_cache")
            with suppress(OSError):
                os.makedirs(usual, exist_ok=True)
            if not os.access(usual, os.W_OK):
                folder = TemporaryDirectory(prefix="orfit-bench-cupy-", ignore_cleanup_errors=True)
                os.environ[CUPY_FOLDER] = stack.enter_context(folder)
                stack.callback(os.environ.pop, CUPY_FOLDER, None)
        yield


def _is_stdout_closed() -> bool:
    """Whether stdout is a pipe whose reader has closed it.

    The pipe is polled because a second write would not fail again after the first one did.
    """
    try:
        watched = select.poll()
        watched.register(sys.stdout.fileno(), 0)
    except (AttributeError, OSError):  # the system has no poll, or stdout is not a file
        return False
    return any(state & (select.POLLERR | select.POLLHUP) for _, state in watched.poll(0))


def _is_from_stdout(error: OSError) -> bool:
    """Whether click or rich raised the error when they printed to stdout: it names no file."""
    for frame, _ in walk_tb(error.__traceback__):
        if frame.f_code is click.echo.__code__:
            return not frame.f_locals["err"]
        writer: Any = frame.f_locals.get("self")
        if type(writer).__module__ == "rich.console" and hasattr(writer, "stderr"):
            return not writer.stderr
    return False


CUPY_FOLDER = "CUPY_CACHE_DIR"
"""Environment variable that names the folder in which CuPy keeps compiled kernels."""
MEANT = {"--seeds": "--runs", "--seed": "--runs"}
"""Options that have other names in other commands."""


def _open_closed_streams() -> None:
    """Open those of stdin, stdout and stderr that the caller closed; otherwise later files would get their numbers."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # uses the lowest free number
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


class Commands(click.Group):
    """A command group that reports errors in one line: exit status 2 for usage errors, 1 for internal errors.

    With --debug the traceback is shown instead.
    """

    def main(self, *args: Any, **options: Any) -> Any:
        """Run the command line."""
        _open_closed_streams()
        return super().main(*args, **options)

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the options before the command."""
        try:
            return super().make_context(*args, **options)
        except OSError as error:  # from printing a help page
            if _is_stdout_closed():
                raise
            raise Error(f"the output cannot be written: {error.strerror}") from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            shown = nullcontext() if ctx.params["debug"] else _warnings_in_one_line()
            with _sigterm_interrupts(), _let_cupy_start(), shown:
                return super().invoke(ctx)
        except click.NoSuchOption as error:
            meant, command = MEANT.get(error.option_name, ""), error.ctx and error.ctx.command
            if command and not error.possibilities and any(meant in p.opts for p in command.params):
                message = f"{error.format_message()} Did you mean {meant!r}?"
                raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from None
            raise
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except KeyboardInterrupt as interrupt:
            rest = _describe_rest(ctx)
            if isinstance(interrupt, Terminated):
                raise Ended(f"ended by SIGTERM{rest}") from None
            raise Interrupted(f"interrupted{rest}") from None
        except Exception as error:
            if ctx.params["debug"] or (isinstance(error, BrokenPipeError) and _is_stdout_closed()):
                raise  # a reader such as head may close the pipe: not an error, click exits quietly
            nothing = "no memory is left" if isinstance(error, MemoryError) else ""  # that of Python has no message
            text = ", ".join([str(error) or nothing, *getattr(error, "__notes__", ())])
            if isinstance(error, OSError) and _is_from_stdout(error):
                text = f"standard output cannot be written: {error.strerror}"
            if isinstance(error, USER_ERRORS):
                raise UsageError(text) from None
            message = f"{type(error).__name__}: {text} (internal error; run with --debug for a traceback)"
            raise Error(message) from None


def _describe_rest(ctx: click.Context) -> str:
    """What an interrupted command has stored, as the end of a message: all results, or finished cells."""
    if written := ctx.meta.get(WRITTEN):
        return f"; all results are in {written}"
    if ctx.invoked_subcommand in ("run", "reproduce", "mutants"):
        return "; run the same command again to resume after the last finished cell"
    return ""


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="orfit-bench")
@click.option(
    "--strict-plugins", is_flag=True, help="Stop if an installed plugin is broken. Default: report it and continue."
)
@click.option("--debug", is_flag=True, help="Show the traceback of an error. Must come before the command.")
def main(strict_plugins: bool, debug: bool) -> None:
    """Benchmark and test streaming learners.

    \b
    Examples:
      orfit-bench list                  list methods, backends, streams, plugins
      orfit-bench list rls              describe one method, stream, ...
      orfit-bench run                   compare all methods on all backends
      orfit-bench report results.nc     write an HTML report of the results
      orfit-bench new-plugin my-lms     create a plugin from a template
      orfit-bench conform my-lms        check the plugin
      orfit-bench --debug run           show tracebacks of errors

    Use orfit-bench COMMAND --help for the options of a command.
    """


RESULTS = (show_command, report_command, plot_command, compare_command, merge_command, export_command, verify_command)
CHECKS = (conform_command, mutants_command, gate_command, laws_command, map_command, reproduce_command)

for command in (list_command, run_command, *RESULTS, *CHECKS, roofline_command, warm_command, new_plugin_command):
    main.add_command(command)
