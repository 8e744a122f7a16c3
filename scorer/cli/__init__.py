"""The commands; the only place that prints or exits. One file for those that belong together."""

from __future__ import annotations

import gc
import io
import os
import sys

import typer

from scorer.cli import board, check, convert, evaluate, new, run
from scorer.cli.say import complain
from scorer.errors import ScorerError

app = typer.Typer(
    help="Score ranked lists against graded solutions, keep the results, show the board.",
    epilog="Exit codes: 0 all is fine, 1 a file or a setting is at fault, 2 the command was called wrongly.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    run.run,
    run.score,
    run.render,
    check.check,
    evaluate.evaluate,
    convert.convert,
    board.leaderboard,
    board.measures,
):
    app.command()(command)
app.command("init")(new.init)


def main() -> None:
    """Run the command line; a fault of the user's is told in words, without a traceback."""
    # What is imported stays, and looking through it for garbage time and again makes starting a tenth slower.
    gc.set_threshold(100_000)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A file's name may hold what the terminal's encoding cannot say.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except ScorerError as error:
        complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        complain("stopped")
        sys.exit(130)
    except BrokenPipeError:
        # The reader has seen enough; Python's own flush at exit must not fail on it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
